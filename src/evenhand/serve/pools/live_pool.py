"""A pool at work: who is next, as the fold over its log says, and how its next entry looks."""

from __future__ import annotations

import dataclasses
import datetime
import math
from dataclasses import dataclass, field

import orjson

from evenhand._util.moments import EPOCH, parse_moment
from evenhand.decide.allocator import Allocator, Share
from evenhand.errors import BadParameter, StaleTurn, argument
from evenhand.events import MemberEvent, Moment, Pause, Resume
from evenhand.serve.pools.changes import Change, Decision
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.store.log_entry import FIRST, LogEntry, next_entry

YEARS = (1900, 2200)  # in which microseconds are exact
LATEST_NUMBER = 1e15
MOST_AT_ONCE = 10_000  # lots of one decision, and names of one request


@dataclass(frozen=True)
class Wish:
    """What is asked for: so many lots of an amount, among some; or who is to be given what.

    Args:
        amount: How much each lot is; a rule that divides shares it.
        count: How many lots there are.
        distinct: Whether nobody is to get two of them.
        among: Who could take it, if not all who are eligible.
        without: Who could not, of those eligible.
        at: When; now by default.
        shares: Who is to be given how much, whatever the rule proposes.
        reason: Why; or a remark.
        turn: The turn that was shown to whoever asks; refused if it is over.
    """

    amount: float = 1.0
    count: int = 1
    distinct: bool = False
    among: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    at: Moment = None
    shares: tuple[tuple[str, float], ...] | None = None
    reason: str | None = None
    turn: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("count", self.count), ("among", len(self.among or ()) or 1)):
            if not 1 <= value <= MOST_AT_ONCE:
                raise BadParameter(
                    f"{argument(name)} is {value:,}: at most {MOST_AT_ONCE:,} at once, and at "
                    "least 1."
                )


