"""Who received how much at each time point, who was there, and the lots that were given out."""

from __future__ import annotations

import hashlib
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import as_numbers
from evenhand.errors import BadRoster

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


# Columns that grow block by block: in memory while they are short, in a temporary file beyond.
#
# So what comes back from an engine may be longer than memory. The file has no name (it lies where
# TMPDIR says) and is gone with the last array that looks into it.

IN_MEMORY = 1 << 23  # values of a column that are kept in memory


class Column:
    """Values of one type, added at the end."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._parts: list[np.ndarray] = []
        self._file: Any = None

    def append(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, dtype=self.dtype)
        self.length += len(values)
        if self._file is None:
            self._parts.append(values)
            if self.length > IN_MEMORY:
                self._file = tempfile.TemporaryFile(prefix="evenhand-")  # noqa: SIM115
                weakref.finalize(self, self._file.close)  # what was mapped of it stays
                for part in self._parts:
                    part.tofile(self._file)
                self._parts.clear()
        else:
            values.tofile(self._file)

    def array(self) -> np.ndarray:
        """All of it, as an array that is read from the file only where it is looked at."""
        if self._file is None:
            return np.concatenate([np.zeros(0, dtype=self.dtype), *self._parts])
        self._file.flush()
        mapped: np.ndarray = np.memmap(self._file, self.dtype, mode="r", shape=(self.length,))
        return mapped


# Amounts over time beside those received: chances, requests, entitlements as they change.


@dataclass(frozen=True, eq=False)
class TimedAmounts:
    """Entries in order of time: when, the place of whom they concern, and how much.

    >>> amounts = TimedAmounts(
    ...     np.array([1.0, 1.0, 3.0]), np.array([0, 1, 0]), np.array([2.0, 5.0, 4.0]), 2
    ... )
    >>> amounts.totals().by(np.array([1.0, 2.0, 3.0]))
    array([[2., 5.],
           [2., 5.],
           [6., 5.]])
    >>> amounts.levels().by(np.array([0.0, 3.0]))
    array([[nan, nan],
           [ 4.,  5.]])
    """

    at: Float[np.ndarray, " entry"]  # moments as numbers, ascending
    who: Int[np.ndarray, " entry"]
    amount: Float[np.ndarray, " entry"]
    size: int  # how many stakeholders there are

    def totals(self) -> Reading:
        """The sums of the entries up to each moment."""
        return _Totals(self)

    def levels(self) -> Reading:
        """The latest entry up to each moment; NaN before the first."""
        return _Levels(self)


class Reading(ABC):
    """Something known over time, read forwards, some moments at a time."""

    @abstractmethod
    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        """How things stand at each of some moments, none before those asked for last."""


# What is known over time: entries, or a way to begin reading.
Known = TimedAmounts | Callable[[], Reading]


class Unchanging(Reading):
    """Numbers that are the same at every moment."""

    def __init__(self, values: Float[np.ndarray, " status"]) -> None:
        self.values = values

    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        return np.broadcast_to(self.values, (len(moments), len(self.values)))


class _AmountsReading(Reading):
    def __init__(self, ledger: TimedAmounts, start: float) -> None:
        self.ledger = ledger
        self._next = 0  # the first entry that is still to come
        self._now = np.full(ledger.size, start)

    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        if not len(moments):
            return np.zeros((0, self.ledger.size))
        numbers = as_numbers(moments)
        end = int(np.searchsorted(self.ledger.at, numbers[-1], side="right"))
        part = slice(self._next, end)
        row = np.searchsorted(numbers, self.ledger.at[part], side="left")
        found = self._stand(row, self.ledger.who[part], self.ledger.amount[part], len(numbers))
        self._next, self._now = end, found[-1]
        return found

    @abstractmethod
    def _stand(
        self, row: np.ndarray, who: np.ndarray, amount: np.ndarray, rows: int
    ) -> Float[np.ndarray, "moment stakeholder"]:
        """How things stand after entries that belong to rows, in order of time."""


class _Totals(_AmountsReading):
    def __init__(self, ledger: TimedAmounts) -> None:
        super().__init__(ledger, 0.0)

    def _stand(
        self, row: np.ndarray, who: np.ndarray, amount: np.ndarray, rows: int
    ) -> Float[np.ndarray, "moment stakeholder"]:
        size = self.ledger.size
        added = np.bincount(row * size + who, weights=amount, minlength=rows * size)
        return self._now + np.cumsum(added.reshape(rows, size), axis=0)


class _Levels(_AmountsReading):
    def __init__(self, ledger: TimedAmounts) -> None:
        super().__init__(ledger, np.nan)

    def _stand(
        self, row: np.ndarray, who: np.ndarray, amount: np.ndarray, rows: int
    ) -> Float[np.ndarray, "moment stakeholder"]:
        size = self.ledger.size
        said = np.full((rows + 1, size), -1)
        said[0] = 0
        levels = np.vstack((self._now[None], np.zeros((rows, size))))
        levels[row + 1, who] = amount  # of several before the next moment, the last
        said[row + 1, who] = row + 1
        latest = np.maximum.accumulate(said, axis=0)
        return np.take_along_axis(levels, latest, axis=0)[1:]


# All who should be served, and from when until when: those who got nothing are not in the log.


@dataclass(frozen=True, eq=False)
class Roster:
    """Names, and the moments between which each is there; infinite where none is given."""

    names: tuple[str, ...]
    first: Mapping[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)

    @property
    def dated(self) -> bool:
        return bool(self.first or self.last)

    def bounds(self, names: tuple[str, ...], plain_numbers: bool) -> tuple[np.ndarray, np.ndarray]:
        """From and until of each name, as numbers that compare with `as_numbers(moments)`."""
        self._require_kind(plain_numbers)
        kind = np.float64 if plain_numbers else "datetime64[us]"

        def numbers(known: Mapping[str, Any], blank: float) -> np.ndarray:
            return np.array(
                [
                    float(as_numbers(np.asarray(known[name]).astype(kind)))
                    if name in known
                    else blank
                    for name in names
                ]
            )

        return numbers(self.first, -np.inf), numbers(self.last, np.inf)

    def _require_kind(self, plain_numbers: bool) -> None:
        """Refuse dates where times are plain numbers, or the other way round."""
        kinds = ("dates", "plain numbers")
        for known in (self.first, self.last):
            for name, moment in known.items():
                if (np.asarray(moment).dtype.kind != "M") != plain_numbers:
                    raise BadRoster(
                        f"the roster says from when until when {name!r} is there in "
                        f"{kinds[not plain_numbers]}, and the times it is compared with are "
                        f"{kinds[plain_numbers]}: write both in one way."
                    )


def presence(
    roster: Roster | None, names: tuple[str, ...], moments: np.ndarray
) -> Bool[np.ndarray, "step stakeholder"] | None:
    """Who is there at each moment, or None where everyone always is."""
    if roster is None or not roster.dated:
        return None
    first, last = roster.bounds(names, moments.dtype.kind != "M")
    at = as_numbers(moments)[:, None]
    return (at >= first) & (at <= last)


# Who received how much at each time point: what a log comes down to, before it is judged.

BLOCK_VALUES = 1 << 20  # rewards made at a time, so that memory does not grow with the history


@dataclass(frozen=True, eq=False)
class History:
    """Events at one time are one time point (a slot); a cell is what one got at one of them.

    Most stakeholders get nothing at most times, so only the cells that occur are kept, in order
    of time. A slot is a time point where the history is `exact`, and otherwise a day, or of very
    many cells a month, by the last day of it at which anything happened. Cells may lie in a file
    (see `growable_column`), and so are looked at in parts.
    """

    names: tuple[str, ...]
    slots: np.ndarray  # moments: datetime64[us] in UTC, or plain numbers
    slot: Int[np.ndarray, " cell"]
    who: Int[np.ndarray, " cell"]
    amount: Float[np.ndarray, " cell"]
    marks: Bool[np.ndarray, " slot"] | None = None  # where the condition `when` holds
    exact: bool = True
    rows: int = 0
    events: int = 0
    beside: Mapping[str, Float[np.ndarray, " cell"]] = field(default_factory=dict)  # of each cell
    begins: np.datetime64 | None = None  # where slots are months: the first day of all

    @property
    def by_month(self) -> bool:
        """Whether days and weeks can no longer be told apart."""
        return self.begins is not None

    @property
    def first(self) -> Any:
        """The moment at which it begins."""
        return self.slots[0] if self.begins is None else self.begins

    @property
    def plain_numbers(self) -> bool:
        return self.slots.dtype.kind != "M"

    def days(self) -> np.ndarray:
        return self.slots.astype("datetime64[D]")

    def totals(self) -> Float[np.ndarray, " stakeholder"]:
        return np.bincount(self.who, weights=self.amount, minlength=len(self.names))

    def ledger(self, name: str) -> TimedAmounts:
        """What the log says beside the amounts, under one of the names of `beside`."""
        at = as_numbers(self.slots)[self.slot]
        return TimedAmounts(at, self.who, self.beside[name], len(self.names))

    def received(self) -> TimedAmounts:
        """The amounts themselves, over time."""
        at = as_numbers(self.slots)[self.slot]
        return TimedAmounts(at, self.who, self.amount, len(self.names))

    def parts(self) -> Iterator[slice]:
        """The cells, some at a time."""
        for start in range(0, len(self.slot), BLOCK_VALUES):
            yield slice(start, start + BLOCK_VALUES)

    def before(self, slot: int) -> History:
        """Without what happened at a slot and after it."""
        cells = int(np.searchsorted(self.slot, slot))
        return replace(
            self,
            slots=self.slots[:slot],
            slot=self.slot[:cells],
            who=self.who[:cells],
            amount=self.amount[:cells],
            marks=None if self.marks is None else self.marks[:slot],
            beside={name: values[:cells] for name, values in self.beside.items()},
        )

    def only_cells(self, kept: Callable[[slice], Bool[np.ndarray, " cell"]]) -> History:
        """Without some of the cells; times at which nothing is left are dropped."""
        slot, who, amount = Column(np.int64), Column(np.int64), Column(np.float64)
        beside = {name: Column(np.float64) for name in self.beside}
        left = np.zeros(len(self.slots), dtype=bool)
        for part in self.parts():
            here = kept(part)
            slot.append(self.slot[part][here])
            who.append(self.who[part][here])
            amount.append(self.amount[part][here])
            for name, column in beside.items():
                column.append(self.beside[name][part][here])
            left[self.slot[part][here]] = True
        if not left.all():
            place, moved = np.cumsum(left) - 1, Column(np.int64)
            old = slot.array()
            for start in range(0, len(old), BLOCK_VALUES):
                moved.append(place[old[start : start + BLOCK_VALUES]])
            slot = moved
        return replace(
            self,
            slots=self.slots[left],
            slot=slot.array(),
            who=who.array(),
            amount=amount.array(),
            marks=None if self.marks is None else self.marks[left],
            beside={name: column.array() for name, column in beside.items()},
        )

    def rewards(
        self, step_of_slot: Int[np.ndarray, " slot"], steps: int
    ) -> Iterator[Float[np.ndarray, "step stakeholder"]]:
        """What each received at each step, in blocks; slots that share a step are added up."""
        size = len(self.names)
        length = max(1, BLOCK_VALUES // size)
        for start in range(0, steps, length):
            stop = min(start + length, steps)
            slots = np.searchsorted(step_of_slot, (start, stop))
            low, high = np.searchsorted(self.slot, slots)
            rewards = np.zeros((stop - start) * size)
            for first in range(low, high, BLOCK_VALUES):
                part = slice(first, min(first + BLOCK_VALUES, high))
                place = (step_of_slot[self.slot[part]] - start) * size + self.who[part]
                rewards += np.bincount(place, weights=self.amount[part], minlength=len(rewards))
            yield rewards.reshape(stop - start, size)

    def fingerprint(self) -> str:
        """A digest of what was judged: names, times and amounts."""
        digest = hashlib.sha256("\0".join(self.names).encode("utf-8", "surrogatepass"))
        beside = (self.beside[name] for name in sorted(self.beside))
        for array in (self.slots, self.slot, self.who, self.amount, *beside):
            for start in range(0, len(array), BLOCK_VALUES):
                digest.update(np.ascontiguousarray(array[start : start + BLOCK_VALUES]).tobytes())
        return digest.hexdigest()


# The lots that were given out: each row of a log that is an event, which somebody got whole.


@dataclass(frozen=True, eq=False)
class Lots:
    """Lots in order of time; equal ones that one stakeholder got at one time are counted.

    A negative lot is a correction of what somebody got before.
    """

    slot: Int[np.ndarray, " lot"]  # the time point, as a place in the history's slots
    who: Int[np.ndarray, " lot"]
    amount: Float[np.ndarray, " lot"]
    copies: Int[np.ndarray, " lot"]

    def within(self, whole: History, history: History, roster: Roster | None) -> Lots:
        """The lots of a part of the history that they are of, while those who got them are there.

        Args:
            whole: The history that they are of.
            history: The part, of the same stakeholders.
            roster: Who is there, and when.
        """
        if history is whole:
            return self
        moments, given = as_numbers(history.slots), as_numbers(whole.slots)[self.slot]
        slot = np.minimum(np.searchsorted(moments, given), len(moments) - 1)
        kept = moments[slot] == given
        if roster is not None and roster.dated:
            first, last = roster.bounds(history.names, history.plain_numbers)
            kept &= (given >= first[self.who]) & (given <= last[self.who])
        return Lots(slot[kept], self.who[kept], self.amount[kept], self.copies[kept])


def lots_of_cells(history: History) -> Lots:
    """What each got at each time point as one lot."""
    one = np.ones(len(history.slot), dtype=np.int64)
    return Lots(
        np.array(history.slot), np.array(history.who), np.array(history.amount, dtype=float), one
    )


# What is left of requests: one definition for the audit, chance, the best there was and rules.

MET = 1e-9  # of what was asked for: what came in many small parts does not add up exactly


def open_amount(asked: Any, received: Any) -> Any:
    """How much is still wanted: numbers, or arrays of them.

    >>> open_amount(3.0, 1.0), open_amount(100.0, sum([0.1] * 1000))
    (2.0, 0.0)
    """
    left = asked - received
    return left * (left > MET * asked)


def most_with(asked: Any) -> Any:
    """How much may be received with such requests, as far as numbers can be told apart."""
    return asked + MET * asked
