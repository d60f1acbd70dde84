"""JSON lines in: from the bytes of a stream to events, with every bad line named and counted.

An event is an object with a stakeholder, a time (an ISO date or timestamp, or a number) and an
amount (1 if it has none). A line that is none of this is a bad line: it is skipped and counted.
"""

from __future__ import annotations

import json
import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from evenhand._util.numbers import DAY
from evenhand._util.wording import join_names, nearest, short_repr
from evenhand.auditing.questions import MOST_PERIODS, Period
from evenhand.errors import BadLog, MissingKey, argument
from evenhand.log.options import refuse_shared
from evenhand.monitor.monitor import Batch, text_as_number

GROUP = 500  # lines that are looked through together: more would not fit the allocator's own pages
REMEMBERED_IDS = 100_000  # the latest, so that memory does not grow


@dataclass(frozen=True)
class Keys:
    """What the parts of an event are called in its JSON object."""

    stakeholder: str = "stakeholder"
    time: str = "time"
    amount: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        refuse_shared(vars(self), "key", allowed=({"time", "id"},))

    def argument(self, key: str) -> str:
        """The argument that names a key."""
        return next(name for name, given in vars(self).items() if given == key)


@dataclass
class Counts:
    """What came in, and what did not count."""

    lines: int = 0
    events: int = 0
    empty: int = 0  # no amount, and so not an event
    repeated: int = 0  # an id that was seen before
    bad: int = 0
    first_bad: list[str] = field(default_factory=list)


