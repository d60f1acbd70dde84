"""Who is next: an allocator that remembers, explains itself, and can be saved."""

from __future__ import annotations

import contextlib
import datetime
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from evenhand._util.checks import require_kind, require_whole
from evenhand._util.numbers import microseconds, parse_moment
from evenhand._util.wording import format_number, nearest, short_repr
from evenhand.decide.rules.built_in import RULES, rule_of, rule_to_table
from evenhand.decide.rules.rule import TIES, Rule, TieBreak
from evenhand.errors import BadFile, BadParameter, UnknownStakeholder, argument
from evenhand.events import (
    Ask,
    Entitle,
    Give,
    Join,
    Leave,
    MemberEvent,
    Moment,
    Pause,
    Resume,
    as_amount,
    as_moment,
)
from evenhand.fairness.scheme import from_table, to_table

# A rule that decides live: who is next and why, with a state that is a fold over its events.

At = float | str | datetime.date | np.datetime64 | None
Happening = TypeVar("Happening", bound=MemberEvent)
MOST_COMPARED = 500  # names with which one that nobody has is compared, to say who may be meant
CONTROL = re.compile(r"[\x00-\x1f\x7f]")  # characters that no name has


@dataclass(frozen=True)
class Share:
    """Somebody to be given an amount, and why."""

    name: str
    amount: float
    reason: str


@dataclass(frozen=True)
class RankedStakeholder:
    """Where somebody stands: 1 is next; None is not eligible."""

    name: str
    rank: int | None
    level: float  # what the rule ranks by; the lowest is next
    reason: str

    def to_json(self) -> dict[str, Any]:
        level = self.level if math.isfinite(self.level) else None
        return {"name": self.name, "rank": self.rank, "level": level, "reason": self.reason}


