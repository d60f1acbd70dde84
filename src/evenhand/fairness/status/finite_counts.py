"""Section 5.1: counts that stay finite, so that a finite memory can keep them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.checks import MOST_STEPS, require_whole
from evenhand._util.numbers import Array, namespace
from evenhand.errors import BadParameter
from evenhand.fairness.status.derived import Derived
from evenhand.fairness.status.status import STATUSES, DeclaredRegularity, Returns
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class _FiniteCount(Derived):
    """A function of a status which, of a plain count, is also all that need be remembered.

    `Derived` would carry the whole count and look at it afterwards: the status would be finite,
    but not what is carried. So a plain count is transformed as it is carried. Any other status
    keeps its own state, and what is carried is finite if that is.
    """

    symmetric = True

    @property
    def counts(self) -> bool:
        """Whether it is a plain count, whose transformed total can stand in for the total."""
        return isinstance(self.of, Returns) and self.of.discount == 1.0

    @property
    def is_sum(self) -> bool:
        return False  # what a cap cuts off on the way depends on the way

    def update(self, state: Any, step: Step) -> Any:
        state = self.of.update(state, step)
        return state._replace(total=self.transform(state.total)) if self.counts else state

    def imagined(self, state: Any, part: Any) -> Any:
        return self.of.imagined(state, self.transform(part) if self.counts else part)

    def scan(self, state: Any, steps: Trace) -> tuple[Any, Float[np.ndarray, "time status"]]:
        after, values = self.of.scan(state, steps)
        if not self.counts:
            return after, self.transform(values)
        values = self.transform_totals(values)
        return (after._replace(total=values[-1]) if len(values) else state), values

    @abstractmethod
    def transform_totals(
        self, totals: Float[np.ndarray, "time status"]
    ) -> Float[np.ndarray, "time status"]:
        """The transformed count after each step, from what the count would be without."""


@STATUSES.register("modulo")
@dataclass(frozen=True)
class Modulo(_FiniteCount):
    """A status modulo `modulus`: a counter that begins anew. As a memory the counter wraps.

    >>> Modulo(12).scan(Modulo(12).init(1), Trace(rewards=[[7], [7]]))[1].ravel()
    array([7., 2.])
    """

    modulus: int

    def __post_init__(self) -> None:
        modulus = require_whole(self.modulus, "modulus", most=MOST_STEPS)
        object.__setattr__(self, "modulus", modulus)

    def transform(self, values: Float[Array, "*batch inner"]) -> Float[Array, "*batch status"]:
        return values % self.modulus

    def transform_totals(
        self, totals: Float[np.ndarray, "time status"]
    ) -> Float[np.ndarray, "time status"]:
        return self.transform(totals)

    def describe(self) -> str:
        return f"{self.of.describe()}, modulo {self.modulus}"

    def value_regular(self) -> DeclaredRegularity:
        if not self.counts:
            return super().value_regular()
        values = f"{self.modulus} values per stakeholder"
        return DeclaredRegularity(True, f"a count modulo {self.modulus} takes {values}")

    def magnitude(self, reward_bound: float, time: int) -> float:
        return self.modulus


@STATUSES.register("capped")
@dataclass(frozen=True)
class Capped(_FiniteCount):
    """A status of at most `cap`. As a memory the counter saturates: what exceeds the cap is lost.

    So of a plain count a later correction (a negative amount) counts down from the cap.

    >>> Capped(5).scan(Capped(5).init(1), Trace(rewards=[[4], [4], [-1]]))[1].ravel()
    array([4., 5., 4.])
    """

    cap: float

    def __post_init__(self) -> None:
        if not (self.cap > 0 and math.isfinite(self.cap)):
            raise BadParameter(f"cap is {self.cap}: it must be a positive number.")

    def transform(self, values: Float[Array, "*batch inner"]) -> Float[Array, "*batch status"]:
        return namespace(values).where(values < self.cap, values, self.cap)

    def transform_totals(
        self, totals: Float[np.ndarray, "time status"]
    ) -> Float[np.ndarray, "time status"]:
        # What the cap has cut off by time t is the most by which any total so far exceeded it.
        excess = np.maximum.accumulate(totals - self.cap, axis=0)
        return totals - np.maximum(excess, 0.0)

    def describe(self) -> str:
        return f"{self.of.describe()}, but no more than {self.cap:g}"

    def value_regular(self) -> DeclaredRegularity:
        if not self.counts:
            return super().value_regular()
        why = f"a count capped at {self.cap:g} is bounded where no amount is negative"
        return DeclaredRegularity(True, why)

    def magnitude(self, reward_bound: float, time: int) -> float | None:
        return self.of.magnitude(reward_bound, time)
