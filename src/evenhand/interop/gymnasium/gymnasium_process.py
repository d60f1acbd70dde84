"""A Gymnasium environment as the environment of a `Problem`, to be learned on the host."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces

from evenhand.errors import BadParameter, CannotCarry, NotDiscrete, NotReset, UnequalLengths
from evenhand.interop.gymnasium.observations import layout_of
from evenhand.interop.gymnasium.stakeholder_rewards import (
    EnvStep,
    StakeholderRewards,
    attribute,
    checked,
    horizon_of,
    num_stakeholders_of,
    override_of,
    stakeholder_rewards_of,
)
from evenhand.learn.host import HostWorld
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.process import Transition

if TYPE_CHECKING:
    from jaxtyping import Float

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
