"""A world made from a log: its supply in blocks of days, for learning on the earlier part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import DAY, as_numbers
from evenhand._util.wording import pluralise
from evenhand.auditing.questions import Question, question_of
from evenhand.decide.replay.replay_log import judged_as_logged, read_for_replay
from evenhand.decide.replay.supply import lots_in_order, set_off
from evenhand.decide.rules.rule import span_in_words
from evenhand.envs.log_world import LogWorld, TimePointEnds, Unmet, require_learnable
from evenhand.errors import BadLog, BadParameter, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Filter, Final
from evenhand.fairness.scheme import FairnessScheme, to_toml
from evenhand.fairness.status import (
    OfRequests,
    PerTimePresent,
    Shortfall,
    Status,
    WithCredit,
    read_beside,
)
from evenhand.fairness.temporal import Mean, Total
from evenhand.fairness.trace import Trace
from evenhand.log.layout import Notes
from evenhand.log.log import Log, Supply
from evenhand.log.options import AuditOptions
from evenhand.log.waits import read_limit

if TYPE_CHECKING:
    from jaxtyping import Bool, Int


# The time points of a log in blocks, such as weeks, each of which begins at the same phase.
#
# Blocks lie side by side from the first day on (Carlstein's block bootstrap), so that the pattern
# of a week survives where one block follows another. What is left of a block at the end is left
# out.

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


# What was given out, asked for and who was there, as the rows of an environment.


def rows_of_supply(
    supply: Supply, blocks: TimeBlocks, assessed: Bool[np.ndarray, " time"]
) -> dict[str, Any]:
    """The fields of `LogRows`, for the time points that lie in whole blocks.

    Args:
        supply: What was given out, and who could have received it.
        blocks: The time points in blocks.
        assessed: At which time points it is assessed.
    """
    return {
        "names": supply.names,
        **_lots(supply, blocks, assessed),
        **_requests(supply, blocks),
        "stays": _stays(supply, blocks),
        "origin": blocks.origin,
        "block": blocks.length,
        "num_phases": blocks.num_phases,
        "plain_numbers": blocks.plain_numbers,
        "last": float(as_numbers(supply.moments[blocks.kept])[-1]),
    }


def _lots(
    supply: Supply, blocks: TimeBlocks, assessed: Bool[np.ndarray, " time"]
) -> dict[str, Any]:
    """The lots of the time points that are kept; where there are none, one of 0."""
    slot, amount = lots_in_order(supply)
    none = np.setdiff1d(np.arange(len(supply.moments)), slot)
    require_learnable(len(supply.names), len(slot) + len(none), len(supply.moments))
    slot = np.concatenate((slot, none))
    amount = np.concatenate((amount, np.zeros(len(none))))
    order = np.argsort(slot, kind="stable")
    order = order[blocks.kept[slot[order]]]
    place = np.cumsum(blocks.kept) - 1
    slots = place[slot[order]]
    return {
        "lots": tuple(amount[order].tolist()),
        "slots": tuple(slots.tolist()),
        "phases": tuple(blocks.phase.tolist()),
        "assessed": tuple(assessed[blocks.kept].tolist()),
        "blocks": tuple(np.flatnonzero(np.diff(blocks.block[slots], prepend=-1)).tolist()),
    }


def _requests(supply: Supply, blocks: TimeBlocks) -> dict[str, Any]:
    """Who asked for how much by which of the time points that are kept."""
    if "asked" not in supply.beside:
        return {}
    asked = supply.beside["asked"]
    kept = as_numbers(supply.moments[blocks.kept])
    slot = np.searchsorted(kept, asked.at, side="left")
    here = (slot < len(kept)) & (asked.amount > 0)
    found = zip(
        slot[here].tolist(), asked.who[here].tolist(), asked.amount[here].tolist(), strict=True
    )
    return {"by_request": True, "requests": tuple(found)}


def _stays(supply: Supply, blocks: TimeBlocks) -> tuple[tuple[int, int], ...]:
    """The first and last time point at which each is there, if anybody comes or goes."""
    present = supply.present()[blocks.kept]
    if present.all():
        return ()
    last = len(present) - 1
    return tuple(
        (int(np.argmax(here)), last - int(np.argmax(here[::-1]))) if here.any() else (1, 0)
        for here in present.T
    )


# Decision 19: an environment from the part of a log before a date, judged as an audit judges.

# How long to learn: so many episodes, but not for ever.
EPISODES, LEAST_STEPS, MOST_STEPS = 200, 20_000, 100_000
SOME = 10  # blocks, and decisions for each stakeholder, that an episode has
LEAST_HORIZON, MOST_IN_SOME_BLOCKS = 50, 400


@dataclass(frozen=True, eq=False)
class WorldOfLog:
    """An environment made from a log, and what there is to say of how."""

    world: LogWorld
    scheme: FairnessScheme  # as the audit and the replay have it
    label: str
    notes: tuple[str, ...]

    @property
    def default_steps(self) -> int:
        """How many steps to learn for where nobody says it."""
        return max(LEAST_STEPS, min(MOST_STEPS, EPISODES * self.world.horizon))

    def describe(self) -> str:
        """What is learned in, in a sentence."""
        world = self.world
        return (
            f"{self.label}: {len(world.names):,} stakeholders, {len(world.lots):,} decisions at "
            f"{len(world.phases):,} time points; an episode has {world.horizon:,}."
        )


def world_of_log(
    log: Any, options: AuditOptions, block: Any = None, horizon: int | None = None
) -> WorldOfLog:
    """An environment from the part of a log up to `options.until`.

    Supply, requests and who is there are those of the log, in blocks of days that are drawn again
    and again. It is assessed as the log would be: at the time points at which that falls, by the
    same status and welfare. A mean over time points is learned as their sum.

    Args:
        log: As for `audit`.
        options: How the log is read and judged, as for `audit`.
        block: How long a block is, such as "7d"; a week by default (see `blocks_of`).
        horizon: How many decisions an episode has; by default those of some blocks, and some for
            each stakeholder (see `default_horizon`).
    """
    log = read_for_replay(log, options)
    options, notes = log.options, log.found.copy()
    supply = set_off(Supply.of(log), notes)
    question = question_of(options)
    scheme = judged_as_logged(log, options, question).scheme
    status = _learned_status(scheme.status, notes)
    blocks = blocks_of(supply.moments, log.until, block)
    for sentence in blocks.sentences():
        notes.add(sentence)
    assessed = _assessed(question, log)
    if not assessed[blocks.kept].any() and not question.filter.assesses_end:
        raise BadLog(
            f"before {argument('until')} nothing is assessed ({question.name}): use more of the "
            f"log, or assess it more often ({argument('every')})."
        )
    rows = rows_of_supply(supply, blocks, assessed)
    one_each = len(rows["lots"]) == len(rows["phases"])
    always = all(rows["assessed"]) and one_each and "asked" not in supply.beside
    world = LogWorld(
        **rows,
        horizon=default_horizon(rows) if horizon is None else horizon,
        scheme=to_toml(_learned(replace(scheme, status=status), question.filter, always)),
    )
    return WorldOfLog(world, scheme, log.label, tuple(notes.sentences))


def default_horizon(rows: Mapping[str, Any]) -> int:
    """How many decisions an episode has: those of about ten blocks, and ten for each stakeholder.

    Episodes that begin level again and again teach more than one long one, in which whoever still
    acts at random soon leads by far; and decisions go on after the horizon, which only cuts off.

    Args:
        rows: The fields of `LogRows`.
    """
    lots, blocks, names = (len(rows[part]) for part in ("lots", "blocks", "names"))
    some = min(MOST_IN_SOME_BLOCKS, SOME * round(lots / blocks))
    return min(lots, max(LEAST_HORIZON, SOME * names, some))


def _learned(scheme: FairnessScheme, filter_: Filter, always: bool) -> FairnessScheme:
    """The scheme with a sum in place of a mean, assessed where the world says so."""
    aggregation = scheme.aggregation
    if isinstance(aggregation, TimepointFirst) and aggregation.temporal == Mean():
        aggregation = replace(aggregation, temporal=Total())
    where: Filter = Always() if always else TimePointEnds()
    return FairnessScheme(
        scheme.status, aggregation, Final() if filter_.assesses_end else where, scheme.empty
    )


def _learned_status(status: Status, notes: Notes) -> Status:
    """The status as a reward of a step can say it; what no reward says is refused."""
    if isinstance(status, WithCredit | PerTimePresent):
        notes.add(
            "Stakeholders come and go: while it is learned, newcomers begin at zero and everybody "
            "counts at every moment, also who is not there. A replay judges as an audit does."
        )
        return _learned_status(status.of, notes)
    if isinstance(status, Shortfall):
        return Unmet()
    if read_beside(status) is not None:
        hint = f" Judge requests with {argument('judge_requests', 'shortfall')}."
        raise BadParameter(
            f"a policy cannot be learned where the status is {status.describe()}: how much each "
            "counts changes from one time to another, which no reward of a step says."
            + (hint if isinstance(status, OfRequests) else " Leave that out.")
        )
    return status


def _assessed(question: Question, log: Log) -> Bool[np.ndarray, " time"]:
    """At which time points the log is assessed; a filter that looks at who got what is refused."""
    filter_, history = question.filter, log.history
    if not filter_.ignores_who:
        raise BadParameter(
            f"fairness is assessed {filter_.describe()}, which depends on who received what: a "
            "world made from a log is assessed at times, or after amounts."
        )
    timeline = question.timeline(history, log.until)
    step = timeline.step_of_slot
    given = np.zeros(timeline.steps)
    np.add.at(given, step[history.slot], history.amount)
    _, fires = filter_.scan(filter_.init(), Trace(given[:, None], marks=timeline.marks))
    last = np.append(np.diff(step) > 0, True)
    return last & fires[step]
