"""Environments that are not JAX, as a problem needs them: what they show, and a walk in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.trace import Override, Step
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Attribute
from evenhand.process import Process, Transition

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, PRNGKeyArray


@dataclass(frozen=True, eq=False)
class HostWorld:
    """An environment that runs on the host, as a problem needs it: its state is what is observed.

    `observe` makes a vector of numbers, always as long, of a state of the process. `horizon` is
    where an episode is cut off if the process has not ended it before.
    """

    process: Process
    num_actions: int
    horizon: int
    observe: Callable[[Any], Any]
    size: int  # of the observation
    may_override: bool = False
    layout: FeatureLayout | None = None  # which numbers of the observation belong to whom
    masked: bool = False  # whether observations begin with a number per action: 0 if impossible

    def __post_init__(self) -> None:
        if self.layout is not None:
            self.layout.require_fit(self.num_stakeholders, self.size)

    @property
    def num_stakeholders(self) -> int:
        return self.process.num_stakeholders

    @property
    def compiled(self) -> bool:
        return False

    def initial(self, key: PRNGKeyArray) -> Float[Array, " feature"]:
        """A state of the right shape: where episodes start is for the process to say."""
        return jnp.zeros(self.size)

    def step(self, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Step]:
        raise BadParameter("this environment runs on the host: use learn.host.HostLoop.")

    def is_over(self, state: Any) -> Bool[Array, ""]:
        raise BadParameter("this environment runs on the host: use learn.host.HostLoop.")

    def achieved(self, world: Any) -> Bool[Array, ""]:
        return jnp.ones((), dtype=bool)

    def attributes(self, state: Any) -> tuple[Attribute, ...]:
        return (Attribute(state),) if self.layout is None else self.layout.attributes(state)

    @property
    def outcome_size(self) -> int:
        """How many numbers say what happened in a step."""
        return self.num_stakeholders + 2 * self.size + 4

    def unpack(self, outcome: Float[Array, " number"]) -> Any:
        """Rewards, override, state, first state of the next episode, is over, terminated."""
        n, size = self.num_stakeholders, self.size
        rewards, state, first, rest = jnp.split(outcome, [n, n + size, n + 2 * size])
        applies, value, over, ended = rest
        override = Override(applies > 0, value) if self.may_override else None
        return rewards, override, state, first, over > 0, ended > 0

    def seen(self, state: Any) -> Float[np.ndarray, " feature"]:
        """The observation of a state of the process; one of another length is refused."""
        vector = np.asarray(self.observe(state), dtype=np.float32).ravel()
        if vector.shape != (self.size,):
            raise UnequalLengths(
                f"an observation has {vector.size} numbers where {self.size} were announced: "
                "`observe` must make vectors of one length."
            )
        return vector


class Walk:
    """A process that is stepped, one episode after the other."""

    def __init__(self, world: HostWorld, process: Process, rng: np.random.Generator) -> None:
        self.world, self.process, self.rng = world, process, rng
        self.ended_after = 0  # decisions, of the episode that ended last
        self.begin()

    def begin(self) -> None:
        """Begin a new episode."""
        self.state, self.decided = self.process.initial(self.rng), 0
        self.shown = self.world.seen(self.state)

    def random_action(self, rng: np.random.Generator) -> int:
        """Any action that is possible now."""
        if not self.world.masked:
            return int(rng.integers(self.world.num_actions))
        possible = np.flatnonzero(self.shown[: self.world.num_actions])
        return int(rng.choice(possible)) if possible.size else 0

    def step(self, action: int, again: bool = True) -> Float[np.ndarray, " number"]:
        """Take an action; what happened as one vector: see `HostWorld.unpack`.

        Where the episode is over another one begins, unless it is not to go on (`again`).
        """
        world = self.world
        answer = self.process.step(self.state, action, self.rng)
        rewards = np.asarray(answer.rewards, dtype=np.float32)
        if rewards.shape != (world.num_stakeholders,):
            raise UnequalLengths(
                f"the environment gave rewards of shape {rewards.shape} to "
                f"{world.num_stakeholders} stakeholders: one each is needed."
            )
        self.state, self.decided = answer.next_state, self.decided + 1
        is_over = answer.terminated or answer.truncated or self.decided == world.horizon
        after = self.shown = world.seen(self.state)
        if is_over:
            self.ended_after = self.decided
        if is_over and again:
            self.begin()
        flags = float(is_over), float(answer.terminated)
        instead = _override(world, answer)
        return np.concatenate((rewards, after, self.shown, instead, flags), dtype=np.float32)


def _override(world: HostWorld, answer: Transition) -> tuple[float, float]:
    """Whether the environment puts a reward in place of the welfare, and which."""
    if answer.override is None:
        return 0.0, 0.0
    if not world.may_override:
        raise BadParameter(
            "the environment put a reward in place of the welfare of a step: build the HostWorld "
            "with may_override=True."
        )
    return float(answer.override.applies), float(answer.override.value)
