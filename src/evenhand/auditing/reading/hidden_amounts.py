"""Suppressed amounts: unknown, not zero. What is judged without them, and what they can hide.

The verdict is of what is known. A stakeholder of whom nothing is known is in the answer and not
judged. Beside it stands what the verdict would be with the lowest and the highest amounts that the
marks can hide, all of them at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from evenhand._util.wording import join_names, pluralise
from evenhand.auditing.reading.events import HIDDEN, LogEvents
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.roster import Roster
from evenhand.auditing.sources.engines import Arrays, fetch
from evenhand.errors import argument

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
