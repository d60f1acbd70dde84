"""A pool at work: what it is, what an entry of its log changes, and how JSON shows it."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import hashlib
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from evenhand._util.numbers import EPOCH, parse_moment
from evenhand.auditing.questions import question_of
from evenhand.decide.allocator import Allocator, RankedStakeholder, Share
from evenhand.decide.rules.built_in import rule_of, rule_to_table
from evenhand.decide.rules.rule import TIES, Rule
from evenhand.errors import BadParameter, BadStore, StaleTurn, UnknownDecision, argument
from evenhand.events import Event, Give, MemberEvent, Moment, Pause, Resume, Undo
from evenhand.fairness.scheme import from_table
from evenhand.log.options import AuditOptions
from evenhand.serve.pools.files import NO_POLICIES, PolicyFolder, names_policy
from evenhand.serve.store.store import FIRST, DecisionStore, KeptAnswer, LogEntry, next_entry

# What a pool is: its rule, how ties are broken, what its times are, and how it is judged.

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
# What of an audit's options a pool may say once and for all: how it is judged, and when to look.
JUDGED_BY = (
    *("each_event", "every", "after_each", "at_end", "welfare", "temporal", "lower_is_better"),
    *("newcomers", "unweighted", "tolerance", "max_unfairness", "min_score", "judge_requests"),
)


@dataclass(frozen=True)
class PoolDefinition:
    """A pool as somebody defines it.

    Args:
        name: What it is called: letters, digits, dots, dashes and underscores.
        rule: Who is next, by name, such as "least_served" or "half_life:7d", or as a table; or the
            file of a learned policy or a plan, such as "fair.policy".
        ties: How ties are broken: "order", or a table such as {"name": "draw", "seed": 1}.
        by_request: Whether only those are eligible who asked for more than they received. The
            default is what the rule needs.
        dates: Whether times are dates, and not plain numbers.
        audit: How the pool is judged: options of an audit such as {"every": "month"}.
        policies: Where such files are; no part of what a pool is.
    """

    name: str
    rule: Any = "least_served"
    ties: Any = "order"
    by_request: bool | None = None
    dates: bool = True
    audit: Mapping[str, Any] = field(default_factory=dict)
    policies: PolicyFolder = field(default=NO_POLICIES, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise BadParameter(
                f"a pool cannot be called {self.name!r}: use at most 64 letters, digits, dots, "
                "dashes and underscores, and begin with a letter or a digit."
            )
        if not isinstance(self.dates, bool):
            raise BadParameter(f"{argument('dates')} is {self.dates!r}: it must be true or false.")
        object.__setattr__(self, "audit", dict(self.audit))
        if names_policy(self.rule):  # from now on it is that file and no other
            object.__setattr__(self, "rule", self.policies.table(self.rule))
        asks = self.allocator().state.by_request and "judge_requests" in self.audit
        question_of(self.audit_options(**({"asked": "asked"} if asks else {})))

    def allocator(self) -> Allocator:
        """An allocator to which nothing has happened yet."""
        return Allocator(
            self._rule(),
            ties=from_table(self.ties, TIES, "ties"),
            by_request=self.by_request,
            dates=self.dates,
        )

    def _rule(self) -> Rule:
        if not isinstance(self.rule, str | Mapping):
            raise BadParameter(f"{argument('rule')} is {self.rule!r}: name a rule.")
        if names_policy(self.rule):
            return self.policies.rule(self.rule)
        rule: Any = self.rule if isinstance(self.rule, str) else dict(self.rule)
        return rule_of(rule)

    def audit_options(self, **others: Any) -> AuditOptions:
        """How an exported log of the pool is judged; `others` come on top."""
        for name in self.audit:
            if name not in JUDGED_BY:
                raise BadParameter(
                    f"{argument('audit')} says {name!r}: it may say {', '.join(JUDGED_BY)}."
                )
        given: dict[str, Any] = {"stakeholder": "stakeholder", "time": "time", "amount": "amount"}
        return AuditOptions(**(given | dict(self.audit) | others))

    def to_json(self) -> dict[str, Any]:
        """The definition as JSON has it."""
        table = {name: getattr(self, name) for name in _said()}
        if not names_policy(self.rule):
            table["rule"] = rule_to_table(self._rule())
        return table

    @staticmethod
    def from_json(table: Mapping[str, Any], policies: PolicyFolder = NO_POLICIES) -> PoolDefinition:
        """The definition that JSON or TOML says.

        Args:
            table: What it says.
            policies: Where the files of learned policies are.
        """
        known = _said()
        for name in table:
            if name not in known:
                raise BadParameter(f"a pool has no {name!r}: it has {', '.join(known)}.")
        if "name" not in table:
            raise BadParameter("a pool needs a name: say it in 'name'.")
        if not isinstance(table.get("audit", {}), Mapping):
            raise BadParameter(f"{argument('audit')} must be a table of options.")
        return PoolDefinition(**table, policies=policies)


def _said() -> list[str]:
    """What a pool says of itself."""
    names = [spec.name for spec in dataclasses.fields(PoolDefinition)]
    return [name for name in names if name != "policies"]


# What an entry of the log says: a pool was made, somebody joined, a decision was taken or undone.
#
# A state is a fold over the `MemberEvent`s that these stand for.


@dataclass(frozen=True)
class PoolMade:
    """The first entry of every pool."""

    definition: Mapping[str, Any]
    kind: ClassVar[str] = "create"

    def to_json(self) -> dict[str, Any]:
        return {"event": self.kind, "definition": self.definition}


@dataclass(frozen=True)
class Decision:
    """Some are given something: those whom the rule proposes, or others for a reason.

    It is made when somebody asks, written to the log as it is, and shown as it was written.

    Args:
        shares: Who is given how much.
        at: When.
        among: Who could take it, if not all who were eligible.
        proposed: Whom the rule proposed, if these are others.
        reason: Why others were chosen; or a remark.
        because: What the rule said of each of them then.
        runner_up: Who would have been next without them, and what the rule said of it.
    """

    shares: tuple[tuple[str, float], ...]
    at: Moment = None
    among: tuple[str, ...] | None = None
    proposed: tuple[tuple[str, float], ...] | None = None
    reason: str | None = None
    because: tuple[str, ...] | None = None
    runner_up: tuple[str, str] | None = None
    kind: ClassVar[str] = "decide"

    @property
    def by_rule(self) -> bool | None:
        """Whether it is what the rule proposed; None if nobody asked it, as of imported rows."""
        return None if self.because is None else self.proposed is None

    def to_json(self) -> dict[str, Any]:
        said = {name: value for name, value in vars(self).items() if value is not None}
        return {"event": self.kind, **said}

    def gives(self) -> list[Give]:
        """What each is given, as an event of its own."""
        return [Give(name, self.at, amount, self.among) for name, amount in self.shares]

    @staticmethod
    def from_json(table: Mapping[str, Any]) -> Decision:
        """The decision that an entry of the log says."""
        said = dict(table)
        del said["event"]
        for name in ("shares", "proposed"):
            if name in said:
                said[name] = tuple([(who, amount) for who, amount in said[name]])
        for name in ("among", "because", "runner_up"):
            if name in said:
                said[name] = tuple(said[name])
        return Decision(**said)


Change = PoolMade | Decision | MemberEvent | Undo


def read_change(entry: LogEntry) -> Change:
    """What an entry of the log says."""
    try:
        table = orjson.loads(entry.body)
        if table["event"] != entry.kind:
            raise ValueError
        if entry.kind == PoolMade.kind:
            return PoolMade(table["definition"])
        if entry.kind == Decision.kind:
            return Decision.from_json(table)
        change: Change = Event.from_json(table)  # type: ignore[assignment]
        return change
    except (ValueError, KeyError, TypeError) as error:
        raise BadStore(
            f"entry {entry.number} of the pool {entry.pool!r} cannot be read ({error}): "
            "`evenhand serve --verify` finds what was changed; restore a backup."
        ) from None


def read_decision(entry: LogEntry) -> Decision:
    """The decision of an entry; refused if it is about something else."""
    change = read_change(entry)
    if not isinstance(change, Decision):
        raise UnknownDecision(
            f"entry {entry.number} of the pool {entry.pool!r} is not a decision, but "
            f"{entry.kind!r}: GET /v1/pools/{entry.pool}/decisions shows those."
        )
    return change


# A change that somebody asks for, perhaps again: a retry with one key gets the same answer.

LONGEST_KEY = 200  # characters of an idempotency key
Answer = dict[str, Any]  # what JSON has of it, which is kept for a retry


@dataclass(frozen=True)
class AskedChange:
    """Who asks for a change, and the key by which a retry is known.

    Args:
        actor: The name of the token.
        key: The idempotency key, if there is one.
        content: What was asked for, to refuse a key that is used for something else.
    """

    actor: str
    key: str | None = None
    content: bytes = b""

    def __post_init__(self) -> None:
        key = self.key
        if key is not None and not (0 < len(key) <= LONGEST_KEY and key.isprintable()):
            raise BadParameter(
                f"an idempotency key has 1 to {LONGEST_KEY} visible characters: such as a UUID."
            )

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.content).digest()

    def kept(self, pool: str, answer: Answer) -> KeptAnswer | None:
        """The answer as it is kept for a retry, if there may be one."""
        if self.key is None:
            return None
        return KeptAnswer(pool, self.actor, self.key, self.digest, orjson.dumps(answer))

    def same(self, kept: KeptAnswer) -> Answer:
        """The answer that was given before; refused if it was given to another request."""
        if kept.request != self.digest:
            raise BadParameter(
                f"the idempotency key {self.key!r} was used for another request: use a new key for "
                "each, and the same one to try again."
            )
        answer: Answer = orjson.loads(kept.answer)
        return answer


class AnswersOnce:
    """Whatever is asked again and again, at once or later, happens once.

    Args:
        store: Where the answers are kept.
    """

    def __init__(self, store: DecisionStore) -> None:
        self._store = store
        self._answering: dict[tuple[str, str, str], asyncio.Future[None]] = {}

    async def answer(
        self, pool: str, asked: AskedChange, carry_out: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """The answer of before, or that of carrying it out now."""
        if asked.key is None:
            return await carry_out()
        place = (pool, asked.actor, asked.key)
        while place in self._answering:  # the same request is being answered at this moment
            await asyncio.shield(self._answering[place])
        over = self._answering[place] = asyncio.get_running_loop().create_future()
        try:
            return await self.before(pool, asked) or await carry_out()
        finally:
            del self._answering[place]
            over.set_result(None)

    async def before(self, pool: str, asked: AskedChange) -> Answer | None:
        """The answer that the store keeps, if there is one."""
        kept = await asyncio.to_thread(self._store.kept_answer, pool, asked.actor, asked.key or "")
        return None if kept is None else asked.same(kept)


# A pool at work: who is next, as the fold over its log says, and how its next entry looks.

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


# Pools, decisions and people as JSON shows them.


def moment_of(microseconds: int) -> str:
    """When, as ISO 8601 in UTC."""
    return (EPOCH + datetime.timedelta(microseconds=microseconds)).isoformat() + "Z"


def pool_view(pool: LivePool) -> dict[str, Any]:
    """A pool as it is now."""
    state = pool.allocator.state
    return {
        "name": pool.name,
        "rule": pool.allocator.state.rule.describe(),
        "definition": pool.definition.to_json(),
        "stakeholders": state.there.count(1),
        "eligible": len(state.heap),
        "decisions": pool.decisions,
        "entries": pool.number,
        "turn": pool.turn,
        "digest": pool.digest.hex(),
    }


def import_view(pool: LivePool, notes: Sequence[str]) -> dict[str, Any]:
    """What an import came to."""
    return {
        "pool": pool.name,
        "decisions": pool.decisions,
        "stakeholders": pool.allocator.state.there.count(1),
        "turn": pool.turn,
        "notes": notes,
    }


def proposal_view(pool: LivePool, proposed: Decision, amount: float) -> dict[str, Any]:
    """Who is next to be given lots of an amount, and why."""
    runner_up = None
    if proposed.runner_up is not None:
        name, reason = proposed.runner_up
        runner_up = {"name": name, "amount": amount, "reason": reason}
    return {
        "pool": pool.name,
        "turn": pool.turn,
        "at": proposed.at,
        "shares": _shares_view(proposed),
        "runner_up": runner_up,
        "rule": pool.allocator.state.rule.describe(),
    }


def _shares_view(taken: Decision) -> list[dict[str, Any]]:
    """How much goes to whom, and why."""
    because = taken.because or ("",) * len(taken.shares)
    return [
        {"name": name, "amount": amount, "reason": reason}
        for (name, amount), reason in zip(taken.shares, because, strict=True)
    ]


def decision_view(
    entry: LogEntry, undone: bool, turn: str | None = None, taken: Decision | None = None
) -> dict[str, Any]:
    """A decision of the log; `taken` is what the entry says, where that need not be read."""
    taken = taken or read_decision(entry)
    proposed = None
    if taken.proposed is not None:
        proposed = [{"name": name, "amount": amount} for name, amount in taken.proposed]
    runner_up = None
    if taken.runner_up is not None:
        runner_up = dict(zip(("name", "reason"), taken.runner_up, strict=True))
    return {
        "pool": entry.pool,
        "number": entry.number,
        "recorded": moment_of(entry.recorded),
        "actor": entry.actor,
        "at": taken.at,
        "shares": _shares_view(taken),
        "by_rule": taken.by_rule,
        "proposed": proposed,
        "reason": taken.reason,
        "among": None if taken.among is None else list(taken.among),
        "runner_up": runner_up,
        "undone": undone,
        "turn": turn,
    }


def entry_view(
    entry: LogEntry, turn: str | None = None, change: Change | None = None
) -> dict[str, Any]:
    """An entry of the log; `change` is what it says, where that need not be read."""
    return {
        "number": entry.number,
        "recorded": moment_of(entry.recorded),
        "actor": entry.actor,
        "digest": entry.digest.hex(),
        "body": orjson.loads(entry.body) if change is None else change.to_json(),
        "turn": turn,
    }


def stakeholder_view(pool: LivePool, ranked: RankedStakeholder) -> dict[str, Any]:
    """Where somebody stands, with what is known of it."""
    state, place = pool.allocator.state, pool.allocator.place_of(ranked.name)
    return {
        **ranked.to_json(),
        "received": state.received[place],
        "asked": state.asked[place],
        "entitlement": state.entitlement[place],
        "there": bool(state.there[place]),
        "paused": bool(state.paused[place]),
    }
