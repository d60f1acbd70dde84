"""Where a table lives, and what an audit asks of that place beyond what narwhals can say.

Filters, groups and running totals are said once, in narwhals, and run in the engine. What engines
do each in their own way stands here: reading text, holding a result, and handing rows over.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

Frame = nw.LazyFrame[Any]
Arrays = dict[str, np.ndarray]

BLOCK_ROWS = 1 << 20  # rows that leave an engine at a time
# A time of day followed by a zone: "10:00Z", "10:00:00+02:00", "10:00 Europe/Paris". Letters such
# as EST are not among them, as they mean one zone here and another there.
_ZONE = r"(Z|z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?|[A-Za-z]+(?:/[A-Za-z0-9_+-]+)+|UTC|GMT)"
ZONE = rf"\d:\d\d[0-9:.]*\s*{_ZONE}$"
# A day, or a day and a time of day, with nothing after it that would have to be understood.
PLAIN = r"^[+-]?\d{4,}[-/ ]\d{1,2}[-/ ]\d{1,2}(?: \(BC\))?(?:(?:T| +)[0-9:.]+)?$"
BLANKS = ("", "nan", "na", "n/a", "null", "none")  # no number, as many programs write it

# Text that every engine can read as a moment or a number; anything else would stop some of them.
_DAY = (
    r"(?:[1-9]\d{3}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))"
    r"|(?:[1-9]\d(?:0[48]|[2468][048]|[13579][26])|(?:[2468][048]|[13579][26])00)-02-29)"
)
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?"
_OFFSET = r"(?:Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)"
MOMENT = rf"^{_DAY}(?:[T ]{_TIME}{_OFFSET}?)?$"
NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?[12]?\d{1,2})?$"


def as_it_is(moment: datetime.datetime) -> nw.Expr:
    """A moment as most engines take it."""
    return nw.lit(moment, dtype=nw.Datetime("us"))


class Engine(ABC):
    """A place where tables live. Frames go in and come out; only blocks of arrays leave it."""

    typed = True  # whether a column's values are of the type that it is declared with
    has_nan = True  # whether a number may be NaN, apart from being empty
    knows_formats = False  # whether it can read dates in a format that is given
    looks_up = False  # whether texts can be replaced by what we say they mean

    @abstractmethod
    def fetch(self, frame: Frame) -> Arrays:
        """All rows at once, as columns; an empty place is NaN, NaT or None."""

    @abstractmethod
    def blocks(self, frame: Frame, by: Sequence[str], most: int) -> Iterator[Arrays]:
        """The same in order of some columns, some rows at a time, of at most so many in all."""

    def hold(self, frame: Frame) -> Frame:
        """The same rows worked out once, where the engine has a place for them."""
        return frame

    def is_short(self, frame: Frame) -> bool:
        """Whether it has so few rows that to ask for them takes longer than to hold them."""
        return False

    def release(self, frame: Frame) -> None:
        """Give back what `hold` took."""

    def moment(self, value: datetime.datetime) -> nw.Expr:
        """A moment in UTC, to compare a column of moments with."""
        return as_it_is(value)

    @abstractmethod
    def in_utc(self, frame: Frame, column: str) -> Frame:
        """A column of dates or timestamps, of any zone, as timestamps in UTC without a zone."""

    @abstractmethod
    def moments(self, frame: Frame, column: str, into: str, time_format: str | None) -> Frame:
        """A column more: the moments that a column says in text, empty where it says none."""

    @abstractmethod
    def numbers(self, frame: Frame, column: str, into: str) -> Frame:
        """A column more: the numbers that a column says in text, empty where it says none."""

    def odd_numbers(self, frame: Frame, column: str) -> bool:
        """Whether a column of text holds what is not plainly a number, or may be another one."""
        return False

    def texts(self, frame: Frame, column: str) -> list[str]:
        """The texts of a column, each once, without the spaces around them."""
        raise NotImplementedError

    def looked_up(
        self, frame: Frame, column: str, texts: Sequence[str], meanings: Mapping[str, Sequence[Any]]
    ) -> Frame:
        """Columns more: what each text of a column means, numbers or moments, or nothing."""
        raise NotImplementedError

    def counted_from(self, frame: Frame, column: str, sql: Callable[[str], str]) -> Frame:
        """The column with the timestamps that its numbers stand for."""
        raise NotImplementedError

    @abstractmethod
    def zones(self, frame: Frame, column: str, into: str) -> Frame:
        """A column more: the zone that a text names, such as "+02:00", or an empty text."""
