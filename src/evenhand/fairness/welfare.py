"""Sections 2 and 4: W, one number for a vector of statuses. Higher is better.

Every function works on the last axis, on NumPy and on JAX arrays, one vector or many. Inside they
are bare; `require_defined` is the check that scoring makes at the boundary.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import Array, as_float64, namespace
from evenhand._util.registry import Registry
from evenhand.errors import (
    BadParameter,
    NegativeStatus,
    StatusPlace,
    WeightsDoNotFit,
    WeightsRefused,
    argument,
)
from evenhand.fairness.groups import Exchanging, Groups, Labels, all_alike

if TYPE_CHECKING:
    from jaxtyping import Float


class Welfare(Exchanging, ABC):
    """The aggregation function W over stakeholders (or over time points, see `temporal`)."""

    @abstractmethod
    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]: ...

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        """The same where a stakeholder of weight w counts as w equal ones; the mean weight is 1."""
        raise WeightsRefused(
            f"{type(self).__name__} does not say what it is where stakeholders count for unequal "
            f"numbers: give it a method `weighted`, choose another welfare such as LogNash, or "
            f"judge with {argument('unweighted')}."
        )

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "fairness at a time point is …"."""

    def require_fit(self, size: int) -> None:
        """Refuse a status vector of a size that does not fit."""

    @property
    def additive(self) -> bool:
        """Whether it is a sum of one term per status, W(u) = Σ W((u_i))."""
        return False

    @property
    def least_status(self) -> float:
        """Below this a status leaves the welfare undefined."""
        return -math.inf

    @property
    def least_excluded(self) -> bool:
        """Whether `least_status` itself is already undefined, as log 0 is."""
        return False

    def magnitude(self, status_bound: float, size: int) -> float | None:
        """A bound on |W(u)| where |u_i| ≤ status_bound (and W is defined), or None."""
        return None


WELFARES = Registry("welfare")


def require_defined(
    welfare: Welfare, values: Float[np.ndarray, ...], what: Callable[..., StatusPlace | str]
) -> None:
    """Refuse values for which the welfare is undefined; `what` names the one at an index."""
    least, excluded = welfare.least_status, welfare.least_excluded
    if least == -math.inf:
        return
    # Not by the smallest of them: where amounts overflowed that is NaN, which says nothing.
    undefined = values <= least if excluded else values < least
    if not undefined.any():
        return
    place = tuple(np.argwhere(undefined)[0])
    raise NegativeStatus(
        what(*place),
        f"is {values[place]:g}, but {type(welfare).__name__} is defined only for "
        f"values {'above' if excluded else 'of at least'} {least:g}: choose another welfare such "
        "as Rawls, or fix the amounts.",
    )


@WELFARES.register("utilitarian")
@dataclass(frozen=True)
class Utilitarian(Welfare):
    """The sum of statuses, Util(u) = Σ u_i."""

    symmetric = True

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return namespace(values).sum(values, axis=-1)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        return namespace(values).sum(weights * values, axis=-1)

    @property
    def additive(self) -> bool:
        return True

    def describe(self) -> str:
        return "the sum of all statuses (utilitarian)"

    def magnitude(self, status_bound: float, size: int) -> float:
        return size * status_bound


@WELFARES.register("average")
@dataclass(frozen=True)
class Average(Welfare):
    """The mean of statuses."""

    symmetric = True

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return namespace(values).mean(values, axis=-1)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        return namespace(values).mean(weights * values, axis=-1)

    def describe(self) -> str:
        return "the mean of all statuses"

    def magnitude(self, status_bound: float, size: int) -> float:
        return status_bound


@WELFARES.register("rawls")
@dataclass(frozen=True)
class Rawls(Welfare):
    """The status of the worst-off, Rawls(u) = min u_i."""

    symmetric = True

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return namespace(values).min(values, axis=-1)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        return self(values)  # of equal ones, the worst-off stands where it stands alone

    def describe(self) -> str:
        return "the status of the worst-off (Rawls)"

    def magnitude(self, status_bound: float, size: int) -> float:
        return status_bound


