"""What another process does with a task: one of this machine, or one of a Ray cluster.

    python -m evenhand.lab.worker

reads tasks from standard input, one JSON object per line, and writes to standard output: a line
after each evaluation, and one at the end of each task. On a cluster, `do_away` is called.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.errors import EvenhandError
from evenhand.lab.executors import Task, keep_to_one_core

REPORT_EVERY = 1.0  # seconds: a report from each of a thousand tasks is not too much


def do_away(
    order: dict[str, Any], content: bytes | None, report: Callable[[tuple[Any, ...]], Any]
) -> dict[str, Any]:
    """Do a task. Where the marker is seen, the folder is shared: it goes on and ends there.

    Else it goes on from `content`, the file as it was, and the answer has the file as it is.
    """
    keep_to_one_core()
    from evenhand.lab.runs import versions

    here = {name: version for name, version in versions().items() if name in order["versions"]}
    if here != order["versions"]:
        return {"refused": f"has {_listed(here)}, and this one {_listed(order['versions'])}"}
    with contextlib.ExitStack() as stack:
        path = Path(order["path"])
        shared = Path(order["marker"]).exists()
        if not shared:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "run"
            if content is not None:
                path.write_bytes(content)
        try:
            run = replace(Task.from_json(order), path=path).do(_seldom(report))
        except EvenhandError as error:
            return {"failed": str(error)}
        return {
            "finished": run.finished,
            "score": float(run.scores[-1].mean()),
            "content": None if shared else path.read_bytes(),
        }


def _listed(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {version}" for name, version in versions.items())


def _seldom(report: Callable[[tuple[Any, ...]], Any]) -> Callable[..., None]:
    last = 0.0

    def progress(*now: Any) -> None:
        nonlocal last
        if time.monotonic() - last >= REPORT_EVERY:
            last = time.monotonic()
            report(now)

    return progress


def main() -> None:
    """Do the tasks that standard input names."""

    def interrupted_once(*_: Any) -> None:
        # The terminal and the process that waits for this one may both say so: once is enough.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    # An environment of a user's may print, and that is no answer: it goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(**what: Any) -> None:
        print(json.dumps(what), file=answers, flush=True)

    signal.signal(signal.SIGINT, interrupted_once)
    try:
        for line in sys.stdin:
            try:
                task = Task.from_json(json.loads(line))
                say(finished=task.do(lambda *now: say(now=now)).finished)
            except EvenhandError as error:
                say(refused=str(error))
            except KeyboardInterrupt:
                say(finished=False)
    except (KeyboardInterrupt, BrokenPipeError):
        # Nobody listens any more, or there was nothing to be saved.
        sys.stderr.close()
        sys.exit(130)


if __name__ == "__main__":
    main()
