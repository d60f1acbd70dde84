"""Fairness that remembers: score, plan and learn decisions that stay fair over time.

Everything public is exported here, and loaded when first used: `import evenhand` is quick, and
jax is loaded only by what needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.interop.registering import register_when_loaded as _register_with_gymnasium

__version__ = "0.1.0"

if TYPE_CHECKING:
    from evenhand.aggregation import BalancedUnfairness, MatrixFunction, TimepointFirst
    from evenhand.assessment import Assessment
    from evenhand.audit import Answer
    from evenhand.envs import Doughnuts, GaussianLending, Lending, Vaccines, WaitingList
    from evenhand.errors import EvenhandError
    from evenhand.filters import AfterEach, Always, Every, Final, When, WhenPrefix
    from evenhand.groups import Groups
    from evenhand.mdp import FiniteMDP
    from evenhand.memory import (
        Clock,
        Full,
        GroupDifference,
        GroupFull,
        LastWinner,
        Memory,
        Min,
        Nothing,
        OfStatus,
        Product,
        Reset,
    )
    from evenhand.monitor import Monitor
    from evenhand.policy import HistoryPolicy, MarkovPolicy, MemoryPolicy, Stochastic
    from evenhand.problem import Problem
    from evenhand.process import Transition, rollout
    from evenhand.scheme import (
        FairnessScheme,
        FeedbackScheme,
        anytime,
        bounded,
        long_term,
        periodic,
    )
    from evenhand.scheme_file import from_toml, to_toml
    from evenhand.scoring import PolicyScore, policy_score
    from evenhand.status import (
        Capped,
        Decayed,
        EnvyOfBest,
        GroupTotals,
        Modulo,
        PairwiseEnvy,
        PerEntitlement,
        Returns,
        StateStatus,
        TraceFunction,
        WaitingTime,
        Window,
    )
    from evenhand.stream import Stream
    from evenhand.temporal import Discounted, Last, Mean, OverTime, Total, Worst, over_time
    from evenhand.trace import Override, Step, Trace
    from evenhand.unfairness import overall_unfairness, unfair_in_favour_of, unfair_to
    from evenhand.welfare import (
        AlphaFair,
        Average,
        Equality,
        GeneralisedGini,
        GiniWelfare,
        Jain,
        LogNash,
        Nash,
        NegativeVariance,
        Parity,
        Rawls,
        Utilitarian,
        WelfareFunction,
    )

# Where each public name lives. A test holds this table and the imports above together.
_HOME = {
    "aggregation": ("BalancedUnfairness", "MatrixFunction", "TimepointFirst"),
    "assessment": ("Assessment",),
    "audit": ("Answer",),
    "envs": ("Doughnuts", "GaussianLending", "Lending", "Vaccines", "WaitingList"),
    "errors": ("EvenhandError",),
    "filters": ("AfterEach", "Always", "Every", "Final", "When", "WhenPrefix"),
    "groups": ("Groups",),
    "mdp": ("FiniteMDP",),
    "memory": (
        "Clock",
        "Full",
        "GroupDifference",
        "GroupFull",
        "LastWinner",
        "Memory",
        "Min",
        "Nothing",
        "OfStatus",
        "Product",
        "Reset",
    ),
    "monitor": ("Monitor",),
    "policy": ("HistoryPolicy", "MarkovPolicy", "MemoryPolicy", "Stochastic"),
    "problem": ("Problem",),
    "process": ("Transition", "rollout"),
    "scheme": ("FairnessScheme", "FeedbackScheme", "anytime", "bounded", "long_term", "periodic"),
    "scheme_file": ("from_toml", "to_toml"),
    "scoring": ("PolicyScore", "policy_score"),
    "status": (
        "Capped",
        "Decayed",
        "EnvyOfBest",
        "GroupTotals",
        "Modulo",
        "PairwiseEnvy",
        "PerEntitlement",
        "Returns",
        "StateStatus",
        "TraceFunction",
        "WaitingTime",
        "Window",
    ),
    "stream": ("Stream",),
    "temporal": ("Discounted", "Last", "Mean", "OverTime", "Total", "Worst", "over_time"),
    "trace": ("Override", "Step", "Trace"),
    "unfairness": ("overall_unfairness", "unfair_in_favour_of", "unfair_to"),
    "welfare": (
        "AlphaFair",
        "Average",
        "Equality",
        "GeneralisedGini",
        "GiniWelfare",
        "Jain",
        "LogNash",
        "Nash",
        "NegativeVariance",
        "Parity",
        "Rawls",
        "Utilitarian",
        "WelfareFunction",
    ),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["__version__", *sorted(_MODULE_OF)]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"evenhand.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


_register_with_gymnasium()