class Allocator:
    """Who is next, among those who are there, by a rule; and why.

    Every change is an event (`MemberEvent`), which the methods return. `apply` on the same
    events in the same order makes the same state; asking changes nothing.

    >>> allocator = Allocator("least_served")
    >>> for name in ("Ann", "Ben", "Cem"):
    ...     _ = allocator.join(name)
    >>> [share.name for share in allocator.decide(count=2)]
    ['Ann', 'Ben']
    >>> allocator.next().name
    'Cem'
    >>> allocator.why("Ann")
    'Ann is second of 3: it has received 1. Cem is next: it has received 0.'
    >>> event = allocator.give("Cem", 5)
    >>> event.to_json()
    {'event': 'give', 'name': 'Cem', 'at': 2, 'amount': 5}
    >>> allocator.pause("Ann").to_json()["event"], allocator.next().name
    ('pause', 'Ben')
    >>> again = Allocator.restore(allocator.snapshot())
    >>> again.resume("Ann").name, [(one.name, one.rank) for one in again.ranking()]
    ('Ann', [('Ann', 1), ('Ben', 2), ('Cem', 3)])

    Args:
        rule: A rule, or its name, such as "least_served" or "half_life:7d".
        ties: How ties are broken: by the order of joining, unless said otherwise.
        by_request: Whether only those are eligible who asked for more than they received. The
            default is what the rule needs.
        dates: Whether moments are dates, and not plain numbers. A moment that is not given is the
            number of the turn.
    """

    def __init__(
        self,
        rule: Rule | str,
        *,
        ties: TieBreak | None = None,
        by_request: bool | None = None,
        dates: bool = False,
    ) -> None:
        self.rule = rule_of(rule)
        if by_request is False and self.rule.needs_requests:
            raise BadParameter(
                f"{self.rule.describe()} needs requests: leave {argument('by_request')} out."
            )
        if ties is not None:
            require_kind(ties, TieBreak, argument("ties"), "ByDraw(seed=1)")
        self.dates = dates
        wanted = self.rule.needs_requests if by_request is None else by_request
        self.state = self.rule.fitted(not dates).new_state(ties, wanted)
        self.names: list[str] = []
        self._place: dict[str, int] = {}

    # What happens.

    def join(self, name: str, at: At = None, entitlement: float = 1.0) -> Join:
        """Somebody is there from now on; it begins where the rule lets newcomers begin.

        Args:
            name: A text of one line that nobody had before, also nobody who has left.
            at: When, as in every method: a number, or a date where `dates` is set, and not before
                what happened last. The default is the number of the turn, or where moments are
                dates that of what happened last.
            entitlement: What it is entitled to, beside others: a number above 0.
        """
        if not isinstance(name, str) or not name.strip() or CONTROL.search(name):
            raise BadParameter(
                f"{argument('name')} is {short_repr(name)}: it must be a text of one line that is "
                "not empty."
            )
        return self.apply(Join(name, self._moment(at), entitlement))

    def leave(self, name: str, at: At = None) -> Leave:
        """Somebody is not there any longer, for good: whoever will be back is better paused.

        Args:
            name: Who has joined and not left.
            at: When.
        """
        return self.apply(Leave(name, self._moment(at)))

    def pause(self, name: str, at: At = None) -> Pause:
        """Somebody is not chosen until it resumes; what it has received still counts.

        Args:
            name: Who has joined and not left.
            at: When.
        """
        return self.apply(Pause(name, self._moment(at)))

    def resume(self, name: str, at: At = None) -> Resume:
        """Somebody who was paused may be chosen again; the rule says where it then stands.

        Args:
            name: Who has joined and not left.
            at: When.
        """
        return self.apply(Resume(name, self._moment(at)))

    def entitle(self, name: str, entitlement: float, at: At = None) -> Entitle:
        """Somebody is entitled to another amount from now on.

        Args:
            name: Who has joined and not left.
            entitlement: A number above 0, in place of the one before.
            at: When.
        """
        return self.apply(Entitle(name, self._moment(at), entitlement))

    def ask(self, name: str, amount: float = 1.0, at: At = None) -> Ask:
        """Somebody asks for so much more than it asked for before.

        Where requests count (`by_request`) it is eligible until it has received what it asked for.

        Args:
            name: Who has joined and not left.
            amount: How much more: a number above 0.
            at: When.
        """
        return self.apply(Ask(name, self._moment(at), amount))

    def give(
        self, name: str, amount: float = 1.0, at: At = None, among: Sequence[str] | None = None
    ) -> Give:
        """Take a decision: that of the rule, or another.

        Anybody who has joined and not left may be given something, also who is not next, is paused
        or did not ask; the rule takes it into account from then on. `next` and `propose` say whom
        the rule would choose, and `decide` follows it.

        Args:
            name: Who receives it.
            amount: How much: a number above 0.
            at: When.
            among: Who could take it, if not all who are eligible. A rule that counts the turns for
                which somebody was passed over does not count this one for the others. `name` is
                given it whether it is one of them or not.
        """
        able = None if among is None else tuple(among)
        return self.apply(Give(name, self._moment(at), amount, able))

    def apply(self, event: Happening) -> Happening:
        """Let an event happen; one that is refused leaves nothing half done."""
        place, state = self.require(event), self.state
        state.time = self._time(event.at)
        match event:
            case Give():
                among = self.places(event.among)
                # The rule is asked again, so that a state that is made from the log is the same, to
                # the last draw, as one that was asked when the decision was made.
                state.first(event.amount, among)
                state.give(place, event.amount, among)
            case Join():
                self.enter(event.name)
                state.add(event.entitlement, self.rule.number_of(event.name))
            case Leave():
                state.leave(place)
            case Pause():
                state.pause(place)
            case Resume():
                state.resume(place)
            case Entitle():
                state.entitle(place, event.entitlement)
            case Ask():
                state.ask(place, event.amount)
        return event

    # What is asked; nothing changes.

    def next(
        self, amount: float = 1.0, at: At = None, among: Sequence[str] | None = None
    ) -> Share | None:
        """Whoever is next to be given an amount whole, and why; None if nobody can take it.

        A rule that divides shares the amount; this is then the first of those who get some of it.

        Args:
            amount: How much: a number above 0.
            at: When.
            among: Who could take it, if not all who are eligible.
        """
        found = self.propose(amount, at=at, among=among)
        return found[0] if found else None

    def propose(
        self,
        amount: float = 1.0,
        *,
        count: int = 1,
        at: At = None,
        among: Sequence[str] | None = None,
        distinct: bool = False,
    ) -> list[Share]:
        """Whom to give `count` lots of an amount, one after the other; or how to share the amount.

        Args:
            amount: How much each lot is; a rule that divides shares it.
            count: How many lots there are: a whole number from 1.
            at: When.
            among: Who could take it, if not all who are eligible.
            distinct: Whether nobody is to get two of these lots.

        Returns:
            Who is given how much, and why, in this order; fewer than `count` where nobody is left
            who can take a lot.
        """
        amount = as_amount(amount)
        count = require_whole(count, argument("count"))
        state, places = self.state, self.places(among)
        found: list[Share] = []
        with state.trial():
            state.time = self._time(self._moment(at))
            for _ in range(count):
                if self.rule.divides:
                    parts = state.shares(amount, places)
                else:
                    first = state.first(amount, places)
                    parts = [] if first is None else [(first, amount)]
                found += [self._share(place, part) for place, part in parts]
                for place, part in parts:
                    state.give(place, part, places)
                    if distinct:
                        state.set_aside(place)
        return found

    def decide(
        self,
        amount: float = 1.0,
        *,
        count: int = 1,
        at: At = None,
        among: Sequence[str] | None = None,
        distinct: bool = False,
    ) -> list[Share]:
        """Propose, and give at once: the arguments and the answer are those of `propose`."""
        found = self.propose(amount, count=count, at=at, among=among, distinct=distinct)
        for share in found:
            self.give(share.name, share.amount, at, among)
        return found

    def ranking(
        self,
        at: At = None,
        among: Sequence[str] | None = None,
        most: int | None = None,
        amount: float | None = None,
    ) -> list[RankedStakeholder]:
        """All who are there, whoever is next first, with what the rule ranks them by.

        Args:
            at: When.
            among: Who could take it, if not all who are eligible.
            most: How many to name at most; all by default.
            amount: How much is to be given whole, which matters to whoever asked for less and to
                a policy. By default whoever wants anything is eligible, and a policy weighs what it
                usually gives.
        """
        state = self.state
        if most is not None:
            most = require_whole(most, argument("most"), least=0)
        with self._asked_about(at, amount):
            order = state.order(self._takers(among, amount))
            ranked: list[tuple[int | None, int]] = list(enumerate(order[:most], 1))
            if most is None or len(order) < most:
                eligible = set(order)
                there = range(len(self.names))
                rest = [k for k in there if state.there[k] and k not in eligible]
                ranked += [(None, place) for place in rest]
            return [self._ranked(rank, place, amount) for rank, place in ranked[:most]]

    def standing(
        self,
        name: str,
        at: At = None,
        among: Sequence[str] | None = None,
        amount: float | None = None,
    ) -> tuple[RankedStakeholder, RankedStakeholder | None, int]:
        """Where somebody stands, who is next, and of how many who are eligible.

        Args:
            name: Who has joined, whether it has left or not.
            at: When.
            among: Who could take it, if not all who are eligible.
            amount: How much is to be given whole, as in `ranking`.

        Returns:
            Where it stands (without a rank if it is not eligible), whoever is next (None if nobody
            is eligible), and how many are eligible.
        """
        state, own = self.state, self.place_of(name)
        with self._asked_about(at, amount):
            order = state.ranked(self._takers(among, amount))
            first = None if not len(order) else self._ranked(1, order.first(), amount)
            rank = order.rank(own) if state.there[own] else None
            return self._ranked(rank, own, amount), first, len(order)

    def why(
        self,
        name: str,
        at: At = None,
        among: Sequence[str] | None = None,
        amount: float | None = None,
    ) -> str:
        """Why somebody is next, or why not, in a sentence or two; asked for as `standing` is."""
        found, first, eligible = self.standing(name, at, among, amount)
        own = found.name
        if not self.state.there[self.place_of(own)]:
            return f"{own} has left."
        if found.rank is None or first is None:
            return f"{own} is not eligible: it {found.reason}."
        where = "next" if found.rank == 1 else _ordinal(found.rank)
        sentence = f"{own} is {where} of {eligible:,}: it {found.reason}."
        if found.rank == 1:
            return sentence
        return f"{sentence} {first.name} is next: it {first.reason}."

    def wants_less(self, name: str, amount: float) -> bool:
        """Whether somebody is eligible, and asked for too little to be given an amount whole."""
        return self._wants_less(self.place_of(name), amount)

    # The state as a file has it.

    def snapshot(self) -> dict[str, Any]:
        """The state as JSON: `restore` makes the same allocator of it."""

        return to_snapshot(self)

    @staticmethod
    def restore(table: Mapping[str, Any]) -> Allocator:
        """The allocator of a snapshot.

        Args:
            table: What `snapshot` gave, also after it was written as JSON and read again.
        """

        return from_snapshot(table)

    # Names and moments from outside.

    def place_of(self, name: str) -> int:
        """The number of a stakeholder, in the order of joining."""
        if name not in self._place:
            # To compare with very many would take far longer than anything that is not refused.
            known = self._place if len(self._place) <= MOST_COMPARED else ()
            raise UnknownStakeholder(name, nearest=nearest(name, known))
        return self._place[name]

    def enter(self, name: str) -> None:
        """The next number is that of this stakeholder."""
        self._place[name] = len(self.names)
        self.names.append(name)

    def places(self, among: Iterable[str] | None) -> list[int] | None:
        """The numbers of these stakeholders; None for all."""
        return None if among is None else [self.place_of(name) for name in among]

    @contextlib.contextmanager
    def _asked_about(self, at: At, amount: float | None) -> Iterator[None]:
        """While somebody asks who stands where at a moment, if so much were to be given."""
        much = None if amount is None else as_amount(amount)
        with self.state.trial(), self.state.facing(much):
            self.state.time = self._time(self._moment(at))
            yield

    def _takers(self, among: Iterable[str] | None, amount: float | None) -> list[int] | None:
        """The numbers of those who could take an amount whole; None for all."""
        places = self.places(among)
        if amount is None or not self.state.by_request or self.rule.divides:
            return places
        everyone = range(len(self.names)) if places is None else places
        return [place for place in everyone if self.state.fits(place, amount)]

    def _wants_less(self, place: int, amount: float) -> bool:
        state = self.state
        return state.eligible(place) and not (self.rule.divides or state.fits(place, amount))

    def require(self, event: MemberEvent) -> int:
        """The place of whom an event concerns; refused if it cannot happen. Nothing changes."""
        if not isinstance(event, MemberEvent):
            raise BadParameter(
                f"{short_repr(event)} does not happen to a stakeholder: apply what somebody joins, "
                "leaves, asks for or is given, without what was undone."
            )
        self._time(event.at)
        if isinstance(event, Give):
            self.places(event.among)
        if not isinstance(event, Join):
            place = self.place_of(event.name)
            if not self.state.there[place]:
                raise BadParameter(
                    f"{event.name!r} has left, so nothing can happen to it: let it join under "
                    "another name."
                )
            return place
        if event.name in self._place and not self.state.there[self._place[event.name]]:
            raise BadParameter(
                f"{event.name!r} has left, and a name is used once: let it join under another, "
                f"such as {event.name + ' 2'!r}. Whoever will be back is better paused."
            )
        if event.name in self._place:
            raise BadParameter(
                f"{event.name!r} has joined before: let it resume, or give another name."
            )
        self.state.require_entrant(self.rule.number_of(event.name))
        return len(self.names)

    def _moment(self, at: At) -> Moment:
        """A moment as an event has it; the number of the turn if none is given."""
        if at is None and not self.dates:
            return max(self.state.time, self.state.turn)
        return as_moment(at)

    def _time(self, at: Moment) -> float:
        """A moment as a number, by default that of what happened last; refused if it is before."""
        if at is None:
            return self.state.time
        if self.dates:
            number = _microseconds(at)
        elif isinstance(at, str):
            raise BadParameter(f"{argument('at')} is {at!r}: times are plain numbers here.")
        else:
            number = at
        if number < self.state.time and self.names:
            last: Any = self.state.time
            if self.dates:
                last = str(np.int64(last).astype("datetime64[us]")).removesuffix(".000000")
            raise BadParameter(
                f"{argument('at')} is {at}, before what happened last ({last}): events come in "
                "order of time."
            )
        return number

    # Reasons.

    def _share(self, place: int, amount: float) -> Share:
        return Share(self.names[place], amount, self._says(place))

    def _says(self, place: int) -> str:
        state = self.state
        return state.rule.says(state.memory[place], state.entitlement[place], state.instant)

    def _ranked(self, rank: int | None, place: int, amount: float | None) -> RankedStakeholder:
        state = self.state
        level = state.rule.level(state.memory[place], state.entitlement[place], state.instant)
        reason = self._says(place) if rank is not None else self._not_eligible(place, amount)
        return RankedStakeholder(self.names[place], rank, float(level), reason)

    def _not_eligible(self, place: int, amount: float | None) -> str:
        if not self.state.there[place]:
            return "has left"
        if self.state.paused[place]:
            return "is paused"
        if amount is not None and self._wants_less(place, amount):
            wants = format_number(self.state.room(place))
            return f"wants {wants} more, and {format_number(amount)} is given whole"
        if self.state.eligible(place):
            return "is not among those who could take it"
        return "has asked for no more than it has received"


