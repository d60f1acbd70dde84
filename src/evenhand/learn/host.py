"""Learning in environments that are not JAX: the same agents, driven from the host.

Each decision is one call of a compiled function, which stores what happened, learns, and chooses
the next action; the environment answers in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter, UnequalLengths
from evenhand.fairness.trace import Override, Step
from evenhand.learn.deep.agent import AgentState, DecisionRecord, DeepAgent
from evenhand.learn.finite_values import require_finite_values
from evenhand.memory.attribute import Attribute
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.problem.memory_check import require_same_reward
from evenhand.problem.problem import AugmentedState, Problem
from evenhand.problem.reward import SchemeState
from evenhand.problem.reward_check import require_reward
from evenhand.process.process import Process, Transition

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, PRNGKeyArray

CHECKED = 500  # random decisions along which a memory's claim is compared with the reward


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

    def seen(self, state: Any) -> Float[np.ndarray, " feature"]:
        """The observation of a state of the process; one of another length is refused."""
        vector = np.asarray(self.observe(state), dtype=np.float32).ravel()
        if vector.shape != (self.size,):
            raise UnequalLengths(
                f"an observation has {vector.size} numbers where {self.size} were announced: "
                "`observe` must make vectors of one length."
            )
        return vector


@dataclass(eq=False)
class HostLoop:
    """One agent in one environment on the host, which it walks about in and learns from."""

    agent: DeepAgent
    rng: np.random.Generator
    seed: int = 0

    def __post_init__(self) -> None:
        world = self.agent.problem.environment
        if not isinstance(world, HostWorld):
            raise BadParameter("this environment is JAX: use the agent's own `train_steps`.")
        self.world = world
        if getattr(self.agent, "imagines", False):
            self._require_memory_pays()
        key, weights_key = jax.random.split(jax.random.key(self.seed))
        self._state = world.process.initial(self.rng)
        self._decided = 0
        start = jax.jit(self.agent.begin)(key, weights_key, self._first(self._state))
        self.learners: AgentState = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], start)
        self._carry, self._action = self._choose(self.learners)

    def train_steps(self, steps: int) -> None:
        """That many decisions, learning after each."""
        for _ in range(steps):
            answer = self._answer(int(self._action))
            cut = self._decided == self.world.horizon
            is_over = answer.terminated or answer.truncated or cut
            after = answer.next_state
            if is_over:
                self._state = self.world.process.initial(self.rng)
                self._decided = 0
            first = self.world.seen(self._state) if is_over else self._blank
            self.learners, self._carry, self._action, paid = self._advance(
                self.learners,
                self._carry,
                self._action,
                (np.asarray(answer.rewards, dtype=np.float32), _override(self.world, answer)),
                (self.world.seen(after), first),
                (bool(is_over), bool(answer.terminated)),
            )
            reward, status = jax.device_get(paid)
            require_reward(self.agent.problem, reward, status, " after a decision")
        require_finite_values(self.learners.weights)

    def _answer(self, action: int) -> Transition:
        answer = self.world.process.step(self._state, action, self.rng)
        rewards = np.shape(answer.rewards)
        if rewards != (self.world.num_stakeholders,):
            raise UnequalLengths(
                f"the environment gave rewards of shape {rewards} to "
                f"{self.world.num_stakeholders} stakeholders: one each is needed."
            )
        self._state = answer.next_state
        self._decided += 1
        return answer

    @property
    def weights(self) -> Any:
        """What greedy decisions go by now."""
        acting = self.agent.acting(self.learners)
        return jax.tree.map(lambda leaf: leaf[0], acting)

    def episode(self, rng: np.random.Generator, process: Process | None = None) -> float:
        """The score of one greedy episode, without learning from it.

        It is played in `process`, where given: an environment that holds its own state cannot play
        it in the midst of the episode that is being learned from.
        """
        problem, weights = self.agent.problem, self.weights
        process = self.world.process if process is None else process
        state = process.initial(rng)
        augmented, carry = self._first(state), self.agent.network.start()
        score = 0.0
        for time in range(self.world.horizon):
            carry, action = self._greedy(weights, carry, augmented)
            answer = process.step(state, int(action), rng)
            state = answer.next_state
            is_over = answer.terminated or answer.truncated or time == self.world.horizon - 1
            paid = np.asarray(answer.rewards, dtype=np.float32), _override(self.world, answer)
            augmented, pay = self._follow(augmented, action, paid, self.world.seen(state), is_over)
            status = problem.scheme.status.value(augmented.scheme_state.status)
            require_reward(problem, float(pay), status, f" after decision {time + 1}")
            score += problem.discount**time * float(pay)
            if is_over:
                break
        return score

    def _first(self, state: Any) -> AugmentedState:
        template = self.agent.problem.initial(jax.random.key(0))
        return template._replace(state=jnp.asarray(self.world.seen(state)))

    @cached_property
    def _blank(self) -> Float[np.ndarray, " feature"]:
        return np.zeros(self.world.size, dtype=np.float32)

    @cached_property
    def _choose(self) -> Any:
        def choose(learners: AgentState) -> tuple[Any, Any]:
            learner = jax.tree.map(lambda leaf: leaf[0], learners)
            # The key that the next step will split, so that no randomness is used twice.
            key = jax.random.fold_in(learner.key, 1)
            return self.agent.choose(learner, learner.augmented, key)

        return jax.jit(choose)

    @cached_property
    def _advance(self) -> Any:
        agent, problem = self.agent, self.agent.problem

        def advance(
            learners: AgentState, carry: Any, action: Any, paid: Any, seen: Any, ended: Any
        ) -> tuple[AgentState, Any, Any, Any]:
            learner = jax.tree.map(lambda leaf: leaf[0], learners)
            (rewards, override), (state, first), (is_over, terminated) = paid, seen, ended
            step = Step(action, rewards, state, override)
            after, pay = problem.after(learner.augmented, step, state, is_over)
            happened = DecisionRecord(
                learner.augmented,
                learner.carry,
                learner.time,
                step,
                after,
                pay,
                is_over,
                terminated,
            )
            start = problem.initial(jax.random.key(0))._replace(state=first)
            learner = agent.take_in(learner, happened, carry, start)
            learners = agent.learn(jax.tree.map(lambda leaf: leaf[None], learner))
            keys = jax.random.split(learners.key[0])
            learners = learners._replace(key=keys[None, 0])
            learner = jax.tree.map(lambda leaf: leaf[0], learners)
            status = problem.scheme.status.value(after.scheme_state.status)
            return learners, *agent.choose(learner, learner.augmented, keys[1]), (pay, status)

        return jax.jit(advance, donate_argnums=0)

    @cached_property
    def _greedy(self) -> Any:
        def greedy(weights: Any, carry: Any, augmented: AugmentedState) -> tuple[Any, Any]:
            features = self.agent.encode(augmented)
            carry, values = self.agent.network.apply(weights, carry, features)
            return carry, jnp.argmax(values)

        return jax.jit(greedy)

    @cached_property
    def _follow(self) -> Any:
        problem = self.agent.problem

        def follow(
            augmented: AugmentedState, action: Any, paid: Any, state: Any, is_over: Any
        ) -> Any:
            step = Step(action, paid[0], state, paid[1])
            return problem.after(augmented, step, state, is_over)

        return jax.jit(follow)

    def _require_memory_pays(self) -> None:
        """As `Problem.require_memory_pays`, along random decisions of this environment."""
        problem, rng = self.agent.problem, np.random.default_rng(self.seed)
        pays = jax.jit(lambda *at: _both_pays(problem, *at))
        state = self.world.process.initial(rng)
        augmented, decided = self._first(state), 0
        for time in range(CHECKED):
            action = int(rng.integers(self.world.num_actions))
            answer = self.world.process.step(state, action, rng)
            state, decided = answer.next_state, decided + 1
            is_over = answer.terminated or answer.truncated or decided == self.world.horizon
            paid = np.asarray(answer.rewards, dtype=np.float32), _override(self.world, answer)
            augmented, claimed, true = pays(
                augmented, action, paid, self.world.seen(state), is_over
            )
            where = f" after {time + 1} random decisions"
            status = problem.scheme.status.value(augmented.scheme_state.status)
            require_reward(problem, true, status, where)
            require_same_reward(problem, claimed, true, where.strip())
            if is_over:
                state, decided = self.world.process.initial(rng), 0
                augmented = self._first(state)


def _both_pays(
    problem: Problem, augmented: AugmentedState, action: Any, paid: Any, state: Any, is_over: Any
) -> tuple[AugmentedState, Any, Any]:
    step = Step(action, paid[0], state, paid[1])
    scheme_state: SchemeState = augmented.scheme_state
    _, _, claimed = problem.imagine(augmented.memory, scheme_state, step, is_over)
    after, true = problem.after(augmented, step, state, is_over)
    return after, claimed, true


def _override(world: HostWorld, answer: Transition) -> Override | None:
    if not world.may_override:
        if answer.override is not None:
            raise BadParameter(
                "the environment put a reward in place of the welfare of a step: build the "
                "HostWorld with may_override=True."
            )
        return None
    if answer.override is None:
        return Override(np.zeros((), dtype=bool), np.zeros((), dtype=np.float32))
    applies, value = answer.override
    return Override(np.asarray(applies, dtype=bool), np.asarray(value, dtype=np.float32))
