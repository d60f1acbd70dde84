"""How much each had received by each of a few moments: the standing of everyone over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.errors import BadParameter
from evenhand.serve.pools.exports import decision_rows
from evenhand.serve.store.decision_store import DecisionStore

MOST_DECISIONS = 1_000_000


def received_over_time(
    store: DecisionStore, pool: str, up_to: int, names: Sequence[str], points: int
) -> dict[str, Any]:
    """What each of some had received by then, at so many decisions spread evenly over the log.

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
    rows = [row[:3] for row in decision_rows(store, pool, up_to) if row[2] > 0]
    marks = {round((k + 1) * len(rows) / points) - 1 for k in range(points)} if rows else set()
    received = dict.fromkeys(names, 0.0)
    course: dict[str, list[float]] = {name: [] for name in names}
    times, mean, total = [], [], 0.0
    everyone: set[str] = set()
    for number, (at, name, amount) in enumerate(rows):
        everyone.add(name)
        total += amount
        if name in received:
            received[name] += amount
        if number in marks:
            times.append(at)
            mean.append(total / len(everyone))
            for own, so_far in received.items():
                course[own].append(so_far)
    return {
        "pool": pool,
        "times": times,
        "mean": mean,
        "stakeholders": [{"name": name, "received": course[name]} for name in names],
    }
