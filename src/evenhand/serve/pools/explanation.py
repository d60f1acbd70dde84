"""Why somebody is next, or is not: its place, the memory it rests on, and what would change it."""

from __future__ import annotations

from typing import Any

from evenhand._util.wording import format_number, join_names, pluralise
from evenhand.decide.allocator import RankedStakeholder
from evenhand.decide.rules.least_served import ByReceived
from evenhand.serve.pools.live_pool import LivePool, Wish
from evenhand.serve.pools.views import stakeholder_view

FURTHEST = 1_000  # turns that are looked ahead
NAMED = 3  # of those before somebody, by name


def explain(pool: LivePool, name: str, wish: Wish, now: int) -> dict[str, Any]:
    """Why somebody is next, or why not, if so much were to be given now."""
    allocator = pool.allocator
    at, among = pool.moment(wish.at, now), wish.among
    own, first, eligible = allocator.standing(name, at, among)
    turns = turns_until(pool, name, wish, now) if own.rank is not None else None
    before = min(NAMED, (own.rank or 2) - 1) or 2
    ahead = [one.name for one in allocator.ranking(at, among, most=before) if one.rank is not None]
    return {
        "pool": pool.name,
        "name": own.name,
        "sentence": allocator.why(name, at, among),
        "rank": own.rank,
        "eligible": eligible,
        "standing": stakeholder_view(pool, own),
        "next": None if first is None else stakeholder_view(pool, first),
        "turns_until": turns,
        "what_would_differ": _what_would_differ(pool, own, ahead, turns),
    }


def turns_until(pool: LivePool, name: str, wish: Wish, now: int) -> int | None:
    """How many turns come before somebody's, if nothing else happens; None if that is not known.

    The rule is asked again and again on a copy, twice as far each time, up to a limit. A learned
    policy is not: what it decides depends on who will be there.
    """
    rule = pool.allocator.rule
    if rule.divides:
        return 0
    if not rule.plans_next:
        own, _, _ = pool.allocator.standing(name, pool.moment(wish.at, now), wish.among)
        return 0 if own.rank == 1 else None
    ahead = 8
    while True:
        found = pool.allocator.propose(
            wish.amount, count=min(ahead, FURTHEST), at=pool.moment(wish.at, now), among=wish.among
        )
        names = [share.name for share in found]
        if name in names:
            return names.index(name)
        if len(names) < ahead or ahead >= FURTHEST:
            return None
        ahead *= 2


def _what_would_differ(
    pool: LivePool, own: RankedStakeholder, ahead: list[str], turns: int | None
) -> str:
    """What would have to be otherwise for somebody to be next, or not to be.

    Args:
        pool: The pool.
        own: Where they stand.
        ahead: Those next before them; if they are next, themselves and whoever comes then.
        turns: How many turns come before theirs.
    """
    if not ahead:
        return "Nobody is eligible: somebody would have to join, resume or ask."
    if own.rank is None:
        return {
            "is paused": f"{own.name} would have to resume first.",
            "has left": f"{own.name} has left, and would have to join under another name.",
        }.get(own.reason, f"{own.name} would have to be eligible first.")
    if own.rank == 1:
        then = f": then {ahead[1]} would be next" if len(ahead) > 1 else ""
        return f"{own.name} would not be next if it were away, or had just been served{then}."
    others = join_names(ahead) if own.rank <= len(ahead) + 1 else f"the {own.rank - 1:,} before it"
    words = f"{own.name} would be next if {others} were away{_amount_less(pool, own, ahead[0])}."
    return f"{words} {_waits(pool, turns)}"


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
