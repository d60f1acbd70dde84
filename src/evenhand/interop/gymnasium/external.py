"""Gymnasium environments as problems: what is observed, and each stakeholder's reward."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from evenhand.errors import (
    BadParameter,
    CannotCarry,
    NoStakeholderRewards,
    NotDiscrete,
    NotFinite,
    NotReset,
    UnequalLengths,
)
from evenhand.fairness.trace import Override, Step
from evenhand.learn.deep.encoders import Encoder, Raw
from evenhand.learn.host import HostWorld
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Attribute
from evenhand.problem.checks import require_reward
from evenhand.problem.problem import AgentView, AugmentedState, Problem
from evenhand.problem.reward import SchemeState
from evenhand.process import Transition

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, PRNGKeyArray


# Section 5.1, ⟨s, m⟩ as one observation: where the memory joins what the environment shows.


class Join(ABC):
    """How an observation and what is remembered become one observation."""

    @abstractmethod
    def space(self, shown: spaces.Space, size: int) -> spaces.Space:
        """The space of both together; refuses one that has no place for `size` more numbers."""

    @abstractmethod
    def join(self, shown: spaces.Space, observation: Any, seen: Float[np.ndarray, " size"]) -> Any:
        """Both together."""


@dataclass(frozen=True)
class FlatObservation(Join):
    """One vector: the observation flattened, then what is remembered."""

    def space(self, shown: spaces.Space, size: int) -> spaces.Space:
        flat = _flattened(shown)
        if not isinstance(flat, spaces.Box):
            raise CannotCarry(
                f"observations of the kind {type(shown).__name__} are not vectors of one length, "
                "so that the memory cannot be put behind them: use join=DictObservation()."
            )
        if isinstance(shown, spaces.Box) and len(shown.shape) == 3 and shown.dtype == np.uint8:
            raise CannotCarry(
                "observations are pictures, and a picture flattened and joined with the memory is "
                "no longer a picture: use join=DictObservation()."
            )
        beyond = np.full(size, np.inf)
        low = np.concatenate((flat.low, -beyond)).astype(np.float32)
        return spaces.Box(low, np.concatenate((flat.high, beyond)).astype(np.float32))

    def join(self, shown: spaces.Space, observation: Any, seen: Float[np.ndarray, " size"]) -> Any:
        flat = np.asarray(spaces.flatten(shown, observation), dtype=np.float32)
        return np.concatenate((flat, seen))


@dataclass(frozen=True)
class DictObservation(Join):
    """A dictionary: the observation as it is, and what is remembered beside it."""

    name: str = "memory"

    def space(self, shown: spaces.Space, size: int) -> spaces.Space:
        beside = spaces.Box(-np.inf, np.inf, (size,), dtype=np.float32)
        if not isinstance(shown, spaces.Dict):
            return spaces.Dict({"observation": shown, self.name: beside})
        if self.name in shown.spaces:
            raise CannotCarry(
                f"observations have a part called {self.name!r} already: give the memory another "
                "name, as in join=DictObservation('remembered')."
            )
        return spaces.Dict({**shown.spaces, self.name: beside})

    def join(self, shown: spaces.Space, observation: Any, seen: Float[np.ndarray, " size"]) -> Any:
        if isinstance(shown, spaces.Dict):
            return {**observation, self.name: seen}
        return {"observation": observation, self.name: seen}


def layout_of(shown: spaces.Space, num_stakeholders: int) -> FeatureLayout | None:
    """Whose numbers are whose, as far as the shapes of a space of observations say so.

    An array whose first axis is as long as there are stakeholders has a row for each; one of so
    many choices is about one of them. What no shape tells is nobody's; None: it tells nothing.

    >>> both = spaces.Dict({"asks": spaces.Box(0, 1, (3, 2)), "hour": spaces.Box(0, 24, (1,))})
    >>> layout_of(both, 3)
    FeatureLayout(per_stakeholder=((0, 2, 4), (1, 3, 5)), shared=(6,))
    """
    owned = tuple(_owned(shown, num_stakeholders, 0))
    if not owned:
        return None
    taken = {place for block in owned for place in block}
    rest = (place for place in range(spaces.flatdim(shown)) if place not in taken)
    return FeatureLayout(owned, tuple(rest))


def _owned(shown: spaces.Space, number: int, start: int) -> Iterator[tuple[int, ...]]:
    """The places, in the flattened observation, of each feature that every stakeholder has."""
    parts = _parts(shown)
    if parts:
        for part in parts:
            yield from _owned(part, number, start)
            start += spaces.flatdim(part)
        return
    one_hot = isinstance(shown, spaces.Discrete) and shown.n == number
    rows = isinstance(shown, spaces.Box | spaces.MultiBinary) and shown.shape[:1] == (number,)
    if one_hot or rows:
        features = spaces.flatdim(shown) // number
        for feature in range(features):
            yield tuple(start + i * features + feature for i in range(number))


def _parts(shown: spaces.Space) -> tuple[spaces.Space, ...]:
    if isinstance(shown, spaces.Dict):
        return tuple(shown.spaces.values())
    return tuple(shown.spaces) if isinstance(shown, spaces.Tuple) else ()


def _flattened(shown: spaces.Space) -> spaces.Space | None:
    try:
        return spaces.flatten_space(shown)
    except (NotImplementedError, ValueError):
        return None


# Definition 1, R_i(s, a, s'): what each stakeholder received, from what an environment returns.


class EnvStep(NamedTuple):
    """One decision in a Gymnasium environment: what went in, and what came out."""

    observation: Any
    action: Any
    following: Any
    reward: Any
    info: dict[str, Any]


# What each stakeholder received in a step: any function of the step.
StakeholderRewards = Callable[[EnvStep], Any]


@dataclass(frozen=True)
class FromReward:
    """The reward is a vector with a number for each stakeholder, as MO-Gymnasium has it."""

    def __call__(self, step: EnvStep) -> Any:
        return step.reward


@dataclass(frozen=True)
class FromInfo:
    """An entry of `info` has a number for each stakeholder, as our own environments have it."""

    entry: str = "stakeholder_rewards"

    def __call__(self, step: EnvStep) -> Any:
        if self.entry not in step.info:
            known = ", ".join(step.info) or "nothing"
            raise NoStakeholderRewards(
                f"info has no {self.entry!r} (it has {known}): name the entry with FromInfo, or "
                "give a function of the EnvStep as stakeholder_rewards."
            )
        return step.info[self.entry]


def stakeholder_rewards_of(env: gymnasium.Env) -> StakeholderRewards:
    """Where this environment says what each received, if it is one of those that do."""
    if attribute(env, "world", None) is not None:  # ours have it in info, whatever the reward
        return FromInfo()
    space = attribute(env, "reward_space", None)
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return FromReward()
    if attribute(env, "num_stakeholders", None) is not None:
        return FromInfo()
    raise NoStakeholderRewards(
        "the environment has one reward for all and does not say what each stakeholder received: "
        "give stakeholder_rewards, a function of an EnvStep (see "
        "evenhand.interop.gymnasium.external)."
    )


def num_stakeholders_of(env: gymnasium.Env, given: int | None) -> int:
    """How many stakeholders there are, as given or as the environment says."""
    if given is not None:
        return given
    number = attribute(env, "num_stakeholders", None)
    if number is not None:
        return int(number)
    space = attribute(env, "reward_space", None)
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return space.shape[0]
    raise NoStakeholderRewards(
        "the environment does not say how many stakeholders it has: give num_stakeholders."
    )


def horizon_of(env: gymnasium.Env, given: int | None, otherwise: int) -> int:
    """After how many decisions an episode ends at the latest, where that is known."""
    if given is not None:
        return given
    stated = list(_stated_limits(env))
    return min(stated) if stated else otherwise


# Where environments, and the wrappers around them, say how long an episode may be.
LIMITS = ("horizon", "_max_episode_steps", "max_episode_steps", "max_steps", "max_timesteps")


def _stated_limits(env: gymnasium.Env) -> Iterator[int]:
    """Every limit that a layer of the environment states; the shortest is what holds."""
    layer: Any = env
    while layer is not None:
        spec = getattr(layer, "spec", None)
        stated = [getattr(layer, name, None) for name in LIMITS]
        stated.append(None if spec is None else spec.max_episode_steps)
        for limit in stated:
            if isinstance(limit, int | np.integer) and not isinstance(limit, bool) and limit > 0:
                yield int(limit)
        layer = getattr(layer, "env", None)


def checked(rewards: Any, size: int) -> Float[np.ndarray, " stakeholder"]:
    """The rewards of a step as float64; of another number, or not finite, they are refused."""
    vector = np.asarray(rewards, dtype=np.float64)
    if vector.shape != (size,):
        raise UnequalLengths(
            f"the environment gave rewards of shape {vector.shape} to {size} stakeholders: one "
            "number each is needed."
        )
    if not np.isfinite(vector).all():
        raise NotFinite(f"the environment gave rewards {vector.tolist()}: they must be numbers.")
    return vector


def override_of(info: dict[str, Any]) -> Override:
    """The reward that takes the place of the welfare: `override`, unless not `overridden`."""
    applies = bool(info.get("overridden", info.get("override") is not None))
    value = float(info["override"]) if applies else 0.0
    return Override(np.asarray(applies), np.asarray(value, dtype=np.float64))


def attribute(env: gymnasium.Env, name: str, otherwise: Any) -> Any:
    """An attribute of an environment or of one that it wraps."""
    return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else otherwise


# A Gymnasium environment as the environment of a `Problem`, to be learned on the host.

MASK = "action_mask"  # the entry of info that says which actions are possible
MOST_ACTIONS = 4096  # that several choices at once may make together


class MaskedObservation(NamedTuple):
    """What is observed, and which actions are possible."""

    observation: Any
    mask: Float[np.ndarray, " action"]


@dataclass(eq=False)
class GymnasiumProcess:
    """A Gymnasium environment behind the interface of `process.Process`.

    The environment holds its own state, so that only the latest one can be stepped from. Every
    episode begins with a seed from the generator that is passed: randomness is an argument.
    Where `masked`, a state is a `MaskedObservation`.
    """

    env: gymnasium.Env
    num_stakeholders: int
    stakeholder_rewards: StakeholderRewards
    masked: bool = False
    _latest: Any = field(default=None, init=False)

    def initial(self, rng: np.random.Generator) -> Any:
        observation, info = self.env.reset(seed=int(rng.integers(2**31)))
        self._latest = self._state(observation, info)
        return self._latest

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        if state is not self._latest or state is None:
            raise NotReset(
                "the environment has moved on from this state, or its episode is over: begin a new "
                "one, and play episodes in between in an environment of their own (test_env)."
            )
        given = action_of(self.env.action_space, action)
        following, reward, terminated, truncated, info = self.env.step(given)
        before = state.observation if self.masked else state
        seen = EnvStep(before, given, following, reward, info)
        rewards = checked(self.stakeholder_rewards(seen), self.num_stakeholders)
        replaced = override_of(info) if attribute(self.env, "may_override", False) else None
        after = self._state(following, info)
        is_over = bool(terminated or truncated)
        self._latest = None if is_over else after
        return Transition(after, rewards, replaced, bool(terminated), bool(truncated))

    def _state(self, observation: Any, info: dict[str, Any]) -> Any:
        # A copy: some environments fill one and the same array again and again.
        observation = deepcopy(observation)
        if not self.masked:
            return observation
        mask = np.asarray(info.get(MASK, ()), dtype=np.float32).ravel()
        number = num_actions_of(self.env.action_space)
        if mask.shape != (number,):
            raise UnequalLengths(
                f"info['{MASK}'] has {mask.size} numbers for {number} actions: give one each, "
                "with every reset and step."
            )
        return MaskedObservation(observation, mask)


def num_actions_of(actions: spaces.Space) -> int:
    """How many actions there are; of several choices at once, all combinations."""
    if isinstance(actions, spaces.Discrete):
        return int(actions.n)
    if isinstance(actions, spaces.MultiDiscrete) and actions.nvec.ndim == 1:
        number = int(np.prod(actions.nvec, dtype=np.int64))
        if number <= MOST_ACTIONS:
            return number
        raise NotDiscrete(
            f"{len(actions.nvec)} choices at once make {number:,} actions, and the learner needs a "
            f"value for each of at most {MOST_ACTIONS:,}: make the choices one after the other."
        )
    raise NotDiscrete(
        f"the actions are of the kind {type(actions).__name__}, and the learner needs a value for "
        "each of finitely many: make them Discrete, or use a learner of continuous actions with a "
        "FairnessWrapper."
    )


def action_of(actions: spaces.Space, number: int) -> Any:
    """The action of this number, from 0, as the environment takes it."""
    if isinstance(actions, spaces.Discrete):
        return actions.start + number
    assert isinstance(actions, spaces.MultiDiscrete)
    return actions.start + np.array(np.unravel_index(number, tuple(actions.nvec)))


def gymnasium_world(
    env: gymnasium.Env,
    stakeholder_rewards: StakeholderRewards | None = None,
    *,
    num_stakeholders: int | None = None,
    horizon: int | None = None,
    layout: FeatureLayout | None = None,
) -> HostWorld:
    """A Gymnasium environment as the environment of a `Problem`, to be learned on the host.

    Args:
        env: With finitely many actions, and observations that can be flattened. Where `info` has
            an `action_mask` after a reset, actions that it rules out are never taken.
        stakeholder_rewards: What each stakeholder received in a step, as a function of an
            `EnvStep`; not needed where the environment says so itself.
        num_stakeholders: How many there are, where the environment does not say.
        horizon: After how many decisions an episode is cut off, where the environment does not say.
        layout: Which numbers of the (flattened) observation belong to whom. Default: what the
            environment's own `feature_layout` or the shapes of its observations say.
    """
    require_single(env)
    number = num_actions_of(env.action_space)
    shown = _flat_space(env)
    size = int(np.prod(shown.shape))
    length = horizon_of(env, horizon, 0)
    if length < 1:
        raise BadParameter(
            "nothing says after how many decisions an episode is cut off: give the horizon."
        )
    stakeholders = num_stakeholders_of(env, num_stakeholders)
    rewards = stakeholder_rewards or stakeholder_rewards_of(env)
    masked = MASK in env.reset(seed=0)[1]
    process = GymnasiumProcess(env, stakeholders, rewards, masked)
    if layout is None:
        layout = attribute(env, "feature_layout", None)
    if layout is None:
        layout = layout_of(env.observation_space, stakeholders)

    def flat(observation: Any) -> Float[np.ndarray, " feature"]:
        return np.asarray(spaces.flatten(env.observation_space, observation))

    def flat_after_mask(state: Any) -> Float[np.ndarray, " feature"]:
        return np.concatenate((state.mask, flat(state.observation)))

    world = HostWorld(
        process,
        number,
        length,
        flat_after_mask if masked else flat,
        size + number * masked,
        bool(attribute(env, "may_override", False)),
        _behind_mask(layout, number, size) if masked else layout,
    )
    return replace(world, masked=masked)


def require_single(env: Any) -> None:
    """Refuse a vector environment: its episodes end one by one, and its steps are many at once."""
    if isinstance(env, gymnasium.vector.VectorEnv) or hasattr(env, "env_method"):
        raise BadParameter(
            "this is a vector environment, of several at once: give a single one (gymnasium.make "
            "rather than make_vec). Several learners go side by side in HostLoop(beside=…)."
        )


def _flat_space(env: gymnasium.Env) -> spaces.Box:
    try:
        shown = spaces.flatten_space(env.observation_space)
    except NotImplementedError:
        shown = None
    if not isinstance(shown, spaces.Box):
        raise CannotCarry(
            f"observations of the kind {type(env.observation_space).__name__} are not vectors of "
            "one length: wrap the environment to make them so."
        )
    return shown


def _behind_mask(layout: FeatureLayout | None, number: int, size: int) -> FeatureLayout:
    """The layout of an observation that follows a mask, which is nobody's and comes first."""
    owned, shared = ((), range(size)) if layout is None else (layout.per_stakeholder, layout.shared)
    moved = tuple(tuple(number + place for place in block) for block in owned)
    return FeatureLayout(moved, (*range(number), *(number + place for place in shared)))


