"""Section 4.2: W_ex, one number for the status vectors at the assessed time points.

An aggregation first turns each assessed status vector into its contribution (`contribute`, time
points apart from each other), and then folds the contributions (`init`, `update`, `value`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from evenhand._util.checks import require_kind
from evenhand._util.numbers import Array, namespace
from evenhand._util.registry import Registry
from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter, OverridesRefused, WeightsRefused, argument
from evenhand.fairness.groups import Exchanging, Labels
from evenhand.fairness.temporal import Mean, Temporal
from evenhand.fairness.trace import Override, Standing
from evenhand.fairness.unfairness import unfairness
from evenhand.fairness.welfare import LogNash, Welfare

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

State = TypeVar("State")  # what is carried from one assessment to the next


class Aggregation(Exchanging, ABC, Generic[State]):
    """The extended aggregation function W_ex, as a map followed by a fold."""

    @property
    def keeps_history(self) -> bool:
        """Whether it needs all assessed statuses at once, so that its state grows with time."""
        return False

    @property
    def empty(self) -> float | None:
        """The value for no assessment at all, where the definition has one."""
        return None

    @property
    def takes_overrides(self) -> bool:
        """Whether an override has a place in it; only timepoint-first aggregations have one."""
        return False

    @property
    def running_state(self) -> str:
        """What has to be carried from step to step to know it, as a noun phrase."""
        return "its running state"

    def require_fit(self, size: int) -> None:
        """Refuse a status vector of a size that does not fit."""

    @abstractmethod
    def contribute(
        self,
        statuses: Float[Array, "*batch n"],
        override: Override | None,
        weights: Float[Array, "*batch n"] | None = None,
    ) -> Float[Array, "*batch ..."]:
        """What assessed statuses add; weights (of mean 1) where not all count alike."""

    def contributions(
        self,
        statuses: Float[Array, "*batch time n"],
        weights: Float[np.ndarray, "time n"] | None = None,
        present: Bool[np.ndarray, "time n"] | None = None,
        override: Override | None = None,
    ) -> Float[Array, "*batch time ..."]:
        """What each time point adds: `contribute`, taken over those who are there."""
        if weights is None and present is None:
            return self.contribute(statuses, override)
        return Standing.of(present, weights).judge(
            lambda there, scaled: self.contribute(there, override, scaled), statuses
        )

    @abstractmethod
    def init(self, size: int) -> State: ...

    @abstractmethod
    def update(self, state: State, contribution: Float[Array, ...]) -> State: ...

    @abstractmethod
    def extend(self, state: State, contributions: Float[np.ndarray, "time ..."]) -> State:
        """The state after many contributions; must agree with `update` repeated."""

    @abstractmethod
    def value(self, state: State) -> Float[Array, ""]: ...

    def fold(self, contributions: Float[np.ndarray, "time ..."]) -> float:
        """The value of all contributions together."""
        return float(self.value(self.extend(self.init(contributions.shape[-1]), contributions)))

    def scan(
        self, state: State, contributions: Float[np.ndarray, "time ..."]
    ) -> Float[np.ndarray, " time"]:
        """The value after each of many contributions; must agree with `update` repeated."""
        values = np.zeros(len(contributions))
        for k, contribution in enumerate(contributions):
            state = self.update(state, contribution)
            values[k] = self.value(state)
        return values

    @abstractmethod
    def describe(self) -> str:
        """One or two sentences."""


AGGREGATIONS = Registry("aggregation")


@AGGREGATIONS.register("timepoint_first")
@dataclass(frozen=True)
class TimepointFirst(Aggregation[Any]):
    """Definition "timepoint-first": W_temporal(W(u_1), …, W(u_k))."""

    welfare: Welfare = LogNash()
    temporal: Temporal = Mean()

    def __post_init__(self) -> None:
        require_kind(self.welfare, Welfare, "welfare", "Rawls()")
        require_kind(self.temporal, Temporal, "temporal", "Mean()")

    @property
    def keeps_history(self) -> bool:
        return self.temporal.keeps_history

    @property
    def empty(self) -> float | None:
        return self.temporal.empty

    @property
    def takes_overrides(self) -> bool:
        return True

    @property
    def running_state(self) -> str:
        return self.temporal.running_state

    def require_fit(self, size: int) -> None:
        self.welfare.require_fit(size)

    def contribute(
        self,
        statuses: Float[Array, "*batch n"],
        override: Override | None,
        weights: Float[Array, "*batch n"] | None = None,
    ) -> Float[Array, "*batch"]:
        """w_t: the welfare, or what the environment puts in its place."""
        if weights is None:
            values = self.welfare(statuses)
        else:
            values = self.welfare.weighted(statuses, weights)
        if override is None:
            return values
        return namespace(values).where(override.applies, override.value, values)

    def init(self, size: int) -> Any:
        return self.temporal.init()

    def update(self, state: Any, contribution: Float[Array, ""]) -> Any:
        return self.temporal.update(state, contribution)

    def extend(self, state: Any, contributions: Float[np.ndarray, " time"]) -> Any:
        return self.temporal.extend(state, contributions)

    def value(self, state: Any) -> Float[Array, ""]:
        return self.temporal.value(state)

    def scan(
        self, state: Any, contributions: Float[np.ndarray, " time"]
    ) -> Float[np.ndarray, " time"]:
        return self.temporal.scan(state, contributions)

    def exchangeable(self, size: int) -> Labels:
        return self.welfare.exchangeable(size)

    def describe(self) -> str:
        return (
            f"Fairness at a time point is {self.welfare.describe()}. "
            f"Over time, {self.temporal.describe()}."
        )


@AGGREGATIONS.register("balanced_unfairness")
@dataclass(frozen=True)
class BalancedUnfairness(Aggregation[Array]):
    """Section 4.2.1: −Σ_i (overall unfairness to i)². Later favour makes good for before."""

    symmetric = True

    @property
    def running_state(self) -> str:
        return "everyone's running unfairness"

    def contribute(
        self,
        statuses: Float[Array, "*batch n"],
        override: Override | None,
        weights: Float[Array, "*batch n"] | None = None,
    ) -> Float[Array, "*batch n"]:
        _refuse(override, self)
        if weights is None:
            return unfairness(statuses)
        # By the root, since the sum over time is squared: whoever weighs w counts as w equal ones.
        return namespace(weights).sqrt(weights) * unfairness(statuses, weights)

    def init(self, size: int) -> Array:
        return np.zeros(size)

    def update(self, state: Array, contribution: Float[Array, " n"]) -> Array:
        return state + contribution

    def extend(self, state: Array, contributions: Float[np.ndarray, "time n"]) -> Array:
        return state + contributions.sum(axis=0)

    def value(self, state: Array) -> Float[Array, ""]:
        return -namespace(state).sum(state**2, axis=-1)

    def scan(
        self, state: Array, contributions: Float[np.ndarray, "time n"]
    ) -> Float[np.ndarray, " time"]:
        return self.value(state + np.cumsum(contributions, axis=0))

    def describe(self) -> str:
        return (
            "Each stakeholder's distance from the mean status is added up over time, so that "
            "being favoured once makes good for being neglected before; the score is minus the "
            "sum of the squares of what is left."
        )


@dataclass(frozen=True)
class MatrixFunction(Aggregation[tuple[np.ndarray, ...]]):
    """Any function of the assessed status matrix [time, stakeholder], for scoring only."""

    function: Callable[[Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise BadParameter(
                f"function is {short_repr(self.function)}: it must be a function of the table "
                "[time, stakeholder] of statuses, such as numpy.min."
            )

    @property
    def keeps_history(self) -> bool:
        return True

    def contribute(
        self,
        statuses: Float[Array, "*batch n"],
        override: Override | None,
        weights: Float[Array, "*batch n"] | None = None,
    ) -> Float[Array, "*batch n"]:
        _refuse(override, self)
        if weights is not None:
            raise WeightsRefused(
                "a function of the table of statuses does not say as how many each stakeholder "
                f"counts: judge with {argument('unweighted')}, or use TimepointFirst."
            )
        return statuses

    def init(self, size: int) -> tuple[np.ndarray, ...]:
        return (np.zeros((0, size)),)

    def update(
        self, state: tuple[np.ndarray, ...], contribution: Float[Array, " n"]
    ) -> tuple[np.ndarray, ...]:
        return (*state, contribution[None])

    def extend(
        self, state: tuple[np.ndarray, ...], contributions: Float[np.ndarray, "time n"]
    ) -> tuple[np.ndarray, ...]:
        return (*state, contributions)

    def value(self, state: tuple[np.ndarray, ...]) -> Float[Array, ""]:
        return np.asarray(self.function(np.concatenate(state)), dtype=np.float64)

    def describe(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"The score is what the function {name} says of the table of statuses."


def _refuse(override: Override | None, aggregation: Aggregation) -> None:
    if override is not None:
        raise OverridesRefused(
            f"{type(aggregation).__name__} is not timepoint-first, so the trace's overrides have "
            "no place in it: score the trace without them, or use TimepointFirst."
        )