def _microseconds(at: float | str) -> float:
    try:
        return microseconds(parse_moment(str(at)))
    except ValueError:
        raise BadParameter(
            f"{argument('at')} is {at!r}: it must be a date such as 2021-03-31T10:00."
        ) from None


def _ordinal(rank: int) -> str:
    return {2: "second", 3: "third"}.get(rank, f"number {rank:,}")


# An allocator as JSON, and back: a snapshot, from which a fold over later events goes on.

FORMAT = "evenhand allocator 1"
INFINITE = {math.inf: "inf", -math.inf: "-inf"}  # which JSON has no numbers for


def to_snapshot(allocator: Allocator) -> dict[str, Any]:
    """The state of an allocator as JSON."""
    copy = AllocatorCopy.of(allocator)
    return {**copy.head, "stakeholders": list(copy.people())}


@dataclass(frozen=True)
class AllocatorCopy:
    """The state of an allocator at one moment, whatever happens to it afterwards.

    To copy takes little time however many there are; what is written of it can be worked out later.

    Args:
        head: What is not about one stakeholder, as JSON has it.
        columns: What is known of each.
    """

    head: dict[str, Any]
    columns: tuple[Any, ...]

    @staticmethod
    def of(allocator: Allocator) -> AllocatorCopy:
        state = allocator.state
        if RULES.name_of(allocator.rule) is None:
            raise BadParameter(
                f"a snapshot names its rule, and {type(allocator.rule).__name__} has no name that "
                "a file could have: keep the events instead, and apply them again."
            )
        _, ties, held = state.heap.columns()
        head = {
            "format": FORMAT,
            "rule": rule_to_table(allocator.rule),
            "ties": to_table(state.ties, TIES),
            "by_request": state.by_request,
            "dates": allocator.dates,
            "time": state.time,
            "turn": state.turn,
            "front": _written(state.front),
            "moments": list(state.moments),
            "starts": {name: _written(level) for name, level in state.starts.items()},
        }
        known = (state.entitlement, state.received, state.asked, state.there, state.paused)
        return AllocatorCopy(
            head,
            (allocator.names[:], *(column[:] for column in known), state.memory[:], ties, held),
        )

    def people(self) -> Iterator[dict[str, Any]]:
        """What is known of each, as JSON has it, one after the other."""
        names, *others, ties, held = self.columns
        held = np.append(held, np.zeros(len(names) - len(held), dtype=bool))  # the last never were
        ties = np.append(ties, np.zeros(len(names) - len(ties)))
        columns = (names, *others, ties.tolist(), held.tolist())
        for name, entitlement, received, asked, there, paused, memory, tie, holds in zip(
            *columns, strict=True
        ):
            yield {
                "name": name,
                "entitlement": entitlement,
                "received": received,
                "asked": asked,
                "there": bool(there),
                "paused": bool(paused),
                "memory": _written(memory),
                "tie": tie if holds else None,
            }


