"""A task done on another machine, which may or may not share a folder with this one."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.errors import EvenhandError
from evenhand.experiments.running.cpu_affinity import keep_to_one_core
from evenhand.experiments.running.tasks import task_from_json

REPORT_EVERY = 1.0  # seconds: a report from each of a thousand tasks is not too much


def do_away(
    order: dict[str, Any], content: bytes | None, report: Callable[[tuple[Any, ...]], Any]
) -> dict[str, Any]:
    """Do a task. Where the marker is seen, the folder is shared: it goes on and ends there.

    Else it goes on from `content`, the file as it was, and the answer has the file as it is.
    """
    keep_to_one_core()
    from evenhand.experiments.running.runs import versions

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
            run = replace(task_from_json(order), path=path).do(_seldom(report))
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
