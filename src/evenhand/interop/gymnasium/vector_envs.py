"""Section 6 as Gymnasium vector environments: many worlds in one compiled step.

An episode that is over begins anew with the next step, whose action is not looked at (Gymnasium's
`NEXT_STEP`), so that the last observation of an episode is always seen.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from evenhand.envs import Environment, State
from evenhand.errors import BadParameter, NotReset, UnequalLengths
from evenhand.interop.gymnasium.environments import (
    build,
    observation_space,
    pack_step,
    reward_space,
)

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, PRNGKeyArray


class WorldEnvs(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Many copies of an environment of `evenhand.envs`, stepped together under `vmap`."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self, num_envs: int = 1, world: str | Environment = "doughnuts", **settings: Any
    ) -> None:
        if settings.pop("render_mode", None) is not None:
            raise BadParameter("many environments side by side are not drawn: draw one of them.")
        self.world = build(world, settings)
        self.num_envs = num_envs
        self.single_observation_space = observation_space(self.world)
        self.single_action_space = spaces.Discrete(self.world.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.reward_space = reward_space(self.world)
        self._state: State | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        key = jax.random.key(int(self.np_random.integers(2**31)))
        self._keys, self._state, observations = _begin(self.world, key, self.num_envs)
        self._over = np.zeros(self.num_envs, dtype=bool)
        return np.array(observations), {}

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if self._state is None:
            raise NotReset("the episodes have not begun: call reset() before step().")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,):
            raise UnequalLengths(
                f"actions of shape {actions.shape} for {self.num_envs} environments: one each."
            )
        if actions.min() < 0 or actions.max() >= self.world.num_actions:
            raise BadParameter(
                f"actions run from 0 to {self.world.num_actions - 1}: one of them does not."
            )
        is_over = self._over
        self._keys, self._state, packed = _go_on(
            self.world, self._keys, self._state, actions, is_over
        )
        packed = np.asarray(packed)
        size = self.world.num_stakeholders
        rewards, (applies, value, ended) = packed[:, :size].copy(), packed[:, size : size + 3].T
        self._over = ended.astype(bool)
        info: dict[str, Any] = {"stakeholder_rewards": rewards, "_stakeholder_rewards": ~is_over}
        if self.world.may_override:
            info |= {"overridden": applies.astype(bool), "override": value.copy()}
        cut = np.zeros(self.num_envs, dtype=bool)
        return packed[:, size + 3 :].copy(), self._reward(rewards), self._over.copy(), cut, info

    def _reward(self, rewards: Float[np.ndarray, "world stakeholder"]) -> Any:
        return rewards.sum(axis=1, dtype=np.float64)


class VectorRewardEnvs(WorldEnvs):
    """The same with a reward for each stakeholder: [environment, stakeholder]."""

    def _reward(self, rewards: Float[np.ndarray, "world stakeholder"]) -> Any:
        return rewards.copy()


@functools.partial(jax.jit, static_argnames=("world", "number"))
def _begin(world: Environment, key: PRNGKeyArray, number: int) -> tuple[Any, State, Array]:
    keys = jax.random.split(key, (number, 2))
    states = jax.vmap(world.initial)(keys[:, 0])
    return keys[:, 1], states, jax.vmap(world.observation)(states).astype(jnp.float32)


@functools.partial(jax.jit, static_argnames="world")
def _go_on(
    world: Environment,
    keys: PRNGKeyArray,
    states: State,
    actions: Array,
    is_over: Bool[Array, " world"],
) -> tuple[Any, State, Array]:
    def one(key: Any, state: State, action: Any, begins: Any) -> tuple[Any, State, Array]:
        key, now, anew = jax.random.split(key, 3)
        following, step = world.step(now, state, action)
        first = world.initial(anew)
        following = jax.tree.map(lambda a, b: jnp.where(begins, a, b), first, following)
        override = jax.tree.map(lambda leaf: jnp.where(begins, 0, leaf), step.override)
        rewards = jnp.where(begins, 0.0, step.rewards)
        step = step._replace(rewards=rewards, override=override)
        return key, following, pack_step(world, following, step)

    return jax.vmap(one)(keys, states, actions, is_over)
