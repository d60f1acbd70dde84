"""A monitor's state as a file, so that it can stop and go on. Written whole or not at all.

The file is JSON: numbers keep every digit, and nothing in it can run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from evenhand._util.files import write_whole
from evenhand.errors import BadFile, CannotWrite, argument
from evenhand.fairness.scheme_file import to_toml
from evenhand.monitor.json_reader import Reader
from evenhand.monitor.monitor import Monitor

FORMAT = 2  # 1 was that of evenhand 0.1.0


def save_state(monitor: Monitor, reader: Reader, path: str | os.PathLike[str]) -> None:
    """Write all that is needed to go on as if the monitor had never stopped."""
    state = {
        "format": FORMAT,
        "watches": _watches(monitor),
        "monitor": _flat(monitor.snapshot()),
        "reader": reader.snapshot(),
    }
    write_whole(path, orjson.dumps(state))


def require_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no state can be saved, before there is one to lose."""
    target, named = Path(path), f"{path} ({argument('state')})"
    if os.path.isdir(target):
        raise CannotWrite(f"{named} is a folder: name a file in it.")
    if not os.path.isdir(target.parent):
        raise CannotWrite(
            f"{named} cannot be written, as there is no folder {target.parent}: make "
            "it, or choose another."
        )
    if not os.access(target.parent, os.W_OK):
        raise CannotWrite(
            f"{named} cannot be written, as you may not write to {target.parent}: "
            "choose another folder."
        )


def load_state(monitor: Monitor, reader: Reader, path: str | os.PathLike[str]) -> bool:
    """Go on from a saved state; False where there is none yet."""
    if not os.path.exists(path):
        return False
    try:
        state = orjson.loads(Path(path).read_bytes())
        number, watches = state["format"], state["watches"]
    except (OSError, ValueError, KeyError, TypeError):
        raise BadFile(f"{path} is not the saved state of a monitor: name another file.") from None
    if number != FORMAT:
        raise BadFile(
            f"{path} was saved by another version of evenhand (its format is {number}, and this "
            f"version reads {FORMAT}): start with a new file."
        )
    if watches != _watches(monitor):
        raise BadFile(
            f"{path} was saved by a monitor that watched something else (another scheme, question "
            "or list of stakeholders): start with a new file."
        )
    saved = state["monitor"]
    monitor.resume(_like(_template(monitor, saved), saved))
    reader.resume(state["reader"])
    return True


def _template(monitor: Monitor, saved: dict[str, Any]) -> dict[str, Any]:
    """A snapshot of the kind that was saved, which says what type everything is."""
    fresh, scheme = monitor.snapshot(), monitor.stream.scheme
    (counts, status, filtered, _), begun = fresh["stream"], saved["stream"][0][-1]
    fold = scheme.aggregation.init(len(monitor.judged_names)) if begun else ()
    return {**fresh, "stream": (counts, status, filtered, fold)}


def _watches(monitor: Monitor) -> dict[str, Any]:
    """What must be the same when the monitor goes on."""
    scheme = monitor.stream.scheme
    try:
        words = to_toml(scheme)
    except ValueError:  # a filter of the audit's own has no name in a scheme file
        words = scheme.describe()
    return {"scheme": words, "stakeholders": list(monitor.names)}


def _flat(value: Any) -> Any:
    """Nested dictionaries and tuples of arrays as JSON has them; NaN becomes null there."""
    if isinstance(value, dict):
        return {name: _flat(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [_flat(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _like(template: Any, value: Any) -> Any:
    """What `_flat` made flat, in the form of a template."""
    if isinstance(template, dict):
        return {name: _like(inner, value[name]) for name, inner in template.items()}
    if isinstance(template, tuple):
        parts = [_like(inner, part) for inner, part in zip(template, value, strict=True)]
        return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)
    if not isinstance(template, np.ndarray | np.generic):
        return value
    if template.dtype.kind == "f" and isinstance(value, list):
        value = [np.nan if one is None else one for one in value]
    return np.asarray(value, dtype=template.dtype)
