"""Section 6 (hard-coded solutions): the policies that learners and planners are held against.

A policy here is a function `act(key, state, memory) -> action`: a random key for this decision
alone, the state (world and noise) that the policy sees, and the value of the memory the
rollout carries. Each is a frozen dataclass, so that it is static under jit, and pure, so that it
maps. Ties go to the lowest index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp

from evenhand._util.registry import Registry
from evenhand.envs.environment import State
from evenhand.envs.lending import Bank
from evenhand.envs.waiting_list import WaitingList

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Act(Protocol):
    """act(key, state, memory) -> action."""

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]: ...


METHODS = Registry("method")


@METHODS.register("oracle")
@dataclass(frozen=True)
class TurnTaking:
    """The oracle: of those present, the one who has received least. Needs Full memory.

    For environments whose noise says who may be served (present at the counter, applying). Where
    there is nobody, action 0.
    """

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        return _first_largest(-jnp.asarray(memory), state.noise)


@METHODS.register("random")
@dataclass(frozen=True)
class Random:
    """Every action with the same probability, whatever is seen."""

    num_actions: int

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        # The remainder favours small actions by less than n / 2^32. `jax.random.randint` would
        # halve even that, for three times the hashing: noticeable where this is the inner loop.
        bits = jax.random.bits(key, dtype=jnp.uint32)
        return (bits % jnp.uint32(self.num_actions)).astype(jnp.int32)


@METHODS.register("round_robin")
@dataclass(frozen=True)
class RoundRobin:
    """Everyone in turn by the step number, whether present or not."""

    num_actions: int

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        return jnp.asarray(state.world.time) % self.num_actions


@METHODS.register("greedy_for_bank")
@dataclass(frozen=True)
class GreedyForBank:
    """Of those who applied, the one most likely to repay. Where nobody did, action 0."""

    bank: Bank

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        return _first_largest(self.bank.credit(state.world), state.noise)


@METHODS.register("longest_wait_first")
@dataclass(frozen=True)
class LongestWaitFirst:
    """Of the classes with someone to treat, the one with the largest mean wait so far.

    Where nobody waits, action 0.
    """

    clinic: WaitingList

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        wait = -self.clinic.negated_mean_wait(state)
        return _first_largest(wait, self.clinic.waiting(state) > 0)


def _first_largest(values: Float[Array, " n"], among: Bool[Array, " n"]) -> Int[Array, ""]:
    return jnp.argmax(jnp.where(among, values, -jnp.inf)).astype(jnp.int32)
