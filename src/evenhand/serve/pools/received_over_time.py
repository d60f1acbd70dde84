"""How much each had received by each of a few moments: the standing of everyone over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.errors import BadParameter
from evenhand.events import Give, Join, Leave
from evenhand.serve.pools.changes import Decision
from evenhand.serve.pools.exports import told_by
from evenhand.serve.store.decision_store import DecisionStore

MOST_DECISIONS = 1_000_000


def received_over_time(
    store: DecisionStore, pool: str, up_to: int, names: Sequence[str], points: int
) -> dict[str, Any]:
    """What each of some had received by then, at so many decisions spread evenly over the log.

    The mean is that of all who were there then, also of those who had received nothing.

    Args:
        store: Where the log is.
        pool: Its name.
        up_to: The number of the last entry that counts.
        names: Whose standing.
        points: How many moments at most.
    """
    if up_to > MOST_DECISIONS:
        raise BadParameter(
            f"the log has {up_to:,} entries, which are too many to show: export it, or audit it."
        )
    told = told_by(store, pool, up_to, Decision.kind, Join.kind, Leave.kind)
    happened = [event for _, event, _ in told]
    decided = sum(isinstance(one, Give) for one in happened)
    marks = {round((k + 1) * decided / points) for k in range(points)} if decided else set()
    received: dict[str, float] = {}
    course: dict[str, list[float]] = {name: [] for name in names}
    times, mean, total, there, number = [], [], 0.0, 0, 0
    for one in happened:
        if isinstance(one, Join):
            there += 1
        elif isinstance(one, Leave):
            there -= 1
            total -= received.get(one.name, 0.0)
        elif isinstance(one, Give):
            number += 1
            total += one.amount
            received[one.name] = received.get(one.name, 0.0) + one.amount
            if number in marks:
                times.append(one.at)
                mean.append(total / there)
                for name in names:
                    course[name].append(received.get(name, 0.0))
    return {
        "pool": pool,
        "times": times,
        "mean": mean,
        "stakeholders": [{"name": name, "received": course[name]} for name in names],
    }
