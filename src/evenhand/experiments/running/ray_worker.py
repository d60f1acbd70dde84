"""A task done on another machine, which may or may not share its folder with whoever asked."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenhand.errors import EvenhandError
from evenhand.experiments.running.cpu_affinity import keep_to_one_core
from evenhand.experiments.running.tasks import Task

TELL_EVERY = 1.0  # seconds: a word from each of a thousand tasks is no flood


def do_away(
    told: dict[str, Any], content: bytes | None, tell: Callable[[tuple[Any, ...]], Any]
) -> dict[str, Any]:
    """Do a task. Where the marker is seen, the folder is shared: it goes on and ends there.

    Else it goes on from `content`, the file as it was, and the answer has the file as it is.
    """
    keep_to_one_core()
    from evenhand.experiments.running.runs import versions

    here = {name: version for name, version in versions().items() if name in told["versions"]}
    if here != told["versions"]:
        return {"refused": f"has {_listed(here)}, and this one {_listed(told['versions'])}"}
    with contextlib.ExitStack() as stack:
        path = Path(told["path"])
        shared = Path(told["marker"]).exists()
        if not shared:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "run"
            if content is not None:
                path.write_bytes(content)
        try:
            run = Task(told["config"], path).do(_seldom(tell))
        except EvenhandError as error:
            return {"failed": str(error)}
        return {
            "finished": run.finished,
            "score": float(run.scores[-1].mean()),
            "content": None if shared else path.read_bytes(),
        }


def _listed(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {version}" for name, version in versions.items())


def _seldom(tell: Callable[[tuple[Any, ...]], Any]) -> Callable[..., None]:
    last = 0.0

    def progress(*now: Any) -> None:
        nonlocal last
        if time.monotonic() - last >= TELL_EVERY:
            last = time.monotonic()
            tell(now)

    return progress
