"""The best there was where it is a linear program, solved by HiGHS."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from evenhand._util.files import nothing_on_stdout
from evenhand.decide.hindsight.division import Division, WholeLots
from evenhand.errors import BadParameter, argument
from evenhand.fairness.temporal import Last, Mean, Temporal
from evenhand.fairness.welfare import (
    AlphaFair,
    Average,
    GeneralisedGini,
    GiniWelfare,
    LogNash,
    Nash,
    NegativeVariance,
    Parity,
    Rawls,
    Utilitarian,
    Welfare,
)

if TYPE_CHECKING:
    from jaxtyping import Float


# Welfares that are a sum of one concave term per status, and what time makes of assessments.
#
# Utilitarian, log-Nash and alpha-fairness are one family: (u + offset)^(1−α)/(1−α), at α = 1 the
# logarithm. Nash welfare is the exponential of one of them.


@dataclass(frozen=True)
class ConcaveTerm:
    """(u + offset)^(1−α)/(1−α), or log(u + offset), with its first two derivatives."""

    alpha: float
    offset: float = 0.0
    of_mean: bool = False  # the sum is divided by how many count

    def value(self, status: Float[np.ndarray, ...]) -> Float[np.ndarray, ...]:
        shifted = status + self.offset
        if self.alpha == 0.0:
            return shifted
        if self.alpha == 1.0:
            return np.log(shifted)
        return shifted ** (1.0 - self.alpha) / (1.0 - self.alpha)

    def slope(self, status: Float[np.ndarray, ...]) -> Float[np.ndarray, ...]:
        if self.alpha == 0.0:
            return np.ones_like(status)
        return (status + self.offset) ** -self.alpha

    def curvature(self, status: Float[np.ndarray, ...]) -> Float[np.ndarray, ...]:
        """Minus the second derivative."""
        if self.alpha == 0.0:
            return np.zeros_like(status)
        return self.alpha * (status + self.offset) ** (-self.alpha - 1.0)

    def factor(
        self, weight: Float[np.ndarray, "assessment n"]
    ) -> Float[np.ndarray, "assessment n"]:
        """What the term of each status counts, by weights that are 0 for those who do not count."""
        if not self.of_mean:
            return weight
        return weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)  # mean 1: adds to n


def concave_term(welfare: Welfare | None) -> ConcaveTerm | None:
    """The term of a welfare that is a sum of such, or None."""
    if isinstance(welfare, LogNash):
        return ConcaveTerm(1.0, welfare.offset)
    if isinstance(welfare, AlphaFair):
        # The sum of u + offset at alpha 0 is what `AlphaFair` says, offset included.
        return ConcaveTerm(welfare.alpha, welfare.offset)
    if isinstance(welfare, Utilitarian | Average):
        return ConcaveTerm(0.0, of_mean=isinstance(welfare, Average))
    if isinstance(welfare, Nash):
        return ConcaveTerm(1.0)
    return None


def weights_over_time(
    temporal: Temporal | None, assessments: int
) -> Float[np.ndarray, " assessment"] | None:
    """What each assessment counts, where the score is a weighted sum of them, or None."""
    if isinstance(temporal, Mean):
        return np.full(assessments, 1.0 / assessments)
    if isinstance(temporal, Last):
        return np.eye(1, assessments, assessments - 1)[0]
    if temporal is not None and temporal.sum_discount is not None:
        return temporal.sum_discount ** np.arange(assessments, dtype=float)
    return None


# A division as a linear program, to which a welfare adds its own columns and rows.

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    Columns = Int[np.ndarray, " pair"]
    Numbers = Float[np.ndarray, " pair"]

Entry = tuple[Any, Any, Any]  # row, column and value, each a number or many
Entries = Sequence[Entry]

WHOLE = 1e-5  # a number this close to a whole one is one
SAME = 1e-12  # supply below this share of all of it is no supply


class LinearResult(NamedTuple):
    """Values of the columns (None if none were found in time), and a bound on the objective."""

    values: Float[np.ndarray, " column"] | None
    bound: float


@dataclass(frozen=True, eq=False)
class StatusPairs:
    """The status of each who counts at each assessment, as columns: coefficient · total + rest."""

    assessment: Columns
    stakeholder: Columns
    total: Columns  # the column of what it had received in all; any, with coefficient 0, if nothing
    slope: Numbers
    start: Numbers
    credit: Columns  # the column of what it began with; -1 if nothing
    weight: Numbers

    def __len__(self) -> int:
        return len(self.assessment)

    def at(self, where: Columns) -> StatusPairs:
        """Some of them, in an order."""
        return StatusPairs(*(column[where] for column in vars(self).values()))

    def rows(self, coefficient: Numbers | float = 1.0) -> list[Entry]:
        """Entries (row, column, value) of each pair's status, one row per pair, without `start`."""
        rows = np.arange(len(self))
        scale: Any = np.broadcast_to(coefficient, rows.shape)
        credited = self.credit >= 0
        return [
            (rows, self.total, self.slope * scale),
            (rows[credited], self.credit[credited], scale[credited]),
        ]


