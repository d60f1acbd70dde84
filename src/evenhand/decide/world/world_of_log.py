"""Decision 19: an environment from the part of a log before a date, judged as an audit judges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.judging.questions import Question, question_of
from evenhand.auditing.judging.supply import Supply
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading.prepare import Prepared
from evenhand.decide.replay.corrections import set_off
from evenhand.decide.replay.replay_log import judged_as_logged, read_for_replay
from evenhand.decide.world.supply_rows import rows_of_supply
from evenhand.decide.world.time_blocks import blocks_of
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
    if not assessed[blocks.kept].any() and not question.filter().assesses_end:
        raise BadLog(
            f"before {argument('until')} nothing is assessed ({question.name}): use more of the "
            f"log, or assess it more often ({argument('every')})."
        )
    rows = rows_of_supply(supply, blocks, assessed)
    one_each = len(rows["lots"]) == len(rows["phases"])
    always = all(rows["assessed"]) and one_each and "asked" not in supply.beside
    world = LogWorld(
        **rows,
        horizon=len(rows["lots"]) if horizon is None else horizon,
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
