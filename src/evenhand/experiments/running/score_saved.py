"""The score of what was saved: a policy that was trained, or a run as far as it came."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from evenhand._util.saved_record import reading_saved
from evenhand._util.tensor_files import header_of, kind_of
from evenhand.envs import TurnTaking
from evenhand.errors import BadFile, argument
from evenhand.experiments.running.reference_scores import Yardstick, sampled, yardstick
from evenhand.experiments.running.run_spec import RunSpec, spec_in
from evenhand.experiments.running.runs import load_run, restore
from evenhand.learn.policies.policy_files import Saved, load_policies
from evenhand.memory.memory import Full
from evenhand.planning import regret

TURNS = 1000  # episodes that the score of taking turns is the mean of


@dataclass(frozen=True)
class SavedScore:
    """What each seed of a file scores, next to the optimum and to acting at random."""

    spec: RunSpec
    steps: int
    scores: list[float]
    against: Yardstick
    details: dict[str, Any]  # of sampled scores: how many episodes, and what else they measured

    def to_json(self) -> dict[str, Any]:
        about = self.spec.to_json()
        answer = {name: about[name] for name in ("method", "recipe", "seeds", "memory", "proposal")}
        answer |= {"steps": self.steps, "scores": self.scores, **self.details}
        best, least = self.against.optimum, self.against.random
        answer |= {"optimum": best, "random": least}
        if best is not None:
            pairs = [regret(score, best, least) for score in self.scores]
            answer |= {"regret": [p[0] for p in pairs], "share_of_the_way": [p[1] for p in pairs]}
        return answer


def is_policy(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds the policies of networks, rather than a run."""
    return kind_of(path) == "policy"


def saved_environment(path: str | os.PathLike[str]) -> Any:
    """The environment that a file was trained in, as it describes it; None if it does not."""
    spec = header_of(path).get("spec")
    return spec.get("environment") if isinstance(spec, dict) else None


def score_saved(
    path: str | os.PathLike[str],
    seed: int = 0,
    episodes: int = 1000,
    num_stakeholders: int | None = None,
    horizon: int | None = None,
) -> SavedScore:
    """Score the greedy policy of each seed in a file.

    Args:
        path: A policy or run that `evenhand train` or `compare` wrote.
        seed: Of the episodes that are drawn (networks).
        episodes: How many greedy episodes a score is the mean of (networks). Tables have an exact
            score.
        num_stakeholders: For how many it is to decide (networks that treat them alike); as many as
            it learned with by default.
        horizon: Over how many decisions; as many as it learned with by default.
    """
    other = num_stakeholders is not None or horizon is not None
    if not is_policy(path):
        if other:
            raise BadFile(
                f"{path} holds a run or tables, and only finished policies of networks decide for "
                f"others: train it to the end with {argument('deep')}."
            )
        return _score_run(path, seed, episodes)
    saved = load_policies(path)
    spec = _spec_of(saved, path)
    if other:
        saved = saved.for_stakeholders(num_stakeholders, horizon)
    found = _score_policy(saved, spec, seed, episodes)
    return replace(found, details=found.details | deciding_for(saved)) if other else found


def deciding_for(saved: Saved) -> dict[str, Any]:
    """For how many it decides, how many it learned with, and what taking turns scores there."""
    environment = saved.problem.environment
    answer: dict[str, Any] = {
        "stakeholders": environment.num_stakeholders,
        "horizon": environment.horizon,
        "turn_taking": None,
    }
    if getattr(environment, "takes_turns", False):
        problem = replace(saved.problem, memory=Full())
        answer["turn_taking"] = float(sampled(problem, TurnTaking(), episodes=TURNS).score)
    return answer


def _spec_of(saved: Saved, path: str | os.PathLike[str]) -> RunSpec:
    spec = spec_in(saved.header, path)
    if spec.environment != saved.problem.environment or len(spec.seeds) != saved.num_policies:
        raise BadFile(f"{path} describes its run and its policies differently: train it anew.")
    return spec


def _score_policy(saved: Saved, spec: RunSpec, seed: int, episodes: int) -> SavedScore:
    found = jax.device_get(saved.evaluate(seed, episodes))
    details = {
        "episodes": episodes,
        "kept": found.kept.tolist(),
        "achieved": found.achieved.tolist(),
    }
    environment: Any = saved.problem.environment
    against = yardstick(environment, spec.scheme)
    return SavedScore(spec, spec.steps, found.score.tolist(), against, details)


def _score_run(path: str | os.PathLike[str], seed: int, episodes: int) -> SavedScore:
    run = load_run(path)
    more = {"episodes": episodes} if run.spec.deep else {}
    with reading_saved(path, "run"):
        agent = run.spec.build()
        learners = restore(agent, run).learners
        if run.spec.deep:
            keys = jax.random.split(jax.random.key(seed), len(run.spec.seeds))
            learners = learners._replace(key=keys)
        found = jax.device_get(agent.evaluate(learners, **more))
    scores = np.asarray(found.score, dtype=float).tolist()
    steps = len(run.scores) * run.spec.every
    return SavedScore(run.spec, steps, scores, yardstick(run.spec.environment, run.spec.scheme), {})
