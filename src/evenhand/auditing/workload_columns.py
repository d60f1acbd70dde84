"""What an audit of a job log looks at by default: such logs all have the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WORKLOAD = (".swf", ".swf.gz")
# What an audit looks at if nothing else is said: what each user's jobs were given, when they began.
DEFAULTS = {"stakeholder": "user", "time": "start", "amount": "processor_seconds"}
OTHERWISE = ("wide", "wait_from", "wait_to")  # arguments that ask for something else


def is_workload(path: str) -> bool:
    """Whether a file is a job log, by the end of its name."""
    return path.lower().endswith(WORKLOAD)


def default_columns(logs: Sequence[Any], given: Mapping[str, Any]) -> dict[str, str]:
    """The columns that an audit of job logs looks at, as far as nothing else is given.

    Args:
        logs: What is audited: paths, lists of paths, or anything else.
        given: What is said of it, by argument.
    """
    paths = [one for log in logs for one in (log if isinstance(log, list | tuple) else [log])]
    workload = [isinstance(one, str | Path) and is_workload(str(one)) for one in paths]
    if not paths or not all(workload) or any(given.get(name) for name in OTHERWISE):
        return {}
    return {name: column for name, column in DEFAULTS.items() if not given.get(name)}
