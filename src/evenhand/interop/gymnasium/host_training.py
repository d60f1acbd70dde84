"""A Gymnasium environment of one's own by its place, `module:Class`: learned, saved, scored again.

What `evenhand train` does for such a class. The file says which class and which scheme it is of, so
that it can be scored without saying so again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium

from evenhand._util.saved import SavedRecord, read_tensors, reading_saved
from evenhand.envs.own_environment import load_class
from evenhand.errors import BadFile, BadParameter
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.scheme_file import from_toml, to_toml
from evenhand.fairness.temporal import Total
from evenhand.interop.gymnasium.learner import gymnasium_learner, score_side_by_side, train
from evenhand.interop.gymnasium.learner_files import KIND, load_learner, save_learner
from evenhand.interop.trackers import Sink
from evenhand.learn.host import HostLoop

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray

CHECKPOINTS = 10
TRIAL_EPISODES = 20  # by which it is decided, at each checkpoint, whether what was learned is kept
SCORED_EPISODES = 100


@dataclass(frozen=True)
class HostTraining:
    """A class to learn in, and how.

    Args:
        name: Where the class is: module:Class.
        scheme: What fair means; the environment's own `default_scheme()` where it has one, or
            log-Nash of all that was received, added up over the decisions.
        steps: How many decisions each learner takes.
        seeds: One learner each, side by side. They follow one another.
    """

    name: str
    scheme: FairnessScheme | None
    steps: int
    seeds: tuple[int, ...] = (0,)

    @property
    def kind(self) -> type[gymnasium.Env]:
        return require_gymnasium(self.name)

    @property
    def judged_by(self) -> FairnessScheme:
        own = getattr(self.kind, "default_scheme", None)
        if self.scheme is not None:
            return self.scheme
        return anytime(temporal=Total()) if own is None else self._made().default_scheme()

    def _made(self) -> Any:
        return make_environment(self.name)

    def learner(self, path: Path | None = None) -> HostLoop:
        """A learner that knows nothing, or the one that an earlier call left in the file."""
        more = [self._made() for _ in self.seeds[1:]]
        if path is None or not path.exists():
            return gymnasium_learner(
                self._made(), self.judged_by, steps=self.steps, seed=self.seeds[0], beside=more
            )
        about = _about(path)
        if about != self._about():
            raise BadFile(
                f"{path} holds a learner of another environment, scheme, number of steps or seeds: "
                "choose another output, or remove the file."
            )
        return load_learner(path, self._made(), self.judged_by, beside=more)

    def train(
        self, loop: HostLoop, path: Path | None = None, sinks: Sequence[Sink] = (), show: Any = None
    ) -> None:
        """Learn up to the number of steps, saving after each part of it.

        Args:
            loop: What `learner` gave.
            path: Where it is saved; it goes on there when it is called again.
            sinks: Where the scores go.
            show: Called with the steps so far and the score, after each part.
        """
        tests = [self._made() for _ in self.seeds]
        part = max(1, self.steps // CHECKPOINTS)
        while loop.steps < self.steps:
            ahead = min(part, self.steps - loop.steps)
            how: dict[str, Any] = {"checkpoints": 1, "episodes": TRIAL_EPISODES, "sinks": sinks}
            curve = train(loop, ahead, test_env=tests, **how)
            if path is not None:
                save_learner(path, loop, self._about())
            if show is not None:
                show(loop.steps, float(curve[-1]))

    def scores(self, loop: HostLoop, episodes: int, seed: int) -> Float[ndarray, " seed"]:
        """The mean score of each learner over greedy episodes."""
        tests = [self._made() for _ in self.seeds]
        return score_side_by_side(loop, tests, episodes, seed).mean(axis=0)

    def _about(self) -> dict[str, Any]:
        return {
            "environment": self.name,
            "scheme": to_toml(self.judged_by),
            "steps": self.steps,
            "seeds": list(self.seeds),
        }


def require_gymnasium(name: str) -> type[gymnasium.Env]:
    """The Gymnasium environment that `module:Class` names."""
    kind = load_class(name)
    if not issubclass(kind, gymnasium.Env):
        raise BadParameter(f"{name} is not a Gymnasium environment.")
    return kind


def make_environment(name: str) -> Any:
    """One such environment, built without arguments."""
    kind = require_gymnasium(name)
    try:
        return kind()
    except TypeError as error:
        raise BadParameter(
            f"{name} cannot be built without arguments: {error}. Give them defaults, or use "
            "evenhand.interop.gymnasium_learner from Python."
        ) from None


def saved_training(path: str | os.PathLike[str]) -> HostTraining:
    """What the file of a learner is of. The module that it names is imported."""
    record = SavedRecord(_about(path), path)
    with reading_saved(path, KIND):
        scheme = from_toml(record.text("scheme"))
        seeds = tuple(int(seed) for seed in record.items("seeds"))
        return HostTraining(record.text("environment"), scheme, record.whole("steps"), seeds)


def _about(path: str | os.PathLike[str]) -> dict[str, Any]:
    header, _ = read_tensors(path, KIND)
    about = header.get("about")
    if not isinstance(about, dict):
        raise BadFile(
            f"{path} does not say which environment it is of: it was saved from Python, so load it "
            "there with evenhand.interop.load_learner."
        )
    return about
