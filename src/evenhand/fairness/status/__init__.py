"""Section 4: status functions U."""

from evenhand.fairness.status.beside import Beside, PerCurrentEntitlement, Rate, read_beside
from evenhand.fairness.status.derived import (
    EnvyOfBest,
    GroupTotals,
    LowerIsBetter,
    PairwiseEnvy,
    PerEntitlement,
)
from evenhand.fairness.status.finite_counts import Capped, Modulo
from evenhand.fairness.status.received import Decayed, Returns, WaitingTime, Window
from evenhand.fairness.status.state_status import StateStatus
from evenhand.fairness.status.status import STATUSES, DeclaredRegularity, Status
from evenhand.fairness.status.trace_function import TraceFunction

__all__ = [
    "STATUSES",
    "Beside",
    "Capped",
    "Decayed",
    "DeclaredRegularity",
    "EnvyOfBest",
    "GroupTotals",
    "LowerIsBetter",
    "Modulo",
    "PairwiseEnvy",
    "PerCurrentEntitlement",
    "PerEntitlement",
    "Rate",
    "Returns",
    "StateStatus",
    "Status",
    "TraceFunction",
    "WaitingTime",
    "Window",
    "read_beside",
]
