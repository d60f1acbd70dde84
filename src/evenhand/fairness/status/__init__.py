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
from evenhand.fairness.status.rates_and_requests import (
    MeanWait,
    OfRequests,
    Rate,
    RateWithinPeriod,
    ShareInTime,
    ShareMet,
    Shortfall,
    WhileWaiting,
)
from evenhand.fairness.status.status import (
    STATUSES,
    Decayed,
    DeclaredRegularity,
    Returns,
    StateStatus,
    Status,
    TraceFunction,
    WaitingTime,
    Window,
)

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