def from_snapshot(table: Mapping[str, Any]) -> Allocator:
    """The allocator of a snapshot; refused if it is not one."""
    try:
        if table["format"] != FORMAT:
            raise KeyError
        allocator = Allocator(
            rule_of(table["rule"]),
            ties=from_table(table["ties"], TIES, "ties"),
            by_request=table["by_request"],
            dates=table["dates"],
        )
        _fill(allocator, table)
    except (KeyError, TypeError, AttributeError):
        raise BadFile(
            f"this is not a snapshot of an allocator ({FORMAT}): make one with snapshot()."
        ) from None
    return allocator


def _fill(allocator: Allocator, table: Mapping[str, Any]) -> None:
    state = allocator.state
    for place, one in enumerate(table["stakeholders"]):
        allocator.enter(one["name"])
        state.entitlement.append(one["entitlement"])
        state.received.append(one["received"])
        state.asked.append(one["asked"])
        state.there.append(one["there"])
        state.paused.append(one["paused"])
        state.memory.append(_read(one["memory"]))
        if one["tie"] is not None:
            state.heap.put(place, state.compared_index(place), one["tie"])
    state.time, state.turn, state.front = table["time"], table["turn"], _read(table["front"])
    state.moments = tuple(table.get("moments", state.moments))
    # Files of versions before this was kept have none.
    state.starts = {name: _read(level) for name, level in table.get("starts", {}).items()}


def _written(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_written(one) for one in value]
    return INFINITE.get(value, value)


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(one) for one in value)
    return float(value) if isinstance(value, str) else value
