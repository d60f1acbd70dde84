"""A problem in words and numbers that JSON has: the header of plans and policies.

Its environment and memory are known by the names they are registered under; import the module that
registers your own before loading a file that names it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from evenhand._util.files import in_bytes
from evenhand._util.saved import SavedRecord
from evenhand.errors import SchemeFileError, TooLarge
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import from_table, from_toml, to_table, to_toml
from evenhand.memory.memory import Memory, OfStatus, Product
from evenhand.memory.memory_file import memory_from_table, memory_to_table
from evenhand.problem.environment_like import ENVIRONMENTS
from evenhand.problem.problem import Problem

OWN = "default"  # the scheme of the environment itself
OF_SCHEME = "scheme_status"  # the memory of what the scheme's status carries
MOST_CARRIED = 1 << 26  # bytes from step to step; learners keep many copies


def describe_problem(problem: Problem) -> dict[str, Any]:
    """Environment, scheme, memory, and whether the score so far is seen."""
    return {
        "environment": to_table(problem.environment, ENVIRONMENTS),
        "scheme": _scheme_text(problem),
        "memory": _memory_table(problem.memory, problem.scheme),
        "augment_with_score": problem.augment_with_score,
    }


def build_problem(header: Mapping[str, Any], path: str | os.PathLike[str] = "the file") -> Problem:
    """The problem that was described so. Other entries of the header are left alone.

    Args:
        header: What `describe_problem` made of it.
        path: The file whose header it is, as an error names it.
    """
    record = SavedRecord(header, path)
    environment = from_table(record.value("environment"), ENVIRONMENTS, "environment")
    own = record.text("scheme") == OWN
    scheme = environment.default_scheme() if own else from_toml(record.text("scheme"))
    memory = _memory(record.value("memory"), scheme)
    problem = Problem(environment, scheme, memory, record.flag("augment_with_score"))
    _require_room(problem)
    return problem


def _scheme_text(problem: Problem) -> str:
    """The scheme as TOML; one that is Python code by what it is: the environment's own."""
    try:
        return to_toml(problem.scheme)
    except SchemeFileError:
        own = getattr(problem.environment, "default_scheme", None)
        if own is None or own() != problem.scheme:
            raise
    return OWN


def _memory_table(memory: Memory, scheme: FairnessScheme) -> Any:
    """As `memory_to_table`; what the scheme's own status carries is called by that name."""
    if isinstance(memory, Product):
        return [_memory_table(part, scheme) for part in memory.parts]
    try:
        return memory_to_table(memory)
    except SchemeFileError:
        if memory != OfStatus(scheme.status):
            raise
    return OF_SCHEME


def _memory(table: Any, scheme: FairnessScheme) -> Memory:
    if table == OF_SCHEME:
        return OfStatus(scheme.status)
    if isinstance(table, list) and table:
        return Product(tuple(_memory(part, scheme) for part in table))
    return memory_from_table(table)


def _require_room(problem: Problem) -> None:
    """Refuse what carries more from step to step than there is room for.

    An array of zeros takes no room before it is written to, so that its size can be looked at.
    """
    size = problem.environment.num_stakeholders
    start = problem.memory.init(size), problem.pay.init(size)
    carried = sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(start))
    if carried > MOST_CARRIED:
        raise TooLarge(
            f"memory and scheme carry {in_bytes(carried)} from step to step, and may carry "
            f"{in_bytes(MOST_CARRIED)}: use a shorter window, or fewer stakeholders."
        )
