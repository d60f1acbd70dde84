"""Definitions 4.1 to 4.4: long-term, periodic, anytime and bounded fairness.

Four schemes by their names in the paper. They differ in when fairness is assessed.
"""

from __future__ import annotations

from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Every, Filter, Final
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Returns, Status
from evenhand.fairness.temporal import Last, Mean, Temporal
from evenhand.fairness.welfare import LogNash, Welfare


def long_term(welfare: Welfare = LogNash(), status: Status = Returns()) -> FairnessScheme:
    """Definition "long-term fairness": W(U(τ_T)), the end alone.

    Args:
        welfare: One number for the statuses of all stakeholders.
        status: How well each stakeholder is doing.
    """
    return FairnessScheme(status, TimepointFirst(welfare, Last()), Final())


def periodic(
    period: int,
    welfare: Welfare = LogNash(),
    temporal: Temporal = Mean(),
    status: Status = Returns(),
) -> FairnessScheme:
    """Definition "periodic fairness": assessed at p, 2p, …, ⌊T/p⌋·p.

    Args:
        period: The number p of decisions from one assessment to the next.
        welfare: One number for the statuses of all stakeholders.
        temporal: One number for the welfare at all assessments.
        status: How well each stakeholder is doing.
    """
    return FairnessScheme(status, TimepointFirst(welfare, temporal), Every(period))


def anytime(
    welfare: Welfare = LogNash(), temporal: Temporal = Mean(), status: Status = Returns()
) -> FairnessScheme:
    """Definition "anytime fairness": assessed at every time point, period 1.

    Args:
        welfare: One number for the statuses of all stakeholders.
        temporal: One number for the welfare at all time points.
        status: How well each stakeholder is doing.
    """
    return FairnessScheme(status, TimepointFirst(welfare, temporal), Always())


def bounded(
    filter: Filter,
    welfare: Welfare = LogNash(),
    temporal: Temporal = Mean(),
    status: Status = Returns(),
) -> FairnessScheme:
    """Definition "bounded fairness": assessed wherever the filter says so.

    Args:
        filter: The time points that are assessed, such as `AfterEach(100)` or `When(predicate)`.
        welfare: One number for the statuses of all stakeholders.
        temporal: One number for the welfare at all assessments.
        status: How well each stakeholder is doing.
    """
    return FairnessScheme(status, TimepointFirst(welfare, temporal), filter)