# Definition "NMFDP", memory-augmented, of an environment that runs elsewhere.
#
# The problem without its environment: what is remembered, what is paid, and how it is shown. It is
# all that a replay buffer needs to imagine, and it can be pickled without the environment.


@dataclass(frozen=True)
class ExternalEnvironment:
    """An environment of which only its size is known here: the steps come from outside."""

    num_stakeholders: int
    num_actions: int
    horizon: int
    may_override: bool = False

    @property
    def compiled(self) -> bool:
        return False

    def initial(self, key: PRNGKeyArray) -> Any:
        return ()

    def step(self, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Step]:
        raise BadParameter("this environment is run elsewhere: step it there.")

    def is_over(self, state: Any) -> Bool[Array, ""]:
        raise BadParameter("this environment is run elsewhere: it says itself when it is over.")

    def attributes(self, state: Any) -> tuple[Attribute, ...]:
        return ()  # the observation comes from outside

    def achieved(self, world: Any) -> Bool[Array, ""]:
        return jnp.ones((), dtype=bool)


class StepContext(NamedTuple):
    """One step with the memory and scheme state of before it: all that imagining another takes."""

    memory: Any
    scheme_state: SchemeState
    step: Step
    is_over: Bool[np.ndarray, ""]

    def __deepcopy__(self, memo: dict[int, Any]) -> StepContext:
        # Nothing writes into it, and vector environments copy every info they pass on.
        return self


