"""When somebody's turn will come, given the rule and how many decisions are expected."""

from __future__ import annotations

import datetime
from typing import Any

from evenhand._util.moments import DAY, EPOCH
from evenhand._util.wording import format_number, pluralise
from evenhand.decide.allocator import RankedStakeholder
from evenhand.errors import BadParameter, argument
from evenhand.serve.pools.explanation import FURTHEST, not_eligible, turns_until
from evenhand.serve.pools.live_pool import LivePool, Wish
from evenhand.serve.pools.views import moment_of

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
