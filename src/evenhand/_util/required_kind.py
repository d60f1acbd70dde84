"""What an argument must be, said where it is given and not where it is used."""

from __future__ import annotations

from typing import Any

from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter


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
