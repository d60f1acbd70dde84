"""A scheme as a small TOML table, so that it can be written without Python.

    welfare = "rawls"
    temporal = "mean"
    filter = { name = "every", period = 12 }

    [status]
    name = "per_entitlement"
    entitlements = [39.5, 5.8, 0.6]

A part is a name, or a table of its name and parameters; what is left out has its default. An
aggregation that is not timepoint-first stands in place of `welfare` and `temporal`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import tomli_w

from evenhand._util.files import read_file
from evenhand._util.registry import Registry
from evenhand.errors import BadFile, EvenhandError, MissingPartParameter, SchemeFileError
from evenhand.fairness.aggregation import AGGREGATIONS, TimepointFirst
from evenhand.fairness.filters import FILTERS
from evenhand.fairness.groups import Groups
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import STATUSES
from evenhand.fairness.temporal import TEMPORALS
from evenhand.fairness.welfare import WELFARES

# Which registry the value of a key belongs to, at the top and inside the parts.
PARTS: dict[str, Registry] = {
    "status": STATUSES,
    "counted": STATUSES,
    "welfare": WELFARES,
    "temporal": TEMPORALS,
    "aggregation": AGGREGATIONS,
    "filter": FILTERS,
}
DEEPEST = 20  # tables and lists inside each other
INT64 = range(-(1 << 63), 1 << 63)  # whole numbers as TOML has them
MAX_BYTES = 16 << 20  # of a scheme file: one with an entitlement for each of a million
TOP_LEVEL = ("status", "welfare", "temporal", "aggregation", "filter", "empty")


def to_toml(scheme: FairnessScheme) -> str:
    """The scheme as TOML text; parts that are Python functions cannot be written."""
    table: dict[str, Any] = {"status": to_table(scheme.status, STATUSES)}
    if isinstance(scheme.aggregation, TimepointFirst):
        table["welfare"] = to_table(scheme.aggregation.welfare, WELFARES)
        table["temporal"] = to_table(scheme.aggregation.temporal, TEMPORALS)
    else:
        table["aggregation"] = to_table(scheme.aggregation, AGGREGATIONS)
    table["filter"] = to_table(scheme.filter, FILTERS)
    if scheme.empty is not None:
        table["empty"] = scheme.empty
    return tomli_w.dumps(table)


def read_scheme_file(path: str | os.PathLike[str]) -> FairnessScheme:
    """A scheme from a scheme file, which is named in whatever is said about it."""
    try:
        text = read_file(path, MAX_BYTES, "a scheme file").decode()
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadFile(
            f"{path} cannot be read: line {line:,} is not UTF-8 text; save the file as UTF-8."
        ) from None
    try:
        return from_toml(text)
    except EvenhandError as error:
        raise SchemeFileError(f"{path}: {error}") from None


def from_toml(text: str) -> FairnessScheme:
    """A scheme from TOML text."""
    table = _read_toml(text)
    for key in table:
        if key not in TOP_LEVEL:
            raise SchemeFileError(f"a scheme has no part {key!r}: it has {', '.join(TOP_LEVEL)}.")
    if "aggregation" in table and ("welfare" in table or "temporal" in table):
        raise SchemeFileError(
            "a scheme has either an aggregation, or a welfare and a temporal, not both."
        )
    parts = {
        key: from_table(value, PARTS[key], key) for key, value in table.items() if key in PARTS
    }
    timepoint = {key: parts.pop(key) for key in ("welfare", "temporal") if key in parts}
    if timepoint:
        parts["aggregation"] = TimepointFirst(**timepoint)
    empty = table.get("empty")
    if not isinstance(empty, int | float | None) or isinstance(empty, bool):
        raise SchemeFileError(f"empty is {empty!r}: it must be a number.")
    return FairnessScheme(**parts, empty=empty)


def _read_toml(text: str) -> dict[str, Any]:
    """What TOML text says, if its nesting and its numbers are such as a scheme may have."""
    import tomllib  # only for those who have a file

    try:
        # A key of thousands of parts, such as a.b.c…, takes the reader minutes.
        if any(key.count(".") > DEEPEST for line in text.splitlines() for key in _keys(line)):
            raise RecursionError
        table = tomllib.loads(text)
        _require_numbers(table)
    except RecursionError:
        raise SchemeFileError(
            f"the scheme has more than {DEEPEST} tables or lists inside each other: a part is a "
            "name, or a table of its name and parameters."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SchemeFileError(f"the scheme is not valid TOML: {error}.") from None
    except ValueError:  # of a number with more digits than Python reads
        raise _too_large() from None
    return table


def _keys(line: str) -> list[str]:
    """The parts of a line that may be keys: what stands between brackets, signs and commas."""
    return [] if line.lstrip().startswith("#") else re.split(r"[^\w \t.\"'-]", line)


def _require_numbers(value: Any, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(value, int) and value not in INT64:
        raise _too_large()
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _require_numbers(inner, depth + 1)


def _too_large() -> SchemeFileError:
    return SchemeFileError(
        "the scheme holds a whole number of more than 64 bits: make it smaller, or write it as a "
        "float such as 1e20."
    )


def to_table(part: Any, registry: Registry) -> Any:
    """A registered part as its name, or as a table of its name and what is not default."""
    name = registry.name_of(part)
    if name is None:
        raise SchemeFileError(
            f"{type(part).__name__} is Python code and has no name to write to a file: use a named "
            f"{registry.kind} ({', '.join(registry.classes)}), or register it under a name."
        )
    parameters = {}
    for spec in _parameters(type(part)).values():
        value = getattr(part, spec.name)
        if spec.default is MISSING or value != spec.default:
            parameters[spec.name] = _to_value(value, _registry_of(spec.name, registry))
    return {"name": name, **parameters} if parameters else name


def _registry_of(parameter: str, own: Registry) -> Registry | None:
    """Where the value of a parameter is looked up: what a part is `of` is of its own kind."""
    return own if parameter == "of" else PARTS.get(parameter)


def _to_value(value: Any, registry: Registry | None) -> Any:
    if registry is not None:
        return to_table(value, registry)
    if isinstance(value, Groups):
        return {n: list(part) for n, part in zip(value.names, value.members, strict=True)}
    return [_to_value(item, None) for item in value] if isinstance(value, tuple) else value


def _from_value(value: Any) -> Any:
    """A list as the tuple it was: parts are frozen, and must be hashable to be compiled."""
    return tuple(_from_value(item) for item in value) if isinstance(value, list) else value


def _parameters(cls: type) -> dict[str, Field[Any]]:
    """The constructor arguments of a part: the fields of a dataclass."""
    if not is_dataclass(cls):
        raise SchemeFileError(
            f"{cls.__name__} is not a dataclass, so its parameters are not known: make it a frozen "
            "dataclass to name it in a file."
        )
    return {spec.name: spec for spec in fields(cls) if spec.init}


def _needed(spec: Field[Any]) -> bool:
    return spec.default is MISSING and spec.default_factory is MISSING


def from_table(value: Any, registry: Registry, key: str) -> Any:
    """A part from its name or table; `key` is what the part is called in an error."""
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise SchemeFileError(f"{key} must be a name, or a table with a name and its parameters.")
    cls = registry.get(value["name"])
    known = _parameters(cls)
    parameters = {}
    for parameter, given in value.items():
        if parameter == "name":
            continue
        if parameter not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise SchemeFileError(f"{value['name']} has no parameter {parameter!r}: {takes}.")
        inner = _registry_of(parameter, registry)
        parameters[parameter] = (
            _from_value(given) if inner is None else from_table(given, inner, parameter)
        )
    missing = [name for name, spec in known.items() if _needed(spec) and name not in parameters]
    if missing:
        raise MissingPartParameter(value["name"], missing[0], key)
    try:
        return cls(**parameters)
    except EvenhandError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise SchemeFileError(
            f"{key} {value['name']!r} cannot be made from {parameters}: {error}."
        ) from None
