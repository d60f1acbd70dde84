"""Statuses computed from another status: by group, per head, and envy."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand._util.numbers import Array, as_float64, namespace
from evenhand.errors import WeightsDoNotFit, ZeroEntitlement
from evenhand.fairness.groups import Groups, Labels, by_value, refine
from evenhand.fairness.status.status import STATUSES, DeclaredRegularity, Returns, Status
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class Derived(Status[Any]):
    """A function of another status vector. It carries the other's state and nothing more."""

    keeps_linear: ClassVar[bool] = False  # whether it is linear in its own entry of the other

    of: Status = field(default=Returns(), kw_only=True)

    @abstractmethod
    def transform(self, values: Float[Array, "*batch inner"]) -> Float[Array, "*batch status"]: ...

    @property
    def keeps_history(self) -> bool:
        return self.of.keeps_history

    def init(self, num_stakeholders: int) -> Any:
        state = self.of.init(num_stakeholders)
        if not self.keeps_history:  # a function of the whole history has no value yet
            self.require_fit(len(self.of.value(state)))
        return state

    def require_fit(self, size: int) -> None:
        """Refuse an inner status vector of a size that does not fit."""

    def update(self, state: Any, step: Step) -> Any:
        return self.of.update(state, step)

    def value(self, state: Any) -> Float[Array, " status"]:
        return self.transform(self.of.value(state))

    def imaginable(self, state: Any) -> Any:
        return self.of.imaginable(state)

    def imagined(self, state: Any, part: Any) -> Any:
        return self.of.imagined(state, part)

    def scan(self, state: Any, steps: Trace) -> tuple[Any, Float[np.ndarray, "time status"]]:
        state, values = self.of.scan(state, steps)
        return state, self.transform(values)

    @property
    def weighs(self) -> bool:
        return self.of.weighs

    @property
    def weighed_by(self) -> str | None:
        return self.of.weighed_by

    @property
    def fixed_weights(self) -> Float[np.ndarray, " status"] | None:
        return self.of.fixed_weights

    @property
    def weights_change(self) -> bool:
        return self.of.weights_change

    def weights(self, state: Any) -> Float[Array, " status"] | None:
        return self.of.weights(state)

    def scan_weights(self, state: Any, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        return self.of.scan_weights(state, steps)

    def names(self, stakeholders: Sequence[str]) -> tuple[str, ...]:
        return self.of.names(stakeholders)

    def exchangeable(self, size: int) -> Labels:
        """Those that the inner status treats alike, where the transformation does (`symmetric`)."""
        return refine([self.of.exchangeable(size), super().exchangeable(size)], size)

    @property
    def per_stakeholder(self) -> bool:
        return self.of.per_stakeholder

    @property
    def is_sum(self) -> bool:
        return self.of.is_sum

    def of_totals(self, totals: Float[np.ndarray, "*batch n"], known: Any) -> np.ndarray:
        return self.transform(self.of.of_totals(totals, known))

    @property
    def is_linear(self) -> bool:
        return self.keeps_linear and self.of.is_linear

    @property
    def is_amount(self) -> bool:
        return self.of.is_amount

    @property
    def per_step(self) -> bool:
        return self.of.per_step

    def value_regular(self) -> DeclaredRegularity:
        # Of a status that is not value-regular a function still may be, as a remainder is.
        inner = self.of.value_regular()
        return _computed(inner) if inner.regular else DeclaredRegularity()

    def magnitude(self, reward_bound: float, time: int) -> float | None:
        inner, stretch = self.of.magnitude(reward_bound, time), self.stretch()
        return None if inner is None or stretch is None else stretch * inner

    def stretch(self) -> float | None:
        """How many times larger than the inner status an entry can be, if that is known."""
        return None


class _Comparing(Derived):
    """What has no bound has none when it is summed or compared: it is as regular as the inner."""

    def value_regular(self) -> DeclaredRegularity:
        return _computed(self.of.value_regular())


def _computed(inner: DeclaredRegularity) -> DeclaredRegularity:
    return DeclaredRegularity(inner.regular, f"it is computed from another: {inner.reason}")


@STATUSES.register("group_totals")
@dataclass(frozen=True)
class GroupTotals(_Comparing):
    """The sum over each group: the groups are the stakeholders that are judged."""

    keeps_linear = True

    groups: Groups

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", Groups.of(self.groups))

    def require_fit(self, size: int) -> None:
        self.groups.require_fit(size)

    def transform(self, values: Float[Array, "*batch inner"]) -> Float[Array, "*batch status"]:
        return self.groups.totals(values)

    def names(self, stakeholders: Sequence[str]) -> tuple[str, ...]:
        return self.groups.names

    def exchangeable(self, size: int) -> Labels:
        return refine([self.of.exchangeable(size), self.groups.labels(size)], size)

    @property
    def fixed_weights(self) -> Float[np.ndarray, " status"] | None:
        inner = self.of.fixed_weights
        return None if inner is None else self.groups.totals(inner)

    def weights(self, state: Any) -> Float[Array, " status"] | None:
        inner = self.of.weights(state)
        return None if inner is None else self.groups.totals(inner)

    def scan_weights(self, state: Any, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        inner = self.of.scan_weights(state, steps)
        return None if inner is None else self.groups.totals(inner)

    @property
    def per_stakeholder(self) -> bool:
        return False

    def describe(self) -> str:
        return f"{self.of.describe()}, summed by group ({', '.join(self.groups.names)})"

    @property
    def negated(self) -> bool:
        return self.of.negated

    @property
    def in_amounts(self) -> bool:
        return self.of.in_amounts

    def stretch(self) -> float:
        return max(len(part) for part in self.groups.members)


def mean_per_entitlement(weighted: bool, of_amounts: bool) -> str:
    """What the mean of statuses per unit of entitlement is."""
    if not weighted:
        return "the mean (all counted alike, whatever their entitlement)"
    if not of_amounts:
        return "the mean (each counted by its entitlement)"
    return "the mean per unit of entitlement (all amounts over all entitlements)"


@STATUSES.register("per_entitlement")
@dataclass(frozen=True)
class PerEntitlement(_Comparing):
    """A status divided by what each is entitled to: population, need, an agreed share.

    Whoever is entitled to e counts as e equal stakeholders, unless `weighted` is False: so the mean
    is all that was given over all that was entitled, and no way to share it scores above the even.
    """

    keeps_linear = True

    entitlements: tuple[float, ...]
    weighted: bool = True

    def __post_init__(self) -> None:
        values = as_float64(self.entitlements, "entitlements")
        if values.ndim != 1:
            raise WeightsDoNotFit("entitlements must be a plain list, one number per stakeholder.")
        for i in np.flatnonzero(values <= 0)[:1]:
            raise ZeroEntitlement(
                f"the entitlement of stakeholder {i} is {values[i]:g}: it must be positive; "
                "leave out those entitled to nothing."
            )
        object.__setattr__(self, "entitlements", tuple(values.tolist()))

    def require_fit(self, size: int) -> None:
        if len(self.entitlements) != size:
            raise WeightsDoNotFit(
                f"there are {len(self.entitlements)} entitlements for {size} stakeholders: "
                "give one each."
            )

    def transform(self, values: Float[Array, "*batch inner"]) -> Float[Array, "*batch status"]:
        return values / namespace(values).asarray(self.entitlements, dtype=values.dtype)

    @functools.cached_property
    def fixed_weights(self) -> Float[np.ndarray, " status"] | None:
        if not self.weighted or len(set(self.entitlements)) == 1:
            return None
        return np.asarray(self.entitlements)

    @property
    def weights_change(self) -> bool:
        return False

    def weights(self, state: Any) -> Float[Array, " status"] | None:
        return self.fixed_weights

    def scan_weights(self, state: Any, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        return Status.scan_weights(self, state, steps)

    def exchangeable(self, size: int) -> Labels:
        inner = self.of.exchangeable(size)
        if len(self.entitlements) != size:  # of groups, which the inner status has kept apart
            return inner
        return refine([inner, by_value(self.entitlements)], size)

    def describe(self) -> str:
        counted = "" if self.weighted else " (all counted alike, whatever their entitlement)"
        return f"{self.of.describe()}, per unit of entitlement{counted}"

    def describe_mean(self) -> str:
        return mean_per_entitlement(self.weighted, self.of.in_amounts)

    @property
    def weighs(self) -> bool:
        return self.weighted

    @property
    def weighed_by(self) -> str | None:
        return "its entitlement" if self.weighted else None

    @property
    def in_amounts(self) -> bool:
        return self.weighted and self.of.in_amounts and not self.of.weighs

    @property
    def negated(self) -> bool:
        return self.of.negated

    def stretch(self) -> float:
        return 1.0 / min(self.entitlements)


@STATUSES.register("lower_is_better")
@dataclass(frozen=True)
class LowerIsBetter(_Comparing):
    """Minus another status: of harms and waits, whoever has less is better off."""

    symmetric = True
    keeps_linear = True

    def transform(self, values: Float[Array, "*batch inner"]) -> Float[Array, "*batch status"]:
        return -values

    def describe(self) -> str:
        return f"minus {self.of.describe()}, since less is better"

    def describe_mean(self) -> str:
        return self.of.describe_mean()

    @property
    def negated(self) -> bool:
        return not self.of.negated

    @property
    def in_amounts(self) -> bool:
        return self.of.in_amounts

    def stretch(self) -> float:
        return 1.0


@STATUSES.register("envy_of_best")
@dataclass(frozen=True)
class EnvyOfBest(_Comparing):
    """Minus what each stakeholder lacks to the best-off one."""

    symmetric = True

    def transform(self, values: Float[Array, "*batch inner"]) -> Float[Array, "*batch status"]:
        return values - namespace(values).max(values, axis=-1, keepdims=True)

    @property
    def is_amount(self) -> bool:
        return False  # it compares amounts, which are to be per unit before that

    def describe(self) -> str:
        return f"minus its envy of the best-off, comparing {self.of.describe()}"

    def stretch(self) -> float:
        return 2.0


@STATUSES.register("pairwise_envy")
@dataclass(frozen=True)
class PairwiseEnvy(_Comparing):
    """Minus the sum of what each stakeholder lacks to everyone who is better off.

    Sorted, Σ_j max(0, u_j − u_i) is a suffix sum: n·log n work instead of n².
    """

    symmetric = True

    def transform(self, values: Float[Array, "*batch inner"]) -> Float[Array, "*batch status"]:
        xp = namespace(values)
        size = values.shape[-1]
        order = xp.argsort(values, axis=-1)
        ascending = xp.take_along_axis(values, order, axis=-1)
        gaps = ascending[..., 1:] - ascending[..., :-1]
        # The gap above rank k is lacked once for each of the n − 1 − k stakeholders beyond it.
        lacked = xp.flip(gaps * xp.arange(size - 1, 0, -1), axis=-1)
        suffix = xp.flip(xp.cumulative_sum(lacked, axis=-1), axis=-1)
        lacking = xp.concat((suffix, xp.zeros_like(values[..., :1])), axis=-1)
        return -xp.take_along_axis(lacking, xp.argsort(order, axis=-1), axis=-1)

    @property
    def is_amount(self) -> bool:
        return False

    def describe(self) -> str:
        return f"minus its envy of everyone better off, comparing {self.of.describe()}"
