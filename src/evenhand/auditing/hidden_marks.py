"""Marks that offices put where they do not tell a number: `*`, `..`, `c`, `<5`. Unknown, not zero.

A mark may say, or be said to hide, a range: `<5` hides 0 to 4 where numbers are whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.errors import BadParameter, argument

# What stands for a suppressed number in the tables of statistical offices and in spreadsheets.
COMMON = frozenset(
    [
        *("*", "**", "***", ".", "..", "...", "…", ":", "-", "--", "–", "—", "−", "/", "†", "‡"),
        *("c", "x", "s", "u", "[c]", "[x]", "[s]", "[u]", "[w]", "[low]", "(c)", "(x)", "(s)"),
        *("suppressed", "confidential", "redacted", "withheld", "masked", "n.a.", "n/d", "nd"),
        *("#n/a", "#value!", "#ref!", "#div/0!", "#name?", "#num!", "#null!", "#getting_data"),
    ]
)
_NUMBER = r"\d+(?:\.\d+)?"
_BELOW = re.compile(rf"(<|fewer than|less than|under|below)\s*({_NUMBER})", re.I)
_AT_MOST = re.compile(rf"(≤|<=|up to|at most)\s*({_NUMBER})", re.I)
_ABOVE = re.compile(rf"(?:>|≥|>=|more than|over|above|at least)\s*({_NUMBER})", re.I)
_RANGE = re.compile(rf"({_NUMBER})\s*(?:-|–|—|to)\s*({_NUMBER})", re.I)


@dataclass(frozen=True)
class HiddenMark:
    """A text in place of a number, and between which values that number lies, where that is known.

    `below` says that the highest value itself is not among them, as in `<5`.
    """

    text: str
    lowest: float | None = None
    highest: float | None = None
    below: bool = False

    def __post_init__(self) -> None:
        ends = [end for end in (self.lowest, self.highest) if end is not None]
        if not self.text.strip() or not all(map(math.isfinite, ends)) or ends != sorted(ends):
            raise BadParameter(
                f"{argument('missing')} is {self.text!r}: write a mark such as '*', or a mark and "
                "what it can hide, such as '*=1-4'."
            )

    def fits(self, text: str) -> bool:
        """Whether a cell is this mark; a number such as -1 may be one however it is written."""
        if text.strip().casefold() == self.text.strip().casefold():
            return True
        try:
            return float(text) == float(self.text)
        except ValueError:
            return False

    def most(self, whole: bool) -> float | None:
        """The highest value it can hide, among whole numbers or among all."""
        if self.highest is None or not self.below or not whole:
            return self.highest
        return max(math.ceil(self.highest) - 1.0, self.lowest or 0.0)


def read_marks(given: Any) -> tuple[HiddenMark, ...]:
    """The marks that a user names: texts such as "*" or "*=1-4", or a mapping to pairs.

    >>> read_marks(["*", "x=1-4"])[1]
    HiddenMark(text='x', lowest=1.0, highest=4.0, below=False)
    """
    if isinstance(given, str | HiddenMark):
        given = [given]
    if isinstance(given, Mapping):
        try:
            return tuple(
                HiddenMark(str(text), float(low), float(high))
                for text, (low, high) in given.items()
            )
        except (TypeError, ValueError) as error:
            if isinstance(error, BadParameter):
                raise
            raise BadParameter(
                f"{argument('missing')} is {given!r}: it must say between which two numbers each "
                "mark lies, such as {'*': (1, 4)}."
            ) from None
    if not isinstance(given, Iterable):
        raise BadParameter(f"{argument('missing')} is {given!r}: it must be a mark such as '*'.")
    return tuple(one if isinstance(one, HiddenMark) else _named(str(one)) for one in given)


def _named(text: str) -> HiddenMark:
    mark, equals, hides = text.rpartition("=")
    ends = _RANGE.fullmatch(hides.strip()) if equals and mark.strip() else None
    if ends is not None:
        return HiddenMark(mark, float(ends[1]), float(ends[2]))
    return common_mark(text) or HiddenMark(text)


def common_mark(text: str) -> HiddenMark | None:
    """A text as a mark that everybody knows, if it is one.

    >>> common_mark("<5").most(whole=True), common_mark("five")
    (4.0, None)
    """
    plain = text.strip()
    if plain.casefold() in COMMON:
        return HiddenMark(plain)
    if (found := _BELOW.fullmatch(plain)) is not None:
        return HiddenMark(plain, 0.0, float(found[2]), below=True)
    if (found := _AT_MOST.fullmatch(plain)) is not None:
        return HiddenMark(plain, 0.0, float(found[2]))
    if (found := _ABOVE.fullmatch(plain)) is not None:
        return HiddenMark(plain, float(found[1]))
    if (found := _RANGE.fullmatch(plain)) is not None and float(found[1]) <= float(found[2]):
        return HiddenMark(plain, float(found[1]), float(found[2]))
    return None


def mark_of(text: str, named: Sequence[HiddenMark]) -> HiddenMark | None:
    """The mark that a text is: one that the user named, or one that everybody knows."""
    for mark in named:
        if mark.fits(text):
            return mark
    return common_mark(text)