@dataclass
class LivePool:
    """The state of a pool, kept up to date one entry at a time.

    Args:
        definition: What the pool is.
        allocator: Who is next, after all entries so far.
        number: The number of the last entry.
        digest: Its digest.
        decisions: How many decisions were taken and not undone.
        undone: The numbers of those that were undone.
    """

    definition: PoolDefinition
    allocator: Allocator
    number: int = 0
    digest: bytes = FIRST
    decisions: int = 0
    undone: set[int] = field(default_factory=set)

    @staticmethod
    def new(definition: PoolDefinition) -> LivePool:
        return LivePool(definition, definition.allocator())

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def turn(self) -> str:
        """What this moment of the log is called; it changes with every entry."""
        return f"{self.number}-{self.digest.hex()[:16]}"

    # Moments.

    def moment(self, at: Moment, now: int) -> Moment:
        """When something happens: as somebody says, or now, and never before what happened last.

        Args:
            at: What somebody says, if anything.
            now: Microseconds since 1970.
        """
        state = self.allocator.state
        if not self.definition.dates:
            return max(state.time, state.turn) if at is None else _number(at)
        if at is None:
            # A clock that was set back must not stop the pool.
            later = max(now, int(state.time)) if self.allocator.names else now
            moment: str = (EPOCH + datetime.timedelta(microseconds=later)).isoformat()
            return moment
        try:
            found = parse_moment(str(at))
        except ValueError:
            raise BadParameter(
                f"{argument('at')} is {at!r}: it must be a date such as 2026-03-31T10:00."
            ) from None
        if not YEARS[0] <= found.year <= YEARS[1]:
            raise BadParameter(
                f"{argument('at')} is {at!r}: it must lie in the years {YEARS[0]} to {YEARS[1]}."
            )
        return found.isoformat()

    # What is asked; nothing changes.

    def propose(self, wish: Wish, now: int) -> Decision:
        """The decision of the rule: who is next, and who would be without them."""
        at, among = self.moment(wish.at, now), self.among(wish)
        rule = self.allocator.rule
        divides = rule.divides
        # What a policy would decide next depends on who is there then: that is not asked.
        one_more = not divides and rule.plans_next and (wish.count == 1 or wish.distinct)
        found = self.allocator.propose(
            wish.amount,
            count=wish.count + one_more,
            at=at,
            among=among,
            distinct=wish.distinct or one_more,
        )
        chosen, rest = found[: wish.count], found[wish.count :]
        if divides:
            chosen, rest = found, []
        elif not rule.plans_next and wish.count == 1:
            rest = self._second(wish, at)
        return Decision(
            tuple((share.name, share.amount) for share in chosen),
            at,
            among,
            because=tuple(share.reason for share in chosen),
            runner_up=(rest[0].name, rest[0].reason) if rest else None,
        )

    def _second(self, wish: Wish, at: Moment) -> list[Share]:
        ranked = self.allocator.ranking(at, self.among(wish), most=2, amount=wish.amount)[1:]
        return [Share(one.name, wish.amount, one.reason) for one in ranked if one.rank is not None]

    def among(self, wish: Wish) -> tuple[str, ...] | None:
        """Who could take it, if not all who are eligible."""
        if not wish.without:
            return wish.among
        aside = {self.allocator.place_of(name) for name in wish.without}
        state = self.allocator.state
        names = self.allocator.names if wish.among is None else wish.among
        places = [self.allocator.place_of(name) for name in names]
        return tuple(
            self.allocator.names[k] for k in places if k not in aside and state.eligible(k)
        )

    # What the next entry says; still nothing changes.

    def decide(self, wish: Wish, now: int) -> Decision:
        """A decision: that of the rule, or, with a reason, another."""
        if wish.turn is not None and wish.turn != self.turn:
            raise StaleTurn(
                f"the turn {wish.turn!r} is over, as something else has happened in the pool "
                f"{self.name!r} since: ask again who is next."
            )
        proposed = self.propose(wish, now)
        chosen = proposed.shares if wish.shares is None else wish.shares
        if not chosen:
            raise BadParameter(
                f"nobody in the pool {self.name!r} is eligible for this: let somebody join, resume "
                "or ask, or name who could take it."
            )
        if chosen == proposed.shares:
            return dataclasses.replace(proposed, reason=wish.reason or None)
        if not (wish.reason or "").strip():
            who = ", ".join(name for name, _ in proposed.shares[:3]) or "nobody"
            raise BadParameter(
                f"the rule proposes {who}: give a {argument('reason')} to decide otherwise."
            )
        others = Decision(chosen, proposed.at, proposed.among, proposed.shares, wish.reason)
        with self.allocator.state.trial():  # refused if only a part of it can be done
            for give in others.gives():
                self.allocator.apply(give)
        return dataclasses.replace(others, because=self._reasons(others))

    def _reasons(self, others: Decision) -> tuple[str, ...]:
        """What the rule says of each of some others, at the moment of the decision."""
        found = (
            self.allocator.standing(name, others.at, others.among, amount)
            for name, amount in others.shares
        )
        return tuple(own.reason for own, _, _ in found)

    def require(self, event: MemberEvent) -> MemberEvent:
        """Refuse what cannot happen, or is so already; a log that says it twice can be read."""
        place, paused = self.allocator.require(event), self.allocator.state.paused
        if isinstance(event, Pause) and paused[place]:
            raise BadParameter(f"{event.name!r} is paused already: let it resume when it is back.")
        if isinstance(event, Resume) and not paused[place]:
            raise BadParameter(f"{event.name!r} is not paused: there is nothing to resume.")
        return event

    # The fold.

    def apply(self, change: Change) -> None:
        """Let something happen, as it does whenever the log is read."""
        if isinstance(change, Decision):
            for give in change.gives():
                self.allocator.apply(give)
            self.decisions += 1
        elif isinstance(change, MemberEvent):
            self.allocator.apply(change)

    def record(self, change: Change, actor: str, now: int) -> LogEntry:
        """Let something happen: its entry of the log, which is still to be written."""
        body = orjson.dumps(change.to_json()).decode()
        entry = next_entry(self.name, self.number + 1, now, actor, change.kind, body, self.digest)
        self.apply(change)
        self.follow(entry)
        return entry

    def follow(self, entry: LogEntry) -> None:
        """Note that an entry is the last one."""
        self.number, self.digest = entry.number, entry.digest


def _number(at: float | str) -> float:
    """A moment that is a plain number, which a query has as text."""
    try:
        found = float(at)
    except ValueError:
        found = math.nan
    if not math.isfinite(found) or abs(found) > LATEST_NUMBER:
        raise BadParameter(
            f"{argument('at')} is {at!r}: times are plain numbers here, up to {LATEST_NUMBER:,.0f}."
        )
    return found
