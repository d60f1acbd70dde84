"""How a real decision is put before a policy: as the noise of the environment it was made for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.moments import as_numbers
from evenhand._util.wording import pluralise
from evenhand.envs.environment import Environment, State
from evenhand.envs.log_world import LogWorld, Situation
from evenhand.errors import BadParameter
from evenhand.memory.memory import Clock, Memory, Product

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


class RealDecision(NamedTuple):
    """What is to be decided: a lot, at a moment, and who may be given it."""

    eligible: Bool[np.ndarray, " stakeholder"]  # by the policy's own numbers
    wanted: Float[np.ndarray, " stakeholder"]  # ∞ where requests do not count
    amount: float
    time: float  # as a number


class DecisionSetting(ABC):
    """What a policy's environment takes a decision for."""

    lot: float | None  # the only amount it knows; None: any
    usual_lot: float  # what is taken to be given out where nobody says it
    ends: bool  # whether it was made for so many decisions and no more

    @abstractmethod
    def noise(self, decision: RealDecision) -> Any:
        """The decision as the noise of a state."""

    def number_of(self, name: str) -> int | None:
        """Which of its stakeholders has this name; None where it knows no names."""
        return None

    def learned_from(self, moments: np.ndarray) -> bool:
        """Whether some of these moments are from before the end of what it was learned from."""
        return False

    def require_times(self, plain_numbers: bool, policy: str) -> None:
        """Refuse times of a kind that the policy was not made for."""

    def require_number(self, size: int, found: int, policy: str, kind: str) -> None:
        """Refuse a number of stakeholders that the policy was not made for."""
        if found != size:
            raise BadParameter(
                f"{policy} was made for {pluralise(size, 'stakeholder')}, and here are {found:,}: "
                f"make a {kind} for as many, or name another rule."
            )


class TurnSetting(DecisionSetting):
    """An environment of taking turns: its noise says who is there, and action i serves i.

    Args:
        environment: Refused where an action does not serve one stakeholder of those present.
    """

    ends = True

    def __init__(self, environment: Environment) -> None:
        size = environment.num_stakeholders
        state: Any = State(environment.start(), jnp.ones(size, dtype=bool))
        outcomes = environment.outcomes(state.world, state.noise, 0)
        rewards = environment.rewards(state, 0, jax.tree.map(lambda leaf: leaf[0], outcomes.world))
        if outcomes.probability.shape[0] > 1 or np.count_nonzero(rewards) != 1:
            raise BadParameter(
                f"a policy of {type(environment).__name__} cannot say who is next: there, chance "
                "has a part in what a choice brings."
            )
        self.lot = self.usual_lot = float(rewards[0])

    def noise(self, decision: RealDecision) -> Any:
        return jnp.asarray(decision.eligible)


class LogSetting(DecisionSetting):
    """A world made from a log: lots of any size, at dates, to stakeholders with names.

    Args:
        world: The environment.
    """

    lot, ends = None, False

    def __init__(self, world: LogWorld) -> None:
        self.world = world
        self.usual_lot = world.tables.mean_lot

    def noise(self, decision: RealDecision) -> Any:
        wanted = decision.wanted if self.world.by_request else np.zeros(0)
        return Situation(
            jnp.asarray(decision.amount, dtype=jnp.float32),
            jnp.asarray(decision.eligible),
            # Where requests do not count here and did there, each wants as much as there is.
            jnp.asarray(np.minimum(wanted, 1e30), dtype=jnp.float32),
            jnp.asarray(self.world.phase_at(decision.time), dtype=jnp.int32),
        )

    def number_of(self, name: str) -> int | None:
        names = self.world.names
        if name not in names:
            raise BadParameter(
                f"the policy was learned for {pluralise(len(names), 'stakeholder')}, and {name!r} "
                f"is not one of them: learn it anew from a log that has all "
                "of them, leave this one out, or name another rule."
            )
        return names.index(name)

    def learned_from(self, moments: np.ndarray) -> bool:
        return bool((as_numbers(moments) <= self.world.last).any())

    def require_times(self, plain_numbers: bool, policy: str) -> None:
        if plain_numbers != self.world.plain_numbers:
            kinds = ("dates", "plain numbers")
            raise BadParameter(
                f"{policy} was learned from a log whose times are "
                f"{kinds[self.world.plain_numbers]}, and here they are {kinds[plain_numbers]}: "
                "write both in one way, or name another rule."
            )

    def require_number(self, size: int, found: int, policy: str, kind: str) -> None:
        return  # each is looked for by its name


def setting_of(environment: Any) -> DecisionSetting:
    """How a decision is put before a policy of an environment."""
    if isinstance(environment, LogWorld):
        return LogSetting(environment)
    if isinstance(environment, Environment) and environment.takes_turns:
        return TurnSetting(environment)
    raise BadParameter(
        f"a policy of {type(environment).__name__} cannot say who is next: there, an action does "
        "not serve one stakeholder of those present, as it does in doughnuts."
    )


def counts_steps(memory: Memory) -> bool:
    """Whether a memory has a clock, which knows no time after the last decision."""
    parts = memory.parts if isinstance(memory, Product) else (memory,)
    return any(isinstance(part, Clock) for part in parts)
