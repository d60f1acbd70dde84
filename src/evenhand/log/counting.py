"""From rows to a history, worked out in the engine; suppressed amounts, unknown and not zero."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from evenhand._util.numbers import as_numbers
from evenhand._util.wording import join_names, pluralise
from evenhand.errors import BadLog, argument
from evenhand.log import checks
from evenhand.log.engines import Arrays, engine_of, fetch
from evenhand.log.history import Column, History, Lots, Roster, lots_of_cells
from evenhand.log.layout import Notes
from evenhand.log.options import AuditOptions
from evenhand.log.rows import HIDDEN, LogEvents

# From events to a history: who received how much at each time point, worked out in the engine.
#
# One pass over the log groups it by time and stakeholder; what comes back has a row for each pair
# that occurs, and comes in blocks. A log too long for that is grouped by day, where the question is
# about calendar time.

EXACT_ROWS = 5_000_000  # a longer log is grouped by day where no question needs every time point
MANY_NAMES = 5_000  # with as many stakeholders, such a log is grouped by month where that will do
SAMPLED_ROWS = 200_000  # of which it is seen how many stakeholders there are
CHECKED_ROWS = 5_000_000  # a longer log is not searched for rows that are duplicates or unsorted
MADE_OF_MONTHS = ("month", "quarter", "year")
BY_MONTH = (
    "The log is long and has many stakeholders, and was added up by month: it was not asked what "
    "would be found day by day or week by week."
)


def count(events: LogEvents, notes: Notes, exact: bool, names: tuple[str, ...] = ()) -> History:
    """The history of a log; `names` are those on a roster, if there is one."""
    engine = engine_of(events.frame)
    rows = int(fetch(events.frame.select(rows=nw.len()))["rows"][0])
    if rows == 0:
        raise BadLog(
            f"{events.table.label} has no rows to judge: it holds a header only, or the filters "
            "leave nothing."
        )
    small = rows <= CHECKED_ROWS
    exact = exact or rows <= EXACT_ROWS or events.plain_numbers
    by_month = not exact and _months_will_do(events.options) and _has_many_names(events)
    if by_month:
        notes.add(BY_MONTH)
    held = engine.hold(_cells(events, exact, by_month))
    try:
        seen = checks.scan_cells(events, held)
        # Looking at every amount for NaN costs a tenth of the pass; a sum shows if there is any.
        if engine.has_nan and seen.endless:
            engine.release(held)
            events = events.without_nan()
            held = engine.hold(_cells(events, exact, by_month))
            seen = checks.scan_cells(events, held)
        if seen.wrong:
            checks.refuse_unreadable(events)
        checks.refuse_beside(events)
        everyone = tuple(sorted({*seen.names, *names}))
        cells = held
        if events.options.stock:
            checks.refuse_negative_stock(events)
        if events.options.holds_readings:
            checks.refuse_two_readings(events, cells)
            cells = _differences(cells, exact, events.plain_numbers)
        index = cells.select("who").unique().with_row_index("code", order_by="who")
        coded = cells.join(index, on="who").drop("who")
        gathered = _Gathering(events, seen.names, everyone)
        for block in engine.blocks(coded, ("at", "code"), seen.cells):
            gathered.take(block)
    finally:
        engine.release(held)
    gathered.refuse_change(rows)
    checks.note_rows(events, gathered.empty, gathered.negative, rows, notes, search=small)
    return gathered.history(exact, rows)


def count_beside(events: LogEvents, given: str, wanted: str, notes: Notes) -> History:
    """The history of a table beside the log, in which every amount has to be known.

    Args:
        events: Its rows.
        given: The argument that names the table, which notes about it begin with.
        wanted: What is asked for in place of an amount that is hidden.
        notes: Where to note how it was read.
    """
    for mark in events.hidden:
        raise BadLog(
            f"{events.table.label} ({argument(given)}) hides an amount behind {mark!r}: give "
            f"{wanted}."
        )
    own = Notes()
    found = count(events, own, exact=True)
    for sentence in (*events.notes, *own.sentences):
        notes.add(f"{argument(given)}: {sentence}")
    return found


def _months_will_do(options: AuditOptions) -> bool:
    """Whether the question is about months or what is made of them, and so is all that is known.

    Each of the others says what was so on some day.
    """
    asked = options.at_end or options.every in MADE_OF_MONTHS
    dated = ("since", "until", "roster", "entitlement", "newcomers", "out_of")
    return (
        asked
        and all(getattr(options, name) is None for name in dated)
        and not (options.holds_readings or options.has_requests)
    )


def _has_many_names(events: LogEvents) -> bool:
    """Whether there is next to no gain in grouping by day, by the first rows."""
    first = events.frame.select("who").head(SAMPLED_ROWS).unique()
    return int(fetch(first.select(names=nw.len()))["names"][0]) >= MANY_NAMES


def _cells(events: LogEvents, exact: bool, by_month: bool) -> nw.LazyFrame[Any]:
    if by_month:
        return _monthly_sums(events)
    return _readings(events) if events.options.holds_readings else _sums(events, exact)


def _monthly_sums(events: LogEvents) -> nw.LazyFrame[Any]:
    """By month, with the first and the last day on which anybody received something."""
    month = nw.col("at").dt.truncate("1mo")
    frame = events.frame.with_columns(at=month, day=nw.col("at").dt.date())
    day = nw.when(~nw.col("amount").is_null()).then(nw.col("day"))
    ends = day.min().alias("first"), day.max().alias("last")
    total = nw.col("amount").sum()
    return frame.group_by("at", "who").agg(*_aggregates(events, total), *ends)


def _sums(events: LogEvents, exact: bool) -> nw.LazyFrame[Any]:
    frame = events.frame
    if not exact and not events.plain_numbers:
        frame = frame.with_columns(nw.col("at").dt.date())
    return frame.group_by("at", "who").agg(*_aggregates(events, nw.col("amount").sum()))


def _aggregates(events: LogEvents, amount: nw.Expr) -> list[nw.Expr]:
    col = nw.col("amount")
    parts = [
        amount.alias("amount"),
        nw.len().alias("rows"),
        col.count().alias("events"),
        col.min().alias("least"),
    ]
    if events.text_amounts:
        unread = col.is_null() & ~nw.col("amount_text").is_null()
        one = nw.when(unread).then(nw.lit(1)).otherwise(nw.lit(0))
        parts.append(one.sum().alias("unread"))
    if events.has(HIDDEN[0]):
        hidden = nw.when(col.is_null()).then(nw.col(HIDDEN[0]))
        parts.append(hidden.count().alias("suppressed"))
    for name in events.beside:
        parts.append(_beside(name))
    if events.has("mark"):
        parts.append((nw.col("mark") & ~col.is_null()).any().alias("mark"))
    return parts


def _beside(name: str) -> nw.Expr:
    """What stands beside the amounts of one cell: an entitlement is a level, all else adds up."""
    values = nw.when(~nw.col("amount").is_null()).then(nw.col(name))
    return (values.max() if name == "entitled" else values.sum()).alias(name)


def _readings(events: LogEvents) -> nw.LazyFrame[Any]:
    """Running totals: one reading for each stakeholder and time, before differences are taken."""
    return events.frame.group_by("at", "who").agg(*_aggregates(events, nw.col("amount").max()))


def _differences(cells: nw.LazyFrame[Any], exact: bool, plain_numbers: bool) -> nw.LazyFrame[Any]:
    """What was added since the reading before; the first reading is an increment itself."""
    read = cells.filter(nw.col("events") > 0)
    before = nw.col("amount").shift(1).over("who", order_by="at")
    read = read.with_columns(before=before)
    gained = nw.when(nw.col("before").is_null()).then(nw.col("amount"))
    read = read.with_columns(amount=gained.otherwise(nw.col("amount") - nw.col("before")))
    read = read.with_columns(least=nw.col("amount")).drop("before")
    both = nw.concat([read, cells.filter(nw.col("events") == 0).select(read.columns)])
    if exact or plain_numbers:
        return both
    names = both.collect_schema().names()
    parts = [
        nw.col(n).sum() for n in ("amount", "rows", "events", "unread", "suppressed") if n in names
    ]
    parts += [nw.col("least").min()] + ([nw.col("mark").any()] if "mark" in names else [])
    parts += [nw.col("entitled").max()] if "entitled" in names else []
    return both.with_columns(nw.col("at").dt.date()).group_by("at", "who").agg(*parts)


class _Gathering:
    """What comes back of a log, block by block, made into a history."""

    def __init__(self, events: LogEvents, names: Sequence[str], everyone: tuple[str, ...]) -> None:
        self.events, self.names = events, everyone
        places = {name: k for k, name in enumerate(everyone)}
        self._place = np.array([places[name] for name in names], dtype=np.int64)
        self.rows = self.counted = self.negative = self.suppressed = 0
        self._slots = Column(np.float64 if events.plain_numbers else "datetime64[us]")
        self._slot, self._who = Column(np.int64), Column(np.int64)
        self._amount = Column(np.float64)
        self._beside = {name: Column(np.float64) for name in events.beside}
        self._marked: list[np.ndarray] | None = [] if events.has("mark") else None
        self._last: Any = None
        self._days: dict[int, np.datetime64] = {}  # where slots are months: the last day of each
        self._begins: np.datetime64 | None = None

    @property
    def empty(self) -> int:
        """Rows that have no amount."""
        return self.rows - self.counted - self.suppressed

    def take(self, found: Arrays) -> None:
        counts = found["events"].astype(np.int64)
        self.rows += int(found["rows"].sum())
        self.counted += int(counts.sum())
        self.suppressed += int(found["suppressed"].sum()) if "suppressed" in found else 0
        self.negative += int((found["least"] < 0).sum())
        kept = counts > 0
        at = found["at"][kept]
        if not len(at):
            return
        code = found["code"][kept].astype(np.int64)
        if code.max() >= len(self._place):
            raise self._changed()
        first = self._last is None or at[0] != self._last
        new = np.concatenate(([first], at[1:] != at[:-1]))
        slot = self._slots.length - 1 + np.cumsum(new)
        self._slots.append(at[new])
        self._slot.append(slot)
        self._who.append(self._place[code])
        self._amount.append(found["amount"][kept])
        for name, column in self._beside.items():
            column.append(found[name][kept].astype(np.float64))
        if self._marked is not None:
            self._marked.append(np.unique(slot[found["mark"][kept] == 1]))
        if "last" in found:
            self._take_days(slot, found["first"][kept], found["last"][kept])
        self._last = at[-1]

    def _take_days(self, slot: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
        begins = np.flatnonzero(np.diff(slot, prepend=-1))
        latest = np.maximum.reduceat(last.astype("datetime64[D]"), begins)
        for one, day in zip(slot[begins].tolist(), latest, strict=True):
            self._days[one] = max(day, self._days.get(one, day))
        earliest = first.astype("datetime64[D]").min().astype("datetime64[us]")
        self._begins = earliest if self._begins is None else min(earliest, self._begins)

    def refuse_change(self, rows: int) -> None:
        """A table is asked several times; where it is no longer the same, nothing would be true."""
        if self.rows != rows:
            raise self._changed()

    def _changed(self) -> BadLog:
        return BadLog(
            f"{self.events.table.label} changed while it was read: audit a table that stays as it "
            "is for so long, such as a copy."
        )

    def history(self, exact: bool, rows: int) -> History:
        if not self._slots.length:
            raise BadLog(
                f"{self.events.table.label} has no events: none of its {pluralise(rows, 'row')} "
                "has an amount."
            )
        marks = None
        if self._marked is not None:
            marks = np.zeros(self._slots.length, dtype=bool)
            for slots in self._marked:
                marks[slots] = True
        return History(
            names=self.names,
            slots=self._moments(),
            slot=self._slot.array(),
            who=self._who.array(),
            amount=self._amount.array(),
            marks=marks,
            exact=exact,
            rows=rows,
            events=self.counted,
            beside={name: column.array() for name, column in self._beside.items()},
            begins=self._begins,
        )

    def _moments(self) -> np.ndarray:
        if not self._days:
            return self._slots.array()
        days = [self._days[slot] for slot in range(self._slots.length)]
        return np.array(days, dtype="datetime64[us]")


# Suppressed amounts: unknown, not zero. What is judged without them, and what they can hide.
#
# The verdict is of what is known. A stakeholder of whom nothing is known is in the answer and not
# judged. Beside it stands what the verdict would be with the lowest and the highest amounts that
# the marks can hide, all of them at once.

SHOWN_MARKS = 4


class HiddenAmounts(ABC):
    """What a suppressed amount counts as."""

    @abstractmethod
    def fill(self, events: LogEvents) -> LogEvents:
        """The events with the amounts that count."""


@dataclass(frozen=True)
class LeftOut(HiddenAmounts):
    """They are unknown: such a row is not an event."""

    def fill(self, events: LogEvents) -> LogEvents:
        return events


@dataclass(frozen=True)
class FilledIn(HiddenAmounts):
    """Each is the lowest or the highest that its mark can hide."""

    end: str  # one of the columns that hold these

    def fill(self, events: LogEvents) -> LogEvents:
        if not events.has(self.end):
            return events
        amount = nw.coalesce(nw.col("amount"), nw.col(self.end)).alias("amount")
        return replace(events, frame=events.frame.with_columns(amount))


LEFT_OUT = LeftOut()
LOWEST, HIGHEST = FilledIn(HIDDEN[0]), FilledIn(HIDDEN[1])


@dataclass(frozen=True)
class HiddenRows:
    """The marks of a log, how often each stands there, and what it can hide."""

    marks: tuple[tuple[str, int, float, float], ...]  # text, rows, lowest, highest
    amounts: int  # that are known
    unknown: tuple[str, ...]  # stakeholders of whom no amount is known
    unsaid: bool  # whether a mark does not say what it can hide
    bounded: bool = True  # whether lowest and highest can be put in their place

    @property
    def rows(self) -> int:
        return sum(rows for _, rows, _, _ in self.marks)

    def shown_as(self, names: Mapping[str, str]) -> HiddenRows:
        """The same with names in place of codes."""
        return replace(self, unknown=tuple(names.get(name, name) for name in self.unknown))

    def sentence(self) -> str:
        """How many there are, and who is not judged because of them."""
        shown = [f"{text!r} in {pluralise(rows, 'row')}" for text, rows, _, _ in self.marks]
        words = (
            f"{pluralise(self.rows, 'amount is', 'amounts are')} suppressed "
            f"({join_names(shown, SHOWN_MARKS)}) and not counted."
        )
        if self.unknown:
            one = len(self.unknown) == 1
            words += (
                f" {join_names(self.unknown, 3)} {'is' if one else 'are'} not judged, as all of "
                f"{'its' if one else 'their'} amounts are suppressed."
            )
        return words

    def ranges(self) -> str:
        """What the marks can hide, such as "0 to 4 for '<5'"."""
        shown = [f"{low:g} to {high:g} for {text!r}" for text, _, low, high in self.marks]
        return join_names(list(dict.fromkeys(shown)), SHOWN_MARKS)

    def advice(self) -> str | None:
        """How to say what a mark hides, where it does not say so itself."""
        if not self.unsaid:
            return None
        text = self.marks[0][0]
        return (
            "A mark that does not say what it hides is taken to hide anything from 0 to the "
            f"largest amount in its column: say more with {argument('missing', f'{text}=1-4')}."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "marks": [
                {"mark": text, "rows": rows, "lowest": low, "highest": high}
                for text, rows, low, high in self.marks
            ],
            "not_judged": list(self.unknown),
        }


@dataclass(frozen=True, eq=False)
class HiddenOverTime:
    """The suppressed amounts of a whole log, and how many are known, by their times."""

    marks: Arrays  # of each mark and time: the text, rows, lowest and highest
    people: Arrays  # of each stakeholder and time: rows whose amount is known, and is hidden
    unsaid: frozenset[str]  # marks that do not say what they can hide
    bounded: bool

    def between(self, since: Any = None, until: Any = None) -> HiddenRows | None:
        """What is suppressed in a part of the log, if anything.

        Args:
            since: The moment from which rows count, if not all do.
            until: The moment up to which they do.
        """
        rows: Counter[str] = Counter()
        low: dict[str, float] = {}
        high: dict[str, float] = {}
        marks = _within(self.marks, since, until)
        columns = (marks[name].tolist() for name in ("mark", "rows", "low", "high"))
        for text, many, least, most in zip(*columns, strict=True):
            rows[text] += int(many)
            low[text] = min(float(least), low.get(text, np.inf))
            high[text] = max(float(most), high.get(text, -np.inf))
        if not rows:
            return None
        people = _within(self.people, since, until)
        seen = {str(name) for name in people["who"][people["known"] > 0]}
        hidden = {str(name) for name in people["who"][people["hidden"] > 0]}
        order = sorted(rows, key=lambda text: (-rows[text], text))
        return HiddenRows(
            tuple((str(text), rows[text], low[text], high[text]) for text in order),
            int(people["known"].sum()),
            tuple(sorted(hidden - seen)),
            not self.unsaid.isdisjoint(rows),
            self.bounded,
        )


def hidden_over_time(events: LogEvents) -> HiddenOverTime | None:
    """All that is suppressed in a log, if anything."""
    if not events.has(HIDDEN[2]):
        return None
    low, high = nw.col(HIDDEN[0]), nw.col(HIDDEN[1])
    there = events.frame.filter(~low.is_null()).with_columns(mark=nw.col(HIDDEN[2]))
    marks = fetch(there.group_by("mark", "at").agg(rows=nw.len(), low=low.min(), high=high.max()))
    if not len(marks["mark"]):
        return None
    known = nw.col("amount").count()
    return HiddenOverTime(
        marks,
        fetch(events.frame.group_by("who", "at").agg(known=known, hidden=low.count())),
        frozenset(text for text in marks["mark"].tolist() if _says_nothing(events.hidden, text)),
        bounded=not events.options.holds_readings,
    )


def _within(arrays: Arrays, since: Any, until: Any) -> Arrays:
    """The rows of a table between two moments."""
    kept = np.ones(len(arrays["at"]), dtype=bool)
    if since is not None:
        kept &= arrays["at"] >= since
    if until is not None:
        kept &= arrays["at"] <= until
    return {name: values[kept] for name, values in arrays.items()}


def _says_nothing(known: Mapping[str, Any], text: str) -> bool:
    mark = known.get(text.strip())
    return mark is None or mark.highest is None


def without_unknown(
    roster: Roster | None, history: History, unknown: tuple[str, ...]
) -> Roster | None:
    """The roster on which those of whom nothing is known are never there."""
    if not unknown:
        return roster
    known = Roster(history.names) if roster is None else roster
    before = history.slots[0] - (1.0 if history.plain_numbers else np.timedelta64(1, "D"))
    last = {**known.last, **dict.fromkeys(unknown, before)}
    first = {name: at for name, at in known.first.items() if name not in unknown}
    return replace(known, first=first, last=last)


# Lots, where rows are kept apart.


def read_lots(events: LogEvents, history: History) -> Lots:
    """The lots of a history that was counted from these events; of running totals, its cells."""
    one_row_each = history.events == len(history.slot)
    if events.options.holds_readings or one_row_each:
        return lots_of_cells(history)
    frame = events.frame.filter(~nw.col("amount").is_null())
    if not history.exact:
        frame = frame.with_columns(nw.col("at").dt.date())
    alike = frame.group_by("at", "who", "amount").agg(copies=nw.len())
    found = [
        _lots_at(block["at"], block["who"], block["amount"], block["copies"], history)
        for block in engine_of(frame).blocks(alike, ("at", "who", "amount"), history.events)
    ]
    slot, who, amount, copies = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Lots(slot, who, amount, copies)


def _lots_at(
    at: np.ndarray,
    names: np.ndarray,
    amount: np.ndarray,
    copies: np.ndarray,
    history: History,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The lots that the history counts, which are those at its time points."""
    moments = as_numbers(history.slots)
    given = as_numbers(at.astype(history.slots.dtype))
    slot = np.minimum(np.searchsorted(moments, given), len(moments) - 1)
    place = {name: k for k, name in enumerate(history.names)}
    # One by one: as text of NumPy's, a name that ends with a NUL would lose it.
    who = np.fromiter((place[str(name)] for name in names), np.int64, len(names))
    kept = (moments[slot] == given) & ~np.isnan(amount)
    return slot[kept], who[kept], amount[kept].astype(float), copies[kept].astype(np.int64)
