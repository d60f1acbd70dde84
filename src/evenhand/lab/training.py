"""One method from start to finish: trained or continued, kept as a policy file, scored again."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from evenhand._util.saved import SavedRecord, header_of, kind_of, reading_saved
from evenhand.envs import TurnTaking
from evenhand.errors import BadFile, TooLarge, argument
from evenhand.lab.executors import Point, block_files, train_in_blocks
from evenhand.lab.reference_scores import EPISODES, ReferenceScores, sampled, yardstick
from evenhand.lab.run_spec import RunSpec, spec_in
from evenhand.lab.runs import (
    MEASURES,
    Agent,
    Progress,
    Run,
    header_of_run,
    load_run,
    require_measures,
    require_start,
    restore,
    saved_run,
    times_in,
    train,
)
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.policy_files import Saved, load_policies, save_policies
from evenhand.memory.memory import Full
from evenhand.planning import regret
from evenhand.planning.table import MEMORY_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.learn.schedules import Starts

BYTES_A_STEP = 32  # of an episode that is played to be scored: random keys and rewards
TURNS = 1000  # episodes that the score of taking turns is the mean of


@dataclass(frozen=True, eq=False)
class MethodTraining:
    """A method that can be trained, and what there is of it already; made by `prepare`."""

    spec: RunSpec
    agent: Agent
    path: str | os.PathLike[str] | None
    before: Run | None

    def train(
        self,
        progress: Progress | None = None,
        on_point: Point | None = None,
        meanwhile: Callable[[], Any] | None = None,
    ) -> Run:
        """Train it, as far as it comes; what was trained before is not trained again.

        Args:
            progress: Called with the steps done, of how many, and the mean score.
            on_point: Called with every point of the curve, also those of before.
            meanwhile: Done in this process while others learn (deep methods).
        """
        report = on_point or (lambda *_: None)
        if self.before is not None:
            for step, scores in zip(self.before.steps, self.before.scores, strict=True):
                report(int(step), float(scores.mean()))
        if self.spec.deep:
            return self.before or train_in_blocks(
                self.spec, self.path, progress, meanwhile, on_point=report
            )

        def progress_and_point(done: int, steps: int, score: float) -> None:
            if progress is not None:
                progress(done, steps, score)
            report(done, score)

        return train(self.agent, self.spec, self.path, progress_and_point)


def prepare(spec: RunSpec, path: str | os.PathLike[str] | None = None) -> MethodTraining:
    """Make a method ready to train: what is wrong is found here, before anything is written.

    Args:
        spec: What to train.
        path: Where the run is saved as it goes, and continued from.
    """
    agent = spec.build()
    check_memory_fits(spec, agent, side_by_side=len(spec.seeds))
    if spec.start is not None and isinstance(agent, DeepAgent):
        require_start(agent, spec.start)
    return MethodTraining(spec, agent, path, _trained_before(spec, path))


def _trained_before(spec: RunSpec, path: str | os.PathLike[str] | None) -> Run | None:
    if path is None or not os.path.exists(path):
        return None
    return _run_of_policy(spec, path) if spec.deep else saved_run(spec, path)


def _run_of_policy(spec: RunSpec, path: str | os.PathLike[str]) -> Run:
    """The run that a policy file came from."""
    about = load_policies(path).header
    if spec_in(about, path) != spec:
        raise BadFile(
            f"{path} holds a policy with other settings: choose another output, or remove the "
            "file; to go on from it, name another output and add "
            f"{argument('start', os.fspath(path))}."
        )
    saved = SavedRecord(about, path).table("measures")
    saved.require_only(MEASURES)
    with reading_saved(path, "policy"):
        measures = {name: np.asarray(saved.items(name), np.float64) for name in saved.values}
    require_measures(spec, measures, path)
    return Run(spec, None, measures, *times_in(about, path))


def save_trained(path: str | os.PathLike[str], run: Run, against: ReferenceScores) -> None:
    """Write the policies of a finished deep run, in place of the parts saved on the way."""
    if run.learners is None:  # they were there already
        return
    agent = run.spec.build()
    assert isinstance(agent, DeepAgent)
    weights = agent.acting(restore(agent, run).learners)
    measures = {name: rows.tolist() for name, rows in run.measures.items()}
    about = header_of_run(run) | {"measures": measures, "optimum": against.optimum}
    save_policies(path, agent, weights, about)
    for file in block_files(path):
        file.unlink()


def summary(run: Run, against: ReferenceScores) -> dict[str, Any]:
    """What a run came to, in words and numbers that JSON has."""
    scores, best = run.final, against.optimum
    return {
        "final_scores": scores.tolist(),
        "optimum": best,
        "random": against.random,
        "rules": dict(against.rules),
        "regret": None if best is None else (best - scores).tolist(),
        "final": {name: rows[-1].tolist() for name, rows in run.measures.items()},
        "curve": {
            "steps": run.steps.tolist(),
            "episodes": (run.steps / run.spec.environment.horizon).tolist(),
            "scores": run.scores.tolist(),
        },
        "finished": run.finished,
        "seconds": round(run.seconds, 3),
        "compile_seconds": round(run.compile_seconds, 3),
        "spec": run.spec.to_json(),
        "versions": run.versions,
    }


def check_memory_fits(spec: RunSpec, agent: Starts, side_by_side: int) -> None:
    """Refuse a run that would not fit into memory, and say what to make smaller.

    Args:
        spec: What is to be learned.
        agent: The agent that is made of it.
        side_by_side: How many learners are in memory at once.
    """
    learners = bytes_of_learner(agent) * side_by_side
    # Networks are scored by episodes, and so is acting at random where nothing can be planned.
    episodes = EPISODES * spec.environment.horizon * BYTES_A_STEP if spec.deep else 0
    if learners + episodes > MEMORY_LIMIT:
        many = "a learner" if side_by_side == 1 else f"{side_by_side:,} learners"
        raise TooLarge(
            f"{many} of {spec.method} would take {_gigabytes(learners)} and the episodes that score"
            f" it {_gigabytes(episodes)} (the limit is {_gigabytes(MEMORY_LIMIT)}): ask for fewer "
            "stakeholders, a shorter horizon or fewer seeds."
        )


def bytes_of_learner(agent: Starts) -> int:
    """What a learner of an agent takes: its weights or table, and the experiences it stores."""
    shapes = jax.eval_shape(agent.start, jax.random.key(0))
    leaves = jax.tree.leaves(shapes)
    return sum(math.prod(leaf.shape) * int(leaf.dtype.itemsize) for leaf in leaves)


def _gigabytes(size: float) -> str:
    return f"{size / 2**30:,.1f} GB"


@dataclass(frozen=True)
class SavedScore:
    """What each seed of a file scores, next to the optimum and to acting at random."""

    spec: RunSpec
    steps: int
    scores: list[float]
    against: ReferenceScores
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