@dataclass(frozen=True, eq=False)
class Fairness:
    """A problem that is run elsewhere, with the code in which its memory is shown."""

    problem: Problem
    encoder: Encoder = Raw()

    @property
    def num_stakeholders(self) -> int:
        return self.problem.environment.num_stakeholders

    def first(self) -> AugmentedState:
        """Memory and scheme state before the first decision, in NumPy."""
        memory, pay, size = self.problem.memory, self.problem.pay, self.num_stakeholders
        start = jax.tree.map(np.asarray, (memory.init(size), pay.init(size)))
        return AugmentedState((), *start)

    @np.errstate(all="ignore")  # a status without welfare is refused by name
    def after(
        self, before: AugmentedState, step: Step, is_over: bool
    ) -> tuple[AugmentedState, float]:
        """Memory and scheme state after a step, and its reward, by the problem's own μ and R."""
        after, pay = self.problem.after(before, step, (), np.asarray(is_over))
        require_reward(self.problem, pay, self.status(after))
        return after, float(pay)

    def status(self, at: AugmentedState) -> Float[np.ndarray, " status"]:
        return self.problem.scheme.status.value(at.scheme_state.status)

    def code(self, seen: AgentView) -> Float[Array, " size"]:
        """What is remembered as numbers, in JAX: the caller maps and compiles it."""
        return self.encoder(self.problem, (), seen)

    def shown(self, at: AugmentedState) -> Float[np.ndarray, " size"]:
        """What is remembered as numbers."""
        return np.array(self._code(at.seen))

    @cached_property
    def size(self) -> int:
        return self.shown(self.first()).shape[0]

    @cached_property
    def _code(self) -> Any:
        return jax.jit(self.code)

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "encoder": self.encoder}  # compiled code stays here

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
