"""Section 4: status functions U."""

from evenhand.fairness.status.beside import (
    Beside,
    Level,
    PerCurrentEntitlement,
    PerTimePresent,
    WithCredit,
    read_beside,
)
from evenhand.fairness.status.derived import (
    EnvyOfBest,
    GroupTotals,
    LowerIsBetter,
    PairwiseEnvy,
    PerEntitlement,
)
from evenhand.fairness.status.finite_counts import Capped, Modulo
from evenhand.fairness.status.of_requests import OfRequests, ShareMet, Shortfall, WhileWaiting
from evenhand.fairness.status.rates import MeanWait, Rate, RateWithinPeriod, ShareInTime
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
    "Level",
    "LowerIsBetter",
    "MeanWait",
    "Modulo",
    "OfRequests",
    "PairwiseEnvy",
    "PerCurrentEntitlement",
    "PerEntitlement",
    "PerTimePresent",
    "Rate",
    "RateWithinPeriod",
    "Returns",
    "ShareInTime",
    "ShareMet",
    "Shortfall",
    "StateStatus",
    "Status",
    "TraceFunction",
    "WaitingTime",
    "WhileWaiting",
    "Window",
    "WithCredit",
    "read_beside",
]
