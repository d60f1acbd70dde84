"""Section 4: status functions U."""

from evenhand.fairness.status.base import Status
from evenhand.fairness.status.derived import EnvyOfBest, GroupTotals, PairwiseEnvy, PerEntitlement
from evenhand.fairness.status.finite import Capped, Modulo
from evenhand.fairness.status.function import TraceFunction
from evenhand.fairness.status.received import Decayed, Returns, WaitingTime, Window
from evenhand.fairness.status.state import StateStatus

__all__ = [
    "Capped",
    "Decayed",
    "EnvyOfBest",
    "GroupTotals",
    "Modulo",
    "PairwiseEnvy",
    "PerEntitlement",
    "Returns",
    "StateStatus",
    "Status",
    "TraceFunction",
    "WaitingTime",
    "Window",
]