@WELFARES.register("nash")
@dataclass(frozen=True)
class Nash(Welfare):
    """The product of statuses, Nash(u) = Π u_i. Of many or large statuses take `LogNash`."""

    symmetric = True

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return namespace(values).prod(values, axis=-1)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        return namespace(values).prod(values**weights, axis=-1)

    def describe(self) -> str:
        return "the product of all statuses (Nash)"

    @property
    def least_status(self) -> float:
        return 0.0

    def magnitude(self, status_bound: float, size: int) -> float:
        return status_bound**size


@WELFARES.register("geometric_mean")
@dataclass(frozen=True)
class GeometricMean(Welfare):
    """Nash welfare as a mean, (Π u_i)^(1/n), and 0 where a status is 0 or below.

    Fan et al. (2023) judge the returns of each stakeholder so, which may be negative.
    """

    symmetric = True

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return self.weighted(values, namespace(values).ones_like(values))

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        xp = namespace(values)
        above = values > 0
        # By logarithms: a product of many statuses may be more than a number can hold.
        mean = xp.mean(weights * xp.log(xp.where(above, values, 1.0)), axis=-1)
        return xp.where(xp.all(above, axis=-1), xp.exp(mean), 0.0)

    def describe(self) -> str:
        return "the geometric mean of all statuses, 0 where one is not above 0 (Nash)"

    def magnitude(self, status_bound: float, size: int) -> float:
        return status_bound


@WELFARES.register("log_nash")
@dataclass(frozen=True)
class LogNash(Welfare):
    """Section 6.1: log Nash(u + 1) = Σ log(u_i + offset), with the paper's offset of 1."""

    symmetric = True

    offset: float = 1.0

    def __post_init__(self) -> None:
        if not (self.offset >= 0.0 and math.isfinite(self.offset)):
            raise BadParameter(f"offset is {self.offset}: it must be a number of at least 0.")

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        xp = namespace(values)
        shifted = values + self.offset
        fours = shifted.shape[-1] // 4 * 4
        # A logarithm costs ten products, so it is taken of four statuses at a time. Four at once
        # stay within a float64 for statuses up to 10^75.
        whole, rest = shifted[..., :fours], shifted[..., fours:]
        four = whole[..., 0::4] * whole[..., 1::4]
        four = four * (whole[..., 2::4] * whole[..., 3::4])
        return xp.sum(xp.log(four), axis=-1) + xp.sum(xp.log(rest), axis=-1)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        xp = namespace(values)
        return xp.sum(weights * xp.log(values + self.offset), axis=-1)

    @property
    def additive(self) -> bool:
        return True

    def describe(self) -> str:
        plus = f" plus {self.offset:g}" if self.offset else ""
        return f"the sum of the logarithms of all statuses{plus} (log Nash)"

    @property
    def least_status(self) -> float:
        return 0.0

    @property
    def least_excluded(self) -> bool:
        return self.offset == 0.0

    def magnitude(self, status_bound: float, size: int) -> float | None:
        if self.offset == 0.0:
            return None
        return size * max(abs(math.log(self.offset)), abs(math.log(status_bound + self.offset)))


@WELFARES.register("generalised_gini")
@dataclass(frozen=True)
class GeneralisedGini(Welfare):
    """Σ w_k u_(k) over statuses in ascending order, with weights that do not increase."""

    symmetric = True

    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        weights = as_float64(self.weights, "weights")
        if weights.ndim != 1 or not len(weights):
            raise WeightsDoNotFit("weights must be a plain list, one number per stakeholder.")
        if weights.min() < 0 or weights[0] == 0:
            raise WeightsDoNotFit("weights must not be negative, nor all be zero.")
        if (np.diff(weights) > 0).any():
            k = int(np.argmax(np.diff(weights) > 0)) + 1
            raise WeightsDoNotFit(
                f"weight {k} ({weights[k]:g}) is larger than the one before it "
                f"({weights[k - 1]:g}): the worst-off come first and must weigh most."
            )
        object.__setattr__(self, "weights", tuple(weights.tolist()))

    def require_fit(self, size: int) -> None:
        if size != len(self.weights):
            raise WeightsDoNotFit(
                f"there are {len(self.weights)} weights for {size} statuses: give one each."
            )

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        xp = namespace(values)
        return xp.sort(values, axis=-1) @ xp.asarray(self.weights, dtype=values.dtype)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        xp = namespace(values)
        order = xp.argsort(values, axis=-1)
        ascending = xp.take_along_axis(values, order, axis=-1)
        # Each takes a stretch of [0, n] as long as its weight, in order of status; the weights of
        # the ranks are a density on it, constant from one whole number to the next.
        ends = xp.cumulative_sum(xp.take_along_axis(weights, order, axis=-1), axis=-1)
        density = xp.asarray([*self.weights, 0.0], dtype=values.dtype)
        below = xp.asarray(np.concatenate(([0.0], np.cumsum(self.weights))), dtype=values.dtype)
        rank = xp.astype(xp.clip(xp.floor(ends), 0, len(self.weights)), np.int32)
        covered = xp.take(below, rank) + (ends - rank) * xp.take(density, rank)
        first = xp.zeros_like(covered[..., :1])
        own = xp.diff(xp.concat((first, covered), axis=-1), axis=-1)
        return xp.sum(own * ascending, axis=-1)

    def describe(self) -> str:
        return "a weighted sum of statuses in which the worse-off weigh more (generalised Gini)"

    def magnitude(self, status_bound: float, size: int) -> float:
        return sum(self.weights) * status_bound


