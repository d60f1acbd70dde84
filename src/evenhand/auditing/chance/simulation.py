"""Many drawn histories judged as the log was, and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import as_numbers
from evenhand.auditing.case import STARTS, Case
from evenhand.auditing.questions import Timeline
from evenhand.auditing.scoring import mean_status
from evenhand.errors import NegativeStatus, WelfareOverflow
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Status, WithCredit
from evenhand.fairness.stream import Assessed, defined_contributions
from evenhand.fairness.trace import NONE, Circumstances, Standing, Tolerance, Trace
from evenhand.fairness.unfairness import ROUNDING, unfairness

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


# The figures of many histories at once: the score, and who was how far behind, and how often.


@dataclass(frozen=True, eq=False)
class Viewpoint:
    """How histories are judged, the same for all of them."""

    scheme: FairnessScheme
    tolerance: Tolerance
    present: Bool[np.ndarray, "row status"] | None
    weights: Float[np.ndarray, "row status"] | None
    looks: Bool[np.ndarray, " row"]  # the last row may be there for the end alone
    groups: Int[np.ndarray, " status"] | None


@dataclass(frozen=True, eq=False)
class Figures:
    """What was found in each of many histories; a score that is undefined is NaN."""

    score: Float[np.ndarray, " draw"]
    overall: Float[np.ndarray, "draw status"]  # unfairness summed over the assessments
    share_below: Float[np.ndarray, "draw status"]  # of the assessments at which each was there
    group_gap: Float[np.ndarray, " draw"] | None  # between the best and the worst-off at the end
    curves: Float[np.ndarray, "draw look status"] | None = None

    @classmethod
    def joined(cls, parts: list[Figures]) -> Figures:
        """Those of several batches."""
        known: dict[str, Any] = {}
        for one in fields(cls):
            values = [getattr(p, one.name) for p in parts]
            kept = [value for value in values if value is not None]
            known[one.name] = np.concatenate(kept) if kept else None
        return cls(**known)


@np.errstate(all="ignore")
def figures_of(
    statuses: Float[np.ndarray, "draw row status"],
    view: Viewpoint,
    weights: Float[np.ndarray, "draw row status"] | None = None,
    curves: bool = False,
) -> Figures:
    """The figures of histories of which the statuses are known.

    Args:
        statuses: At each row of the viewpoint.
        view: How they are judged.
        weights: As how many each counts, where that differs from history to history.
        curves: Whether to keep the unfairness to each at each look.
    """
    draws, rows, size = statuses.shape
    # Rows of one time follow each other, so that those who are there then are looked up once.
    flat = np.ascontiguousarray(statuses.swapaxes(0, 1)).reshape(rows * draws, size)
    weighed: np.ndarray | None
    if weights is not None:
        weighed = weights.swapaxes(0, 1).reshape(rows * draws, size)
    else:
        weighed = None if view.weights is None else np.repeat(view.weights, draws, axis=0)
    present = None if view.present is None else np.repeat(view.present, draws, axis=0)
    standing = Standing.of(present, weighed)
    gap = None
    if view.groups is not None:
        end = slice((rows - 1) * draws, None)
        gap = _group_gap(flat[end], standing.rows(end), view.groups)
    looked = np.repeat(view.looks, draws)
    if standing.present is not None:  # where nobody counts there is nothing to assess
        looked &= standing.present.any(axis=1)
    if looked.all():
        looked = slice(None)  # type: ignore[assignment]
    chosen, there = flat[looked], standing.rows(looked)
    draw = np.tile(np.arange(draws), rows)[looked]
    deviation = there.judge(unfairness, chosen, np.nan)
    below = _below(chosen, deviation, there, view.tolerance)
    shape = (int(view.looks.sum()), draws, size)
    if len(chosen) == shape[0] * draws:
        sums = (deviation if there.present is None else np.nan_to_num(deviation)).reshape(shape)
        overall, below_sum = sums.sum(axis=0), below.reshape(shape).sum(axis=0)
        judged: Any = shape[0]
        if there.present is not None:
            judged = there.present.reshape(shape).sum(axis=0)
    else:
        overall, below_sum, judged = (np.zeros((draws, size)) for _ in range(3))
        np.add.at(overall, draw, np.nan_to_num(deviation))
        np.add.at(below_sum, draw, below)
        np.add.at(judged, draw, True if there.present is None else there.present)
    kept = None
    if curves and len(chosen) == shape[0] * draws:
        kept = deviation.reshape(shape).swapaxes(0, 1)
    return Figures(
        score=_scores(chosen, there, draw, draws, view.scheme),
        overall=overall,
        share_below=below_sum / np.maximum(judged, 1),
        group_gap=gap,
        curves=kept,
    )


def _below(
    statuses: np.ndarray, deviation: np.ndarray, standing: Standing, tolerance: Tolerance
) -> np.ndarray:
    """Who is below the mean, by more than rounding and than is let pass."""
    size = np.abs(statuses)
    if standing.present is not None:
        size = np.where(standing.present, size, 0.0)
    least = ROUNDING * size.max(axis=1)
    if tolerance != NONE:
        mean = standing.judge(mean_status, statuses, np.nan)
        least = least + tolerance.around(mean)
    return deviation < -least[:, None]


def _scores(
    statuses: np.ndarray, standing: Standing, draw: np.ndarray, draws: int, scheme: FairnessScheme
) -> np.ndarray:
    """The score of each history; NaN for all where it is undefined for one."""
    undefined, each = np.full(draws, np.nan), np.ones(len(statuses), dtype=bool)
    try:
        added = defined_contributions(scheme, Assessed(0, each, statuses, standing))
    except (NegativeStatus, WelfareOverflow):
        return undefined
    order = np.argsort(draw, kind="stable")
    ends = np.searchsorted(draw[order], np.arange(1, draws))
    scores = [scheme.aggregation.fold(part) for part in np.split(added[order], ends)]
    return np.array(scores) if np.isfinite(scores).all() else undefined


def _group_gap(
    statuses: np.ndarray, standing: Standing, groups: Int[np.ndarray, " status"]
) -> Float[np.ndarray, " draw"]:
    """How far the group with the highest mean status is above that with the lowest."""
    weights = np.ones_like(statuses) if standing.weights is None else standing.weights.copy()
    if standing.present is not None:
        weights[~standing.present] = 0.0
    member = (groups[:, None] == np.arange(groups.max() + 1)).astype(float)
    sizes = weights @ member
    means = np.where(sizes > 0, (weights * statuses) @ member / sizes, np.nan)
    return np.nanmax(means, axis=1) - np.nanmin(means, axis=1)


# Many drawn histories judged as the log was: same status, weights, newcomers, times and scheme.
#
# What is drawn is what each received in each interval; an interval is a part of a step of the
# question, cut where somebody joins, since a newcomer begins at the mean of that moment.


@dataclass(frozen=True, eq=False)
class Joining:
    """A moment at which some join, who is there then, and what is known of all."""

    interval: int  # the first that begins at or after it
    there: np.ndarray  # before it, and still
    joins: np.ndarray
    known: Circumstances | None  # one row


class DrawnHistories:
    """How a case is judged under a question, ready for many histories at once.

    Args:
        case: What is judged.
        timeline: When to look.
        scheme: By what.
        newcomers: Where those begin who join later.
        groups: The group of each who is judged, as numbers, if they have groups.
    """

    def __init__(
        self,
        case: Case,
        timeline: Timeline,
        scheme: FairnessScheme,
        newcomers: str | None = None,
        groups: Int[np.ndarray, " status"] | None = None,
    ) -> None:
        self.case, self.groups = case, groups
        self.timeline = timeline
        self._credited = isinstance(case.status, WithCredit)
        self.status: Status = case.status.of if self._credited else case.status  # type: ignore[attr-defined]
        self._start = STARTS[newcomers or "mean"]
        slots = as_numbers(case.history.slots)
        self.interval, self._step_of_interval = self._intervals(slots)
        self.rows, known, weights = self._looks(timeline)
        self._known = None if known is None else known[self.rows]
        present = case.present(self.timeline.moments[self.rows])
        self.view = Viewpoint(
            scheme=scheme,
            tolerance=case.tolerance,
            present=present,
            weights=None if weights is None else weights[self.rows],
            looks=self._is_look,
            groups=groups,
        )
        self._joinings = self._find_joinings(slots) if self._credited else ()

    @property
    def intervals(self) -> int:
        return len(self._step_of_interval)

    @property
    def cells(self) -> int:
        """Statuses that are judged in each history."""
        steps = len(self.rows) if self.status.is_sum else self.timeline.steps
        return steps * len(self.case.names)

    def judge(
        self, receipts: Float[np.ndarray, "draw interval n"], curves: bool = False
    ) -> Figures:
        """What was found in each of some histories.

        Args:
            receipts: What each received in each interval of each.
            curves: Whether to keep the unfairness to each at each look.
        """
        if not self.status.is_sum:
            statuses, weights = self._scanned(receipts)
            return figures_of(statuses, self.view, weights, curves)
        totals = np.zeros((len(receipts), self.intervals + 1, receipts.shape[2]))
        np.cumsum(receipts, axis=1, out=totals[:, 1:])
        ends = np.searchsorted(self._step_of_interval, self.rows, side="right")
        statuses = self.status.of_totals(totals[:, ends], self._known)
        if self._credited:
            statuses = statuses + self._credits(totals)[:, None]
        return figures_of(statuses, self.view, None, curves)

    def _intervals(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The interval of each time point, and the step of each interval."""
        step = self.timeline.step_of_slot
        cut = np.append(True, step[1:] != step[:-1])
        stay = self.case.stay() if self._credited else None
        if stay is not None:
            joins = np.searchsorted(slots, np.unique(stay[0][np.isfinite(stay[0])]))
            cut[joins[joins < len(slots)]] = True
        return np.cumsum(cut) - 1, step[cut]

    def _looks(
        self, timeline: Timeline
    ) -> tuple[np.ndarray, Circumstances | None, np.ndarray | None]:
        """The steps at which statuses are needed, what is known at each step, and the weights.

        These are the steps that are assessed, and the last one.
        """
        filter_ = timeline.filter
        state, fires = filter_.init(), []
        for trace, _ in self.case.steps(timeline):
            state, fired = filter_.scan(state, trace)
            fires.append(fired)
        looks = np.concatenate(fires)
        if filter_.assesses_end:
            looks[-1] = True
        known = self.case.known_at()(timeline.moments)
        weights: Any = None
        if self.status.is_sum:
            size = len(self.case.history.names)
            nothing = Trace(rewards=np.zeros((timeline.steps, size)), circumstances=known)
            weights = self.status.scan_weights(self.status.init(size), nothing)
        rows = np.union1d(np.flatnonzero(looks), [timeline.steps - 1])
        self._is_look = looks[rows]
        return rows, known, weights

    def _scanned(self, receipts: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The statuses of each history, and as how many each counts, step by step."""
        size = receipts.shape[2]
        known = self.case.known_at()(self.timeline.moments)
        statuses, weights = [], []
        for history in receipts:
            steps = np.zeros((self.timeline.steps, size))
            np.add.at(steps, self._step_of_interval, history)
            trace = Trace(rewards=steps, circumstances=known)
            init = self.status.init(size)
            statuses.append(self.status.scan(init, trace)[1][self.rows])
            weights.append(self.status.scan_weights(init, trace))
        counted = [weight[self.rows] for weight in weights if weight is not None]
        return np.stack(statuses), np.stack(counted) if counted else None

    def _find_joinings(self, slots: np.ndarray) -> Sequence[Joining]:
        stay = self.case.stay()
        assert stay is not None
        first, last = stay
        found = []
        for moment in np.unique(first[np.isfinite(first)]):
            slot = int(np.searchsorted(slots, moment))
            known = self.case.known_at()(np.array([moment]))
            found.append(
                Joining(
                    interval=int(self.interval[slot]) if slot < len(slots) else self.intervals,
                    there=(first < moment) & (last >= moment),
                    joins=first == moment,
                    known=known,
                )
            )
        return found

    def _credits(
        self, totals: Float[np.ndarray, "draw interval n"]
    ) -> Float[np.ndarray, "draw status"]:
        """The status at which each begins in each history: that of those there when it joined."""
        draws = len(totals)
        found = np.zeros((draws, len(self.case.names)))
        for one in self._joinings:
            if self._start is None or not one.there.any():
                continue
            before = self.status.of_totals(totals[:, one.interval], one.known) + found
            weights = self._weights_at(one.known)
            standing = Standing.of(
                np.broadcast_to(one.there, before.shape),
                None if weights is None else np.broadcast_to(weights, before.shape),
            )
            if standing.anybody:
                found[:, one.joins] = standing.judge(self._start, before, np.nan)[:, None]
        return found

    def _weights_at(self, known: Circumstances | None) -> np.ndarray | None:
        size = len(self.case.history.names)
        nothing = Trace(rewards=np.zeros((1, size)), circumstances=known)
        return self.status.scan_weights(self.status.init(size), nothing)