class LinearModel:
    """Columns and rows of a linear program that is made larger, and solved by HiGHS.

    Args:
        division: What is divided.
    """

    def __init__(self, division: Division) -> None:
        self.division = division
        self._number = np.zeros(0, dtype=np.int64)  # columns: how many lots of a size each gets
        self.smallest_lot: float | None = None  # where lots are not divided
        self.equal_lots = False
        self._columns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []
        self.width = self.height = 0
        # What each column adds to what is to be made as large as can be.
        self.objective: dict[int, float] = {}
        self._share()
        self._credits()
        self.pairs = self._pairs()

    def columns(
        self,
        count: int,
        low: float | np.ndarray = -np.inf,
        high: float | np.ndarray = np.inf,
        whole: bool = False,
    ) -> Int[np.ndarray, " column"]:
        """New columns."""
        low, high = np.broadcast_to(low, count), np.broadcast_to(high, count)
        self._columns.append((low, high, np.full(count, int(whole))))
        self.width += count
        return np.arange(self.width - count, self.width)

    def rows(
        self,
        entries: Entries,
        low: float | np.ndarray,
        high: float | np.ndarray,
        count: int,
    ) -> None:
        """New rows: low ≤ Σ value · column ≤ high, entries being (row from 0, column, value)."""
        for row, column, value in entries:
            row, column, value = np.broadcast_arrays(row, column, value)
            self._entries.append((row + self.height, column, value))
        self._low.append(np.broadcast_to(low, count))
        self._high.append(np.broadcast_to(high, count))
        self.height += count

    def maximise(self, columns: np.ndarray, coefficients: np.ndarray | float) -> None:
        """Add to the objective."""
        for column, value in np.broadcast(columns, coefficients):
            self.objective[int(column)] = self.objective.get(int(column), 0.0) + float(value)

    def solve(self, seconds: float | None = None, relaxed: bool = False) -> LinearResult:
        """The best values of the columns, and a bound on the objective.

        Args:
            seconds: After how long to stop with what was found.
            relaxed: Whether whole numbers may be broken.
        """
        low, high, whole = (np.concatenate(part) for part in zip(*self._columns, strict=True))
        row, column, value = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        if relaxed:
            whole = np.zeros_like(whole)
        matrix = coo_array((value, (row, column)), shape=(self.height, self.width)).tocsr()
        gain = np.zeros(self.width)
        gain[list(self.objective)] = list(self.objective.values())
        limits = LinearConstraint(matrix, np.concatenate(self._low), np.concatenate(self._high))
        options = {"mip_rel_gap": 0.0}
        if seconds is not None:
            options["time_limit"] = seconds
        within = Bounds(low, high)
        with nothing_on_stdout():
            found = milp(
                -gain, integrality=whole, bounds=within, constraints=limits, options=options
            )
        if not whole.any():
            return LinearResult(found.x, -found.fun if found.x is not None else np.inf)
        bound = found.mip_dual_bound
        return LinearResult(found.x, np.inf if bound is None else -float(bound))

    def allocation(self, values: Float[np.ndarray, " column"]) -> np.ndarray:
        """What a solution gives to each at each point, all supply and nothing below 0."""
        division = self.division
        found = np.zeros(division.eligible.shape)
        found[self._given] = np.maximum(values[self._gives], 0.0)
        total = found.sum(axis=1)
        scale = np.divide(division.supply, total, out=np.zeros_like(total), where=total > 0)
        return found * scale[:, None]

    def _share(self) -> None:
        """What each gets at each point, and what it has had in all."""
        division = self.division
        open_points = division.supply > SAME * division.supply.sum()
        self._given = np.nonzero(division.eligible & open_points[:, None])
        point, who = self._given
        self._gives = self.columns(len(point), low=0.0)
        most = np.inf if division.asked is None else division.asked[point, who]
        totals = self.columns(len(point), low=0.0, high=most)
        table = np.full((len(division.supply) + 1, len(division.names)), -1)
        table[point + 1, who] = np.arange(len(point))
        latest = np.maximum.accumulate(table, axis=0)  # of each, its last turn up to a point
        self._latest = np.where(latest >= 0, totals[latest], -1)
        before = self._latest[point, who]
        rows, had = np.arange(len(point)), before >= 0
        self.rows(
            [(rows, totals, 1.0), (rows, self._gives, -1.0), (rows[had], before[had], -1.0)],
            0.0,
            0.0,
            len(point),
        )
        place = np.cumsum(open_points) - 1
        self.rows(
            [(place[point], self._gives, 1.0)],
            division.supply[open_points],
            division.supply[open_points],
            int(open_points.sum()),
        )

    def keep_whole(self, lots: WholeLots) -> None:
        """Give out lots whole: how many of each size each gets at each point."""
        place = np.full(self.division.eligible.shape, -1)
        place[self._given] = np.arange(len(self._gives))
        point, size, copies = lots.batches()
        batch, who = np.nonzero(self.division.eligible[point])
        number = self.columns(len(batch), low=0.0, high=copies[batch], whole=True)
        self.rows([(batch, number, 1.0)], copies, copies, len(point))
        row, every = place[point[batch], who], np.arange(len(self._gives))
        self.rows([(row, number, size[batch]), (every, self._gives, -1.0)], 0.0, 0.0, len(every))
        self._number, self._number_cells = number, (point[batch], who)
        self._number_size = size[batch]
        self.smallest_lot, self.equal_lots = float(size.min()), lots.are_equal

    def keep_near(self, actual: Float[np.ndarray, "point stakeholder"]) -> None:
        """Have as little as can be go to others than it went to."""
        more, less = (self.columns(len(self._gives), low=0.0) for _ in range(2))
        rows = np.arange(len(self._gives))
        self.rows(
            [(rows, self._gives, 1.0), (rows, more, -1.0), (rows, less, 1.0)],
            actual[self._given],
            actual[self._given],
            len(rows),
        )
        self.maximise(np.concatenate((more, less)), -0.5)

    def whole_allocation(self, values: Float[np.ndarray, " column"]) -> np.ndarray | None:
        """The same where lots are kept whole, if they are; None where a solution divides some."""
        if not len(self._number):
            return self.allocation(values)
        number = np.rint(values[self._number])
        if np.abs(values[self._number] - number).max(initial=0.0) > WHOLE:
            return None
        found = np.zeros(self.division.eligible.shape)
        np.add.at(found, self._number_cells, number * self._number_size)
        return found

    def _credits(self) -> None:
        """What newcomers begin with."""
        division = self.division
        self._credit = np.full(len(division.names), -1)
        for join in division.joins:
            (own,) = self.columns(1)
            total = self._latest[join.after, join.there]
            credit, had = self._credit[join.there], total >= 0
            rows = (
                np.zeros(len(total), dtype=int) if join.mean is not None else np.arange(len(total))
            )
            part = np.ones(len(total)) if join.mean is None else join.mean
            entries = [
                (rows[had], total[had], part[had] * join.slope[had]),
                (rows[credit >= 0], credit[credit >= 0], part[credit >= 0]),
                (np.unique(rows), np.array([own]), np.array([-1.0])),
            ]
            if join.mean is None:  # no more than the status of anybody; the best takes all of that
                self.rows(entries, -join.start, np.inf, len(total))
            else:
                start = -float(join.mean @ join.start)
                self.rows(entries, start, start, 1)
            self._credit[join.who] = own

    def _pairs(self) -> StatusPairs:
        division = self.division
        k, who = np.nonzero(division.counted)
        total = self._latest[division.after[k], who]
        had = total >= 0
        return StatusPairs(
            assessment=k,
            stakeholder=who,
            total=np.where(had, total, 0),
            slope=np.where(had, division.slope[k, who], 0.0),
            start=division.start[k, who],
            credit=self._credit[who],
            weight=division.weight[k, who],
        )


# How each welfare enters a linear program: its columns and rows, one value per assessment.
#
# Rawls, parity and the Gini welfares are pieces of planes, so that the program is exact. A sum of
# concave terms and the variance are met by tangents, which are added where a solution asks for
# them.

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