@WELFARES.register("gini")
@dataclass(frozen=True)
class GiniWelfare(Welfare):
    """mean(u) · (1 − Gini(u)): the generalised Gini welfare with weights (2(n − k) + 1)/n²."""

    symmetric = True

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        size = values.shape[-1]
        xp = namespace(values)
        # As GeneralisedGini has it, whose checks of weights need not be made again at each block.
        weights = (2 * (size - np.arange(1, size + 1)) + 1) / size**2
        return xp.sort(values, axis=-1) @ xp.asarray(weights, dtype=values.dtype)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        xp = namespace(values)
        size = values.shape[-1]
        order = xp.argsort(values, axis=-1)
        ascending = xp.take_along_axis(values, order, axis=-1)
        in_order = xp.take_along_axis(weights, order, axis=-1)
        # Relative to the lowest, so that equal statuses differ by exactly 0.
        lowest = ascending[..., :1]
        above = ascending - lowest
        # Σ_i Σ_j w_i w_j |u_i − u_j| / 2, each status counted with those below it and above it.
        ends = xp.cumulative_sum(in_order, axis=-1)
        apart = xp.sum(in_order * above * (2 * ends - in_order - size), axis=-1)
        return lowest[..., 0] + xp.mean(in_order * above, axis=-1) - apart / size**2

    def describe(self) -> str:
        return "the mean status times one minus the Gini index"

    def magnitude(self, status_bound: float, size: int) -> float:
        return status_bound


@WELFARES.register("alpha_fair")
@dataclass(frozen=True)
class AlphaFair(Welfare):
    """Σ u^(1−α)/(1−α), and Σ log u for α = 1: utilitarian at 0, towards Rawls as α grows."""

    symmetric = True

    alpha: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        if not (self.alpha >= 0.0 and math.isfinite(self.alpha)):
            raise BadParameter(f"alpha is {self.alpha}: it must be a number of at least 0.")
        if not (self.offset >= 0.0 and math.isfinite(self.offset)):
            raise BadParameter(f"offset is {self.offset}: it must be a number of at least 0.")

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        xp = namespace(values)
        shifted = values + self.offset
        if self.alpha == 1.0:
            return xp.sum(xp.log(shifted), axis=-1)
        return xp.sum(shifted ** (1.0 - self.alpha), axis=-1) / (1.0 - self.alpha)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        xp = namespace(values)
        shifted = values + self.offset
        if self.alpha == 1.0:
            return xp.sum(weights * xp.log(shifted), axis=-1)
        return xp.sum(weights * shifted ** (1.0 - self.alpha), axis=-1) / (1.0 - self.alpha)

    @property
    def additive(self) -> bool:
        return True

    def describe(self) -> str:
        plus = f" of statuses plus {self.offset:g}" if self.offset else ""
        return f"alpha-fairness{plus} with alpha {self.alpha:g}"

    @property
    def least_status(self) -> float:
        return 0.0

    @property
    def least_excluded(self) -> bool:
        return self.offset == 0.0 and self.alpha >= 1.0

    def magnitude(self, status_bound: float, size: int) -> float | None:
        if self.least_excluded:
            return None
        ends = np.array([[0.0], [status_bound]])
        return size * float(np.abs(self(ends)).max())


