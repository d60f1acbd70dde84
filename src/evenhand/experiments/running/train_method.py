"""One method from start to finish: trained or continued, and kept as a policy file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.saved_record import SavedRecord, reading_saved
from evenhand.errors import BadFile, argument
from evenhand.experiments.running.blocks import Point, block_files, train_in_blocks
from evenhand.experiments.running.learning_room import require_room_to_learn
from evenhand.experiments.running.run_spec import RunSpec, spec_in
from evenhand.experiments.running.runs import (
    MEASURES,
    Agent,
    Progress,
    Run,
    require_measures,
    restore,
    saved_run,
    times_in,
    train,
)
from evenhand.experiments.running.warm_start import require_start
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.policies.policy_files import load_policies, save_policies

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.experiments.running.reference_scores import Yardstick


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
    require_room_to_learn(spec, agent, side_by_side=len(spec.seeds))
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


def save_trained(path: str | os.PathLike[str], run: Run, against: Yardstick) -> None:
    """Write the policies of a finished deep run, in place of the parts saved on the way."""
    if run.learners is None:  # they were there already
        return
    agent = run.spec.build()
    assert isinstance(agent, DeepAgent)
    weights = agent.acting(restore(agent, run).learners)
    about = {
        "spec": run.spec.to_json(),
        "measures": {name: rows.tolist() for name, rows in run.measures.items()},
        "optimum": against.optimum,
        "seconds": run.seconds,
        "compile_seconds": run.compile_seconds,
        "versions": run.versions,
    }
    save_policies(path, agent, weights, about)
    for file in block_files(path):
        file.unlink()


def summary(run: Run, against: Yardstick) -> dict[str, Any]:
    """What a run came to, in words and numbers that JSON has."""
    scores = run.scores[-1]
    best = against.optimum
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
