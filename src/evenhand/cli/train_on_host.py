"""`evenhand train` and `evaluate` where the environment is a Gymnasium class of one's own."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli.learning_options import learning_bar
from evenhand.cli.output import print_json, print_table
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.interop.gymnasium.learner import HostTraining


def is_host_class(environment: str) -> bool:
    """Whether `module:Class` names a Gymnasium environment; the module is imported."""
    if ":" not in environment:
        return False
    from evenhand.envs.own_environment import load_class

    kind = load_class(environment)
    gymnasium = sys.modules.get("gymnasium")  # not loaded: then the class cannot be of it
    return gymnasium is not None and issubclass(kind, gymnasium.Env)


def refuse_unused(options: Mapping[str, Any]) -> None:
    """Refuse options that were given and that a Gymnasium environment has no use for."""
    for option, value in options.items():
        if value is not None:
            raise BadParameter(
                f"{option} is not for Gymnasium environments: leave it out, or use "
                "evenhand.interop.gymnasium_learner from Python."
            )


def train_on_host(
    training: HostTraining, out: Path | None, track: Sequence[str], as_json: bool
) -> None:
    """Train, with a bar on standard error, save on the way, and say what was reached."""
    from evenhand.interop.gymnasium.learner import SCORED_EPISODES
    from evenhand.interop.trackers import open_sink

    started = time.perf_counter()
    loop = training.learner(out)
    before = None if loop.kept is not None else training.scores(loop, SCORED_EPISODES, 1)
    with contextlib.ExitStack() as opened:
        sinks = [opened.enter_context(open_sink(where)) for where in track]
        show = opened.enter_context(learning_bar(as_json, loop.world.horizon))
        training.train(
            loop, out, sinks, lambda done, score: show("fairqcm", done, training.steps, score)
        )
    scores = training.scores(loop, SCORED_EPISODES, 1)
    if as_json:
        print_json(
            _to_json(training, loop.steps, scores, SCORED_EPISODES)
            | {
                "before": None if before is None else before.tolist(),
                "wall_seconds": round(time.perf_counter() - started, 3),
            }
        )
        return
    _print(training, loop.steps, scores, before)
    print(f"\nScores are means of {SCORED_EPISODES} greedy episodes; no optimum is known.")
    if out is not None:
        print(f"The learner is in {out}: score it with `evenhand evaluate {out}`.")


def evaluate_on_host(path: Path, episodes: int, seed: int, as_json: bool) -> None:
    """Score a saved learner again, in the environment that its file names."""
    from evenhand.interop.gymnasium.learner import saved_training

    training = saved_training(path)
    loop = training.learner(path)
    scores = training.scores(loop, episodes, seed)
    if as_json:
        print_json(_to_json(training, loop.steps, scores, episodes))
        return
    _print(training, loop.steps, scores)
    print(f"\nScores are means of {episodes:,} greedy episodes; no optimum is known.")


def _to_json(training: HostTraining, steps: int, scores: Any, episodes: int) -> dict[str, Any]:
    return {
        "environment": training.name,
        "steps": steps,
        "seeds": list(training.seeds),
        "scores": scores.tolist(),
        "episodes": episodes,
    }


def _print(training: HostTraining, steps: int, scores: Any, before: Any = None) -> None:
    columns = {"score": [f"{score:,.3f}" for score in scores]}
    if before is not None:
        columns["before it learned"] = [f"{score:,.3f}" for score in before]
    names = [f"seed {seed}" for seed in training.seeds]
    title = f"fairqcm in {training.name}, after {steps:,} steps"
    print_table(title, ("", *columns), zip(names, *columns.values(), strict=True))
