"""Why somebody is next, or is not, and when their turn will come."""

from __future__ import annotations

import datetime
from typing import Any

from evenhand._util.numbers import DAY, EPOCH
from evenhand._util.wording import format_number, join_names, pluralise
from evenhand.decide.allocator import RankedStakeholder
from evenhand.decide.rules.built_in import ByReceived
from evenhand.errors import BadParameter, argument
from evenhand.serve.pools.pool import LivePool, Wish, moment_of, stakeholder_view

# Why somebody is next, or is not: its place, the memory it rests on, and what would change it.

FURTHEST = 1_000  # turns that are looked ahead
LOOKED_AHEAD = (8, 64, FURTHEST + 1)  # as far as it takes
NAMED = 3  # of those before somebody, by name


def explain(pool: LivePool, name: str, wish: Wish, now: int) -> dict[str, Any]:
    """Why somebody is next, or why not, if so much were to be given now."""
    allocator = pool.allocator
    at, among, amount = pool.moment(wish.at, now), pool.among(wish), wish.amount
    own, first, eligible = allocator.standing(name, at, among, amount)
    turns = turns_until(pool, own, wish, now)
    few = allocator.ranking(at, among, _how_many_before(own.rank), amount)
    ahead = [one.name for one in few if one.rank is not None]
    return {
        "pool": pool.name,
        "name": own.name,
        "sentence": allocator.why(name, at, among, amount),
        "rank": own.rank,
        "eligible": eligible,
        "standing": stakeholder_view(pool, own),
        "next": None if first is None else stakeholder_view(pool, first),
        "turns_until": turns,
        "what_would_differ": _what_would_differ(pool, own, wish, ahead, turns),
    }


def not_eligible(own: RankedStakeholder) -> str:
    """Why somebody cannot be chosen at all."""
    return f"{own.name} is not eligible: it {own.reason}."


def turns_until(pool: LivePool, own: RankedStakeholder, wish: Wish, now: int) -> int | None:
    """How many turns come before somebody's, if nothing else happens.

    The rule is asked again and again on a copy, further each time, up to a limit. A learned policy
    is not: what it decides depends on who will be there.

    Args:
        pool: The pool; nothing in it changes.
        own: Where they stand (see `Allocator.standing`).
        wish: What is given in each turn.
        now: Microseconds since 1970.

    Returns:
        None if it never comes, as they are not eligible; if they are, because it is beyond the
        limit or, under a learned policy, not known.
    """
    rule = pool.allocator.rule
    if own.rank is None:
        return None
    if rule.divides:
        return 0
    if not rule.plans_next:
        return 0 if own.rank == 1 else None
    at, among = pool.moment(wish.at, now), pool.among(wish)
    for count in LOOKED_AHEAD:
        found = pool.allocator.propose(wish.amount, count=count, at=at, among=among)
        names = [share.name for share in found]
        if own.name in names:
            return names.index(own.name)
    return None


def _how_many_before(rank: int | None) -> int:
    """How many to name of those next: up to a few before somebody, or themselves and one more."""
    if rank is None:
        return 1
    return 2 if rank == 1 else min(NAMED, rank - 1)


def _what_would_differ(
    pool: LivePool, own: RankedStakeholder, wish: Wish, ahead: list[str], turns: int | None
) -> str:
    """What would have to be otherwise for somebody to be next, or not to be.

    Args:
        pool: The pool.
        own: Where they stand.
        wish: What is to be given.
        ahead: Those next before them; if they are next, themselves and whoever comes then.
        turns: How many turns come before theirs.
    """
    if not ahead:
        return "Nobody is eligible: somebody would have to join, resume or ask."
    if own.rank is None:
        return _what_first(pool, own.name, wish)
    if own.rank == 1:
        then = f": then {ahead[1]} would be next" if len(ahead) > 1 else ""
        return f"{own.name} would not be next if it were away, or had just been served{then}."
    others = join_names(ahead) if own.rank <= len(ahead) + 1 else f"the {own.rank - 1:,} before it"
    words = f"{own.name} would be next if {others} were away{_amount_less(pool, own, ahead[0])}."
    return f"{words} {_waits(pool, turns)}"


def _what_first(pool: LivePool, name: str, wish: Wish) -> str:
    """What would have to happen before somebody can be chosen at all."""
    state, place = pool.allocator.state, pool.allocator.place_of(name)
    if not state.there[place]:
        return f"{name} has left, and would have to join under another name."
    if state.paused[place]:
        return f"{name} would have to resume first."
    if pool.allocator.wants_less(name, wish.amount):
        more = format_number(wish.amount - state.room(place))
        return f"{name} would have to ask for {more} more first."
    return f"{name} would have to be eligible first."


