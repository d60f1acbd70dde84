"""Section 4.2: W_temporal, one number for the values w_1, …, w_k at the assessed time points.

Each is a fold over those values, so that the score so far is known at every step. The state after
no value at all means nothing: whether there was any is counted by the scheme.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from evenhand._util.numbers import Array, namespace
from evenhand._util.registry import Registry
from evenhand.errors import BadParameter
from evenhand.fairness.welfare import Average, Rawls, Utilitarian, Welfare, require_defined

if TYPE_CHECKING:
    from jaxtyping import Float

State = TypeVar("State")  # a number, or a tuple of numbers


class Temporal(ABC, Generic[State]):
    """The temporal aggregation function W_temporal, as a fold."""

    @property
    def keeps_history(self) -> bool:
        """Whether it needs all values at once, so that its state grows with time."""
        return False

    @property
    def empty(self) -> float | None:
        """The value for no assessment at all, where the definition has one."""
        return None

    @property
    def sum_discount(self) -> float | None:
        """The γ of the sum Σ_j γ^(j−1) w_j that it is, or None where it is not such a sum."""
        return None

    def share_of_sum(self, assessments: int) -> float | None:
        """The factor by which a sum of so many assessments is it; None where it is not a sum."""
        return None

    @property
    def running_state(self) -> str:
        """What has to be carried from step to step to know it, as a noun phrase."""
        return "its running state"

    @abstractmethod
    def init(self) -> State: ...

    @abstractmethod
    def update(self, state: State, value: Float[Array, ""]) -> State: ...

    @abstractmethod
    def extend(self, state: State, values: Float[np.ndarray, " time"]) -> State:
        """The state after many values; must agree with `update` repeated."""

    @abstractmethod
    def value(self, state: State) -> Float[Array, ""]: ...

    def scan(self, state: State, values: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
        """The value after each of many; must agree with `update` repeated."""
        scores = np.zeros(len(values))
        for k, value in enumerate(values):
            state = self.update(state, value)
            scores[k] = self.value(state)
        return scores

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "over time, …"."""


TEMPORALS = Registry("temporal")


