"""Decision 19: an environment from the part of a log before a date, judged as an audit judges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.auditing.judging.questions import Question, question_of
from evenhand.auditing.judging.supply import Supply
from evenhand.auditing.notes import Notes
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading.prepare import Prepared
from evenhand.decide.replay.corrections import set_off
from evenhand.decide.replay.replay_log import judged_as_logged, read_for_replay
from evenhand.decide.replay.replay_supply import lots_in_order
from evenhand.decide.world.time_blocks import TimeBlocks, blocks_of
from evenhand.envs.log_rows import require_learnable
from evenhand.envs.log_world import LogWorld, TimePointEnds
from evenhand.errors import BadLog, BadParameter, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Filter, Final
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import to_toml
from evenhand.fairness.status import read_beside
from evenhand.fairness.temporal import Mean, Total
from evenhand.fairness.trace import Trace

if TYPE_CHECKING:
    from jaxtyping import Bool


@dataclass(frozen=True, eq=False)
class WorldOfLog:
    """An environment made from a log, and what there is to say of how."""

    world: LogWorld
    scheme: FairnessScheme  # as the audit and the replay have it
    label: str
    notes: tuple[str, ...]

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
        horizon: How many decisions an episode has; by default as many as the blocks have in all.
    """
    prepared, notes, label = read_for_replay(log, options)
    supply = set_off(Supply.of(prepared), notes)
    question = question_of(options)
    scheme = judged_as_logged(prepared, options, question).scheme
    _require_learnable_status(prepared, scheme)
    blocks = blocks_of(supply.moments, prepared.until, block)
    for sentence in blocks.sentences():
        notes.add(sentence)
    assessed = _assessed(question, prepared)
    if not assessed.any() and not question.filter().assesses_end:
        raise BadLog(
            f"before {argument('until')} nothing is assessed ({question.name}): use more of the "
            f"log, or assess it more often ({argument('every')})."
        )
    rows = _rows(supply, blocks, assessed)
    lots, slots = rows["lots"], rows["slots"]
    every_row = bool(assessed[blocks.kept].all()) and len(slots) == len(rows["phases"])
    always = every_row and "asked" not in supply.beside
    world = LogWorld(
        names=supply.names,
        **rows,
        **_requests(supply, blocks),
        stays=_stays(supply, blocks),
        origin=blocks.origin,
        block=blocks.length,
        num_phases=blocks.num_phases,
        plain_numbers=blocks.plain_numbers,
        horizon=len(lots) if horizon is None else horizon,
        scheme=to_toml(_learned(scheme, question.filter(), always)),
    )
    return WorldOfLog(world, scheme, label, tuple(notes.sentences))


def _learned(scheme: FairnessScheme, filter_: Filter, always: bool) -> FairnessScheme:
    """The scheme with a sum in place of a mean, assessed where the world says so."""
    aggregation = scheme.aggregation
    if isinstance(aggregation, TimepointFirst) and aggregation.temporal == Mean():
        aggregation = replace(aggregation, temporal=Total())
    where: Filter = Always() if always else TimePointEnds()
    return FairnessScheme(
        scheme.status, aggregation, Final() if filter_.assesses_end else where, scheme.empty
    )


def _require_learnable_status(prepared: Prepared, scheme: FairnessScheme) -> None:
    own = read_beside(scheme.status)
    if own is not None:
        raise BadParameter(
            f"a policy cannot be learned for a status that is {scheme.status.describe()}: "
            "no reward of a step says it yet."
        )


def _assessed(question: Question, prepared: Prepared) -> Bool[np.ndarray, " time"]:
    """At which time points the log is assessed; a filter that looks at who got what is refused."""
    filter_, history = question.filter(), prepared.history
    if not filter_.ignores_who:
        raise BadParameter(
            f"fairness is assessed {filter_.describe()}, which depends on who received what: a "
            "world made from a log is assessed at times, or after amounts."
        )
    timeline = question.timeline(history, prepared.until)
    step = timeline.step_of_slot
    given = np.zeros(timeline.steps)
    np.add.at(given, step[history.slot], history.amount)
    marks: Any = timeline.marks
    _, fires = filter_.scan(filter_.init(), Trace(given[:, None], actions=marks))
    last = np.append(np.diff(step) > 0, True)
    return last & fires[step]


def _rows(
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
