"""A division as a linear program, to which a welfare adds its own columns and rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from evenhand._util.quiet_solver import nothing_on_stdout
from evenhand.decide.hindsight.division import Division
from evenhand.decide.hindsight.whole_lots import WholeLots

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
