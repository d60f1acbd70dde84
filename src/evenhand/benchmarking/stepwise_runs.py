"""Runs of a `Method`: episodes that it decides one decision at a time, and learns from."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand._util.wording import short_repr
from evenhand.benchmarking.benchmark_method import (
    AT_ONCE,
    Method,
    Seen,
    Trial,
    TrialOutcome,
    TrialProgress,
    WorldFacts,
    rounds_of,
)
from evenhand.benchmarking.benchmark_world import BenchmarkPair
from evenhand.benchmarking.stages import Stage, stage_for
from evenhand.errors import BadParameter

EVALUATION = 1_000_003  # added to a seed: evaluations have randomness of their own


def run_stepwise(kind: type[Method], trial: Trial, progress: TrialProgress) -> TrialOutcome:
    """All seeds, one after the other, each with an object of its own."""
    curves, ends = [], []
    for number, seed in enumerate(trial.seeds):
        curve, statuses = _one_seed(kind, trial, seed)
        curves.append(curve)
        ends.append(statuses)
        progress(trial.steps * (number + 1) // len(trial.seeds), float(np.mean(curve[-1])))
    return TrialOutcome(np.array(curves).T, np.array(ends))


def facts_of(pair: BenchmarkPair, steps: int, observation_size: int) -> WorldFacts:
    """What a method is told of the world before it begins."""
    environment = pair.world.environment()
    return WorldFacts(
        pair.world.label,
        environment.num_actions,
        environment.num_stakeholders,
        environment.horizon,
        observation_size,
        pair.scheme,
        steps,
    )


def _one_seed(kind: type[Method], trial: Trial, seed: int) -> tuple[list[float], np.ndarray]:
    stage = stage_for(trial.pair, 1, seed)
    stage.begin()
    facts = facts_of(trial.pair, trial.steps, stage.observations.shape[1])
    method = kind(**trial.setting)
    method.begin(facts, seed)
    exam = stage_for(trial.pair, AT_ONCE, EVALUATION + seed)
    curve: list[float] = []
    statuses = np.zeros(0)
    player = _Player(stage, facts)
    for checkpoint in range(trial.checkpoints):
        for _ in range(trial.every):
            _learn_once(method, player, facts)
        score, statuses = examined(method, exam, facts, trial.episodes_at(checkpoint))
        curve.append(score)
    return curve, statuses


class _Player:
    """Where the episode that is learned from stands."""

    def __init__(self, stage: Stage, facts: WorldFacts) -> None:
        self.stage = stage
        self.size = facts.num_stakeholders
        self.again()

    def again(self) -> None:
        self.stage.begin()
        self.received, self.time = np.zeros(self.size), 0

    def seen(self) -> Seen:
        return Seen(self.stage.observations[0], self.received, self.time)


def _learn_once(method: Method, player: _Player, facts: WorldFacts) -> None:
    before = player.seen()
    action = action_of(method, before, True, facts)
    rewards, over = player.stage.step(np.array([action]))
    player.received = player.received + rewards[0]
    player.time += 1
    method.learn(before, action, rewards[0], player.seen(), bool(over[0]))
    if over[0]:
        player.again()


def examined(
    method: Method, exam: Stage, facts: WorldFacts, episodes: int
) -> tuple[float, np.ndarray]:
    """The mean score of so many episodes, and the mean status at their ends."""
    scores, statuses = [], []
    for _ in range(rounds_of(episodes)):
        exam.begin()
        received = np.zeros((AT_ONCE, facts.num_stakeholders))
        over = np.zeros(AT_ONCE, dtype=bool)
        time = 0
        while not over.all():
            actions = np.zeros(AT_ONCE, dtype=np.int32)
            for k in np.flatnonzero(~over):
                seen = Seen(exam.observations[k], received[k], time)
                actions[k] = action_of(method, seen, False, facts)
            rewards, over = exam.step(actions)
            received = received + rewards
            time += 1
        scores.append(exam.scores)
        statuses.append(exam.statuses)
    return float(np.mean(scores)), np.mean(np.concatenate(statuses), axis=0)


def action_of(method: Method, seen: Seen, explore: bool, facts: WorldFacts) -> int:
    """What the method does; anything but the number of an action is refused."""
    action: Any = method.act(seen, explore)
    whole = isinstance(action, int | np.integer) and not isinstance(action, bool)
    if not whole and getattr(action, "shape", None) == ():
        whole = np.issubdtype(np.asarray(action).dtype, np.integer)
    if not whole or not 0 <= int(action) < facts.num_actions:
        given = "no action" if action is None else short_repr(action)
        raise BadParameter(
            f"{type(method).__name__}.act gave {given} on {facts.world} at time {seen.time}: it "
            f"must give a whole number from 0 to {facts.num_actions - 1}."
        )
    return int(action)
