"""Section 4: status functions U."""

from evenhand.status.base import Status
from evenhand.status.derived import EnvyOfBest, GroupTotals, PairwiseEnvy, PerEntitlement
from evenhand.status.finite import Capped, Modulo
from evenhand.status.function import TraceFunction
from evenhand.status.received import Decayed, Returns, WaitingTime, Window
from evenhand.status.state import StateStatus

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
