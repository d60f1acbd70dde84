"""How it is solved, exactly: the optimum of any finite problem, and the value of any policy."""

from evenhand.plan.evaluate import Evaluation, evaluate, regret
from evenhand.plan.files import load_plan, save_plan
from evenhand.plan.finite import MDPEnvironment, noise_distribution
from evenhand.plan.plan import Plan, Reasons, plan

__all__ = [
    "Evaluation",
    "MDPEnvironment",
    "Plan",
    "Reasons",
    "evaluate",
    "load_plan",
    "noise_distribution",
    "plan",
    "regret",
    "save_plan",
]
