"""How each welfare enters a linear program: its columns and rows, one value per assessment.

Rawls, parity and the Gini welfares are pieces of planes, so that the program is exact. A sum of
concave terms and the variance are met by tangents, which are added where a solution asks for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.concave_terms import ConcaveTerm, concave_term
from evenhand.decide.hindsight.linear_model import Entry, LinearModel
from evenhand.errors import BadParameter, argument
from evenhand.fairness.welfare import (
    GeneralisedGini,
    GiniWelfare,
    NegativeVariance,
    Parity,
    Rawls,
    Welfare,
)

if TYPE_CHECKING:
    from jaxtyping import Float

MET = 3e-7  # a tangent missed by less, of the value, is met: HiGHS promises no more
MOST_PAIRS = 300_000  # of stakeholders compared at assessments


class LinearWelfare(ABC):
    """A welfare in a linear program; `values` has one column per assessment."""

    values: np.ndarray

    @abstractmethod
    def __init__(self, model: LinearModel, welfare: Welfare) -> None: ...

    def cut(self, solution: Float[np.ndarray, " column"]) -> bool:
        """Add what a solution shows to be missing; False where nothing is."""
        return False


def statuses(model: LinearModel, solution: Float[np.ndarray, " column"]) -> np.ndarray:
    """The status of each pair in a solution."""
    pairs = model.pairs
    credit = np.where(pairs.credit >= 0, solution[pairs.credit], 0.0)
    return pairs.slope * solution[pairs.total] + pairs.start + credit


class _OfWorstOff(LinearWelfare):
    """value ≤ u for everyone."""

    def __init__(self, model: LinearModel, welfare: Welfare) -> None:
        pairs = model.pairs
        self.values = model.columns(len(model.division.after))
        own = (np.arange(len(pairs)), self.values[pairs.assessment], -1.0)
        model.rows([*pairs.rows(), own], -pairs.start, np.inf, len(pairs))


class _OfParity(LinearWelfare):
    """value = low − high, with low ≤ u ≤ high of everyone, or of the total of every group."""

    def __init__(self, model: LinearModel, welfare: Welfare) -> None:
        assert isinstance(welfare, Parity)
        pairs, count = model.pairs, len(model.division.after)
        low, high, self.values = (model.columns(count) for _ in range(3))
        every = np.arange(count)
        model.rows(
            [(every, self.values, 1.0), (every, low, -1.0), (every, high, 1.0)], 0.0, 0.0, count
        )
        scale, place, start = np.ones(len(pairs)), np.arange(len(pairs)), pairs.start
        at = pairs.assessment
        if welfare.groups is not None:
            group = np.array(welfare.groups.labels(len(model.division.names)))[pairs.stakeholder]
            keys = at * (group.max() + 1) + group
            kept, place = np.unique(keys, return_inverse=True)
            at = kept // (group.max() + 1)
            scale = pairs.weight
            start = np.bincount(place, weights=scale * pairs.start, minlength=len(kept))
        entries = [(place[row], column, value) for row, column, value in pairs.rows(scale)]
        rows = np.arange(len(at))
        model.rows([*entries, (rows, low[at], -1.0)], -start, np.inf, len(at))
        model.rows([*entries, (rows, high[at], -1.0)], -np.inf, -start, len(at))


class _OfGini(LinearWelfare):
    """value = mean − Σ w_i w_j |u_i − u_j| / 2n² over pairs of stakeholders."""

    def __init__(self, model: LinearModel, welfare: Welfare) -> None:
        pairs, count = model.pairs, len(model.division.after)
        total = np.bincount(pairs.assessment, weights=pairs.weight, minlength=count)
        self.values = model.columns(count)
        one, other = _both(pairs.assessment)
        apart = model.columns(len(one), low=0.0)
        size = total[pairs.assessment]
        entries: list[Entry] = [
            (pairs.assessment[row], column, value)
            for row, column, value in pairs.rows(pairs.weight / size)
        ]
        at = pairs.assessment[one]
        product = pairs.weight[one] * pairs.weight[other] / total[at] ** 2
        start = np.bincount(
            pairs.assessment, weights=pairs.weight / size * pairs.start, minlength=count
        )
        every = np.arange(count)
        model.rows(
            [*entries, (at, apart, -product), (every, self.values, -1.0)],
            -start,
            np.inf,
            count,
        )
        rows = np.arange(len(one))
        difference = pairs.start[one] - pairs.start[other]
        for sign in (1.0, -1.0):
            both = (*pairs.at(one).rows(-sign), *pairs.at(other).rows(sign))
            model.rows([(rows, apart, 1.0), *both], sign * difference, np.inf, len(one))


def _both(assessment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every two who count at one assessment, as places among the pairs."""
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for k in np.unique(assessment):
        here = np.flatnonzero(assessment == k)
        _require_few(sum(len(one) for one, _ in found) + len(here) ** 2 // 2)
        one, other = np.triu_indices(len(here), 1)
        found.append((here[one], here[other]))
    return (
        np.concatenate([one for one, _ in found]),
        np.concatenate([other for _, other in found]),
    )


def _require_few(count: int) -> None:
    if count > MOST_PAIRS:
        raise BadParameter(
            "the best there was by a Gini welfare compares every two stakeholders at every "
            f"assessment, and at most {MOST_PAIRS:,} such pairs are taken: look less often with "
            f"{argument('every')}, or choose log_nash or rawls."
        )


class _OfRanks(LinearWelfare):
    """Σ_j (ω_j − ω_(j+1)) L(j), L(j) being what the worst-off part of size j has together.

    L(j) = max_r j·r − Σ w_i (r − u_i)_+, which a linear program can maximise.
    """

    def __init__(self, model: LinearModel, welfare: Welfare) -> None:
        assert isinstance(welfare, GeneralisedGini)
        pairs, count = model.pairs, len(model.division.after)
        steps = np.diff([*welfare.weights, 0.0])
        ranks = np.flatnonzero(steps < 0)
        _require_few(len(pairs) * len(ranks))
        self.values = model.columns(count)
        every = np.arange(count)
        entries: list[Entry] = [(every, self.values, -1.0)]
        for rank in ranks:
            level = model.columns(count)
            lack = model.columns(len(pairs), low=0.0)
            drop = -steps[rank]
            entries.append((every, level, drop * (rank + 1.0)))
            entries.append((pairs.assessment, lack, -drop * pairs.weight))
            rows = np.arange(len(pairs))
            model.rows(
                [*pairs.rows(), (rows, lack, 1.0), (rows, level[pairs.assessment], -1.0)],
                -pairs.start,
                np.inf,
                len(pairs),
            )
        model.rows(entries, 0.0, np.inf, count)


class _ByTangents(LinearWelfare):
    """A sum of concave functions of one quantity each, met from above by tangents."""

    def __init__(self, model: LinearModel, welfare: Welfare) -> None:
        self.model = model
        pairs, count = model.pairs, len(model.division.after)
        self.values = model.columns(count)
        self.terms = model.columns(len(pairs))
        factor = self._begin(welfare)
        every = np.arange(count)
        model.rows(
            [(pairs.assessment, self.terms, factor), (every, self.values, -1.0)],
            0.0,
            np.inf,
            count,
        )
        for at in self._first_points():
            self._add(at, np.ones(len(pairs), dtype=bool))

    @abstractmethod
    def _begin(self, welfare: Welfare) -> np.ndarray:
        """Take up the welfare; what each term counts."""

    @abstractmethod
    def _first_points(self) -> list[np.ndarray]: ...

    @abstractmethod
    def _quantity(self, solution: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _value(self, at: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def _slope(self, at: np.ndarray) -> np.ndarray: ...

    def _touch(
        self, at: np.ndarray, where: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A quantity of chosen pairs, the value there, and the slope of what lies above all."""
        return at, self._value(at), self._slope(at)

    def _more(self, where: np.ndarray, slope: np.ndarray) -> list[Entry]:
        """Entries of what the quantity is made of besides the status."""
        return []

    def _add(self, at: np.ndarray, chosen: np.ndarray) -> None:
        """term ≤ value(at) + slope(at) · (quantity − at), for chosen pairs."""
        where = np.flatnonzero(chosen)
        pairs = self.model.pairs.at(where)
        at, value, slope = self._touch(at[where], where)
        term = (np.arange(len(where)), self.terms[where], 1.0)
        entries = [term, *pairs.rows(-slope), *self._more(where, slope)]
        self.model.rows(entries, -np.inf, value + slope * (pairs.start - at), len(where))

    def cut(self, solution: Float[np.ndarray, " column"]) -> bool:
        at = self._quantity(solution)
        touch, height, slope = self._touch(at, np.arange(len(at)))
        value = height + slope * (at - touch)
        over = solution[self.terms] - value
        chosen = ~(over <= MET * np.maximum(np.abs(value), 1e-2))
        if chosen.any():
            self._add(at, chosen)
        return bool(chosen.any())


class _OfTerms(_ByTangents):
    def _begin(self, welfare: Welfare) -> np.ndarray:
        term = concave_term(welfare)
        assert isinstance(term, ConcaveTerm)
        self.term, division = term, self.model.division
        pairs = self.model.pairs
        largest = np.abs(pairs.slope) * division.supply.sum() + np.abs(pairs.start)
        self.highest = np.maximum(largest, 1e-12)
        # A term without an offset is undefined at 0: what is less than this is taken for it.
        self.lowest = np.where(term.offset > 0, 0.0, 1e-9) * self.highest
        return term.factor(division.weight)[pairs.assessment, pairs.stakeholder]

    def _first_points(self) -> list[np.ndarray]:
        if self.term.alpha == 0.0:
            return [self.highest]
        parts = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
        return [np.maximum(part * self.highest, self.lowest) for part in parts] + [
            np.maximum(self.lowest, self.model.pairs.start)
        ]

    def _quantity(self, solution: np.ndarray) -> np.ndarray:
        found = statuses(self.model, solution)
        return found if self.term.alpha == 0.0 else np.maximum(found, self.lowest)

    def _value(self, at: np.ndarray) -> np.ndarray:
        return self.term.value(at)

    def _slope(self, at: np.ndarray) -> np.ndarray:
        return self.term.slope(at)

    def _touch(
        self, at: np.ndarray, where: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Between two amounts that lots can make, the line through both is as good as the curve.

        Lots of one size make its multiples; of others it is known that nothing lies between none
        and the smallest.
        """
        pairs, size = self.model.pairs, self.model.smallest_lot
        step = np.abs(pairs.slope[where]) * (size or 0.0)
        touch, value, slope = super()._touch(at, where)
        whole = (step > 0) & (pairs.credit[where] < 0)
        if not self.model.equal_lots:
            whole &= at < pairs.start[where] + step
        if not whole.any():
            return touch, value, slope
        step = np.where(whole, step, 1.0)
        start = pairs.start[where]
        lower = start + step * np.floor((at - start) / step + 1e-7)
        # Where there is no value at 0, what is barely more stands in for it.
        low = lower if self.term.alpha < 1.0 else np.maximum(lower, self.lowest[where])
        rise = (self._value(lower + step) - self._value(low)) / (lower + step - low)
        return (
            np.where(whole, low, touch),
            np.where(whole, self._value(low), value),
            np.where(whole, rise, slope),
        )


class _OfVariance(_ByTangents):
    """−(u − c)², with a column c for the mean of each assessment."""

    def _begin(self, welfare: Welfare) -> np.ndarray:
        pairs, model = self.model.pairs, self.model
        self.mean = model.columns(len(model.division.after))
        count = len(model.division.after)
        total = np.bincount(pairs.assessment, weights=pairs.weight, minlength=count)
        self.scale = np.abs(pairs.slope).max(initial=0.0) * model.division.supply.sum()
        return pairs.weight / total[pairs.assessment]

    def _first_points(self) -> list[np.ndarray]:
        at = np.full(len(self.model.pairs), self.scale)
        return [at * part for part in (-1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0)]

    def _quantity(self, solution: np.ndarray) -> np.ndarray:
        mean = solution[self.mean][self.model.pairs.assessment]
        return statuses(self.model, solution) - mean

    def _value(self, at: np.ndarray) -> np.ndarray:
        return -(at**2)

    def _slope(self, at: np.ndarray) -> np.ndarray:
        return -2.0 * at

    def _more(self, where: np.ndarray, slope: np.ndarray) -> list[Entry]:
        mean = self.mean[self.model.pairs.assessment[where]]
        return [(np.arange(len(where)), mean, slope)]


def linear_welfare(model: LinearModel, welfare: Welfare) -> LinearWelfare | None:
    """A welfare in a linear program, or None where it has no place in one."""
    kinds: dict[type[Welfare], type[LinearWelfare]] = {
        Rawls: _OfWorstOff,
        Parity: _OfParity,
        GiniWelfare: _OfGini,
        GeneralisedGini: _OfRanks,
        NegativeVariance: _OfVariance,
    }
    kind = kinds.get(type(welfare))
    if kind is None and concave_term(welfare) is not None:
        kind = _OfTerms
    return None if kind is None else kind(model, welfare)
