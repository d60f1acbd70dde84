"""Why somebody is next, or is not: its place, the memory it rests on, and what would change it."""

from __future__ import annotations

from typing import Any

from evenhand._util.wording import format_number, pluralise
from evenhand.serve.pools.live_pool import LivePool, Wish
from evenhand.serve.pools.views import stakeholder_view

FURTHEST = 1_000  # turns that are looked ahead


def explain(pool: LivePool, name: str, wish: Wish, now: int) -> dict[str, Any]:
    """Why somebody is next, or why not, if so much were to be given now."""
    allocator = pool.allocator
    at, among = pool.moment(wish.at, now), wish.among
    own, first, eligible = allocator.standing(name, at, among)
    turns = turns_until(pool, name, wish, now) if own.rank is not None else None
    return {
        "pool": pool.name,
        "name": own.name,
        "sentence": allocator.why(name, at, among),
        "rank": own.rank,
        "eligible": eligible,
        "standing": stakeholder_view(pool, own),
        "next": None if first is None else stakeholder_view(pool, first),
        "turns_until": turns,
        "what_would_differ": _what_would_differ(pool, own, first, turns),
    }


def turns_until(pool: LivePool, name: str, wish: Wish, now: int) -> int | None:
    """How many turns come before somebody's, if nothing else happens; None beyond a limit.

    The rule is asked again and again on a copy, twice as far each time.
    """
    if pool.allocator.rule.divides:
        return 0
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


def _what_would_differ(pool: LivePool, own: Any, first: Any, turns: int | None) -> str:
    """What would have to be otherwise for somebody to be next, or not to be."""
    if first is None:
        return "Nobody is eligible: somebody would have to join, resume or ask."
    if own.rank is None:
        return {
            "is paused": f"{own.name} would have to resume first.",
            "has left": f"{own.name} has left, and would have to join under another name.",
        }.get(own.reason, f"{own.name} would have to be eligible first.")
    if own.rank == 1:
        return f"{own.name} would not be next if it were paused, or had just been served."
    ahead = pluralise(own.rank - 1, "other") + (" is" if own.rank == 2 else " are")
    words = f"{ahead} before {own.name}, which ranks by {_level(own)} against {_level(first)}"
    words += f" of {first.name}."
    if turns is None:
        return f"{words} With nothing else happening its turn is more than {FURTHEST:,} turns away."
    return f"{words} With nothing else happening its turn comes after {pluralise(turns, 'turn')}."


def _level(one: Any) -> str:
    return format_number(one.level)
