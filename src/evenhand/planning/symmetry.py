"""Exchangeable stakeholders in canonical order.

Each part of a problem says which stakeholders it treats alike (`exchangeable`). Exchangeable are
those that all parts treat alike. Planning puts them in canonical order, which merges states that
differ only in which of them is which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evenhand.envs import Environment
from evenhand.fairness.groups import refine
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Int


def exchangeable(problem: Problem, use_memory: bool) -> list[list[int]]:
    """The classes of exchangeable stakeholders that have more than one member."""
    size = problem.environment.num_stakeholders
    environment = cast(Environment, problem.environment)  # what is not one cannot be planned
    parts = [environment.exchangeable(), problem.scheme.exchangeable(size)]
    if use_memory:
        parts.append(problem.memory.exchangeable(size))
    labels = refine(parts, size)
    classes = [[i for i in range(size) if labels[i] == label] for label in sorted(set(labels))]
    return [members for members in classes if len(members) > 1]


def canonical_order(
    features: Any, classes: Sequence[Sequence[int]]
) -> Int[np.ndarray, "state stakeholder"]:
    """For each state, its stakeholders in canonical order: sorted within their classes.

    `features` is [state, feature, stakeholder]. Those with like features may stand in any order.
    """
    count, width, size = features.shape
    order = np.broadcast_to(np.arange(size), (count, size)).copy()
    # Features are put in order by a mixture of them: any order will do that is the same
    # for the same features, and distinct features mix alike only by a coincidence, which would
    # cost a merge and no more.
    mixture = np.random.default_rng(0).uniform(1.0, 2.0, width)
    keys = np.einsum("sfn,f->sn", features, mixture)
    for members in classes:
        chosen = np.asarray(members)
        order[:, chosen] = chosen[np.argsort(keys[:, chosen], axis=1, kind="stable")]
    return order
