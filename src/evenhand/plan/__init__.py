"""How it is solved, exactly: the optimum of any finite problem, and the value of any policy."""

from evenhand.plan.plan import Plan, Reasons, plan

__all__ = ["Plan", "Reasons", "plan"]
