"""Definition "Markovian function": a status that the last state determines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import Array
from evenhand.fairness.status.status import DeclaredRegularity, Status
from evenhand.fairness.trace import Step

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class StateStatus(Status[Array]):
    """U(τ) = read(s_{t+1}): what an environment keeps in its state, read off it.

    `start` is the status before anything happened, where there is no step to read it from.
    """

    read: Callable[[Any], Float[Array, " status"]]
    start: float = 0.0

    def init(self, num_stakeholders: int) -> Array:
        return np.full(num_stakeholders, self.start)

    def update(self, state: Array, step: Step) -> Array:
        return self.read(step.next_state)

    def value(self, state: Array) -> Float[Array, " status"]:
        return state

    def value_regular(self) -> DeclaredRegularity:
        why = "it is read off the state, of which the paper has finitely many"
        return DeclaredRegularity(True, why)

    def describe(self) -> str:
        name = getattr(self.read, "__name__", type(self.read).__name__)
        return f"what {name} reads off the state"