def _amount_less(pool: LivePool, own: RankedStakeholder, first: str) -> str:
    """By how much somebody would have to have received less, where that alone decides."""
    allocator = pool.allocator
    if not isinstance(allocator.rule, ByReceived):
        return ""
    place, before = allocator.place_of(own.name), allocator.place_of(first)
    entries = [allocator.state.heap.entry(k) for k in (place, before)]
    if entries[0] is None or entries[1] is None:
        return ""
    less = (entries[0][0] - entries[1][0]) * allocator.state.entitlement[place]
    if less > allocator.state.received[place]:  # which began ahead of others
        return ""
    if less <= 0:
        return f" (they stand level, and ties are broken {allocator.state.ties.describe()})"
    most = "at least" if entries[0][1:] < entries[1][1:] else "more than"
    return f", or if it had received {most} {format_number(less)} less"


def _waits(pool: LivePool, turns: int | None) -> str:
    if not pool.allocator.rule.plans_next:
        return "When its turn comes depends on who is there at each decision."
    if turns is None:
        return f"With nothing else happening its turn is more than {FURTHEST:,} turns away."
    return f"With nothing else happening its turn comes after {pluralise(turns, 'turn')}."


# When somebody's turn will come, given the rule and how many decisions are expected.

LONGEST = 365.25 * 100  # days that a date is given for
CHANCE = 0.8  # that the turn comes between the two dates


def forecast(
    pool: LivePool, name: str, wish: Wish, now: int, per_day: float | None, recent: float | None
) -> dict[str, Any]:
    """After how many turns, and about when, somebody is next.

    Args:
        pool: The pool; nothing in it changes.
        name: Who asks.
        wish: What is given in each turn.
        now: Microseconds since 1970.
        per_day: How many decisions a day are expected, if somebody says so.
        recent: How many there were a day lately, if that is known.
    """
    at = pool.moment(wish.at, now)
    own, _, _ = pool.allocator.standing(name, at, pool.among(wish), wish.amount)
    begins = latest_moment(pool, now)
    turns = turns_until(pool, own, wish, now)
    rate = recent if per_day is None else per_day
    said = [
        f"the rule stays as it is: {pool.allocator.state.rule.describe()}",
        "nobody joins, leaves, pauses or resumes, and every decision is the rule's",
        f"each turn gives {format_number(wish.amount)}",
    ]
    if rate is not None:
        lately = " as lately" if per_day is None else ""
        plural = "" if rate == 1 else "s"
        said.append(f"{format_number(rate)} decision{plural} a day{lately}, at random times")
    found: dict[str, Any] = {
        "pool": pool.name,
        "name": name,
        "turns_until": turns,
        "expected": None,
        "earliest": None,
        "latest": None,
        "assumptions": said,
    }
    if turns is not None and rate is not None and pool.definition.dates:
        found |= _dates(turns, rate, begins)
    return {**found, "sentence": _sentence(pool, own, found)}


def latest_moment(pool: LivePool, now: int) -> int:
    """Now; or, in a pool that is decided ahead, when the last thing happens that is known."""
    ahead = pool.definition.dates and pool.allocator.names
    return max(now, int(pool.allocator.state.time)) if ahead else now


def _dates(turns: int, rate: float, now: int) -> dict[str, Any]:
    """When the turn comes if decisions come at random: the sum of so many waits, and one."""
    from scipy.special import gammaincinv

    if rate <= 0:
        raise BadParameter(f"{argument('per_day')} is {rate}: it must be a number above 0.")
    waits = {
        "expected": (turns + 1) / rate,
        "earliest": float(gammaincinv(turns + 1, (1 - CHANCE) / 2)) / rate,
        "latest": float(gammaincinv(turns + 1, (1 + CHANCE) / 2)) / rate,
    }
    return {
        name: moment_of(now + int(days * DAY)) if days < LONGEST else None
        for name, days in waits.items()
    }


def _sentence(pool: LivePool, own: RankedStakeholder, found: dict[str, Any]) -> str:
    name = own.name
    if own.rank is None:
        return not_eligible(own)
    turns = found["turns_until"]
    if turns is None and not pool.allocator.rule.plans_next:
        return f"When {name}'s turn comes depends on who is there at each decision."
    if turns is None:
        return f"{name}'s turn is more than {FURTHEST:,} turns away."
    words = f"{name} is next" if not turns else f"{name} is next after {pluralise(turns, 'turn')}"
    if found["expected"] is None:
        return f"{words}."
    when = [found[key] for key in ("expected", "earliest", "latest") if found[key]]
    if len(when) < 3:
        return f"{words}."
    # Days tell nothing where all of it lies within one or two: then minutes are said.
    first, last = (datetime.datetime.fromisoformat(text) for text in when[1:])
    exact = last - first < datetime.timedelta(days=2)
    said = [text[:16].replace("T", " ") if exact else text[:10] for text in when]
    return f"{words}, about {said[0]} ({CHANCE:.0%} of the time {said[1]} to {said[2]})."


def recent_rate(pool: LivePool, times: list[Any], now: int) -> float | None:
    """Decisions a day since the first of the latest ones, which itself is not counted."""
    if not pool.definition.dates or len(times) < 2:
        return None
    first = min(datetime.datetime.fromisoformat(str(at)) for at in times)
    until = latest_moment(pool, now)
    days = (until - (first - EPOCH) / datetime.timedelta(microseconds=1)) / DAY
    return (len(times) - 1) / days if days > 0 else None
