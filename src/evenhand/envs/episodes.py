"""Episodes of a policy in an environment, and the hard-coded policies to hold against."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.registry import Registry
from evenhand.envs.environment import Environment, State
from evenhand.envs.lending import Bank
from evenhand.envs.waiting_list import WaitingList
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step, Trace
from evenhand.memory.memory import Memory
from evenhand.process import Transition

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


# Section 6 (hard-coded solutions): the policies that learners and planners are held against.
#
# A policy here is a function `act(key, state, memory) -> action`: a random key for this decision
# alone, the state (world and noise) that the policy sees, and the value of the memory the
# rollout carries. Each is a frozen dataclass, so that it is static under jit, and pure, so that it
# maps. Ties go to the lowest index.


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


# Section 3 (traces of a policy): environments run compiled, many at once, or on the host.


class Rollout(NamedTuple):
    """One run: the first state, then the steps and the memory after each, with a time axis."""

    initial: State
    steps: Step
    memories: Any


@functools.partial(jax.jit, static_argnames=("env", "act", "memory", "horizon"))
def rollout(
    env: Environment, act: Act, memory: Memory, key: PRNGKeyArray, horizon: int | None = None
) -> Rollout:
    """One run of `horizon` decisions, by default the environment's own T.

    A run does not stop by itself: penalties at the last step fall where the environment's T is.
    """
    decisions = env.horizon if horizon is None else horizon
    keys = jax.random.split(key, 1 + 2 * decisions)
    initial = env.initial(keys[0])
    remembered = jax.tree.map(jnp.asarray, memory.init(env.num_stakeholders))

    def decide(carry: tuple[State, Any], keys: PRNGKeyArray) -> tuple[Any, Any]:
        state, remembered = carry
        act_key, step_key = keys
        following, step = env.step(step_key, state, act(act_key, state, remembered))
        remembered = memory.update(remembered, step)
        return (following, remembered), (step, remembered)

    _, (steps, memories) = jax.lax.scan(
        decide, (initial, remembered), keys[1:].reshape(decisions, 2)
    )
    return Rollout(initial, steps, memories)


@functools.partial(jax.jit, static_argnames=("env", "act", "memory", "number", "horizon"))
def rollouts(
    env: Environment,
    act: Act,
    memory: Memory,
    key: PRNGKeyArray,
    number: int,
    horizon: int | None = None,
) -> Rollout:
    """Many independent runs side by side: a leading axis of `number` on everything."""
    keys = jax.random.split(key, number)
    return jax.vmap(lambda one: rollout(env, act, memory, one, horizon))(keys)


def to_trace(run: Rollout) -> Trace:
    """One run as a trace: rewards, states, actions and overrides, in NumPy."""
    run = jax.device_get(run)
    steps = run.steps
    if np.ndim(steps.rewards) != 2:
        raise BadParameter(
            f"the rewards of this run have shape {np.shape(steps.rewards)}: a trace is made of one "
            "run. Take one of many with jax.tree.map(lambda leaf: leaf[i], runs)."
        )
    following = [
        jax.tree.map(lambda leaf, t=t: leaf[t], steps.next_state) for t in range(len(steps.rewards))
    ]
    return Trace(
        rewards=steps.rewards,
        states=[run.initial, *following],
        actions=[int(action) for action in steps.action],
        overrides=steps.override,
    )


@dataclass(frozen=True)
class HostProcess:
    """An environment behind the interface of `process.Process`: NumPy in, NumPy out."""

    env: Environment

    @property
    def num_stakeholders(self) -> int:
        return self.env.num_stakeholders

    def initial(self, rng: np.random.Generator) -> State:
        return jax.device_get(_initial(self.env, _key(rng)))

    def step(self, state: State, action: Any, rng: np.random.Generator) -> Transition:
        if not 0 <= action < self.env.num_actions:
            raise BadParameter(
                f"action {action} does not exist: they run from 0 to {self.env.num_actions - 1}."
            )
        following, step, is_over = jax.device_get(_step(self.env, _key(rng), state, int(action)))
        return Transition(following, step.rewards, step.override, terminated=bool(is_over))


@dataclass(frozen=True)
class HostPolicy:
    """A policy of `envs.hard_coded` with its memory, behind the interface of `process.Policy`."""

    function: Act
    memory: Memory
    num_stakeholders: int

    def start(self, state: State) -> Any:
        return self.memory.init(self.num_stakeholders)

    def act(self, state: State, memory: Any, rng: np.random.Generator) -> int:
        return int(_act(self.function, _key(rng), state, memory))

    def observe(self, memory: Any, step: Step) -> Any:
        return self.memory.update(memory, step)


def as_process(env: Environment) -> HostProcess:
    """The environment as a process that `process.rollout` and `policy_score` run.

    It terminates after its T decisions. Randomness comes from the generator they pass.
    """
    return HostProcess(env)


def as_policy(act: Act, memory: Memory, env: Environment) -> HostPolicy:
    """A policy of `envs.hard_coded` as one that `process.rollout` and `policy_score` ask."""
    return HostPolicy(act, memory, env.num_stakeholders)


def _key(rng: np.random.Generator) -> PRNGKeyArray:
    return jax.random.key(int(rng.integers(2**31)))


@functools.partial(jax.jit, static_argnames="env")
def _initial(env: Environment, key: PRNGKeyArray) -> State:
    return env.initial(key)


@functools.partial(jax.jit, static_argnames="env")
def _step(
    env: Environment, key: PRNGKeyArray, state: State, action: Any
) -> tuple[State, Step, Any]:
    following, step = env.step(key, state, action)
    return following, step, env.is_over(following)


@functools.partial(jax.jit, static_argnames="act")
def _act(act: Act, key: PRNGKeyArray, state: State, memory: Any) -> Any:
    return act(key, state, memory)