class Reader:
    """Lines to events. Remembers whether times are dates or numbers, and the latest ids."""

    def __init__(
        self,
        keys: Keys,
        names: Iterable[str],
        strict: bool = False,
        period: Period | None = None,
    ) -> None:
        self.keys = keys
        self.period = period  # that is assessed, whether or not anything happens in it
        self._latest: float | None = None  # moment, where there is a period
        self.places = {name: k for k, name in enumerate(names)}
        self.strict = strict
        self.plain_numbers: bool | None = None  # known with the first event
        self.counts = Counts()
        self._named = [key for key in vars(keys).values() if key is not None]
        self._quoted = [json.dumps(key).encode() for key in self._named]
        self.ids: OrderedDict[Any, None] = OrderedDict()  # a dict is slow to forget its first
        self._last_text: str | None = None  # that was read as a time, and
        self._last_moment = math.nan  # what it says
        self._without: Counter[str] = Counter()  # lines that lack a key, by the key
        self._first_without: dict[str, Any] = {}  # the first of them
        self._strangers, self._first_stranger = 0, ""
        self._first_left_out = ""  # the sentence about it; that of `counts` may have been shown
        self._left_out = 0  # bad lines of this run; `counts` has those of the runs before it too
        self._no_objects = 0  # lines that are none, and so say nothing about keys and names

    def read(self, lines: list[bytes]) -> Batch:
        """The events of some lines."""
        events: list[tuple[float, int, float]] = []
        for start in range(0, len(lines), GROUP):
            self._read_group(lines[start : start + GROUP], events)
        self.counts.events += len(events)
        return Batch.of(events, bool(self.plain_numbers))

    def _read_group(self, lines: list[bytes], events: list[tuple[float, int, float]]) -> None:
        read = self._event_of_single_keys if self._some_key_twice(lines) else self._event
        for line in lines:
            self.counts.lines += 1
            try:
                event = read(line)
            except (KeyError, ValueError, TypeError) as error:
                self._bad(line, error)
                continue
            if event is not None:
                events.append(event)

    def snapshot(self) -> dict[str, Any]:
        """All that is needed to go on as if the reader had never stopped."""
        counts = {name: value for name, value in vars(self.counts).items() if name != "first_bad"}
        return {
            "counts": counts,
            "ids": list(self.ids),
            "plain_numbers": self.plain_numbers,
            "latest": self._latest,
        }

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where another reader of the same keys stopped."""
        self.counts = Counts(**snapshot["counts"])
        self.ids = OrderedDict.fromkeys(snapshot["ids"])
        self.plain_numbers = snapshot["plain_numbers"]
        self._latest = snapshot["latest"]

    def refuse_what_never_fits(self) -> None:
        """Where no line at all could be taken nothing was watched, and that is no good news.

        Where every object lacks a key, or is about a stranger, the options are wrong. Lines that
        are no objects are no reason to think otherwise: a log often has some.
        """
        counts, without = self.counts, self._without
        if not self._left_out or counts.events or counts.empty or counts.repeated:
            return
        explained = self._strangers + without.total()
        if len(without) > 1 or not explained or explained + self._no_objects < self._left_out:
            raise BadLog(
                f"no line that was read could be taken: {self._first_left_out} Each must be a JSON "
                f"object with {join_names([repr(key) for key in self._named])}."
            )
        for key in without:
            known = [str(name) for name in self._first_without]
            raise MissingKey(
                key,
                known=known,
                nearest=nearest(key, known, least=0.5),
                argument=self.keys.argument(key),
            )
        near = nearest(self._first_stranger, self.places)
        watched = list(self.places)[:12] if near is None else [near]
        raise BadLog(
            "no line that was read is about anybody who is watched: the first is about "
            f"{short_repr(self._first_stranger)}, and watched is "
            f"{', '.join(map(short_repr, watched))}; check the "
            f"spelling ({argument('names')}, {argument('roster')})."
        )

    def _some_key_twice(self, lines: list[bytes]) -> bool:
        """Whether a line may have a key of ours twice: asked of many at once, as it is quicker."""
        together = b"\n".join(lines)
        return any(together.count(key) > len(lines) for key in self._quoted)

    def _event_of_single_keys(self, line: bytes) -> tuple[float, int, float] | None:
        """An event, unless a key of ours is there twice: the last value would count unsaid."""

        def once(pairs: list[tuple[str, Any]]) -> None:
            names = [name for name, _ in pairs]
            for key in self._named:
                if names.count(key) > 1:
                    raise ValueError(f"it has the key {key!r} twice")

        if any(line.count(key) > 1 for key in self._quoted):
            try:
                json.loads(line, object_pairs_hook=once)
            except RecursionError:
                raise ValueError("it is nested too deep") from None
        return self._event(line)

    def _event(self, line: bytes) -> tuple[float, int, float] | None:
        if line.isspace() or not line:
            return None
        event = orjson.loads(line)
        keys = self.keys
        place = self.places.get(event[keys.stakeholder])
        if place is None:
            place = self._place(event[keys.stakeholder])
        amount = 1.0
        if keys.amount is not None:
            given = event[keys.amount]
            if given is None:
                self.counts.empty += 1
                return None
            if type(given) is not float and type(given) is not int:
                raise ValueError(f"the amount {short_repr(given)} is not a number")
            amount = float(given)
            if not math.isfinite(amount):
                raise ValueError(f"the amount {given!r} is not finite")
        # All that can be wrong with an id comes first: a time of a bad line must leave no trace.
        repeated = keys.id is not None and event[keys.id] in self.ids
        moment = self._moment(event[keys.time])
        if repeated:
            self.counts.repeated += 1
            return None
        if keys.id is not None:
            self._keep_id(event[keys.id])
        return moment, place, amount

    def _place(self, name: Any) -> int:
        place = self.places.get(str(name))  # a number in JSON, a text on the roster
        if place is None:
            self._first_stranger = self._first_stranger or str(name)
            self._strangers += 1
            raise ValueError(f"{short_repr(name)} is not among the stakeholders watched")
        return place

    def _moment(self, value: Any) -> float:
        is_number = type(value) is int or type(value) is float
        if not is_number and type(value) is not str:
            raise ValueError(f"the time {short_repr(value)} is not a date, a timestamp or a number")
        if self.plain_numbers is not None and is_number != self.plain_numbers:
            raise ValueError(f"the time {short_repr(value)} is not of the kind of those before it")
        moment = float(value) if is_number else self._dated(value)
        self.plain_numbers = is_number  # once it was read: a bad first time must decide nothing
        return moment

    def _dated(self, text: str) -> float:
        if text != self._last_text:  # events at one time often come together
            moment = text_as_number(text)
            if self.period is not None:
                self._refuse_leap(self.period, text, moment)
            self._last_text, self._last_moment = text, moment
        return self._last_moment

    def _refuse_leap(self, period: Period, text: str, moment: float) -> None:
        """One wrong date would be followed by an assessment for each period on the way to it."""
        latest = moment if self._latest is None else self._latest
        if moment - latest > MOST_PERIODS * period.days * DAY:
            raise ValueError(
                f"the time {text!r} is more than {MOST_PERIODS:,} {period.name}s after the latest "
                "before it"
            )
        self._latest = max(latest, moment)

    def _keep_id(self, name: Any) -> None:
        if len(self.ids) >= REMEMBERED_IDS:
            self.ids.popitem(last=False)
        self.ids[name] = None

    def _wrong_type(self, event: Any) -> str:
        """What of an event cannot be what it is."""
        if isinstance(event, dict):
            for key in self._named:
                if isinstance(event.get(key), list | dict | bool | None):
                    return f"its {key!r} is {short_repr(event.get(key))}"
        return "it is not an object with a stakeholder and a time"

    def _bad(self, line: bytes, error: Exception) -> None:
        self.counts.bad += 1
        self._left_out += 1
        reason = str(error)
        if isinstance(error, KeyError):
            reason = f"{error.args[0]!r} is missing"
            self._first_without = self._first_without or orjson.loads(line)
            self._without[error.args[0]] += 1
        if isinstance(error, TypeError):
            event = orjson.loads(line)
            self._no_objects += not isinstance(event, dict)
            reason = self._wrong_type(event)
        if isinstance(error, json.JSONDecodeError):  # orjson's is one too
            self._no_objects += 1
            reason = "it is not a JSON object"
        sentence = f"line {self.counts.lines:,} was left out: {reason.rstrip('.')}."
        self._first_left_out = self._first_left_out or sentence
        if self.strict:
            raise BadLog(f"line {self.counts.lines:,} cannot be taken: {reason.rstrip('.')}.")
        if len(self.counts.first_bad) < 10:
            self.counts.first_bad.append(sentence)
