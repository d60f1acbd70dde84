"""Decision 19: an environment from the part of a log before a date, judged as an audit judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.questions import Question, question_of
from evenhand.decide.replay.corrections import set_off
from evenhand.decide.replay.replay_log import judged_as_logged, read_for_replay
from evenhand.decide.world.supply_rows import rows_of_supply
from evenhand.decide.world.time_blocks import blocks_of
from evenhand.envs.log_world import LogWorld, TimePointEnds, Unmet
from evenhand.errors import BadLog, BadParameter, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Filter, Final
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import to_toml
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

if TYPE_CHECKING:
    from jaxtyping import Bool


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
