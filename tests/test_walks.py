"""How far one walks: the files that an everyday command or request runs code in.

A file is what one person would change in one sitting; these bounds keep a walk short enough to be
followed. Each command is run twice and its second run counted, so that what is run by importing a
file (decorators, bodies of classes) does not count.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from command_line import evenhand
from places import SOURCE
from serving import small_service

LOG = "day,who,amount\n1,A,1\n1,B,0\n2,A,1\n2,B,1\n3,A,1\n3,B,2\n"
COLUMNS = ("--stakeholder", "who", "--time", "day", "--amount", "amount")


@contextmanager
def noted(seen: set[str]) -> Iterator[None]:
    """The files of every function that is called meanwhile, in this thread and in new ones."""

    def note(frame, event, arg):
        if event == "call":
            seen.add(frame.f_code.co_filename)

    before, before_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(before_threads)


def require_few(seen: set[str], most: int) -> None:
    ours = sorted(str(Path(name).relative_to(SOURCE)) for name in seen if str(SOURCE) in name)
    listed = "\n".join(ours)
    assert ours
    assert len(ours) <= most, f"code was run in {len(ours)} files, not {most}:\n{listed}"


@pytest.mark.parametrize(
    ("command", "most"),
    [
        (lambda log: ["audit", log, *COLUMNS], 45),
        (lambda log: ["audit", log, *COLUMNS, "--out", f"{log}.html"], 55),
        (lambda log: ["replay", log, *COLUMNS], 50),
    ],
    ids=["audit", "audit with its page", "replay"],
)
def test_a_command_runs_code_in_few_files(
    command: Callable[[str], list[str]], most: int, tmp_path: Path
):
    (tmp_path / "log.csv").write_text(LOG)
    arguments = command(str(tmp_path / "log.csv"))
    assert evenhand(*arguments).returncode == 0
    seen: set[str] = set()
    with noted(seen):
        assert evenhand(*arguments).returncode == 0
    require_few(seen, most)


def test_a_decision_over_http_runs_code_in_few_files(tmp_path: Path):
    """Of ours, in every thread; a key is sent along, so that the answer is kept, too."""
    seen: set[str] = set()
    with noted(seen), small_service(tmp_path) as client:
        for key in ("first", "second"):
            seen.clear()
            headers = {"idempotency-key": key}
            sent = client.post("/v1/pools/small/decisions", json={}, headers=headers)
            assert sent.status_code == 201
        found = set(seen)
    require_few(found, 15)
