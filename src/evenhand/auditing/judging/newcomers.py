"""Where those who join later begin: neither ahead nor behind, unless another rule is asked for.

With the rule "mean", whoever joins at a time has from then on what it received since, and on top
the mean status of those who were there, before anything was given at that time; others who join at
the same time are left out of it. Nobody else's status changes: a newcomer brings no supply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.moments import as_numbers, as_timestamps, moment_labels
from evenhand._util.wording import join_names
from evenhand.auditing.judging.scorer import mean_status
from evenhand.auditing.reading.timed_amounts import Reading, TimedAmounts
from evenhand.fairness.status import Status
from evenhand.fairness.trace import Circumstances, Standing, Trace

if TYPE_CHECKING:
    from jaxtyping import Float

Stay = tuple[np.ndarray, np.ndarray]  # from and until of each who is judged, as numbers


def _least(statuses: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return np.min(statuses, axis=-1)


# The status at which a newcomer begins, of those who are there, by rule.
STARTS: Mapping[str, Callable[[np.ndarray, np.ndarray | None], np.ndarray] | None] = {
    "mean": mean_status,
    "zero": None,
    "least": _least,
    "by-time": None,  # what was received per time point present needs no start
}


BEGINNINGS = {
    None: "",
    "mean": "They began at the mean of those who were there.",
    "zero": "They began at zero.",
    "least": "They began where the worst-off of those who were there stood.",
    "by-time": "Everyone is judged by what it received per time point at which it was there.",
}


class TimePresent(Reading):
    """At how many time points of a log each has been there, up to each moment."""

    def __init__(self, slots: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
        self.slots, self.last = slots, last
        self._before = np.searchsorted(slots, first, side="left")

    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        until = np.minimum(as_numbers(moments)[:, None], self.last)
        reached = np.searchsorted(self.slots, until, side="right")
        return np.maximum(reached - self._before, 0).astype(np.float64)


def newcomers_note(
    names: Sequence[str], stay: Stay, slots: np.ndarray, rule: str | None
) -> str | None:
    """Who was judged from when, and where they began; None if nobody joined during the log."""
    first, _ = stay
    later = np.flatnonzero(np.isfinite(first) & (first > as_numbers(slots[:1])[0]))
    if not len(later):
        return None
    order = later[np.argsort(first[later], kind="stable")]
    moments = first[order]
    if slots.dtype.kind == "M":
        moments = as_timestamps(moments)
    labels = moment_labels(moments)
    joined = [f"{names[k]} from {label}" for k, label in zip(order, labels, strict=True)]
    return f"Judged from when they joined: {join_names(joined)}. {BEGINNINGS[rule]}".rstrip()


def starting_credits(
    rule: str,
    status: Status,
    received: TimedAmounts,
    known_at: Callable[[np.ndarray], Circumstances | None],
    stay: Stay,
) -> Float[np.ndarray, " status"]:
    """The status at which each begins who joins later, and 0 for all others.

    Args:
        rule: One of `STARTS`.
        status: The status that is judged, which must depend on totals alone.
        received: What each stakeholder received, and when.
        known_at: What else is known at moments that are asked for in order.
        stay: From when until when each who is judged is there.
    """
    first, _ = stay
    found, totals = np.zeros(len(first)), received.totals()
    for moment in np.unique(first[np.isfinite(first)]):
        before = totals.by(np.array([np.nextafter(moment, -np.inf)]))
        join(found, moment, rule, status, before, known_at(np.array([moment])), stay)
    return found


def join(
    credits: Float[np.ndarray, " status"],
    moment: float,
    rule: str,
    status: Status,
    before: Float[np.ndarray, "1 stakeholder"],
    known: Circumstances | None,
    stay: Stay,
) -> None:
    """Enter the credits of those who join at a moment, by what each received before it."""
    start, (first, last) = STARTS[rule], stay
    there = (first < moment) & (last >= moment)
    if start is None or not there.any():
        return
    trace = Trace(rewards=before, circumstances=known)
    initial = status.init(before.shape[1])
    statuses = status.scan(initial, trace)[1] + credits
    standing = Standing.of(there[None], status.scan_weights(initial, trace))
    if standing.anybody:  # before the log begins nobody's entitlement may be known
        credits[first == moment] = standing.judge(start, statuses, np.nan)[0]
