"""How it is solved, exactly: the optimum of any finite problem, and the value of any policy.

What is exported is loaded when it is first used: most plans need no price of memory.
"""

# ruff: noqa: F401  # the imports under TYPE_CHECKING are for static checkers and readers

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util import require_jax
from evenhand._util.registry import lazy_exports

if TYPE_CHECKING:
    from evenhand.planning.evaluation import Evaluation, evaluate, regret
    from evenhand.planning.memory_price import (
        PriceRow,
        PriceTable,
        price_of_memory,
        standard_memories,
    )
    from evenhand.planning.model import MDPEnvironment, noise_distribution
    from evenhand.planning.planner import (
        Plan,
        PlanReasons,
        TurnTakingCheck,
        check_turn_taking,
        load_plan,
        plan,
        save_plan,
    )

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "evaluation": (
            "Evaluation",
            "evaluate",
            "regret",
        ),
        "memory_price": (
            "PriceRow",
            "PriceTable",
            "price_of_memory",
            "standard_memories",
        ),
        "model": (
            "MDPEnvironment",
            "noise_distribution",
        ),
        "planner": (
            "Plan",
            "PlanReasons",
            "TurnTakingCheck",
            "check_turn_taking",
            "load_plan",
            "plan",
            "save_plan",
        ),
    },
)
