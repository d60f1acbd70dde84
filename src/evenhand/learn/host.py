"""Learning in environments that are not JAX: the same learner functions from a host loop."""

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
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.schedules import require_finite_values
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Attribute
from evenhand.problem.checks import require_as_many_assessments, require_reward, require_same_reward
from evenhand.problem.problem import AugmentedState, Problem
from evenhand.problem.reward import SchemeState
from evenhand.process import Process, Transition

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, PRNGKeyArray


# Environments that are not JAX, as a problem needs them: what they show, and a walk in them.


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


# Learning in environments that are not JAX: the same agents, driven from the host.
#
# Each decision is one call of a compiled function, which stores what happened, learns, and chooses
# the next action; the environment answers in between. Several learners go side by side in one call.

CHECKED = 500  # random decisions along which a memory's claim is compared with the reward
OVER = -2  # the place in an outcome that says whether the episode is over


@dataclass(eq=False)
class HostLoop:
    """One agent in an environment on the host, which it walks about in and learns from.

    Args:
        agent: What learns. Its problem's environment is a `HostWorld`.
        rng: Randomness of the environment.
        seed: Of the agent.
        beside: More processes like the world's. A learner of its own learns in each of them, side
            by side with the first and with the seeds that follow.
        learn_every: After how many decisions the agent learns from what it has stored.
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
        self._blank = self.agent.problem.initial(jax.random.key(0))  # but for what is shown
        if getattr(self.agent, "imagines", False):
            self._require_memory_pays()
        self.steps, self.kept = 0, None
        self.before_level = self._warm_up()  # decisions before values are put on their level
        self.planned = 0  # steps that exploration falls by, where a number was given
        self.measured: Any = None  # what a survey of the environment showed, if there was one
        self._walks = [Walk(world, world.process, self.rng)]
        for k, process in enumerate(self.beside, start=1):
            self._walks.append(Walk(world, process, np.random.default_rng(self.seed + k)))
        keys = [jax.random.split(jax.random.key(self.seed + k)) for k in range(len(self._walks))]
        firsts = self._firsts(self._walks)
        begin = jax.jit(self.agent.begin)
        starts = [begin(*pair, first) for pair, first in zip(keys, firsts, strict=True)]
        self.learners: AgentState = _stacked(starts)
        self._carry, self._actions = self._choose(self.learners)

    def train_steps(self, steps: int) -> None:
        """That many decisions of each learner, learning as it goes."""
        problem, self.kept = self.agent.problem, None
        for _ in range(steps):
            chosen = zip(self._walks, np.asarray(self._actions), strict=True)
            outcome = np.stack([walk.step(int(action)) for walk, action in chosen])
            for ended in np.flatnonzero(outcome[:, OVER]):
                require_as_many_assessments(problem, self._walks[ended].ended_after)
            self.steps += 1
            if self.before_level == 0:
                self.learners = self._level(self.learners)
            self.before_level -= 1
            advance = self._storing if self.steps % self.learn_every else self._learning
            self.learners, self._carry, self._actions, paid = advance(
                self.learners, self._carry, self._actions, outcome
            )
            rewards = np.asarray(paid[0])
            for k in np.flatnonzero(~np.isfinite(rewards)):
                require_reward(problem, rewards[k], np.asarray(paid[1][k]), " after a decision")
        require_finite_values(self.learners.weights)

    def begin_again(self) -> None:
        """Begin new episodes, as environments that hold their own state do when they are loaded."""
        for walk in self._walks:
            walk.begin()
        blank = (self.agent.empty_replay()[1], self.agent.network.start(), jnp.zeros((), jnp.int32))
        pending, carry, time = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (len(self._walks), *leaf.shape)), blank
        )
        first = _stacked(self._firsts(self._walks))
        self.learners = self.learners._replace(
            augmented=first, pending=pending, carry=carry, time=time
        )
        self._carry, self._actions = self._choose(self.learners)

    @property
    def rngs(self) -> list[np.random.Generator]:
        """The randomness of each learner's environment."""
        return [walk.rng for walk in self._walks]

    @property
    def acting(self) -> Any:
        """What greedy decisions of each learner go by: what was kept, or the latest weights."""
        return self.agent.acting(self.learners) if self.kept is None else self.kept

    def start_from(self, weights: Any) -> None:
        """Begin with other weights of the same form, as a learner that knew them already.

        Args:
            weights: Of one learner or of as many as there are here, on a leading axis.
        """
        like = jax.tree.leaves(self.learners.weights)
        given = jax.tree.leaves(weights)
        if [leaf.shape[1:] for leaf in given] != [leaf.shape[1:] for leaf in like]:
            raise BadParameter(
                "the weights are of a network of another form: start from a learner with the same "
                "network, stakeholders, actions and observations."
            )
        spread = [jnp.broadcast_to(a, b.shape) + 0.0 for a, b in zip(given, like, strict=True)]
        weights = jax.tree.unflatten(jax.tree.structure(self.learners.weights), spread)
        target = jax.tree.map(jnp.copy, weights)
        self.learners = self.learners._replace(weights=weights, target=target)
        self.before_level = -1
        self._carry, self._actions = self._choose(self.learners)

    def errors(self) -> dict[str, float]:
        """The loss on what is stored, and the mean value of the best actions there."""
        if not isinstance(self.agent, DQN) or int(self.learners.replay.stored.min()) == 0:
            return {}
        loss, value = self._errors(self.learners)
        return {"loss": float(loss.mean()), "value": float(value.mean())}

    def weights_of(self, number: int) -> Any:
        """What greedy decisions of the first so many learners go by, on a leading axis."""
        return jax.tree.map(lambda leaf: leaf[:number], self.acting)

    @property
    def weights(self) -> Any:
        """What greedy decisions of the first learner go by now."""
        return jax.tree.map(lambda leaf: leaf[0], self.acting)

    def episode(self, rng: np.random.Generator, process: Process | None = None) -> float:
        """The score of one greedy episode of the first learner, without learning from it.

        It is played in `process`, where given: an environment that holds its own state cannot play
        it in the midst of the episode that is being learned from.
        """
        process = self.world.process if process is None else process
        return float(self.play(self.weights_of(1), [process], [rng])[0])

    def play(
        self, weights: Any, processes: Sequence[Process], rngs: Sequence[np.random.Generator]
    ) -> Float[np.ndarray, " process"]:
        """The scores of greedy episodes side by side, one in each process.

        Args:
            weights: Those that decide in each process, on a leading axis.
            processes: Like the world's, but other objects than those that are learned in.
            rngs: Randomness of each.
        """
        problem = self.agent.problem
        walks = [Walk(self.world, *pair) for pair in zip(processes, rngs, strict=True)]
        augmented = _stacked(self._firsts(walks))
        start = self.agent.network.start()
        carry = jax.tree.map(lambda leaf: jnp.stack([leaf] * len(walks)), start)
        carry, actions = self._greedy(weights, carry, augmented)
        scores, going, time = np.zeros(len(walks)), np.ones(len(walks), dtype=bool), 0
        outcome = np.zeros((len(walks), self.world.outcome_size), dtype=np.float32)
        while going.any():
            for k, action in enumerate(np.asarray(actions)):
                if going[k]:
                    outcome[k] = walks[k].step(int(action), again=False)
            carry, actions, augmented, pay, status = self._follow(
                weights, carry, augmented, actions, outcome
            )
            for k in map(int, np.flatnonzero(going)):
                where = f" after decision {time + 1}"
                require_reward(problem, float(pay[k]), np.asarray(status[k]), where)
            scores += np.where(going, problem.discount**time * np.asarray(pay), 0.0)
            for k in map(int, np.flatnonzero(going & (outcome[:, OVER] > 0))):
                require_as_many_assessments(problem, walks[k].ended_after)
            going &= outcome[:, OVER] == 0
            time += 1
        return scores

    def _firsts(self, walks: Sequence[Walk]) -> list[AugmentedState]:
        """Where each walk stands at the beginning of an episode: nothing is remembered yet."""
        return [self._blank._replace(state=jnp.asarray(walk.shown)) for walk in walks]

    @cached_property
    def _choose(self) -> Any:
        def choose(learner: AgentState) -> tuple[Any, Any]:
            # The key that the next step will split, so that no randomness is used twice.
            key = jax.random.fold_in(learner.key, 1)
            return self.agent.choose(learner, learner.augmented, key)

        return jax.jit(jax.vmap(choose))

    @cached_property
    def _learning(self) -> Any:
        return self._advance(learns=True)

    @cached_property
    def _storing(self) -> Any:
        return self._advance(learns=False)

    def _advance(self, learns: bool) -> Any:
        agent, problem = self.agent, self.agent.problem

        def take_in(learner: AgentState, carry: Any, action: Any, outcome: Any) -> Any:
            rewards, override, state, first, is_over, terminated = self.world.unpack(outcome)
            step = Step(action, rewards, state, override)
            after, pay = problem.after(learner.augmented, step, state, is_over)
            ended = is_over if agent.horizon_terminates else terminated
            happened = DecisionRecord(
                learner.augmented, learner.carry, learner.time, step, after, pay, is_over, ended
            )
            start = self._blank._replace(state=first)
            learner = agent.take_in(learner, happened, carry, start)
            return learner, (pay, problem.scheme.status.value(after.scheme_state.status))

        def choose(learner: AgentState) -> Any:
            keys = jax.random.split(learner.key)
            learner = learner._replace(key=keys[0])
            return learner, *agent.choose(learner, learner.augmented, keys[1])

        def advance(learners: AgentState, carry: Any, action: Any, outcome: Any) -> Any:
            learners, paid = jax.vmap(take_in)(learners, carry, action, outcome)
            if learns:
                learners = agent.learn(learners)
            return *jax.vmap(choose)(learners), paid

        return jax.jit(advance, donate_argnums=0)

    def _warm_up(self) -> int:
        """After how many decisions the values are put on their level; below 0: they are not."""
        if not isinstance(self.agent, DQN) or self.agent.warm_up is None:
            return -1
        return max(1, self.agent.warm_up - 2)

    @cached_property
    def _level(self) -> Any:
        """Values on the level of what was experienced so far.

        They would otherwise begin at 0, and the first updates would teach above all how bad (or
        how good) everything is that was tried, compared with what was not.
        """
        agent, horizon = self.agent, self.world.horizon
        assert isinstance(agent, DQN)
        gathered = sum(agent.discount**k for k in range(agent.lookahead))
        ahead = sum(agent.discount**k for k in range(horizon))

        def level(learner: AgentState) -> AgentState:
            items, stored = learner.replay.items, learner.replay.stored
            unit = jax.vmap(lambda one: agent.network.unit(learner.weights, one))(items.features)
            there = jnp.arange(unit.shape[0]) < stored
            total = jnp.sum(jnp.where(there, items.reward / unit, 0.0))
            mean = total / jnp.maximum(stored, 1) / gathered
            weights = agent.network.with_level(learner.weights, ahead * mean)
            return learner._replace(weights=weights, target=jax.tree.map(jnp.copy, weights))

        return jax.jit(jax.vmap(level))

    @cached_property
    def _errors(self) -> Any:
        agent = self.agent

        def errors(learner: AgentState) -> tuple[Any, Any]:
            batch = agent.draw(learner, jax.random.fold_in(learner.key, 2))
            look = lambda one: agent.network.apply(learner.weights, (), one)[1]  # noqa: E731
            best = jnp.max(jax.vmap(look)(batch.features), axis=1)
            return agent.loss_of(learner.weights, learner, batch), jnp.mean(best)

        return jax.jit(jax.vmap(errors))

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

        def follow(weights: Any, carry: Any, augmented: Any, action: Any, outcome: Any) -> Any:
            rewards, override, state, _, is_over, _ = self.world.unpack(outcome)
            step = Step(action, rewards, state, override)
            after, pay = problem.after(augmented, step, state, is_over)
            carry, values = self.agent.network.apply(weights, carry, self.agent.encode(after))
            status = problem.scheme.status.value(after.scheme_state.status)
            return carry, jnp.argmax(values), after, pay, status

        return jax.jit(jax.vmap(follow))

    def _require_memory_pays(self) -> None:
        """As `Problem.require_memory_pays`, along random decisions of this environment."""
        problem, rng = self.agent.problem, np.random.default_rng(self.seed)
        pays = jax.jit(lambda *at: _both_pays(problem, self.world, *at))
        walk = Walk(self.world, self.world.process, rng)
        augmented = self._blank._replace(state=walk.shown)
        for time in range(CHECKED):
            action = walk.random_action(rng)
            augmented, claimed, true = pays(augmented, action, walk.step(action))
            where = f" after {time + 1} random decisions"
            status = problem.scheme.status.value(augmented.scheme_state.status)
            require_reward(problem, true, status, where)
            require_same_reward(problem, claimed, true, where.strip())
            if walk.decided == 0:
                augmented = self._blank._replace(state=walk.shown)


def _stacked(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _both_pays(
    problem: Problem, world: HostWorld, augmented: AugmentedState, action: Any, outcome: Any
) -> tuple[AugmentedState, Any, Any]:
    rewards, override, state, _, is_over, _ = world.unpack(outcome)
    step = Step(action, rewards, state, override)
    scheme_state: SchemeState = augmented.scheme_state
    _, _, claimed = problem.imagine(augmented.memory, scheme_state, step, is_over)
    after, true = problem.after(augmented, step, state, is_over)
    return after, claimed, true
