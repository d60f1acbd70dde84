"""A monitor's state as a file, so that it can stop and go on. Written whole or not at all.

The file is JSON: numbers keep every digit, and nothing in it can run.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from evenhand._util.files import write_whole
from evenhand.errors import BadFile, CannotWrite
from evenhand.fairness.scheme_file import to_toml
from evenhand.monitor.json_reader import Reader, counts_from
from evenhand.monitor.monitor import Monitor

FORMAT = 1
KEPT = ("plain_numbers", "last_at", "late", "outside", "alerts", "_alarmed")


def save_state(monitor: Monitor, reader: Reader, path: str | os.PathLike[str]) -> None:
    """Write all that is needed to go on as if the monitor had never stopped."""
    state = {
        "format": FORMAT,
        "watches": _watches(monitor),
        "monitor": {name: getattr(monitor, name) for name in KEPT} | {"begun": monitor.begun},
        "open": monitor.open.tolist(),
        "stream": _flat(monitor.stream.snapshot()),
        "tally": {name: _flat(value) for name, value in vars(monitor.tally).items()},
        "counts": vars(reader.counts),
        "ids": list(reader.ids),
    }
    write_whole(path, orjson.dumps(state))


def require_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no state can be saved, before there is one to lose."""
    target = Path(path)
    if os.path.isdir(target):
        raise CannotWrite(f"{target} (--state) is a folder: name a file in it.")
    if not os.path.isdir(target.parent):
        raise CannotWrite(
            f"{target} (--state) cannot be written, as there is no folder {target.parent}: make "
            "it, or choose another."
        )
    if not os.access(target.parent, os.W_OK):
        raise CannotWrite(
            f"{target} (--state) cannot be written, as you may not write to {target.parent}: "
            "choose another folder."
        )


def load_state(monitor: Monitor, reader: Reader, path: str | os.PathLike[str]) -> bool:
    """Go on from a saved state; False where there is none yet."""
    if not os.path.exists(path):
        return False
    try:
        state = orjson.loads(Path(path).read_bytes())
        same = state["format"] == FORMAT and state["watches"] == _watches(monitor)
    except (OSError, ValueError, KeyError, TypeError):
        raise BadFile(f"{path} is not the saved state of a monitor: name another file.") from None
    if not same:
        raise BadFile(
            f"{path} was saved by a monitor that watched something else (another scheme, question "
            "or list of stakeholders): start with a new file."
        )
    for name, value in state["monitor"].items():
        if name != "begun":
            setattr(monitor, name, value)
    if not state["monitor"]["begun"]:
        monitor.last_at = -np.inf
    monitor.open = np.array(state["open"], dtype=np.float64)
    stream = monitor.stream
    size = len(monitor.judged_names)
    counts, status, filtered, fold = state["stream"]
    template = (stream.scheme.status.init(len(monitor.names)), stream.scheme.filter.init())
    begun = stream.scheme.aggregation.init(size) if counts[3] else ()
    stream.resume(
        (counts, _like(template[0], status), _like(template[1], filtered), _like(begun, fold))
    )
    for name, value in state["tally"].items():
        present = getattr(monitor.tally, name)
        if isinstance(present, np.ndarray):
            numbers = [np.nan if one is None else one for one in value]
            value = np.array(numbers, dtype=present.dtype)
        setattr(monitor.tally, name, value)
    reader.counts = counts_from(state["counts"])
    reader.ids = OrderedDict.fromkeys(state["ids"])
    reader.plain_numbers = monitor.plain_numbers if monitor.begun else None
    return True


def _watches(monitor: Monitor) -> dict[str, Any]:
    """What must be the same when the monitor goes on."""
    scheme = monitor.stream.scheme
    try:
        words = to_toml(scheme)
    except ValueError:  # a filter of the audit's own has no name in a scheme file
        words = scheme.describe()
    return {"scheme": words, "stakeholders": list(monitor.names)}


def _flat(value: Any) -> Any:
    """Nested tuples of arrays as nested lists; an array of one number as that number."""
    if isinstance(value, tuple):
        return [_flat(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _like(template: Any, value: Any) -> Any:
    """What `_flat` made flat, in the form of a template."""
    if isinstance(template, tuple):
        parts = [_like(inner, part) for inner, part in zip(template, value, strict=True)]
        return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)
    return np.asarray(value, dtype=np.asarray(template).dtype)
