"""Fairness that remembers: score, plan and learn decisions that stay fair over time.

Everything public is exported here, and loaded when first used: `import evenhand` is quick, and
jax is loaded only by what needs it. What is needed more rarely lies one level down, in the folders
that the names below come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util.registry import lazy_exports

__version__ = "0.3.0"

if TYPE_CHECKING:
    from evenhand.auditing import Answer, audit
    from evenhand.decide.allocator import Allocator
    from evenhand.decide.hindsight.best_of_log import best_there_was
    from evenhand.decide.hindsight.smallest_change import smallest_change
    from evenhand.decide.replay.replay_log import replay
    from evenhand.envs import (
        Doughnuts,
        Environment,
        GaussianLending,
        Lending,
        Vaccines,
        WaitingList,
    )
    from evenhand.errors import EvenhandError
    from evenhand.fairness.aggregation import Aggregation, BalancedUnfairness, TimepointFirst
    from evenhand.fairness.filters import AfterEach, Always, Every, Filter, Final, When
    from evenhand.fairness.groups import Groups
    from evenhand.fairness.scheme import (
        FairnessScheme,
        FeedbackScheme,
        anytime,
        bounded,
        from_toml,
        long_term,
        periodic,
        to_toml,
    )
    from evenhand.fairness.status import (
        Capped,
        Decayed,
        EnvyOfBest,
        GroupTotals,
        PairwiseEnvy,
        PerEntitlement,
        Returns,
        StateStatus,
        Status,
        TraceFunction,
        WaitingTime,
        Window,
    )
    from evenhand.fairness.stream import Stream
    from evenhand.fairness.temporal import (
        Discounted,
        Last,
        Mean,
        OverTime,
        Temporal,
        Total,
        Worst,
        over_time,
    )
    from evenhand.fairness.trace import Step, Trace
    from evenhand.fairness.unfairness import (
        Assessment,
        overall_unfairness,
        unfair_in_favour_of,
        unfair_to,
    )
    from evenhand.fairness.welfare import (
        AlphaFair,
        Average,
        Equality,
        GeneralisedGini,
        GeometricMean,
        GiniWelfare,
        Jain,
        LogNash,
        Nash,
        NegativeVariance,
        Parity,
        Rawls,
        Utilitarian,
        Welfare,
        WelfareFunction,
    )
    from evenhand.learn.fairqcm import FairQCM
    from evenhand.learn.imagined_memories import Above, Around, Everything, Proposal
    from evenhand.log.log import Log
    from evenhand.memory.memory import (
        Clock,
        Full,
        GroupDifference,
        GroupFull,
        LastWinner,
        Memory,
        Min,
        Nothing,
        Product,
        Reset,
    )
    from evenhand.monitor import Monitor
    from evenhand.planning.evaluation import evaluate
    from evenhand.planning.planner import Plan, plan
    from evenhand.problem.problem import Problem
    from evenhand.process import (
        FiniteMDP,
        HistoryPolicy,
        MarkovPolicy,
        MemoryPolicy,
        PolicyScore,
        Stochastic,
        Transition,
        policy_score,
        rollout,
    )

# Where each public name lives. A test holds this table and the imports above together.
_HOME = {
    "auditing": (
        "Answer",
        "audit",
    ),
    "decide.allocator": ("Allocator",),
    "decide.hindsight.best_of_log": ("best_there_was",),
    "decide.hindsight.smallest_change": ("smallest_change",),
    "decide.replay.replay_log": ("replay",),
    "envs": (
        "Doughnuts",
        "Environment",
        "GaussianLending",
        "Lending",
        "Vaccines",
        "WaitingList",
    ),
    "errors": ("EvenhandError",),
    "fairness.aggregation": (
        "Aggregation",
        "BalancedUnfairness",
        "TimepointFirst",
    ),
    "fairness.filters": (
        "AfterEach",
        "Always",
        "Every",
        "Filter",
        "Final",
        "When",
    ),
    "fairness.groups": ("Groups",),
    "fairness.scheme": (
        "FairnessScheme",
        "FeedbackScheme",
        "anytime",
        "bounded",
        "from_toml",
        "long_term",
        "periodic",
        "to_toml",
    ),
    "fairness.status": (
        "Capped",
        "Decayed",
        "EnvyOfBest",
        "GroupTotals",
        "PairwiseEnvy",
        "PerEntitlement",
        "Returns",
        "StateStatus",
        "Status",
        "TraceFunction",
        "WaitingTime",
        "Window",
    ),
    "fairness.stream": ("Stream",),
    "fairness.temporal": (
        "Discounted",
        "Last",
        "Mean",
        "OverTime",
        "Temporal",
        "Total",
        "Worst",
        "over_time",
    ),
    "fairness.trace": (
        "Step",
        "Trace",
    ),
    "fairness.unfairness": (
        "Assessment",
        "overall_unfairness",
        "unfair_in_favour_of",
        "unfair_to",
    ),
    "fairness.welfare": (
        "AlphaFair",
        "Average",
        "Equality",
        "GeneralisedGini",
        "GeometricMean",
        "GiniWelfare",
        "Jain",
        "LogNash",
        "Nash",
        "NegativeVariance",
        "Parity",
        "Rawls",
        "Utilitarian",
        "Welfare",
        "WelfareFunction",
    ),
    "learn.fairqcm": ("FairQCM",),
    "learn.imagined_memories": (
        "Above",
        "Around",
        "Everything",
        "Proposal",
    ),
    "log.log": ("Log",),
    "memory.memory": (
        "Clock",
        "Full",
        "GroupDifference",
        "GroupFull",
        "LastWinner",
        "Memory",
        "Min",
        "Nothing",
        "Product",
        "Reset",
    ),
    "monitor": ("Monitor",),
    "planning.evaluation": ("evaluate",),
    "planning.planner": (
        "Plan",
        "plan",
    ),
    "problem.problem": ("Problem",),
    "process": (
        "FiniteMDP",
        "HistoryPolicy",
        "MarkovPolicy",
        "MemoryPolicy",
        "PolicyScore",
        "Stochastic",
        "Transition",
        "policy_score",
        "rollout",
    ),
}
__getattr__, __dir__, _names = lazy_exports(__name__, _HOME)

__all__ = ["__version__", *_names]
