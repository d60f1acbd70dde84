"""The best there was of a log: the same supply, eligibility and requests, shared best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import as_numbers, moment_label
from evenhand.auditing.answer import Answer, BestThereWas
from evenhand.auditing.case import Case
from evenhand.auditing.judge import Judged, judge
from evenhand.auditing.questions import Timeline, question_of
from evenhand.decide.hindsight.best_division import best_division, best_in_lots
from evenhand.decide.hindsight.division import Division, Newcomers, WholeLots
from evenhand.errors import BadParameter, NoBestKnown, argument
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.trace import Trace
from evenhand.log.log import Kept, Log, Supply, log_of, options_for
from evenhand.log.options import AuditOptions, with_keywords

if TYPE_CHECKING:
    from jaxtyping import Float, Int


# A division read from a log: what stays fixed, and how each assessment follows from receipts.


@dataclass(frozen=True, eq=False)
class Hindsight:
    """A division, and how what happened divided it."""

    division: Division
    actual: Float[np.ndarray, "point stakeholder"]
    lots: WholeLots | None = None  # where rows are not divided


def read_hindsight(
    log: Log, options: AuditOptions, judged: Judged, newcomers: str | None
) -> Hindsight:
    """What could have been divided otherwise, in a log that was judged.

    Args:
        log: The log.
        options: With which it was judged.
        judged: What was found under the question asked.
        newcomers: Where those who join later begin.
    """
    # With newcomers at zero a status is linear in receipts; what they begin with is added here.
    case = Case.of(log, _at_zero(options, newcomers))
    _require_linear(case)
    supply, timeline = Supply.of(log), judged.timeline
    slots = np.searchsorted(timeline.step_of_slot, judged.assessed, side="right")
    starts = _cuts(case, supply, slots)
    point_of_slot = np.searchsorted(starts, np.arange(len(supply.moments)), side="right") - 1
    moments = supply.moments[starts]
    size = len(case.names)
    slope, start, weight = _statuses(case, timeline, judged.assessed)
    division = Division(
        names=case.names,
        supply=np.bincount(point_of_slot, weights=supply.amounts(), minlength=len(starts)),
        eligible=_eligible(case, moments),
        asked=_asked(case, supply, moments),
        after=np.searchsorted(starts, slots, side="left"),
        slope=slope,
        start=start,
        weight=weight,
        joins=_joins(case, newcomers, moments),
        label=lambda point: moment_label(moments[point]),
    )
    if division.asked is not None:
        division = replace(division, eligible=division.eligible & (division.asked > 0))
    judged_as = np.arange(len(log.history.names))
    if case.groups is not None:
        judged_as = np.array(case.groups.labels(len(log.history.names)))
    who = judged_as[log.history.who]
    cell = point_of_slot[log.history.slot] * size + who
    actual = np.bincount(cell, weights=log.history.amount, minlength=len(starts) * size)
    lots = None if log.lots is None else WholeLots.of(log.lots, point_of_slot, judged_as)
    return Hindsight(division, actual.reshape(len(starts), size), lots)


def _at_zero(options: AuditOptions, newcomers: str | None) -> AuditOptions:
    return options if newcomers in (None, "by-time") else replace(options, newcomers="zero")


def _require_linear(case: Case) -> None:
    """Refuse a status of which receipts are not all there is to it."""
    given_out = case.amounts is None and not case.levels
    if not given_out or {"chances", "level"} & set(case.beside):
        raise NoBestKnown(
            f"the best there was is known of amounts that are given out, and here the status is "
            f"{case.status.describe()}, in which nothing is shared out",
            f"leave {argument('best')} out",
        )
    if not case.status.is_linear:
        raise NoBestKnown(
            "the best there was needs a status that is a sum of what was received, and here it is "
            f"{case.status.describe()}",
            f"leave {argument('best')} out, or choose another status",
        )
    dated = case.roster is not None and case.roster.dated
    if dated and case.groups is not None and "asked" in case.beside:
        raise NoBestKnown(
            "the best there was is not known of groups whose members come and go and have requests "
            "of their own",
            f"judge stakeholders, or leave {argument('best')} out",
        )


def _cuts(case: Case, supply: Supply, slots: Int[np.ndarray, " assessment"]) -> np.ndarray:
    """The first slots of points: where somebody comes or goes, asks, or was assessed before it."""
    moments = as_numbers(supply.moments)
    found = [np.zeros(1, dtype=np.int64), np.asarray(slots, dtype=np.int64)]
    stay = case.stay()
    if case.roster is not None and case.roster.dated:
        first, last = case.roster.bounds(case.history.names, case.history.plain_numbers)
        found += [np.searchsorted(moments, first), np.searchsorted(moments, last, side="right")]
    if stay is not None:
        found.append(np.searchsorted(moments, stay[0]))
    if "asked" in supply.beside:
        found.append(np.searchsorted(moments, supply.beside["asked"].at))
    cuts = np.unique(np.concatenate(found))
    return cuts[cuts < len(moments)]


def _eligible(case: Case, moments: np.ndarray) -> np.ndarray:
    here = case.present(moments)
    return np.ones((len(moments), len(case.names)), dtype=bool) if here is None else here


def _asked(case: Case, supply: Supply, moments: np.ndarray) -> np.ndarray | None:
    reading = supply.asked()
    if reading is None:
        return None
    asked = reading.by(moments)
    return asked if case.groups is None else case.groups.totals(asked)


def _statuses(
    case: Case, timeline: Timeline, assessed: Int[np.ndarray, " assessment"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slope, start and weight of each at each assessment: what nothing received is, and one."""
    status, size = case.status, len(case.history.names)
    state = with_one = status.init(size)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    begin, one = 0, _one_each(case)
    for trace, present in case.steps(timeline):
        rows = assessed[(assessed >= begin) & (assessed < begin + len(trace))] - begin
        nothing = replace(trace, rewards=np.zeros(trace.rewards.shape))
        given = nothing if begin else replace(trace, rewards=_first_row(one, len(trace)))
        weights = status.scan_weights(state, nothing)
        state, zero = status.scan(state, nothing)
        with_one, unit = status.scan(with_one, given)
        parts.append((unit[rows] - zero[rows], zero[rows], _scaled(rows, present, weights, zero)))
        begin += len(trace)
    slope, start, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return slope, start, weight


