"""The rows of a log as an environment has them: lots in order of time, in blocks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter, TooLarge, argument

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

# What learning can take. A table of time points and stakeholders is a constant of the compiled
# loop, and the values of each are asked at each step.
MOST_STAKEHOLDERS_LEARNED = 200
MOST_LOTS = 50_000
MOST_CELLS = 2_000_000  # time points times stakeholders


class LogTables(NamedTuple):
    """The same as arrays, with what follows from them."""

    lots: Float[np.ndarray, " row"]
    slots: Int[np.ndarray, " row"]
    phases: Int[np.ndarray, " slot"]
    begins_slot: Bool[np.ndarray, " row"]
    ends_block: Bool[np.ndarray, " row"]
    assessed_rows: Bool[np.ndarray, " row"]  # the last of each time point that is assessed
    asks: Float[np.ndarray, "slot stakeholder"]  # for how much is asked at each time point
    mean_lot: float
    lots_differ: bool


@dataclass(frozen=True, kw_only=True)
class LogRows:
    """Lots in order of time, and what is known of each time point and stakeholder.

    Args:
        names: The stakeholders.
        lots: The amount of each lot; 0 for a time point at which nothing was given out.
        slots: The time point of each lot, counted from 0.
        blocks: The first lot of each block.
        phases: The part of a block in which each time point lies, such as the day of the week.
        num_phases: How many parts a block has.
        assessed: Whether each time point is assessed.
        by_request: Whether only those are eligible who asked for more than they received.
        requests: Who asked for how much: triples of a time point, a stakeholder and an amount.
        stays: The first and last time point at which each stakeholder is there; nothing: all are,
            always.
        origin: The moment at which the first block begins, as a number.
        block: How long a block is, in the unit of moments as numbers.
        plain_numbers: Whether moments are plain numbers, and not dates in microseconds.
        last: The last moment that the rows are from, as a number.
    """

    names: tuple[str, ...]
    lots: tuple[float, ...]
    slots: tuple[int, ...]
    blocks: tuple[int, ...]
    phases: tuple[int, ...]
    num_phases: int
    assessed: tuple[bool, ...]
    by_request: bool = False
    requests: tuple[tuple[int, int, float], ...] = ()
    stays: tuple[tuple[int, int], ...] = ()
    origin: float = 0.0
    block: float = 1.0
    plain_numbers: bool = True
    last: float = 0.0

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        if not isinstance(self.names, Sequence) or not all(
            isinstance(name, str) for name in self.names
        ):
            raise BadParameter(f"names is {short_repr(self.names)}: it must be texts.")
        set_field(self, "names", tuple(self.names))
        for name, kind in (("lots", float), ("slots", int), ("blocks", int), ("phases", int)):
            set_field(self, name, _numbers(getattr(self, name), kind, name))
        set_field(self, "assessed", tuple(map(bool, _numbers(self.assessed, int, "assessed"))))
        set_field(self, "requests", _rows(self.requests, 3, "requests"))
        set_field(self, "stays", tuple((int(a), int(b)) for a, b in _rows(self.stays, 2, "stays")))
        numbers = (self.origin, self.block, self.num_phases, self.last)
        _numbers(numbers, float, "origin, block, num_phases and last")
        require_learnable(len(self.names), len(self.lots), len(self.phases))
        self._require_fit()

    def _require_fit(self) -> None:
        """Refuse parts that do not fit together, as in a file that was tampered with."""
        slots, lots = np.asarray(self.slots), np.asarray(self.lots)
        starts = np.asarray(self.blocks)
        number = len(self.phases)
        steps = np.diff(slots, prepend=-1)
        wrong = {
            "names": len(set(self.names)) != len(self.names),
            "lots": bool((lots < 0).any()),
            "slots": len(slots) != len(lots) or not np.isin(steps, (0, 1)).all() or steps[0] != 1,
            "phases": number != slots[-1] + 1
            or not all(0 <= phase < self.num_phases for phase in self.phases),
            "assessed": len(self.assessed) != number,
            "blocks": not len(starts)
            or starts[0] != 0
            or not (np.diff(starts) > 0).all()
            or starts[-1] >= len(lots)
            or not (steps[starts] == 1).all(),
            "requests": not all(
                0 <= slot < number and 0 <= who < len(self.names) and amount > 0
                for slot, who, amount in self.requests
            ),
            "stays": bool(self.stays) and len(self.stays) != len(self.names),
            "block": not self.block > 0,
        }
        for name, holds in wrong.items():
            if holds:
                raise BadParameter(f"{name} does not fit the other parts of this world.")

    @cached_property
    def tables(self) -> LogTables:
        slots, lots = np.asarray(self.slots, np.int32), np.asarray(self.lots, np.float32)
        begins = np.diff(slots, prepend=-1) == 1
        ends_slot = np.append(begins[1:], True)
        ends_block = np.zeros(len(slots), dtype=bool)
        ends_block[[*(start - 1 for start in self.blocks[1:]), len(slots) - 1]] = True
        asks = np.zeros((len(self.phases) if self.by_request else 0, len(self.names)), np.float32)
        for slot, who, amount in self.requests:
            asks[int(slot), int(who)] += amount
        given = lots[lots > 0]
        return LogTables(
            lots,
            slots,
            np.asarray(self.phases, np.int32),
            begins,
            ends_block,
            ends_slot & np.asarray(self.assessed)[slots],
            asks,
            float(given.mean()) if len(given) else 1.0,
            bool(len(given)) and bool((lots != lots[0]).any()),
        )

    def assessed_ahead(self, discount: float) -> Float[np.ndarray, " row"]:
        """The discounted number of assessments from each row on, of an episode without end.

        Within a block it is known what comes; behind it a block begins that is drawn.
        """
        table, starts = self.tables, list(self.blocks)
        ahead = np.zeros(len(self.lots))
        one = np.ones(len(self.lots))  # what 1 at the end of the block is worth at each row
        for row in range(len(self.lots) - 1, -1, -1):
            last = table.ends_block[row]
            ahead[row] = table.assessed_rows[row] + (0.0 if last else discount * ahead[row + 1])
            one[row] = discount * (1.0 if last else one[row + 1])
        new_block = ahead[starts].mean() / (1.0 - one[starts].mean())
        return ahead + one * new_block

    def phase_at(self, moment: float) -> int:
        """The part of a block in which a moment lies, also one that the world was not made of."""
        share = ((moment - self.origin) / self.block) % 1.0
        return min(int(share * self.num_phases + 1e-9), self.num_phases - 1)


def require_learnable(stakeholders: int, lots: int, time_points: int) -> None:
    """Refuse a log that is larger than learning can take, before anything is made of it."""
    limits = (
        ("stakeholders", stakeholders, MOST_STAKEHOLDERS_LEARNED),
        ("lots", lots, MOST_LOTS),
        ("time points times stakeholders", time_points * stakeholders, MOST_CELLS),
    )
    for what, number, most in limits:
        if number > most:
            raise TooLarge(
                f"the log has {number:,} {what}, and a policy is learned from at most {most:,}: "
                f"take fewer of them ({argument('only')}, {argument('where')}, "
                f"{argument('since')}), or a coarser log."
            )
    if not stakeholders or not lots:
        raise BadParameter("a world needs stakeholders and lots to give out.")


def _numbers(values: Any, kind: type, what: str) -> tuple[Any, ...]:
    """Finite numbers as a tuple of one kind."""
    try:
        found = tuple(kind(value) for value in values)
        good = all(np.isfinite(found)) and all(
            one == value for one, value in zip(found, values, strict=True)
        )
    except (TypeError, ValueError, OverflowError):
        good = False
    if not good:
        raise BadParameter(f"{what} is {short_repr(values)}: it must be numbers.")
    return found


def _rows(values: Any, width: int, what: str) -> tuple[tuple[Any, ...], ...]:
    """Rows of so many finite numbers each."""
    try:
        rows = tuple(tuple(row) for row in values)
    except TypeError:
        rows = ((),)
    if any(len(row) != width for row in rows):
        raise BadParameter(f"{what} is {short_repr(values)}: it must be rows of {width} numbers.")
    _numbers(list(itertools.chain.from_iterable(rows)), float, what)
    return rows
