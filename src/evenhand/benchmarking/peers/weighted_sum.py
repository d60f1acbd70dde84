"""Linear scalarisation: DQN on Σ w_i r_i, which with equal weights is DQN on the sum of rewards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.arrays import Array, namespace
from evenhand.fairness.periodic_and_anytime import anytime
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Window
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Welfare

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class WeightedSum(Welfare):
    """Σ w_i u_i, each stakeholder with a weight of its own."""

    weights: tuple[float, ...]

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return values @ namespace(values).asarray(self.weights, dtype=values.dtype)

    def describe(self) -> str:
        return "a weighted sum of the statuses"


def linear_scheme(weights: tuple[float, ...]) -> FairnessScheme:
    """The reward of a step is the weighted sum of what it brought; nothing is remembered."""
    return anytime(WeightedSum(weights), Total(), Window(1))


def candidate_weights(size: int, number: int) -> list[tuple[float, ...]]:
    """Equal weights, and others that are spread over the simplex, the same ones every time."""
    drawn = np.random.default_rng(0).dirichlet(np.full(size, 2.0), number - 1)
    rows = [np.full(size, 1.0 / size), *drawn]
    return [tuple(np.round(row, 6).tolist()) for row in rows]
