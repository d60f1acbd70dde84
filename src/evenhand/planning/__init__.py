"""How it is solved, exactly: the optimum of any finite problem, and the value of any policy."""

from evenhand.planning.evaluation import Evaluation, evaluate, regret
from evenhand.planning.exogenous_noise import MDPEnvironment, noise_distribution
from evenhand.planning.plan_file import load_plan, save_plan
from evenhand.planning.planner import Plan, PlanReasons, plan
from evenhand.planning.price import PriceRow, PriceTable, price_of_memory, standard_memories

__all__ = [
    "Evaluation",
    "MDPEnvironment",
    "Plan",
    "PlanReasons",
    "PriceRow",
    "PriceTable",
    "evaluate",
    "load_plan",
    "noise_distribution",
    "plan",
    "price_of_memory",
    "regret",
    "save_plan",
    "standard_memories",
]
