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

from evenhand._util.files import require_file, write_whole
from evenhand._util.saved_record import parse_json
from evenhand._util.wording import short_repr
from evenhand.errors import BadFile

# Files of evenhand 0.1 do not say their format: their headers have other keys.
FORMAT = 2
# What each kind is good for, said to whoever gives one where another is needed.
READ_BY = {
    "plan": "`load_plan` reads it, and `evenhand replay --rule` and `evenhand serve` decide by it",
    "policy": "`load_policies` reads it, and `evenhand evaluate` scores it",
    "run": "it holds tables, or learners half way, which `evenhand train` and `evaluate` read",
    "learner": "`load_learner` reads it, and `evenhand evaluate` scores it",
    "numpy policy": "`load_policy` of evenhand.interop reads it",
}


def write_tensors(
    path: str | os.PathLike[str], kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]
) -> None:
    """Write a file of some kind, whole, with a digest of its arrays."""
    header = {**header, "kind": kind, "format": FORMAT}
    header["digest"] = _digest(header, arrays)
    write_whole(path, to_bytes(arrays, metadata={"evenhand": json.dumps(header)}))


def read_tensors(
    path: str | os.PathLike[str], kind: str, names: Iterable[str] | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and arrays of a file; one of another kind, changed or cut is refused.

    `names` are those of its arrays, where they are the same for every file of the kind.
    """
    header, arrays = _opened(path, kind)
    found = header.get("kind")
    if found != kind:
        reader = READ_BY.get(found) if isinstance(found, str) else None
        other = "" if reader is None else f", but a {found}: {reader}"
        raise BadFile(f"{path} is not a {kind} that evenhand wrote{other}.")
    if header.get("format") != FORMAT:
        whose = "evenhand 0.1" if "format" not in header else "another version of evenhand"
        raise BadFile(
            f"{path} holds a {kind} of {whose}, which this version does not read: make the {kind} "
            "again with this version, by the command or call that wrote it."
        )
    if names is not None and set(arrays) != set(names):
        raise BadFile(f"{path} is not a {kind} that evenhand wrote.")
    if header.pop("digest", None) != _digest(header, arrays):
        raise BadFile(f"{path} was changed after it was written: make the {kind} anew.")
    return header, arrays


def _digest(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """What kind of file this says it is, or None if it does not say."""
    kind = header_of(path).get("kind")
    return kind if isinstance(kind, str) else None


def header_of(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header as a file has it, not compared with its arrays; empty if it has none."""
    require_file(path)
    try:
        with safe_open(Path(path), framework="numpy") as file:
            return _header(file, path, "file")
    except (*_UNREADABLE, BadFile):
        return {}


# What is raised where a file is not safetensors, or has arrays of a type or size that NumPy lacks.
_UNREADABLE = (SafetensorError, OSError, ValueError, TypeError, LookupError, AttributeError)


def _opened(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and arrays of a file; they take no more memory than the file has bytes."""
    require_file(path)
    try:
        with safe_open(Path(path), framework="numpy") as file:
            header = _header(file, path, kind)
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except BadFile:
        raise
    except (*_UNREADABLE, MemoryError, OverflowError):
        raise BadFile(
            f"{path} is not a {kind} that evenhand wrote, or was cut short: name another file, or "
            f"make the {kind} anew."
        ) from None


def _header(file: Any, path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    header = parse_json((file.metadata() or {}).get("evenhand", "{}"), path, kind)
    if not isinstance(header, dict):
        raise BadFile(f"{path} is not a {kind} that evenhand wrote.")
    return header


def named_leaves(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a pytree by where they are in it; random keys as their numbers."""
    import jax

    def plain(leaf: Any) -> np.ndarray:
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        return np.asarray(leaf)

    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {f"leaf{jax.tree_util.keystr(path)}": plain(leaf) for path, leaf in leaves}


def with_leaves(like: Any, arrays: dict[str, np.ndarray], leading: int = 0) -> Any:
    """A pytree like this one with the named arrays in it, that may have more leading axes."""
    import jax

    left = dict(arrays)

    def find(path: Any, leaf: Any) -> Any:
        name = f"leaf{jax.tree_util.keystr(path)}"
        if name not in left:
            raise BadFile(f"the array {name} is missing: make the file anew.")
        array, is_key = left.pop(name), jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        form = jax.eval_shape(jax.random.key_data, leaf) if is_key else leaf
        if array.shape[leading:] != form.shape or array.ndim != leading + len(form.shape):
            raise BadFile(
                f"the array {name} has another shape, {array.shape}, than it should have, "
                f"{('…',) * leading + form.shape}: make the file anew."
            )
        if array.dtype != form.dtype:
            raise BadFile(
                f"the array {name} is of {array.dtype} where it should be of {form.dtype}: make "
                "the file anew."
            )
        return jax.random.wrap_key_data(jax.numpy.asarray(array)) if is_key else array

    found = jax.tree_util.tree_map_with_path(find, like)
    if left:
        raise BadFile(f"the array {short_repr(min(left))} belongs to nothing: make the file anew.")
    return found


def require_finite(path: str | os.PathLike[str], arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays with a NaN or an infinity."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise BadFile(
                f"{path} holds numbers that are not finite ({short_repr(name)}): make it anew."
            )