@TEMPORALS.register("last")
@dataclass(frozen=True)
class Last(Temporal[Array]):
    """Long-term fairness: the last value alone, w_k."""

    def share_of_sum(self, assessments: int) -> float | None:
        return 1.0 if assessments == 1 else None

    @property
    def running_state(self) -> str:
        return "the latest assessment"

    def init(self) -> Array:
        return np.zeros(())

    def update(self, state: Array, value: Float[Array, ""]) -> Array:
        return value

    def extend(self, state: Array, values: Float[np.ndarray, " time"]) -> Array:
        return values[-1] if len(values) else state

    def value(self, state: Array) -> Float[Array, ""]:
        return state

    def scan(self, state: Array, values: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
        return values

    def describe(self) -> str:
        return "only the last assessment counts"


@TEMPORALS.register("total")
@dataclass(frozen=True)
class Total(Temporal[Array]):
    """The sum w_1 + … + w_k; of nothing it is 0."""

    @property
    def empty(self) -> float:
        return 0.0

    @property
    def sum_discount(self) -> float:
        return 1.0

    def init(self) -> Array:
        return np.zeros(())

    def update(self, state: Array, value: Float[Array, ""]) -> Array:
        return state + value

    def extend(self, state: Array, values: Float[np.ndarray, " time"]) -> Array:
        return state + values.sum()

    def value(self, state: Array) -> Float[Array, ""]:
        return state

    def scan(self, state: Array, values: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
        return state + np.cumsum(values)

    def describe(self) -> str:
        return "the assessments are added up"


@TEMPORALS.register("mean")
@dataclass(frozen=True)
class Mean(Temporal[tuple[Array, Array]]):
    """The average of w_1, …, w_k."""

    def share_of_sum(self, assessments: int) -> float:
        return 1.0 / assessments

    @property
    def running_state(self) -> str:
        return "a running total and count"

    def init(self) -> tuple[Array, Array]:
        return np.zeros(()), np.zeros(())

    def update(self, state: tuple[Array, Array], value: Float[Array, ""]) -> tuple[Array, Array]:
        total, count = state
        return total + value, count + 1.0

    def extend(
        self, state: tuple[Array, Array], values: Float[np.ndarray, " time"]
    ) -> tuple[Array, Array]:
        total, count = state
        return total + values.sum(), count + len(values)

    def value(self, state: tuple[Array, Array]) -> Float[Array, ""]:
        total, count = state
        return total / namespace(count).maximum(count, 1.0)

    def scan(
        self, state: tuple[Array, Array], values: Float[np.ndarray, " time"]
    ) -> Float[np.ndarray, " time"]:
        total, count = state
        return (total + np.cumsum(values)) / (count + np.arange(1.0, len(values) + 1))

    def describe(self) -> str:
        return "the assessments are averaged"


@TEMPORALS.register("discounted")
@dataclass(frozen=True)
class Discounted(Temporal[tuple[Array, Array]]):
    """The discounted sum Σ_j γ^(j−1) w_j over the assessments j = 1, …, k."""

    discount: float

    def __post_init__(self) -> None:
        if not 0.0 < self.discount <= 1.0:
            raise BadParameter(f"discount is {self.discount}: it must lie in (0, 1].")

    @property
    def sum_discount(self) -> float:
        return self.discount

    @property
    def running_state(self) -> str:
        return "the discount of the next assessment"

    def init(self) -> tuple[Array, Array]:
        return np.zeros(()), np.ones(())

    def update(self, state: tuple[Array, Array], value: Float[Array, ""]) -> tuple[Array, Array]:
        total, weight = state
        return total + weight * value, weight * self.discount

    def extend(
        self, state: tuple[Array, Array], values: Float[np.ndarray, " time"]
    ) -> tuple[Array, Array]:
        total, weight = state
        weights = weight * self.discount ** np.arange(len(values) + 1)
        return total + weights[:-1] @ values, weights[-1]

    def value(self, state: tuple[Array, Array]) -> Float[Array, ""]:
        return state[0]

    def scan(
        self, state: tuple[Array, Array], values: Float[np.ndarray, " time"]
    ) -> Float[np.ndarray, " time"]:
        total, weight = state
        return total + np.cumsum(weight * self.discount ** np.arange(len(values)) * values)

    def describe(self) -> str:
        return f"the assessments are added up, the j-th discounted by {self.discount:g}^(j−1)"


@TEMPORALS.register("worst")
@dataclass(frozen=True)
class Worst(Temporal[Array]):
    """Rawlsian with respect to time: the worst-off time point, min w_j."""

    @property
    def running_state(self) -> str:
        return "a running minimum"

    def init(self) -> Array:
        return np.full((), math.inf)

    def update(self, state: Array, value: Float[Array, ""]) -> Array:
        return namespace(value).minimum(state, value)

    def extend(self, state: Array, values: Float[np.ndarray, " time"]) -> Array:
        return np.minimum(state, values.min()) if len(values) else state

    def value(self, state: Array) -> Float[Array, ""]:
        return state

    def scan(self, state: Array, values: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
        return np.minimum(state, np.minimum.accumulate(values))

    def describe(self) -> str:
        return "only the worst assessment counts"


@TEMPORALS.register("over_time")
@dataclass(frozen=True)
class OverTime(Temporal[Any]):
    """Any welfare taken over time, each assessment's value being one "stakeholder".

    Where the welfare is a sum (utilitarian, log-Nash, alpha-fair) the sum is carried along; the
    others need every value at the end, as a Gini must sort them.
    """

    welfare: Welfare

    @property
    def keeps_history(self) -> bool:
        return not self.welfare.additive

    @property
    def running_state(self) -> str:
        return "the running sum of its terms"

    def init(self) -> Any:
        return () if self.keeps_history else np.zeros(())

    def update(self, state: Any, value: Float[Array, ""]) -> Any:
        if self.keeps_history:
            return (*state, np.asarray([value]))
        return state + self.welfare(value[..., None])

    def extend(self, state: Any, values: Float[np.ndarray, " time"]) -> Any:
        if self.keeps_history:
            return (*state, values)
        require_defined(self.welfare, values, _assessment)
        return state + self.welfare(values)

    def value(self, state: Any) -> Float[Array, ""]:
        if not self.keeps_history:
            return state
        values = np.concatenate(state) if state else np.zeros(0)
        self.welfare.require_fit(len(values))
        require_defined(self.welfare, values, _assessment)
        return self.welfare(values)

    def describe(self) -> str:
        return f"the assessments are taken together as stakeholders are: {self.welfare.describe()}"


def _assessment(index: int) -> str:
    return f"the value of assessment {index + 1}"


def over_time(welfare: Welfare) -> Temporal:
    """A welfare taken over time: Total, Mean and Worst by their names, otherwise `OverTime`."""
    folds: dict[Welfare, Temporal] = {Utilitarian(): Total(), Average(): Mean(), Rawls(): Worst()}
    return folds.get(welfare) or OverTime(welfare)
