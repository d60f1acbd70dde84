"""Events: people join, leave, pause, resume, are entitled, ask, are given; what is given is undone.

A list of events is a log: whoever decides live, replays a log or keeps a pool folds over them. An
event that exists is a valid one, and holds nothing that JSON could not.
"""

from __future__ import annotations

import dataclasses
import datetime
import numbers
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from evenhand._util.checks import is_finite_number, require_whole
from evenhand._util.registry import Registry
from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter, argument

Moment = float | str | None  # a number, or an ISO date where times are dates
# Most numbers are seen to be fit at once: asking what kind of number each is would take longer than
# a decision.
PLAIN, LARGE = (int, float), 1e300


def as_amount(given: Any, name: str = "amount") -> float:
    """An amount as JSON has it, an int staying one; refused unless it is a number above 0.

    >>> as_amount(np.int64(5)), as_amount(np.float32(0.5))
    (5, 0.5)
    """
    if type(given) in PLAIN and 0 < given < LARGE:
        return given
    if not is_finite_number(given) or given <= 0:
        raise BadParameter(f"{argument(name)} is {short_repr(given)}: it must be a number above 0.")
    return _as_number(given)


def as_moment(given: Any, name: str = "at") -> Moment:
    """A moment as JSON has it: a number, or a date as text; refused if it can be neither.

    >>> as_moment(datetime.date(2021, 3, 31)), as_moment(np.datetime64("2021-03-31T10:00"))
    ('2021-03-31', '2021-03-31T10:00:00')
    """
    if given is None or isinstance(given, str):
        return given
    if type(given) in PLAIN and -LARGE < given < LARGE:
        return given
    if isinstance(given, datetime.date):  # a datetime is one, too
        return given.isoformat()
    if isinstance(given, np.datetime64):
        return str(given.astype("datetime64[us]")).removesuffix(".000000")
    if not is_finite_number(given):
        raise BadParameter(
            f"{argument(name)} is {short_repr(given)}: it must be a plain number, or a date such "
            "as 2021-03-31T10:00 where times are dates."
        )
    return _as_number(given)


def _as_number(given: Any) -> float:
    return int(given) if isinstance(given, numbers.Integral) else float(given)


def _as_name(given: Any, name: str) -> str:
    if not isinstance(given, str) or not given:
        raise BadParameter(
            f"{argument(name)} is {short_repr(given)}: it must be a text that is not empty."
        )
    return given


def _as_names(given: Any, name: str) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = given if isinstance(given, tuple) else tuple(given)
    for one in names:
        _as_name(one, name)
    return names


# Every field of an event, and how it is checked and brought to the form that JSON has.
_FIELDS: dict[str, Callable[[Any, str], Any]] = {
    "name": _as_name,
    "at": as_moment,
    "entitlement": as_amount,
    "amount": as_amount,
    "among": _as_names,
    "number": lambda given, name: require_whole(given, argument(name)),
    "reason": lambda given, name: None if given is None else str(given),
}


@dataclass(frozen=True)
class Event:
    """Something that happens, at a moment that may be left to whoever lets it happen."""

    kind: ClassVar[str]  # in a word, as JSON has it

    def __post_init__(self) -> None:
        fields = vars(self)
        for name, given in fields.items():
            fields[name] = _FIELDS[name](given, name)

    def to_json(self) -> dict[str, Any]:
        """The event as JSON has it, such as {"event": "give", "name": "A", "amount": 1.0}."""
        said = {name: value for name, value in vars(self).items() if value is not None}
        return {"event": self.kind, **said}

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> Self:
        """The event that JSON says, if it is one of this class."""
        kind = table.get("event")
        if not isinstance(kind, str):
            raise BadParameter(
                f"an event says what happened in 'event', one of {', '.join(EVENTS.classes)}; "
                f"here it is {kind!r}."
            )
        made = EVENTS.get(kind)
        if not issubclass(made, cls):
            kinds = [name for name, one in EVENTS.classes.items() if issubclass(one, cls)]
            raise BadParameter(f"the event is {kind!r}: it must be one of {', '.join(kinds)}.")
        given = {name: value for name, value in table.items() if name != "event"}
        fields = {field.name: field.default for field in dataclasses.fields(made)}
        for name in given:
            if name not in fields:
                raise BadParameter(f"a {kind} event has no {name!r}: it has {', '.join(fields)}.")
        if "name" in fields and not isinstance(given.get("name"), str):
            raise BadParameter(f"a {kind} event needs the 'name' of a stakeholder.")
        for name, default in fields.items():
            if default is MISSING and name not in given:
                raise BadParameter(f"a {kind} event needs a {name!r}.")
        return made(**given)


@dataclass(frozen=True)
class MemberEvent(Event):
    """Something that happens to a stakeholder."""

    name: str
    at: Moment = None


@dataclass(frozen=True)
class Join(MemberEvent):
    """A stakeholder is there from now on, entitled to so much."""

    kind = "join"
    entitlement: float = 1.0


@dataclass(frozen=True)
class Leave(MemberEvent):
    """A stakeholder is not there any longer, for good."""

    kind = "leave"


@dataclass(frozen=True)
class Pause(MemberEvent):
    """A stakeholder is still there, and not to be chosen until they resume."""

    kind = "pause"


@dataclass(frozen=True)
class Resume(MemberEvent):
    """A stakeholder may be chosen again."""

    kind = "resume"


@dataclass(frozen=True)
class Entitle(MemberEvent):
    """A stakeholder is entitled to another amount from now on."""

    kind = "entitle"
    entitlement: float = 1.0


@dataclass(frozen=True)
class Ask(MemberEvent):
    """A stakeholder asks for so much more."""

    kind = "ask"
    amount: float = 1.0


@dataclass(frozen=True)
class Give(MemberEvent):
    """A stakeholder is given an amount: whoever was next, or anybody else.

    Args:
        among: Who could take it, if not all who are eligible.
    """

    kind = "give"
    amount: float = 1.0
    among: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Undo(Event):
    """What was given counts as not given from now on. It stays in the log, and so does this.

    Args:
        number: The place in the log of what is undone, counted from 1.
        reason: Why.
    """

    kind = "undo"
    number: int
    reason: str | None = None
    at: Moment = None


EVENTS = Registry(
    "event",
    {cls.kind: cls for cls in (Join, Leave, Pause, Resume, Entitle, Ask, Give, Undo)},
)
