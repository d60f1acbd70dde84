"""How many files a reader walks through to follow one decision from the request to the answer."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import evenhand
from serving import small_service

SOURCE = Path(evenhand.__file__).parent
MOST = 29


def test_a_decision_runs_code_in_few_files(tmp_path):
    """Of ours, in every thread; a key is sent along, so that the answer is kept, too."""
    seen: set[str] = set()

    def note(frame, event, arg):
        if event == "call":
            seen.add(frame.f_code.co_filename)

    threading.setprofile(note)  # for the threads of the service
    try:
        with small_service(tmp_path) as client:
            threading.setprofile(None)
            for key in ("first", "second"):
                seen.clear()
                sent = client.post(
                    "/v1/pools/small/decisions", json={}, headers={"idempotency-key": key}
                )
                assert sent.status_code == 201
            found = set(seen)
    finally:
        threading.setprofile(None)
        sys.setprofile(None)
    ours = sorted(
        str(path.relative_to(SOURCE)) for path in map(Path, found) if path.is_relative_to(SOURCE)
    )
    listed = "\n".join(ours)
    assert "serve/pools/service.py" in ours
    assert len(ours) <= MOST, f"a decision runs code in {len(ours)} files:\n{listed}"
