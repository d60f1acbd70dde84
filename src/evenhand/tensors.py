"""Arrays with a header in one file, in a format that cannot run code when it is loaded."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from evenhand.errors import BadFile
from evenhand.files import write_whole


def write_tensors(
    path: str | os.PathLike[str], kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write a file of some kind, whole, with a digest of its arrays."""
    header = {**header, "kind": kind, "digest": _digest(arrays)}
    write_whole(path, to_bytes(arrays, metadata={"evenhand": json.dumps(header)}))


def read_tensors(
    path: str | os.PathLike[str], kind: str, names: Iterable[str]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and arrays of a file; one of another kind, changed or cut is refused."""
    try:
        with safe_open(Path(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("evenhand", "{}"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise BadFile(f"there is no file {path}.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise BadFile(f"{path} is not a {kind}, or was cut short: {error}.") from None
    if header.get("kind") != kind or set(arrays) != set(names):
        raise BadFile(f"{path} is not a {kind} that evenhand wrote.")
    if header["digest"] != _digest(arrays):
        raise BadFile(f"{path} was changed after it was written: make the {kind} anew.")
    return header, arrays


def _digest(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
