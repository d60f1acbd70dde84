"""Fairness that remembers: score, plan and learn decisions that stay fair over time.

Everything public is exported here, and loaded when first used: `import evenhand` is quick, and
jax is loaded only by what needs it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from evenhand.auditing import Answer
    from evenhand.envs import Doughnuts, GaussianLending, Lending, Vaccines, WaitingList
    from evenhand.errors import EvenhandError
    from evenhand.fairness.aggregation import BalancedUnfairness, MatrixFunction, TimepointFirst
    from evenhand.fairness.assessment import Assessment
    from evenhand.fairness.filters import AfterEach, Always, Every, Final, When, WhenPrefix
    from evenhand.fairness.groups import Groups
    from evenhand.fairness.scheme import (
        FairnessScheme,
        FeedbackScheme,
        anytime,
        bounded,
        long_term,
        periodic,
    )
    from evenhand.fairness.scheme_file import from_toml, to_toml
    from evenhand.fairness.status import (
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
    from evenhand.fairness.stream import Stream
    from evenhand.fairness.temporal import Discounted, Last, Mean, OverTime, Total, Worst, over_time
    from evenhand.fairness.trace import Override, Step, Trace
    from evenhand.fairness.unfairness import overall_unfairness, unfair_in_favour_of, unfair_to
    from evenhand.fairness.welfare import (
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
    from evenhand.memory.memory import (
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
    from evenhand.problem.problem import Problem
    from evenhand.process.mdp import FiniteMDP
    from evenhand.process.policy import HistoryPolicy, MarkovPolicy, MemoryPolicy, Stochastic
    from evenhand.process.process import Transition, rollout
    from evenhand.process.scoring import PolicyScore, policy_score

# Where each public name lives. A test holds this table and the imports above together.
_HOME = {
    "auditing": ("Answer",),
    "envs": ("Doughnuts", "GaussianLending", "Lending", "Vaccines", "WaitingList"),
    "errors": ("EvenhandError",),
    "fairness.aggregation": ("BalancedUnfairness", "MatrixFunction", "TimepointFirst"),
    "fairness.assessment": ("Assessment",),
    "fairness.filters": ("AfterEach", "Always", "Every", "Final", "When", "WhenPrefix"),
    "fairness.groups": ("Groups",),
    "fairness.scheme": (
        "FairnessScheme",
        "FeedbackScheme",
        "anytime",
        "bounded",
        "long_term",
        "periodic",
    ),
    "fairness.scheme_file": ("from_toml", "to_toml"),
    "fairness.status": (
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
    "fairness.stream": ("Stream",),
    "fairness.temporal": ("Discounted", "Last", "Mean", "OverTime", "Total", "Worst", "over_time"),
    "fairness.trace": ("Override", "Step", "Trace"),
    "fairness.unfairness": ("overall_unfairness", "unfair_in_favour_of", "unfair_to"),
    "fairness.welfare": (
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
    "memory.memory": (
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
    "problem.problem": ("Problem",),
    "process.mdp": ("FiniteMDP",),
    "process.policy": ("HistoryPolicy", "MarkovPolicy", "MemoryPolicy", "Stochastic"),
    "process.process": ("Transition", "rollout"),
    "process.scoring": ("PolicyScore", "policy_score"),
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
