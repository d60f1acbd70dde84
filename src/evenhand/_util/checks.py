"""What an argument must be, said where it is given and not where it is used."""

from __future__ import annotations

import functools
import math
import numbers
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter, argument

Name = TypeVar("Name")
MOST_STEPS = 2**31 - 1  # steps are counted in 32 bits


def is_whole(value: Any, least: int = 1, most: int | None = None) -> bool:
    """Whether a value is an integer of Python or NumPy, and not below `least` or above `most`.

    >>> is_whole(3), is_whole(3.0), is_whole(True), is_whole("3"), is_whole(0)
    (True, False, False, False, False)
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and least <= value and (most is None or value <= most)


def require_whole(value: Any, what: str, least: int = 1, most: int | None = None) -> int:
    """The value as an int; refuses what is not a whole number from `least`, or to `most`.

    >>> require_whole(12, "period")
    12
    >>> require_whole(0.5, "period", most=10)
    Traceback (most recent call last):
    evenhand.errors.BadParameter: period is 0.5: it must be a whole number from 1 to 10.
    """
    if not is_whole(value, least, most):
        to = "" if most is None else f" to {most:,}"
        raise BadParameter(
            f"{what} is {short_repr(value)}: it must be a whole number from {least}{to}."
        )
    return int(value)


def is_finite_number(value: Any) -> bool:
    """Whether a value is a number of Python or NumPy, and neither NaN nor an infinity.

    >>> is_finite_number(0.5), is_finite_number("0.5"), is_finite_number(True)
    (True, False, False)
    >>> is_finite_number(math.nan), is_finite_number(10**400)  # beyond every float
    (False, False)
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def require_kind(value: Any, kind: type, what: str, example: str) -> None:
    """Refuse what is not of a kind; its own subclasses are.

    Args:
        value: What was given.
        kind: The class that it must be of.
        what: The name of the argument.
        example: What to write instead.

    >>> require_kind("2", int, "count", "2")
    Traceback (most recent call last):
    evenhand.errors.BadParameter: count is '2': it must be an int, such as 2.
    """
    if isinstance(value, kind):
        return
    refuse_class(value, what)
    a = "an" if kind.__name__[0] in "AEIOUaeiou" else "a"
    raise BadParameter(
        f"{what} is {short_repr(value)}: it must be {a} {kind.__name__}, such as {example}."
    )


def refuse_class(value: Any, what: str) -> None:
    """Refuse a class where an object of it is meant.

    >>> refuse_class(int, "count")
    Traceback (most recent call last):
    evenhand.errors.BadParameter: count is the class int: make an object of it, as in int(…).
    """
    if isinstance(value, type):
        name = value.__name__
        raise BadParameter(f"{what} is the class {name}: make an object of it, as in {name}(…).")


def require_fields(whole: Any) -> None:
    """Refuse a field of a dataclass that is not what its annotation says in words.

    Looked at are `Annotated[kind, "what it must be"]`, alone or beside None, and bool. All other
    fields are checked where they are read.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Options:
    ...     column: Annotated[str, "the name of a column"] | None = None
    >>> require_fields(Options(column=3))
    Traceback (most recent call last):
    evenhand.errors.BadParameter: `column` is 3: it must be the name of a column.
    """
    for name, (kinds, words) in _worded_fields(whole.__class__).items():
        value = getattr(whole, name)
        if not any(_is_of(value, kind) for kind in kinds):
            raise BadParameter(f"{argument(name)} is {short_repr(value)}: it must be {words}.")


@functools.cache
def _worded_fields(kind: type) -> dict[str, tuple[tuple[Any, ...], str]]:
    """The alternatives that each field of a dataclass allows, and what it must be in words."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        alternatives = (hint,) if get_origin(hint) is Annotated else get_args(hint) or (hint,)
        said = [one.__metadata__[0] for one in alternatives if get_origin(one) is Annotated]
        if alternatives == (bool,):
            found[name] = ((bool, np.bool_), "True or False")
        elif said:
            found[name] = (alternatives, said[0])
    return found


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind as annotations write it: a class, a union, a sequence of one."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _is_of(value, parts[0])
    if origin is Sequence:
        several = isinstance(value, Collection) and not isinstance(value, str | bytes)
        return several and all(_is_of(one, parts[0]) for one in value)
    if origin is not None:
        return any(_is_of(value, part) for part in parts)
    return isinstance(value, kind)


def first_repeated(names: Iterable[Name]) -> Name | None:
    """The first of some names that stands there more than once; None if there is none.

    >>> first_repeated(["A", "B", "C", "B", "A"]), first_repeated(["A", "B"])
    ('A', None)
    """
    return next((name for name, count in Counter(names).items() if count > 1), None)


def require_hashable(whole: Any) -> None:
    """Refuse a dataclass with a part that cannot be hashed: equal ones share what was compiled."""
    for part in fields(whole):
        value = getattr(whole, part.name)
        try:
            hash(value)
        except TypeError as error:
            raise BadParameter(
                f"{part.name} ({type(value).__name__}) cannot be hashed ({error}): make its class "
                "a frozen dataclass, with tuples in place of lists."
            ) from None
