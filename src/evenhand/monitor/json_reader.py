"""JSON lines in: from the bytes of a stream to events, with every bad line named and counted.

An event is an object with a stakeholder, a time (an ISO date or timestamp, or a number) and an
amount (1 if it has none). A line that is none of this is a bad line: it is skipped and counted.
"""

from __future__ import annotations

import datetime
import difflib
import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import orjson

from evenhand.errors import BadLog, MissingColumn

REMEMBERED_IDS = 100_000  # the latest, so that memory does not grow
EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True)
class Keys:
    """What the parts of an event are called in its JSON object."""

    stakeholder: str = "stakeholder"
    time: str = "time"
    amount: str | None = None
    id: str | None = None


class Batch(NamedTuple):
    """Events in the order in which they came; a time is microseconds since 1970, or a number."""

    at: np.ndarray
    who: np.ndarray
    amount: np.ndarray


@dataclass
class Counts:
    """What came in, and what did not count."""

    lines: int = 0
    events: int = 0
    empty: int = 0  # no amount: no event
    repeated: int = 0  # an id that was seen before
    late: int = 0  # earlier than an event before it
    bad: int = 0
    first_bad: list[str] = field(default_factory=list)


class Reader:
    """Lines to events. Remembers whether times are dates or numbers, and the latest ids."""

    def __init__(self, keys: Keys, names: Iterable[str], strict: bool = False) -> None:
        self.keys = keys
        self.places = {name: k for k, name in enumerate(names)}
        self.strict = strict
        self.plain_numbers: bool | None = None  # known with the first event
        self.counts = Counts()
        self.ids: OrderedDict[Any, None] = OrderedDict()  # a dict is slow to forget its first
        self._last_text, self._last_moment = "", 0.0
        self._without: Counter[str] = Counter()  # lines that lack a key, by the key
        self._first_without: dict[str, Any] = {}  # the first of them
        self._strangers, self._first_stranger = 0, ""

    def read(self, lines: list[bytes]) -> Batch:
        """The events of some lines."""
        at, who, amount = [], [], []
        for line in lines:
            self.counts.lines += 1
            try:
                event = self._event(line)
            except (KeyError, ValueError, TypeError) as error:
                self._bad(line, error)
                continue
            if event is not None:
                at.append(event[0])
                who.append(event[1])
                amount.append(event[2])
        self.counts.events += len(at)
        return Batch(
            np.array(at, dtype=np.float64), np.array(who, dtype=np.int64), np.array(amount)
        )

    def refuse_what_never_fits(self) -> None:
        """Where every line lacks a key, or is about a stranger, the options are wrong."""
        counts, without = self.counts, self._without
        if not counts.bad or counts.events or counts.empty or counts.repeated:
            return
        if len(without) > 1 or self._strangers + without.total() < counts.bad:
            return
        for key in without:
            known = [str(name) for name in self._first_without]
            raise MissingColumn(
                f"no line that was read has a key {key!r} ({self._option(key)}): "
                f"{_nearest(key, known)}"
            )
        watched = difflib.get_close_matches(self._first_stranger, list(self.places), n=1)
        some = ", ".join(repr(name) for name in watched or list(self.places)[:12])
        raise BadLog(
            "no line that was read is about anybody who is watched: the first is about "
            f"{self._first_stranger!r}, and watched is {some}; check the spelling (--name, "
            "--roster)."
        )

    def _option(self, key: str) -> str:
        keys = self.keys
        options = {keys.stakeholder: "--stakeholder", keys.time: "--time", keys.amount: "--amount"}
        return options.get(key, "--id")

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
                raise ValueError(f"the amount {given!r} is no number")
            amount = float(given)
            if not math.isfinite(amount):
                raise ValueError(f"the amount {given!r} is not finite")
        moment = self._moment(event[keys.time])
        if keys.id is not None and self._seen(event[keys.id]):
            self.counts.repeated += 1
            return None
        return moment, place, amount

    def _place(self, name: Any) -> int:
        place = self.places.get(str(name))  # a number in JSON, a text on the roster
        if place is None:
            self._first_stranger = self._first_stranger or str(name)
            self._strangers += 1
            raise ValueError(f"{name!r} is not among the stakeholders watched")
        return place

    def _moment(self, value: Any) -> float:
        is_number = type(value) is int or type(value) is float
        if self.plain_numbers is None:
            self.plain_numbers = is_number
        if is_number != self.plain_numbers:
            raise ValueError(f"the time {value!r} is not of the kind of those before it")
        if is_number:
            return float(value)
        if value != self._last_text:  # events at one time often come together
            self._last_text, self._last_moment = value, microseconds(value)
        return self._last_moment

    def _seen(self, name: Any) -> bool:
        if name in self.ids:
            return True
        if len(self.ids) >= REMEMBERED_IDS:
            self.ids.popitem(last=False)
        self.ids[name] = None
        return False

    def _bad(self, line: bytes, error: Exception) -> None:
        self.counts.bad += 1
        reason = str(error)
        if isinstance(error, KeyError):
            reason = f"{error.args[0]!r} is missing"
            self._first_without = self._first_without or orjson.loads(line)
            self._without[error.args[0]] += 1
        if isinstance(error, TypeError):
            reason = "it is no object with a stakeholder and a time"
        if isinstance(error, orjson.JSONDecodeError):
            reason = "it is no JSON object"
        sentence = f"line {self.counts.lines:,} was left out: {reason.rstrip('.')}."
        if self.strict:
            raise BadLog(f"line {self.counts.lines:,} cannot be taken: {reason.rstrip('.')}.")
        if len(self.counts.first_bad) < 10:
            self.counts.first_bad.append(sentence)


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    some = ", ".join(repr(one) for one in known[:12])
    return f"did you mean {near[0]!r}?" if near else f"the keys are {some}."


def microseconds(text: str) -> float:
    """An ISO date or timestamp as microseconds since 1970 in UTC; without a zone it is UTC."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"the time {text!r} is no ISO date or timestamp") from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    since = moment - EPOCH
    return float((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def as_moment(at: float, plain_numbers: bool) -> Any:
    """What `audit` calls the same moment: a datetime64 in UTC, or the number."""
    return at if plain_numbers else np.datetime64(int(at), "us")


def counts_from(saved: Mapping[str, Any]) -> Counts:
    return Counts(**{**saved, "first_bad": []})
