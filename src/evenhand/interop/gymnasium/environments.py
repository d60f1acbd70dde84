"""Section 6 as Gymnasium environments: our worlds, for everything that uses Gymnasium.

The reward is what all stakeholders together received; each one's is in `info`. That is what most
people maximise, and what a `FairnessWrapper` makes fair. The step number is not observed.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from evenhand.envs import ENVIRONMENTS, Environment, State
from evenhand.errors import BadParameter, NotReset
from evenhand.interop.gymnasium.rendering import Scene

if TYPE_CHECKING:
    from jaxtyping import Array, Float, PRNGKeyArray


class WorldEnv(gymnasium.Env[np.ndarray, np.integer]):
    """An environment of `evenhand.envs` behind Gymnasium's interface.

    `world` is an environment or the name of one; other arguments are its parameters. It terminates
    after its T decisions. `info` has `stakeholder_rewards` and, where the environment may put a
    reward of its own in place of the welfare of a step, whether it was `overridden`, and by what.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        world: str | Environment = "doughnuts",
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise BadParameter(f"render_mode is {render_mode!r}: there are ansi and rgb_array.")
        self.world = build(world, settings)
        self.render_mode = render_mode
        self.observation_space = observation_space(self.world)
        self.action_space = spaces.Discrete(self.world.num_actions)
        self.reward_space = reward_space(self.world)
        self._state: State | None = None
        self._over = True

    @property
    def num_stakeholders(self) -> int:
        return self.world.num_stakeholders

    @property
    def horizon(self) -> int:
        return self.world.horizon

    @property
    def may_override(self) -> bool:
        return self.world.may_override

    @property
    def state(self) -> State:
        """The state s itself, for schemes and memories that look at it."""
        if self._state is None:
            raise NotReset("there is no state yet: call reset() first.")
        return jax.tree.map(np.asarray, self._state)  # quicker than device_get for so little

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        key = jax.random.key(int(self.np_random.integers(2**31)))
        self._key, self._state, observation = _begin(self.world, key)
        self._received = np.zeros(self.num_stakeholders)
        self._served = np.zeros(self.num_stakeholders, dtype=bool)
        self._over = False
        return np.array(observation), self._info(self._received.copy(), False, 0.0)

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        if self._over:
            raise NotReset("the episode has not begun, or is over: call reset() before step().")
        if not 0 <= int(action) < self.world.num_actions:
            raise BadParameter(
                f"action {action} does not exist: they run from 0 to {self.world.num_actions - 1}."
            )
        self._key, self._state, packed = _go_on(self.world, self._key, self._state, int(action))
        packed = np.asarray(packed)
        size = self.num_stakeholders
        rewards, (applies, value, is_over) = (
            packed[:size].astype(np.float64),
            packed[size : size + 3],
        )
        self._over = bool(is_over)
        self._received += rewards
        self._served = rewards > 0
        info = self._info(rewards, bool(applies), float(value))
        return np.array(packed[size + 3 :]), self._reward(rewards), self._over, False, info

    def _info(self, rewards: np.ndarray, overridden: bool, value: float) -> dict[str, Any]:
        """The same entries always, as those who keep data sets need it."""
        info: dict[str, Any] = {"stakeholder_rewards": rewards}
        if self.may_override:
            info |= {"overridden": overridden, "override": value if overridden else 0.0}
        return info

    def _reward(self, rewards: Float[np.ndarray, " stakeholder"]) -> Any:
        return float(rewards.sum())

    def render(self) -> Any:
        if self.render_mode is None:
            return None
        state = self.state
        scene = Scene(
            int(state.world.time),
            self.horizon,
            np.asarray(self.world.present(state)),
            self._received,
            self._served,
        )
        return scene.text() if self.render_mode == "ansi" else scene.picture()


class VectorRewardEnv(WorldEnv):
    """The same with the reward vector as the reward, as MO-Gymnasium's environments have it."""

    def _reward(self, rewards: Float[np.ndarray, " stakeholder"]) -> Any:
        return rewards.astype(np.float32)

    @property
    def reward_dim(self) -> int:
        return self.num_stakeholders


def build(world: str | Environment, settings: dict[str, Any]) -> Environment:
    """An environment by its name and parameters, or as it is."""
    if isinstance(world, Environment):
        if settings:
            raise BadParameter(
                f"{', '.join(settings)} given beside an environment that is built already: build "
                "it with them, or name it."
            )
        return world
    try:
        return ENVIRONMENTS.get(world)(**settings)
    except TypeError as error:
        raise BadParameter(f"{world} cannot be built: {error}.") from None


def observation_space(world: Environment) -> spaces.Box:
    """The observations of a world, within bounds where they are known."""
    size = jax.eval_shape(lambda key: world.observation(world.initial(key)), jax.random.key(0))
    low, high = world.bounds()
    shape = size.shape
    low, high = (np.broadcast_to(np.asarray(b, dtype=np.float32), shape) for b in (low, high))
    return spaces.Box(low.copy(), high.copy(), dtype=np.float32)


def reward_space(world: Environment) -> spaces.Box:
    """What each stakeholder may receive in a step."""
    return spaces.Box(*world.reward_bounds(), (world.num_stakeholders,), dtype=np.float32)


@functools.partial(jax.jit, static_argnames="world")
def _begin(world: Environment, key: PRNGKeyArray) -> tuple[Any, State, Float[Array, " feature"]]:
    key, first = jax.random.split(key)
    state = world.initial(first)
    return key, state, world.observation(state).astype(jnp.float32)


@functools.partial(jax.jit, static_argnames="world")
def _go_on(
    world: Environment, key: PRNGKeyArray, state: State, action: Any
) -> tuple[Any, State, Float[Array, " packed"]]:
    """What is known of a step lies in one vector: one transfer from JAX costs less than five."""
    key, now = jax.random.split(key)
    state, step = world.step(now, state, action)
    return key, state, pack_step(world, state, step)


def pack_step(world: Environment, state: State, step: Any) -> Float[Array, " packed"]:
    """Rewards, whether there is an override, its value, whether it is over, the observation."""
    override = step.override
    flags = jnp.stack([jnp.asarray(x, jnp.float32) for x in (*override, world.is_over(state))])
    parts = step.rewards, flags, world.observation(state)
    return jnp.concatenate([part.astype(jnp.float32) for part in parts])
