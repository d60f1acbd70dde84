"""Learning in environments that are not JAX: the same agents, driven from the host.

Each decision is one call of a compiled function, which stores what happened, learns, and chooses
the next action; the environment answers in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    def unpack(self, told: Float[Array, " number"]) -> Any:
        """Rewards, override, state, first state of the next episode, is over, terminated."""
        n, size = self.num_stakeholders, self.size
        rewards, state, first, rest = jnp.split(told, [n, n + size, n + 2 * size])
        override = Override(rest[0] > 0, rest[1]) if self.may_override else None
        return rewards, override, state, first, rest[2] > 0, rest[3] > 0

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
        self._begin()

    def _begin(self) -> None:
        self.state, self.decided = self.process.initial(self.rng), 0
        self.shown = self.world.seen(self.state)

    def step(self, action: int) -> Float[np.ndarray, " number"]:
        """Take an action; what happened as one vector: see `HostWorld.unpack`."""
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
        override = override_in(world, answer)
        instead = (0.0, 0.0) if override is None else (override.applies, override.value)
        after = world.seen(self.state)
        if is_over:
            self._begin()
        else:
            self.shown = after
        flags = float(is_over), float(answer.terminated)
        return np.concatenate((rewards, after, self.shown, instead, flags), dtype=np.float32)


@dataclass(eq=False)
class HostLoop:
    """One agent in an environment on the host, which it walks about in and learns from.

    Args:
        agent: What learns. Its problem's environment is a `HostWorld`.
        rng: Randomness of the environment.
        seed: Of the agent.
        beside: More processes like the world's. A learner of its own learns in each of them, side
            by side with the first and with the seeds that follow.
        learn_every: After how many decisions the updates of that many follow.
    """

    agent: DeepAgent
    rng: np.random.Generator
    seed: int = 0
    beside: tuple[Process, ...] = ()
    learn_every: int = 1

    def __post_init__(self) -> None:
        world = self.agent.problem.environment
        if not isinstance(world, HostWorld):
            raise BadParameter("this environment is JAX: use the agent's own `train_steps`.")
        self.world = world
        if getattr(self.agent, "imagines", False):
            self._require_memory_pays()
        self.steps = 0
        self._walks = [Walk(world, world.process, self.rng)]
        for k, process in enumerate(self.beside, start=1):
            self._walks.append(Walk(world, process, np.random.default_rng(self.seed + k)))
        keys = [jax.random.split(jax.random.key(self.seed + k)) for k in range(len(self._walks))]
        template = self.agent.problem.initial(jax.random.key(0))
        firsts = [template._replace(state=jnp.asarray(walk.shown)) for walk in self._walks]
        begin = jax.jit(self.agent.begin)
        starts = [begin(*pair, first) for pair, first in zip(keys, firsts, strict=True)]
        self.learners: AgentState = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
        self._carry, self._actions = self._choose(self.learners)

    def train_steps(self, steps: int) -> None:
        """That many decisions of each learner, learning as it goes."""
        problem = self.agent.problem
        for _ in range(steps):
            actions = np.asarray(self._actions)
            told = np.stack([w.step(int(a)) for w, a in zip(self._walks, actions, strict=True)])
            self.steps += 1
            due = self.steps % self.learn_every == 0
            advance = self._learning if due else self._storing
            self.learners, self._carry, self._actions, paid = advance(
                self.learners, self._carry, self._actions, told
            )
            rewards = np.asarray(paid[0])
            for k in np.flatnonzero(~np.isfinite(rewards)):
                status = np.asarray(paid[1][k])
                require_reward(problem, rewards[k], status, " after a decision")
        require_finite_values(self.learners.weights)

    @property
    def weights(self) -> Any:
        """What greedy decisions of the first learner go by now."""
        acting = self.agent.acting(self.learners)
        return jax.tree.map(lambda leaf: leaf[0], acting)

    def episode(self, rng: np.random.Generator, process: Process | None = None) -> float:
        """The score of one greedy episode of the first learner, without learning from it.

        It is played in `process`, where given: an environment that holds its own state cannot play
        it in the midst of the episode that is being learned from.
        """
        process = self.world.process if process is None else process
        return float(self.play(jax.tree.map(lambda leaf: leaf[None], self.weights), [process], [rng])[0])

    def play(
        self, weights: Any, processes: Sequence[Process], rngs: Sequence[np.random.Generator]
    ) -> Float[np.ndarray, " process"]:
        """The scores of greedy episodes side by side, one in each process.

        `weights` have a leading axis: those that decide in each of the processes.
        """
        problem, world = self.agent.problem, self.world
        walks = [Walk(world, *pair) for pair in zip(processes, rngs, strict=True)]
        template = problem.initial(jax.random.key(0))
        firsts = [template._replace(state=walk.shown) for walk in walks]
        augmented = jax.tree.map(lambda *leaves: np.stack(leaves), *firsts)
        carry = jax.tree.map(
            lambda leaf: np.broadcast_to(leaf, (len(walks), *np.shape(leaf))), self.agent.network.start()
        )
        scores, going, time = np.zeros(len(walks)), np.ones(len(walks), dtype=bool), 0
        carry, actions = self._greedy(weights, carry, augmented)
        while going.any():
            told = np.stack([walk.step(int(a)) for walk, a in zip(walks, np.asarray(actions), strict=True)])
            carry, actions, augmented, pay, status = self._follow(weights, carry, augmented, actions, told)
            pay = np.asarray(pay)
            for k in np.flatnonzero(going & ~np.isfinite(pay)):
                require_reward(problem, pay[k], np.asarray(status[k]), f" after decision {time + 1}")
            scores += np.where(going, problem.discount**time * pay, 0.0)
            time += 1
            going &= told[:, -2] == 0
        return scores

    @cached_property
    def _choose(self) -> Any:
        def choose(learner: AgentState) -> tuple[Any, Any]:
            # The key that the next step will split, so that no randomness is used twice.
            key = jax.random.fold_in(learner.key, 1)
            return self.agent.choose(learner, learner.augmented, key)

        return jax.jit(jax.vmap(choose))

    @cached_property
    def _learning(self) -> Any:
        return self._advance(self.learn_every)

    @cached_property
    def _storing(self) -> Any:
        return self._advance(0)

    def _advance(self, updates: int) -> Any:
        agent, problem = self.agent, self.agent.problem

        def take_in(learner: AgentState, carry: Any, action: Any, told: Any) -> Any:
            rewards, override, state, first, is_over, terminated = self.world.unpack(told)
            step = Step(action, rewards, state, override)
            after, pay = problem.after(learner.augmented, step, state, is_over)
            ended = is_over if agent.horizon_terminates else terminated
            happened = DecisionRecord(
                learner.augmented, learner.carry, learner.time, step, after, pay, is_over, ended
            )
            start = problem.initial(jax.random.key(0))._replace(state=first)
            learner = agent.take_in(learner, happened, carry, start)
            return learner, (pay, problem.scheme.status.value(after.scheme_state.status))

        def choose(learner: AgentState) -> Any:
            keys = jax.random.split(learner.key)
            learner = learner._replace(key=keys[0])
            return learner, *agent.choose(learner, learner.augmented, keys[1])

        def advance(learners: AgentState, carry: Any, action: Any, told: Any) -> Any:
            learners, paid = jax.vmap(take_in)(learners, carry, action, told)
            for _ in range(updates):
                learners = agent.learn(learners)
            return *jax.vmap(choose)(learners), paid

        return jax.jit(advance, donate_argnums=0)

    @cached_property
    def _greedy(self) -> Any:
        def greedy(weights: Any, carry: Any, augmented: AugmentedState) -> tuple[Any, Any]:
            features = self.agent.encode(augmented)
            carry, values = self.agent.network.apply(weights, carry, features)
            return carry, jnp.argmax(values)

        return jax.jit(jax.vmap(greedy))

    @cached_property
    def _follow(self) -> Any:
        problem = self.agent.problem

        def follow(weights: Any, carry: Any, augmented: Any, action: Any, told: Any) -> Any:
            rewards, override, state, _, is_over, _ = self.world.unpack(told)
            step = Step(action, rewards, state, override)
            after, pay = problem.after(augmented, step, state, is_over)
            carry, values = self.agent.network.apply(weights, carry, self.agent.encode(after))
            status = problem.scheme.status.value(after.scheme_state.status)
            return carry, jnp.argmax(values), after, pay, status

        return jax.jit(jax.vmap(follow))

    def _require_memory_pays(self) -> None:
        """As `Problem.require_memory_pays`, along random decisions of this environment."""
        problem, rng = self.agent.problem, np.random.default_rng(self.seed)
        pays = jax.jit(lambda *at: _both_pays(problem, *at))
        state = self.world.process.initial(rng)
        template = problem.initial(jax.random.key(0))
        first = lambda: template._replace(state=jnp.asarray(self.world.seen(state)))  # noqa: E731
        augmented, decided = first(), 0
        for time in range(CHECKED):
            action = int(rng.integers(self.world.num_actions))
            answer = self.world.process.step(state, action, rng)
            state, decided = answer.next_state, decided + 1
            is_over = answer.terminated or answer.truncated or decided == self.world.horizon
            paid = np.asarray(answer.rewards, dtype=np.float32), override_in(self.world, answer)
            augmented, claimed, true = pays(
                augmented, action, paid, self.world.seen(state), is_over
            )
            where = f" after {time + 1} random decisions"
            status = problem.scheme.status.value(augmented.scheme_state.status)
            require_reward(problem, true, status, where)
            require_same_reward(problem, claimed, true, where.strip())
            if is_over:
                state, decided = self.world.process.initial(rng), 0
                augmented = first()


def _both_pays(
    problem: Problem, augmented: AugmentedState, action: Any, paid: Any, state: Any, is_over: Any
) -> tuple[AugmentedState, Any, Any]:
    step = Step(action, paid[0], state, paid[1])
    scheme_state: SchemeState = augmented.scheme_state
    _, _, claimed = problem.imagine(augmented.memory, scheme_state, step, is_over)
    after, true = problem.after(augmented, step, state, is_over)
    return after, claimed, true


def override_in(world: HostWorld, answer: Transition) -> Override | None:
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