def _one_each(case: Case) -> Float[np.ndarray, " stakeholder"]:
    """One unit for each who is judged; of a group, for its first member."""
    one = np.ones(len(case.history.names))
    if case.groups is not None:
        one[:] = 0.0
        one[[part[0] for part in case.groups.members]] = 1.0
    return one


def _first_row(row: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate((row[None], np.zeros((length - 1, len(row)))))


def _scaled(rows: np.ndarray, present: Any, weights: Any, like: np.ndarray) -> np.ndarray:
    """As how many each counts: a mean of 1 over those who do, 0 for all others."""
    found = np.ones((len(rows), like.shape[1])) if weights is None else np.array(weights[rows])
    if present is not None:
        found = np.where(present[rows], found, 0.0)
    there = (found > 0).sum(axis=1, keepdims=True)
    return found * (there / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


def _joins(case: Case, rule: str | None, moments: np.ndarray) -> tuple[Newcomers, ...]:
    """Newcomers whose beginning depends on what others had received."""
    stay = case.stay()
    if stay is None or rule not in ("mean", "least"):
        return ()
    first, last = stay
    known_at, points, found = case.known_at(), as_numbers(moments), []
    for moment in np.unique(first[np.isfinite(first)]):
        known = known_at(np.array([moment]))
        slope, start, weight = _at(case, known)
        # Before the log begins nobody's entitlement may be known.
        there = np.flatnonzero((first < moment) & (last >= moment) & (weight > 0))
        if not len(there):
            continue
        mean = weight[there] / weight[there].sum() if rule == "mean" else None
        found.append(
            Newcomers(
                after=int(np.searchsorted(points, moment)),
                who=np.flatnonzero(first == moment),
                there=there,
                slope=slope[there],
                start=start[there],
                mean=mean,
            )
        )
    return tuple(found)


def _at(case: Case, known: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slope, start and weight of each at one moment."""
    status, one = case.status, _one_each(case)[None]
    state = status.init(len(case.history.names))
    nothing = Trace(rewards=np.zeros_like(one), circumstances=known)
    zero = status.scan(state, nothing)[1][0]
    unit = status.scan(state, Trace(rewards=one, circumstances=known))[1][0]
    weights = status.scan_weights(state, nothing)
    return unit - zero, zero, np.ones(len(zero)) if weights is None else np.asarray(weights[0])


# `best_there_was(log, …)`: how fair the same supply could have been shared.


@dataclass(frozen=True, kw_only=True)
class BestOptions(AuditOptions):
    """The keyword arguments of `best_there_was`."""

    lots: bool = False  # a row of the log is one thing that cannot be divided


def _best_there_was(log: Any, options: BestOptions) -> BestThereWas:
    """The best score that a log's supply could have had, and a bound that no allocation exceeds.

    Times, supply, eligibility (the roster's dates) and requests are held fixed, and all supply is
    given out. Nobody's behaviour is taken to change.

    Args:
        log: As in `audit`.
        lots: Whether a row of the log is one thing that cannot be divided.

    Every other argument is one of `audit`. What only an audit has a use for, such as `min_score`,
    is refused.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"month": [1, 2, 3, 4], "to": ["A", "A", "A", "B"], "doses": 20})
    >>> found = best_there_was(
    ...     log, stakeholder="to", time="month", amount="doses", welfare="rawls", at_end=True
    ... )
    >>> round(found.actual), round(found.score), round(found.bound)
    (20, 40, 40)
    """
    options.require_no_audit("the best there was")
    return best_with(log, options, options.lots)


best_there_was = with_keywords(_best_there_was, BestOptions)


def best_with(log: Any, options: AuditOptions, lots: bool = False) -> BestThereWas:
    """The same, with the options as one object."""
    judged, scheme, hindsight = look_back(log, options, lots)
    if hindsight.lots is None:
        found = best_division(hindsight.division, scheme.aggregation)
    else:
        found = best_in_lots(hindsight.division, scheme.aggregation, hindsight.lots)
    score = hindsight.division.score(found.allocation, scheme.aggregation)
    return BestThereWas(
        score=score,
        bound=max(found.bound, score),
        actual=judged.score,
        even=judged.scorers[0].even_score,
        lots=lots,
    )


def with_best(answer: Answer, log: Any, options: AuditOptions, lots: bool = False) -> Answer:
    """An answer that also says how fair the same supply could have been shared."""
    best = best_with(log, options, lots)
    return replace(answer, best=best, verdict=f"{answer.verdict} {best.sentence()}")


def look_back(
    log: Any, options: AuditOptions, lots: bool = False
) -> tuple[Judged, FairnessScheme, Hindsight]:
    """A log judged, by which scheme, and what could have been divided otherwise."""
    options = options_for(log, options)
    if options.run is not None:
        raise BadParameter(
            f"the best there was is that of one history, and {argument('run')} says that the log "
            f"has several: choose one with {argument('where')}, or leave {argument('best')} out."
        )
    question_of(options)  # refused before anything is opened, if it makes no sense
    found = log_of(log, options, Kept(rows=lots, ends=False))
    if not lots:
        found = replace(found, lots=None)
    case = Case.of(found, options)
    judged, scheme = _judged(case, options)
    return judged, scheme, read_hindsight(found, options, judged, _newcomers(case, options))


def _judged(case: Case, options: AuditOptions) -> tuple[Judged, FairnessScheme]:
    """By the scheme asked for, or by the one to fall back on where that is undefined."""
    question = question_of(options)
    schemes = options.schemes(case.status, question.filter)
    for scheme in schemes:
        judged = judge(case, question, [scheme])
        if judged.scorers[0].undefined is None:
            break
    judged.score  # noqa: B018 - an error where it is undefined still, or nothing was assessed
    return judged, scheme


def _newcomers(case: Case, options: AuditOptions) -> str | None:
    """Where those who join later begin, if anybody does."""
    if case.stay() is None or not case.status.is_sum:
        return None
    return options.newcomers or "mean"
