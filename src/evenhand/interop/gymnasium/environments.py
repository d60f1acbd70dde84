"""Environments of evenhand as Gymnasium ones: rendered, and many at once."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from evenhand.envs import ENVIRONMENTS, Environment, State
from evenhand.errors import BadParameter, NotReset, UnequalLengths

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt8


# Section 6 in pictures: who is there, who was served, and what each has had so far.
#
# Drawn with NumPy alone, so that a server without a screen or a drawing library can make films.

WIDE, HIGH = 44, 120  # of a stakeholder's column, in pixels
PAPER, INK, FAINT = (255, 255, 255), (40, 40, 40), (222, 222, 222)
PRESENT, SERVED, HAD = (44, 123, 182), (230, 120, 30), (120, 170, 205)

# 3 × 5 dots for each character, a row in three bits.
DIGITS = {
    "0": (7, 5, 5, 5, 7),
    "1": (2, 6, 2, 2, 7),
    "2": (7, 1, 7, 4, 7),
    "3": (7, 1, 3, 1, 7),
    "4": (5, 5, 7, 1, 1),
    "5": (7, 4, 7, 1, 7),
    "6": (7, 4, 7, 5, 7),
    "7": (7, 1, 2, 2, 2),
    "8": (7, 5, 7, 5, 7),
    "9": (7, 5, 7, 1, 7),
    ".": (0, 0, 0, 0, 2),
    "-": (0, 0, 7, 0, 0),
    "k": (4, 5, 6, 5, 5),
    "M": (5, 7, 7, 5, 5),
}


@dataclass(frozen=True)
class Scene:
    """What is to be shown of an environment between two decisions."""

    time: int
    horizon: int
    present: Bool[np.ndarray, " stakeholder"]
    received: Float[np.ndarray, " stakeholder"]
    served: Bool[np.ndarray, " stakeholder"]  # by the last decision

    def text(self) -> str:
        """A line for the time and one for each stakeholder."""
        lines = [f"step {self.time} of {self.horizon}"]
        most = max(float(self.received.max()), 1.0)
        for i, amount in enumerate(self.received):
            there = "●" if self.present[i] else "○"
            bar = "█" * round(20 * max(float(amount), 0.0) / most)
            mark = " ←" if self.served[i] else ""
            lines.append(f"{there} {i:>2} {bar:<20} {amount:g}{mark}")
        return "\n".join(lines) + "\n"

    def picture(self) -> UInt8[np.ndarray, "height width 3"]:
        """A column for each: a disc filled if present, a bar of what was received, the number."""
        size = len(self.received)
        image = np.full((HIGH + 40, size * WIDE + 8, 3), PAPER, dtype=np.uint8)
        most = max(float(self.received.max()), 1.0)
        foot = HIGH + 14
        for i, amount in enumerate(self.received):
            left = 4 + i * WIDE
            _disc(image, 14, left + WIDE // 2, PRESENT if self.present[i] else FAINT)
            height = round((HIGH - 20) * max(float(amount), 0.0) / most)
            colour = SERVED if self.served[i] else HAD
            image[foot - height : foot, left + 8 : left + WIDE - 8] = colour
            image[foot, left + 4 : left + WIDE - 4] = INK
            _write(image, foot + 4, left + 8, short(float(amount)))
        done = round((image.shape[1] - 8) * self.time / max(self.horizon, 1))
        image[-6:-3, 4:-4] = FAINT
        image[-6:-3, 4 : 4 + done] = INK
        return image


def short(number: float) -> str:
    """A number in at most five characters: 17, 2.5, 40k, 1.2M."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= unit * 10 or (unit == 1e6 and abs(number) >= unit):
            return f"{number / unit:.1f}".removesuffix(".0")[:4] + letter
    return f"{number:.1f}".removesuffix(".0")[:5]


def _disc(image: np.ndarray, row: int, column: int, colour: tuple[int, ...]) -> None:
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    image[(y - row) ** 2 + (x - column) ** 2 <= 64] = colour


def _write(image: np.ndarray, row: int, column: int, text: str) -> None:
    for character in text:
        dots = np.array([[bits >> k & 1 for k in (2, 1, 0)] for bits in DIGITS[character]])
        big = np.kron(dots, np.ones((2, 2), dtype=int)).astype(bool)
        image[row : row + 10, column : column + 6][big] = INK
        column += 8


# Section 6 as Gymnasium environments: our worlds, for everything that uses Gymnasium.
#
# The reward is what all stakeholders together received; each one's is in `info`. That is what most
# people maximise, and what a `FairnessWrapper` makes fair. The step number is not observed.


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


# Section 6 as Gymnasium vector environments: many worlds in one compiled step.
#
# An episode that is over begins anew with the next step, whose action is not looked at (Gymnasium's
# `NEXT_STEP`), so that the last observation of an episode is always seen.


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
        self._keys, self._state, observations = _begin_many(self.world, key, self.num_envs)
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
        self._keys, self._state, packed = _go_on_many(
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
def _begin_many(world: Environment, key: PRNGKeyArray, number: int) -> tuple[Any, State, Array]:
    keys = jax.random.split(key, (number, 2))
    states = jax.vmap(world.initial)(keys[:, 0])
    return keys[:, 1], states, jax.vmap(world.observation)(states).astype(jnp.float32)


@functools.partial(jax.jit, static_argnames="world")
def _go_on_many(
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
