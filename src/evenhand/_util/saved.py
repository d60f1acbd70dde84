"""Saved files that cannot run code: JSON read as the types it must have, arrays with a header."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from evenhand._util.checks import first_repeated
from evenhand._util.files import require_file, write_whole
from evenhand._util.wording import short_repr
from evenhand.errors import BadFile, EvenhandError

# Saved JSON, read as the types it must have: what a file says is looked at before it is used.
#
# Whoever wrote a file, it is data. A value that is missing, of another type or beyond sense is
# refused in a sentence that names the file and the key.

MAX_NESTING = 64  # levels: what evenhand writes has about ten
LARGEST = 2**53  # up to here whole numbers are whole in every reader of JSON
_NAMES = {dict: "a table", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
_MISSING = object()


def parse_json(text: str | bytes, path: str | os.PathLike[str], kind: str) -> Any:
    """The value of a JSON text; nested without sense, or with one key twice, it is refused."""
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
    except _KeyTwice as error:
        raise BadFile(
            f"{path} has the key {short_repr(error.args[0])} twice, so that it does not say which "
            f"value counts: make the {kind} anew."
        ) from None
    except RecursionError:
        raise _too_deep(path, kind) from None
    except ValueError:
        raise BadFile(
            f"{path} is not a {kind} that evenhand wrote, or was cut short: name another file, or "
            f"make the {kind} anew."
        ) from None
    if _nesting(value) > MAX_NESTING:
        raise _too_deep(path, kind)
    return value


class _KeyTwice(Exception):
    """A key that a JSON object has twice."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _KeyTwice(first_repeated(name for name, _ in pairs))
    return found


def _nesting(value: Any) -> int:
    """How many levels of lists and tables there are, found without going down by calls."""
    depth, level = 0, [value]
    while level and depth <= MAX_NESTING:
        inner = [one for one in level if isinstance(one, dict | list)]
        level = [v for one in inner for v in (one.values() if isinstance(one, dict) else one)]
        depth += bool(inner)
    return depth


def _too_deep(path: str | os.PathLike[str], kind: str) -> BadFile:
    return BadFile(
        f"{path} is nested deeper than any {kind} that evenhand wrote ({MAX_NESTING} levels at "
        f"most): name another file, or make the {kind} anew."
    )


class SavedRecord:
    """A table of saved JSON whose values are asked for by name and type.

    >>> record = SavedRecord({"steps": 5, "about": {"seed": "x"}}, "a.run")
    >>> record.whole("steps", least=1)
    5
    >>> record.table("about").whole("seed")
    Traceback (most recent call last):
    ...
    evenhand.errors.BadFile: a.run cannot be read: 'about.seed' is 'x', and must be a whole number.
    """

    def __init__(self, values: Any, path: str | os.PathLike[str], within: str = "") -> None:
        self.path, self.within = path, within
        if not isinstance(values, Mapping):
            raise self._refused(values, "a table of names and values")
        self.values = values

    def require_only(self, names: Iterable[str]) -> None:
        """Refuse names beside these."""
        known = set(names)
        odd = next((name for name in self.values if name not in known), None)
        if odd is not None:
            raise BadFile(
                f"{self.path} cannot be read: {self._named(odd)} is nothing that this version "
                "of evenhand writes there; make it anew."
            )

    def value(self, name: str, default: Any = _MISSING) -> Any:
        """The value of a name, whatever it is."""
        found = self.values.get(name, default)
        if found is _MISSING:
            raise BadFile(
                f"{self.path} cannot be read: it lacks {self._named(name)}; make it anew."
            )
        return found

    def flag(self, name: str, default: Any = _MISSING) -> bool:
        found = self.value(name, default)
        if not isinstance(found, bool):
            raise self._at(name)._refused(found, "true or false")
        return found

    def whole(self, name: str, least: int = 0, most: int = LARGEST, default: Any = _MISSING) -> int:
        return self._at(name)._whole(self.value(name, default), least, most)

    def number(self, name: str) -> float:
        """A finite number."""
        found = self.value(name)
        if isinstance(found, bool) or not isinstance(found, int | float) or not _finite(found):
            raise self._at(name)._refused(found, "a finite number")
        return float(found)

    def text(self, name: str) -> str:
        found = self.value(name)
        if not isinstance(found, str):
            raise self._at(name)._refused(found, "a text")
        return found

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        found = self.items(name)
        for k, one in enumerate(found):
            if not isinstance(one, str):
                raise self._at(f"{name}.{k}")._refused(one, "a text")
        return found

    def items(self, name: str) -> list[Any]:
        """A list."""
        found = self.value(name)
        if not isinstance(found, list):
            raise self._at(name)._refused(found, "a list")
        return found

    def table(self, name: str) -> SavedRecord:
        return SavedRecord(self.value(name), self.path, self._path_of(name))

    def tables(self, name: str) -> list[SavedRecord]:
        """A list of tables."""
        found = enumerate(self.items(name))
        return [SavedRecord(one, self.path, self._path_of(f"{name}.{k}")) for k, one in found]

    def _whole(self, found: Any, least: int, most: int) -> int:
        if isinstance(found, bool) or not isinstance(found, int):
            raise self._refused(found, "a whole number")
        if not least <= found <= most:
            raise self._refused(found, f"a whole number from {least:,} to {most:,}")
        return found

    def _at(self, name: str) -> SavedRecord:
        return SavedRecord({}, self.path, self._path_of(name))

    def _path_of(self, name: str) -> str:
        return f"{self.within}.{name}" if self.within else name

    def _named(self, name: str) -> str:
        return short_repr(self._path_of(name))

    def _refused(self, found: Any, needed: str) -> BadFile:
        is_now = _NAMES[type(found)] if isinstance(found, dict | list) else short_repr(found)
        what = short_repr(self.within) if self.within else "what it holds"
        return BadFile(f"{self.path} cannot be read: {what} is {is_now}, and must be {needed}.")


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond every float
        return False


@contextlib.contextmanager
def reading_saved(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Whatever goes wrong in making something of a saved file is said of that file.

    What it names (an environment, a memory) is made by the code of that part, which may meet a
    value that nobody thought of: that is the file's fault too, and no bug to look into.
    """
    try:
        yield
    except BadFile as error:
        if os.fspath(path) in str(error):
            raise
        raise BadFile(f"{path} cannot be read as a {kind}: {error}") from None
    except EvenhandError as error:
        raise BadFile(f"{path} cannot be read as a {kind}: {error}") from None
    except MemoryError:
        raise BadFile(
            f"{path} cannot be read as a {kind}: what it describes takes more memory than there "
            "is; name another file."
        ) from None
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise BadFile(
            f"{path} cannot be read as a {kind}: it holds values that do not fit together, as no "
            f"evenhand writes them; make the {kind} anew."
        ) from error


# Arrays with a header in one file, in a format that cannot run code when it is loaded.

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
