"""A problem in words and numbers that JSON has: the header of plans and policies.

Its environment and memory are known by the names they are registered under; import the module that
registers your own before loading a file that names it.
"""

from __future__ import annotations

from typing import Any

from evenhand.fairness.scheme_file import from_table, from_toml, to_table, to_toml
from evenhand.memory.memory_file import memory_from_table, memory_to_table
from evenhand.problem.environment_like import ENVIRONMENTS
from evenhand.problem.problem import Problem


def describe_problem(problem: Problem) -> dict[str, Any]:
    """Environment, scheme, memory, and whether the score so far is seen."""
    return {
        "environment": to_table(problem.environment, ENVIRONMENTS),
        "scheme": to_toml(problem.scheme),
        "memory": memory_to_table(problem.memory),
        "augment_with_score": problem.augment_with_score,
    }


def build_problem(header: dict[str, Any]) -> Problem:
    """The problem that was described so. Other entries of the header are left alone."""
    return Problem(
        from_table(header["environment"], ENVIRONMENTS, "environment"),
        from_toml(header["scheme"]),
        memory_from_table(header["memory"]),
        header["augment_with_score"],
    )