@WELFARES.register("jain")
@dataclass(frozen=True)
class Jain(Welfare):
    """Jain's index (Σ u)² / (n Σ u²): 1 when all are equal, 1/n when one has everything."""

    symmetric = True

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        xp = namespace(values)
        largest = xp.max(values, axis=-1, keepdims=True)
        # Relative to the largest, so that squares stay in range; nobody having anything is equal.
        share = xp.where(largest > 0, values / xp.where(largest > 0, largest, 1.0), 1.0)
        return xp.sum(share, axis=-1) ** 2 / (values.shape[-1] * xp.sum(share**2, axis=-1))

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        xp = namespace(values)
        largest = xp.max(values, axis=-1, keepdims=True)
        share = xp.where(largest > 0, values / xp.where(largest > 0, largest, 1.0), 1.0)
        return xp.mean(weights * share, axis=-1) ** 2 / xp.mean(weights * share**2, axis=-1)

    def describe(self) -> str:
        return "Jain's index of how equal the statuses are (1 is equal)"

    @property
    def least_status(self) -> float:
        return 0.0

    def magnitude(self, status_bound: float, size: int) -> float:
        return 1.0


@WELFARES.register("equality")
@dataclass(frozen=True)
class Equality(Welfare):
    """Section 4: 1 just in case all statuses are equal (to a tolerance), otherwise 0."""

    symmetric = True

    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not self.tolerance >= 0.0:
            raise BadParameter(f"tolerance is {self.tolerance}: it must be at least 0.")

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        xp = namespace(values)
        spread = xp.max(values, axis=-1) - xp.min(values, axis=-1)
        return xp.astype(spread <= self.tolerance, values.dtype)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        return self(values)

    def describe(self) -> str:
        within = f" to within {self.tolerance:g}" if self.tolerance else ""
        return f"1 if all statuses are equal{within}, otherwise 0"

    def magnitude(self, status_bound: float, size: int) -> float:
        return 1.0


@WELFARES.register("parity")
@dataclass(frozen=True)
class Parity(Welfare):
    """Section 6.2 (relaxed demographic parity): minus the gap between the groups' totals.

    With two groups −|Σ_A u − Σ_B u|; with more, minus the largest gap. Without groups every
    status is a group of its own.
    """

    groups: Groups | None = None

    def __post_init__(self) -> None:
        if self.groups is not None:
            object.__setattr__(self, "groups", Groups.of(self.groups))

    def require_fit(self, size: int) -> None:
        if self.groups is not None:
            self.groups.require_fit(size)

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        xp = namespace(values)
        totals = values if self.groups is None else self.groups.totals(values)
        return xp.min(totals, axis=-1) - xp.max(totals, axis=-1)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        return self(values) if self.groups is None else self(weights * values)

    def exchangeable(self, size: int) -> Labels:
        return all_alike(size) if self.groups is None else self.groups.labels(size)

    def describe(self) -> str:
        between = "groups" if self.groups is None else f"groups {', '.join(self.groups.names)}"
        return f"minus the gap between {between} (parity)"

    def magnitude(self, status_bound: float, size: int) -> float:
        return 2 * size * status_bound


@WELFARES.register("negative_variance")
@dataclass(frozen=True)
class NegativeVariance(Welfare):
    """Minus the (population) variance of statuses."""

    symmetric = True

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return -namespace(values).var(values, axis=-1)

    def weighted(
        self, values: Float[Array, "*batch n"], weights: Float[Array, "*batch n"]
    ) -> Float[Array, "*batch"]:
        xp = namespace(values)
        mean = xp.mean(weights * values, axis=-1, keepdims=True)
        return -xp.mean(weights * (values - mean) ** 2, axis=-1)

    def describe(self) -> str:
        return "minus the variance of the statuses"

    def magnitude(self, status_bound: float, size: int) -> float:
        return status_bound**2


@dataclass(frozen=True)
class WelfareFunction(Welfare):
    """Any function of one status vector."""

    function: Callable[[Any], Any]

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        if values.ndim == 1:
            return namespace(values).asarray(self.function(values), dtype=values.dtype)
        rows = [self(row) for row in values]
        return namespace(values).stack(rows) if rows else values[:, 0]

    def describe(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"what the function {name} says of the statuses"
