"""The time points of a log in blocks, such as weeks, each of which begins at the same phase.

Blocks lie side by side from the first day on (Carlstein's block bootstrap), so that the pattern of
a week survives where one block follows another. What is left of a block at the end is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import DAY, as_numbers
from evenhand._util.wording import pluralise
from evenhand.decide.rules.spans import span_in_words
from evenhand.errors import BadLog, BadParameter, argument
from evenhand.log.waits import read_limit

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

WEEK = 7 * DAY
MOST_PHASES = 31
FEW_BLOCKS = 5  # with fewer, what is learned is little more than those


@dataclass(frozen=True, eq=False)
class TimeBlocks:
    """Which block each time point lies in, and in which part of it.

    Args:
        origin: The moment at which the first block begins, as a number.
        length: How long a block is, in the unit of moments as numbers.
        num_phases: How many parts a block has, such as seven days.
        kept: Which time points lie in whole blocks.
        block: The block of each time point that is kept, counted from 0; empty blocks are not.
        phase: The part of the block of each time point that is kept.
        plain_numbers: Whether moments are plain numbers, and not dates.
    """

    origin: float
    length: float
    num_phases: int
    kept: Bool[np.ndarray, " time"]
    block: Int[np.ndarray, " kept"]
    phase: Int[np.ndarray, " kept"]
    plain_numbers: bool

    @property
    def number(self) -> int:
        return int(self.block[-1]) + 1

    def sentences(self) -> list[str]:
        """How the log was cut, as notes say it."""
        long = span_in_words(self.length, self.plain_numbers)
        unit = " units of time" if self.plain_numbers else ""
        out = int((~self.kept).sum())
        words = [
            f"The world is made of {pluralise(self.number, 'block')} of {long}{unit}, drawn again "
            f"and again with equal chances ({argument('block')} for another length)."
        ]
        if out:
            words.append(
                f"{pluralise(out, 'time point')} at the end did not make a whole block and "
                f"{'was' if out == 1 else 'were'} left out."
            )
        if self.number < FEW_BLOCKS:
            words.append(
                "That is few: what is learned may fit these and little else. Use a longer log, or "
                "shorter blocks."
            )
        return words


def blocks_of(moments: np.ndarray, until: Any = None, length: Any = None) -> TimeBlocks:
    """Time points in blocks.

    Args:
        moments: The time points of a log, in order: dates or plain numbers.
        until: The moment up to which the log is whole; by default its last time point.
        length: How long a block is: a time such as "7d", or a number (of days, for dates). By
            default a week; for a log whose time points lie further apart than days, or are plain
            numbers, as many of them as the cube root of their number.
    """
    plain = moments.dtype.kind != "M"
    at = as_numbers(moments)
    gap = float(np.median(np.diff(at))) if len(at) > 1 else 1.0
    origin = float(at[0]) if plain else math.floor(at[0] / DAY) * DAY
    end = float(at[-1]) + gap if plain else (math.floor(at[-1] / DAY) + 1) * DAY
    if until is not None:
        last = float(as_numbers(np.asarray(until)))
        end = max(end, last if plain else last + 1.0)  # the last microsecond of a day
    size = _default_length(len(at), gap, plain) if length is None else _read(length, plain)
    whole = math.floor((end - origin) / size * (1 + 1e-12))
    block = np.floor((at - origin) / size + 1e-12).astype(np.int64)
    kept = block < whole
    if not kept.any():
        raise BadLog(
            f"the log is too short to be cut into blocks: it covers "
            f"{span_in_words(end - origin, plain)}, and a block is {span_in_words(size, plain)}. "
            f"Use more of the log ({argument('until')}), or shorter blocks ({argument('block')})."
        )
    phases = max(1, min(MOST_PHASES, round(size / (gap if plain else DAY))))
    share = (at[kept] - origin) / size % 1.0
    return TimeBlocks(
        origin,
        size,
        phases,
        kept,
        np.unique(block[kept], return_inverse=True)[1],
        np.minimum((share * phases + 1e-9).astype(np.int64), phases - 1),
        plain,
    )


def _default_length(number: int, gap: float, plain: bool) -> float:
    if not plain and gap <= DAY:
        return WEEK
    several = gap * max(2, math.ceil(number ** (1 / 3)))
    return several if plain else math.ceil(several / WEEK) * WEEK


def _read(length: Any, plain: bool) -> float:
    size = read_limit(length, plain, argument("block"))
    if not plain and size % DAY:
        raise BadParameter(f"{argument('block')} is {length!r}: give whole days, such as 7d.")
    return size
