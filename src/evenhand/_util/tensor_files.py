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

from evenhand._util.files import write_whole
from evenhand.errors import BadFile

# Files of evenhand 0.1 do not say their format: their headers have other keys.
FORMAT = 2


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
    if os.path.isdir(path):
        raise BadFile(f"{path} is a folder: name the file of a {kind}.")
    try:
        with safe_open(Path(path), framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("evenhand", "{}"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise BadFile(f"there is no file {path}.") from None
    except PermissionError:
        raise BadFile(f"{path} may not be read: change who may read it.") from None
    except (SafetensorError, OSError, ValueError):
        raise BadFile(
            f"{path} is not a {kind} that evenhand wrote, or was cut short: name another file, or "
            f"make the {kind} anew."
        ) from None
    if header.get("kind") != kind:
        raise BadFile(f"{path} is not a {kind} that evenhand wrote.")
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
    try:
        with safe_open(Path(path), framework="numpy") as file:
            kind = json.loads((file.metadata() or {}).get("evenhand", "{}")).get("kind")
    except FileNotFoundError:
        raise BadFile(f"there is no file {path}.") from None
    except (SafetensorError, OSError, ValueError, AttributeError):
        return None
    return str(kind)


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

    def find(path: Any, leaf: Any) -> Any:
        name = f"leaf{jax.tree_util.keystr(path)}"
        if name not in arrays:
            raise BadFile(f"the array {name} is missing: make the file anew.")
        array = arrays[name]
        if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(jax.numpy.asarray(array))
        if array.shape[leading:] != leaf.shape or array.dtype != leaf.dtype:
            raise BadFile(f"the array {name} has another shape than it should: make it anew.")
        return array

    return jax.tree_util.tree_map_with_path(find, like)
