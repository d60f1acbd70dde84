"""FairQCM in a Gymnasium environment: trained, saved and read again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.saved import (
    SavedRecord,
    named_leaves,
    read_tensors,
    reading_saved,
    with_leaves,
    write_tensors,
)
from evenhand.envs.own_environment import load_class
from evenhand.errors import BadFile, BadParameter
from evenhand.fairness.scheme import FairnessScheme, anytime, from_toml, to_toml
from evenhand.fairness.temporal import Total
from evenhand.interop.gymnasium.external import (
    GymnasiumProcess,
    StakeholderRewards,
    gymnasium_world,
)
from evenhand.interop.trackers import Sink
from evenhand.learn.deep.agent import AgentState, PolyakUpdate
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import MLP, MaskedNetwork
from evenhand.learn.host import HostLoop
from evenhand.learn.imagined_memories import NoProposal, Proposal
from evenhand.learn.recipe import (
    LEARN_EVERY,
    Measurements,
    Serves,
    default_memory,
    default_settings,
    survey,
    survey_steps,
)
from evenhand.learn.schedules import Exploration
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Memory
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray


# Section 5.2 in any Gymnasium environment: `evenhand.learn`'s agents, driven from the host.
#
# loop = gymnasium_learner(env, scheme, steps=20_000)
# train(loop, test_env=other, sinks=[CsvSink("curve.csv")])

STEPS = 20_000  # decisions that a learner plans for

# With a network or an encoder of one's own: nothing is measured then.
PLAIN_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "encoder": Relative(),
        "network": MLP((64, 64)),
        "discount": 0.95,
        "learning_rate": 1e-3,
        "capacity": 20_000,
        "warm_up": 500,
        "exploration": Exploration(start=1.0, factor=0.95, floor=0.05),
        "target": PolyakUpdate(0.01),
        "double": True,
        "horizon_terminates": True,
    }
)


def gymnasium_learner(
    env: gymnasium.Env,
    scheme: FairnessScheme,
    memory: Memory | None = None,
    *,
    steps: int = STEPS,
    proposal: Proposal = NoProposal(),
    stakeholder_rewards: StakeholderRewards | None = None,
    num_stakeholders: int | None = None,
    horizon: int | None = None,
    layout: FeatureLayout | None = None,
    serves: Serves | None = None,
    augment_with_score: bool = False,
    seed: int = 0,
    beside: Sequence[gymnasium.Env] = (),
    measured: Measurements | None = None,
    warm_start: HostLoop | None = None,
    learn_every: int = LEARN_EVERY,
    **settings: Any,
) -> HostLoop:
    """FairQCM (or DQN, with no proposal) in a Gymnasium environment.

    Before anything is learned, up to 2,000 decisions are made at random, from which the scale of
    rewards and observations, and whom each action serves, are measured; they count as steps.

    Args:
        env: An environment with finitely many actions, without a `FairnessWrapper`.
        scheme: What fair means.
        memory: What the agent remembers. Default: what determines the reward (all that each has
            received, or what the status carries), and the number of steps.
        steps: How many decisions it will learn from, in all: exploration falls by them.
        proposal: Which memories to imagine, such as `Above(1)`; none by default.
        stakeholder_rewards: What each stakeholder received in a step, as a function of an
            `EnvStep`; not needed where the environment says so itself.
        num_stakeholders: How many there are, where the environment does not say.
        horizon: After how many decisions an episode is cut off, where the environment does not
            say.
        layout: Which numbers of the observation belong to whom, where neither the environment nor
            the shapes of its observations say so.
        serves: For each action the stakeholders whom it serves, where it is known; `()` where
            actions are nobody's. Default: measured.
        augment_with_score: Whether the agent also sees the running score.
        seed: Of all randomness.
        beside: More environments of the kind. A learner of its own learns in each of them, with
            the seeds that follow, in the same compiled call.
        measured: What was measured before, in place of random decisions.
        warm_start: Another learner of the same form, whose weights are the first ones.
        learn_every: After how many decisions it learns from what it has stored.
        **settings: Fields of `learn.DQN` in place of the defaults here. With a network or an
            encoder of your own nothing is measured, and the others are `PLAIN_SETTINGS`.
    """
    world = gymnasium_world(
        env,
        stakeholder_rewards,
        num_stakeholders=num_stakeholders,
        horizon=horizon,
        layout=layout,
    )
    known = default_memory(scheme, world.horizon) if memory is None else memory
    problem = Problem(world, scheme, known, augment_with_score)
    rng = np.random.default_rng(seed)
    surveyed = 0
    if "network" in settings or "encoder" in settings:
        usual = dict(PLAIN_SETTINGS)
    else:
        if measured is None:
            surveyed = survey_steps(world.num_actions, steps)
            measured = survey(problem, surveyed, rng).measure(problem, serves)
        usual = default_settings(problem, measured, steps, settings.get("shaping"))
    chosen = usual | settings
    if world.masked:
        chosen["network"] = MaskedNetwork(chosen["network"])
    agent = DQN(problem=problem, proposal=proposal, **chosen)
    inner = world.process
    assert isinstance(inner, GymnasiumProcess)
    others = tuple(_like(inner, other) for other in beside)
    loop = HostLoop(agent, rng, seed, others, learn_every)
    loop.steps, loop.planned, loop.measured = surveyed, steps, measured
    if warm_start is not None:
        loop.start_from(warm_start.acting)
    return loop


def _like(process: GymnasiumProcess, env: gymnasium.Env) -> GymnasiumProcess:
    return GymnasiumProcess(
        env, process.num_stakeholders, process.stakeholder_rewards, process.masked
    )


def score_episodes(
    loop: HostLoop, env: gymnasium.Env, episodes: int = 100, seed: int = 0
) -> Float[np.ndarray, " episode"]:
    """The scores of greedy episodes of the first learner.

    Args:
        loop: A learner that `gymnasium_learner` made.
        env: An environment like the learner's, but another object: the learner's own is in the
            middle of an episode.
        episodes: How many.
        seed: Of the episodes.
    """
    return score_side_by_side(loop, [env], episodes, seed, loop.weights_of(1))[:, 0]


def score_side_by_side(
    loop: HostLoop,
    envs: Sequence[gymnasium.Env],
    episodes: int = 100,
    seed: int = 0,
    weights: Any = None,
) -> Float[np.ndarray, "episode learner"]:
    """The scores of greedy episodes of each learner; the k-th episode is the same for all.

    Args:
        loop: A learner that `gymnasium_learner` made, or several side by side.
        envs: An environment for each learner, other objects than those that are learned in.
        episodes: How many.
        seed: Of the episodes.
        weights: What decides, for each environment; what the learners act by, by default.
    """
    inner = loop.world.process
    if not isinstance(inner, GymnasiumProcess):
        raise BadParameter("this learner is not in a Gymnasium environment: see learn.host.")
    processes = [_like(inner, env) for env in envs]
    weights = loop.acting if weights is None else weights
    seeds = np.random.SeedSequence(seed).spawn(episodes)
    return np.array(
        [
            loop.play(weights, processes, [np.random.default_rng(one) for _ in processes])
            for one in seeds
        ]
    )


def train(
    loop: HostLoop,
    steps: int = STEPS,
    *,
    test_env: gymnasium.Env | Sequence[gymnasium.Env],
    checkpoints: int = 10,
    episodes: int = 100,
    sinks: Sequence[Sink] = (),
    keep_best: bool = True,
) -> Float[np.ndarray, " checkpoint"]:
    """Learn, and score greedy episodes at each checkpoint; returns those mean scores.

    Args:
        loop: A learner that `gymnasium_learner` made. It goes on from where it is, and so does
            the number of steps that sinks are told.
        steps: How many decisions to learn from.
        test_env: An environment like the learner's, but another object, for the scores; of several
            learners side by side, one each.
        checkpoints: How many times to score, at even distances.
        episodes: How many greedy episodes a score is the mean of.
        sinks: Where `score`, `epsilon`, `loss` and `value` (the mean of the best actions') of each
            checkpoint are logged.
        keep_best: Whether to act, in the end, by the best of the checkpoints and of what was known
            before, on the same episodes; otherwise by the latest weights.
    """
    if not 1 <= checkpoints <= steps:
        raise BadParameter(f"{checkpoints} checkpoints in {steps} steps: use 1 to {steps}.")
    envs = [test_env] if isinstance(test_env, gymnasium.Env) else list(test_env)
    best, best_scores = loop.acting, None
    if keep_best:
        best = jax.tree.map(jnp.copy, best)
        best_scores = score_side_by_side(loop, envs, episodes)
    curve = []
    for before, now in pairwise(np.linspace(0, steps, checkpoints + 1).astype(int)):
        loop.train_steps(int(now - before))
        scores = score_side_by_side(loop, envs, episodes)
        if best_scores is not None:
            better = _clearly_better(scores, best_scores)
            best = jax.tree.map(_where(better), loop.acting, best)
            best_scores = np.where(better, scores, best_scores)
        curve.append(float(scores.mean()))
        values = {"score": curve[-1], "epsilon": float(loop.learners.epsilon[0]), **loop.errors()}
        for sink in sinks:
            sink.log(loop.steps, values)
    if keep_best:
        loop.kept = best
    return np.array(curve)


def _clearly_better(now: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Of each learner, whether the mean rose by more than its error on the same episodes."""
    more = now - before
    return more.mean(axis=0) > more.std(axis=0) / np.sqrt(len(more))


def _where(better: np.ndarray) -> Any:
    return lambda new, old: jnp.where(better.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


# Learners in Gymnasium environments as files: stopped, they go on another day.
#
# A file holds all that was learned and stored, and what was measured of the environment. It does
# not hold the environment, whose state is its own: a learner that was saved and one that was loaded
# both begin a new episode, and go on alike.

KIND = "learner"


def save_learner(
    path: str | os.PathLike[str], loop: HostLoop, about: Mapping[str, Any] | None = None
) -> None:
    """Write a learner to a file, whole; then it begins a new episode.

    Args:
        path: The file.
        loop: A learner that `gymnasium_learner` made.
        about: What else the file is to say of it.
    """
    header = {
        "about": None if about is None else dict(about),
        "settings": _settings(loop),
        "seed": loop.seed,
        "learners": len(loop.rngs),
        "steps": loop.steps,
        "planned": loop.planned,
        "before_level": loop.before_level,
        "measured": None if loop.measured is None else loop.measured._asdict(),
        "randomness": [rng.bit_generator.state for rng in loop.rngs],
        "kept": loop.kept is not None,
    }
    arrays = {"learners": _kept_of(loop.learners)}
    if loop.kept is not None:
        arrays["kept"] = loop.kept
    write_tensors(path, KIND, header, named_leaves(arrays))
    loop.begin_again()


def load_learner(
    path: str | os.PathLike[str], env: gymnasium.Env, scheme: FairnessScheme, **how: Any
) -> HostLoop:
    """A learner as it was saved, at the start of an episode: `train` goes on from there.

    Args:
        path: The file.
        env: An environment like the one it was learned in.
        scheme: What fair means, as before.
        **how: All else that `gymnasium_learner` was given.
    """
    header, arrays = read_tensors(path, KIND)
    record = SavedRecord(header, path)
    with reading_saved(path, KIND):
        known = _measurements(record.value("measured"))
        seed, number = int(record.value("seed")), int(record.value("learners"))
        steps, planned = int(record.value("steps")), int(record.value("planned"))
        before_level = int(record.value("before_level"))
        states, kept = record.value("randomness"), bool(record.value("kept"))
    loop = gymnasium_learner(env, scheme, measured=known, seed=seed, **{"steps": planned, **how})
    if len(loop.rngs) != number:
        raise BadParameter(
            f"{path} holds {number} learners side by side and there are {len(loop.rngs)} "
            "environments: give one each, with beside=…"
        )
    _require_same(path, header["settings"], _settings(loop))
    now = loop.learners
    like = {"learners": _kept_of(now)}
    if kept:
        like["kept"] = loop.acting
    with reading_saved(path, KIND):
        found = with_leaves(like, arrays)
        for rng, state in zip(loop.rngs, states, strict=True):
            rng.bit_generator.state = state
    read = found["learners"]
    loop.learners = read._replace(
        augmented=now.augmented, pending=now.pending, carry=now.carry, time=now.time
    )
    loop.steps, loop.before_level, loop.kept = steps, before_level, found.get("kept")
    loop.begin_again()
    return loop


def _kept_of(learners: AgentState) -> Any:
    """What outlives an episode."""
    nothing: Any = ()
    return learners._replace(augmented=nothing, pending=nothing, carry=nothing, time=nothing)


def _measurements(saved: Any) -> Measurements | None:
    if saved is None:
        return None
    return Measurements(**{name: _tuples(value) for name, value in saved.items()})


def _settings(loop: HostLoop) -> dict[str, str]:
    """All that a learner was made with, in words, to be compared."""
    agent, problem = loop.agent, loop.agent.problem
    world = problem.environment
    made = {f.name: getattr(agent, f.name) for f in fields(agent) if f.name != "problem"}
    made |= {"scheme": problem.scheme, "memory": problem.memory}
    made |= {"num_stakeholders": world.num_stakeholders, "num_actions": world.num_actions}
    made |= {"horizon": world.horizon, "learn_every": loop.learn_every}
    return {name: repr(value) for name, value in made.items()}


def _require_same(path: Any, saved: Any, here: dict[str, str]) -> None:
    if not isinstance(saved, dict):
        raise BadFile(f"{path} is not a {KIND} that evenhand wrote.")
    for name, value in here.items():
        before = str(saved.get(name))
        if before != value:
            pairs = enumerate(zip(before, value, strict=False))
            same = next((k for k, (one, other) in pairs if one != other), 0)
            raise BadParameter(
                f"{path} holds a learner whose {name} is {_short(before, same)}, and here it is "
                f"{_short(value, same)}: give what it was made with."
            )


def _short(text: str, same: int) -> str:
    """A text; of a long one the part from shortly before it differs from another on."""
    if len(text) <= 80:
        return text
    first = max(0, same - 40)
    return "…" * (first > 0) + text[first : first + 77] + "…" * (len(text) > first + 77)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


# A Gymnasium environment of one's own by its place, `module:Class`: learned, saved, scored again.
#
# What `evenhand train` does for such a class. The file says which class and which scheme it is of,
# so that it can be scored without saying so again.

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
