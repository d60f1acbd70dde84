"""A deep agent: its targets, its updates, and the loop that is compiled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import optax  # type: ignore[import-untyped]

from evenhand._util.checks import is_finite_number, require_hashable, require_whole
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.learn.deep.encoders import Encoder, Layout
from evenhand.learn.deep.networks import IMPOSSIBLE, Network
from evenhand.learn.deep.replay_buffer import Replay
from evenhand.learn.policies import Greedy, GreedyScore, score_greedy
from evenhand.learn.schedules import (
    EpsilonSchedule,
    Exploration,
    known_from_states,
    require_finite_values,
    require_shaping,
    shaping,
)
from evenhand.problem.checks import require_rewards
from evenhand.problem.problem import AugmentedState, Problem
from evenhand.problem.reward import choose

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


# Deep Q-learning's parts: how the target network follows, and what an error costs.

Weights = TypeVar("Weights")  # the weights of a network: a pytree of arrays


class TargetUpdate(ABC):
    """How the target network follows the network that learns."""

    @property
    def copies_rarely(self) -> bool:
        """Whether the target changes only where `is_due`, by a copy.

        The target's values can then be stored with what was experienced, and worked out again only
        when it changes.
        """
        return False

    def is_due(self, updates: Int[Array, ...]) -> Bool[Array, ...]:
        """Whether to copy the network after so many updates."""
        return jnp.zeros(jnp.shape(updates), dtype=bool)

    @abstractmethod
    def apply(self, target: Weights, weights: Weights) -> Weights:
        """The target after an update, from the target before it and the network after it."""


@dataclass(frozen=True)
class HardUpdate(TargetUpdate):
    """The target network is a copy of the network, made anew after every so many updates."""

    every: int = 1000

    def __post_init__(self) -> None:
        object.__setattr__(self, "every", require_whole(self.every, "every"))

    @property
    def copies_rarely(self) -> bool:
        return True

    def is_due(self, updates: Int[Array, ...]) -> Bool[Array, ...]:
        return updates % self.every == 0

    def apply(self, target: Weights, weights: Weights) -> Weights:
        return target


@dataclass(frozen=True)
class PolyakUpdate(TargetUpdate):
    """With every update the target network moves a small share of the way to the network."""

    rate: float = 0.005

    def __post_init__(self) -> None:
        if not (is_finite_number(self.rate) and 0.0 < self.rate <= 1.0):
            raise BadParameter(f"rate is {self.rate!r}: it must lie in (0, 1].")

    def apply(self, target: Weights, weights: Weights) -> Weights:
        return jax.tree.map(lambda old, new: old + self.rate * (new - old), target, weights)


class Loss(ABC):
    """What an error of the value costs."""

    @abstractmethod
    def __call__(self, error: Float[Array, ...]) -> Float[Array, ...]: ...


@dataclass(frozen=True)
class Squared(Loss):
    """The square of the error."""

    def __call__(self, error: Float[Array, ...]) -> Float[Array, ...]:
        return error**2


@dataclass(frozen=True)
class Huber(Loss):
    """Half the square up to the threshold, and from there on in proportion."""

    threshold: float = 1.0

    def __post_init__(self) -> None:
        if not (is_finite_number(self.threshold) and self.threshold > 0.0):
            raise BadParameter(f"threshold is {self.threshold!r}: it must be a number above 0.")

    def __call__(self, error: Float[Array, ...]) -> Float[Array, ...]:
        size = jnp.abs(error)
        near = jnp.minimum(size, self.threshold)
        return 0.5 * near**2 + self.threshold * (size - near)


# Deep Q-learning on augmented problems: what all deep agents share.
#
# An agent is a set of pure functions on an `AgentState`. They are compiled into one loop with the
# environment, many seeds side by side (`train_steps`), or called one by one from the host for
# environments that are not JAX (see `learn.host`). Subclasses say what is stored and learned from.

EPISODES = 100  # that an evaluation is the mean of
LOSS_SHARE = 0.01  # of the newest loss in the running mean


class AgentState(NamedTuple):
    """The state of one run: what was learned and stored, and where it stands in its episode."""

    weights: Any
    target: Any
    optimiser: Any
    replay: Replay
    pending: Any  # what was begun and is not stored yet
    augmented: AugmentedState
    carry: Any  # what a recurrent network carries through the episode
    time: Int[Array, ""]
    steps: Int[Array, ""]  # decisions taken since the learner knew nothing
    epsilon: Float[Array, ""]
    updates: Int[Array, ""]
    loss: Float[Array, ""]  # of the latest updates, on a running mean
    key: PRNGKeyArray
    past: Any = ()  # the last steps, where something is imagined from them


class DecisionRecord(NamedTuple):
    """One decision, as the agent stores it."""

    before: AugmentedState
    carry: Any  # of before the decision
    time: Int[Array, ""]
    step: Step
    after: AugmentedState
    pay: Float[Array, ""]
    is_over: Bool[Array, ""]  # whether the episode stops here
    terminated: Bool[Array, ""]  # whether it ended; cut off, it would have gone on


class LearningProgress(NamedTuple):
    """How learning goes: the loss of the latest updates, and the value of the best action now."""

    loss: Float[Array, ""]
    value: Float[Array, ""]


@dataclass(frozen=True, kw_only=True)
class DeepAgent(ABC):
    """Deep Q-learning, up to what is stored and learned from.

    Args:
        problem: What to learn, with the memory that the agent sees.
        encoder: How the network sees states and memories.
        network: What is learned.
        discount: γ, in [0, 1].
        learning_rate: Of Adam.
        halved_after: The rate falls as 1 / (1 + k / halved_after) with the number k of updates;
            None: it stays.
        batch: How many experiences an update is from.
        capacity: How many experiences are kept.
        warm_up: How many decisions are taken before learning starts, imagined ones not counted;
            None: as many as it takes to fill the buffer.
        exploration: How epsilon falls: by episode, or by step.
        target: How the target network follows the network.
        double: Whether the network chooses the action whose target value counts (double DQN).
        loss: What an error costs.
        horizon_terminates: Whether the horizon ends an episode (no bootstrap beyond it) or only
            truncates it, as in the paper's recipe.
        shaping: Whether to add a potential-based reward, which leaves the optimal policy as it is.
        scale: A factor on all rewards, for the network's sake.
        updates_per_step: How many updates follow each decision.
        acts_with_target: Whether greedy evaluation is by the target network.
    """

    problem: Problem
    encoder: Encoder
    network: Network
    discount: float = 0.95
    learning_rate: float = 1e-4
    halved_after: int | None = None
    batch: int = 64
    capacity: int = 400
    warm_up: int | None = None
    exploration: EpsilonSchedule = Exploration(factor=0.999)
    target: TargetUpdate = HardUpdate(1000)
    double: bool = False
    loss: Loss = Squared()
    horizon_terminates: bool = False
    shaping: bool = False
    scale: float = 1.0
    updates_per_step: int = 1
    acts_with_target: bool = True

    def __post_init__(self) -> None:
        require_hashable(self)
        if not 0.0 <= self.discount <= 1.0:
            raise BadParameter(f"discount is {self.discount}: it must lie in [0, 1].")
        if not self.learning_rate > 0.0:
            raise BadParameter(f"learning_rate is {self.learning_rate}: it must be positive.")
        for name in ("batch", "capacity", "updates_per_step"):
            if getattr(self, name) < 1:
                raise BadParameter(f"{name} is {getattr(self, name)}: it must be at least 1.")
        require_rewards(self.problem)
        if self.shaping:
            require_shaping(self.problem, self.horizon_terminates, self.discount)

    def shaping_of(self, now: Any, then: Any, happened: DecisionRecord) -> Float[Array, ""]:
        """What is added to the reward of a step, from the welfare before and after it."""
        environment, assessed = self.problem.environment, self.problem.scheme.filter
        ahead = None
        if known_from_states(self.problem, self.horizon_terminates, self.discount):
            ahead = tuple(
                assessed.assessments_ahead(environment, at.state, self.discount)
                for at in (happened.before, happened.after)
            )
        return shaping(
            now,
            then,
            happened.time,
            environment.horizon,
            self.horizon_terminates,
            self.discount,
            assessed,
            ahead,
        )

    @abstractmethod
    def empty_replay(self) -> tuple[Replay, Any]:
        """An empty buffer, and nothing pending."""

    @abstractmethod
    def store(self, learner: AgentState, happened: DecisionRecord) -> AgentState:
        """Put what happened into the buffer, or keep it pending."""

    @abstractmethod
    def loss_of(self, weights: Any, learner: AgentState, batch: Any) -> Float[Array, ""]:
        """The mean loss of a batch."""

    @abstractmethod
    def draw(self, learner: AgentState, key: PRNGKeyArray) -> Any:
        """A batch from the buffer."""

    def renew(self, learner: AgentState) -> AgentState:
        """Copy the network to the target network."""
        return learner._replace(target=learner.weights)

    @cached_property
    def layout(self) -> Layout:
        return self.encoder.layout(self.problem)

    @cached_property
    def _optimiser(self) -> optax.GradientTransformation:
        rate, after = self.learning_rate, self.halved_after
        if after is None:
            return optax.adam(rate)
        return optax.adam(lambda updates: rate / (1.0 + updates / after))

    def start(self, key: PRNGKeyArray) -> AgentState:
        """A learner that knows nothing, before its first episode."""
        key, weights_key, world_key = jax.random.split(key, 3)
        return self.begin(key, weights_key, self.problem.initial(world_key))

    def begin(
        self, key: PRNGKeyArray, weights_key: PRNGKeyArray, first: AugmentedState
    ) -> AgentState:
        """A learner that knows nothing, in a given first state."""
        num_actions = self.problem.environment.num_actions
        weights = self.network.init(weights_key, self.layout, num_actions)
        replay, pending = self.empty_replay()
        zero = jnp.zeros((), dtype=jnp.int32)
        return AgentState(
            weights=weights,
            target=jax.tree.map(jnp.copy, weights),  # of its own: a loop may reuse either
            optimiser=self._optimiser.init(weights),
            replay=replay,
            pending=pending,
            augmented=first,
            carry=self.network.start(),
            time=zero,
            steps=zero,
            epsilon=jnp.asarray(self.exploration.start, dtype=jnp.float32),
            updates=zero,
            loss=jnp.zeros(()),
            key=key,
        )

    def encode(self, augmented: AugmentedState) -> Float[Array, " feature"]:
        return self.encoder(self.problem, augmented.state, augmented.seen)

    def choose(
        self, learner: AgentState, augmented: AugmentedState, key: PRNGKeyArray
    ) -> tuple[Any, Int[Array, ""]]:
        """Epsilon-greedy: the network's carry after looking, and the action."""
        features = self.encode(augmented)
        carry, values = self.network.apply(learner.weights, learner.carry, features)
        dice = jax.random.uniform(key, (2,))
        size = values.shape[0]
        anything = (dice[1] * size).astype(jnp.int32)  # a die is below 1, also when rounded
        if self.network.masks:
            anything = _one_of(values > IMPOSSIBLE, dice[1])
        best = jnp.argmax(values).astype(jnp.int32)
        return carry, jnp.where(dice[0] < learner.epsilon, anything, best)

    def take_in(
        self, learner: AgentState, happened: DecisionRecord, carry: Any, first: AugmentedState
    ) -> AgentState:
        """Store what happened and move on: to the next decision, or to a new episode's `first`."""
        learner = self.store(learner, happened)
        is_over = happened.is_over
        return learner._replace(
            augmented=choose(is_over, first, happened.after),
            carry=choose(is_over, self.network.start(), carry),
            time=jnp.where(is_over, 0, learner.time + 1),
            steps=learner.steps + 1,
            epsilon=self._epsilon_after(learner.epsilon, is_over),
        )

    def _epsilon_after(
        self, epsilon: Float[Array, ""], is_over: Bool[Array, ""]
    ) -> Float[Array, ""]:
        fallen = self.exploration.after(epsilon)
        return fallen if self.exploration.falls_every_step else jnp.where(is_over, fallen, epsilon)

    def experience(self, learner: AgentState) -> AgentState:
        """One decision in the environment."""
        key, act_key, step_key, first_key = jax.random.split(learner.key, 4)
        before = learner.augmented
        carry, action = self.choose(learner, before, act_key)
        after, step, pay = self.problem.step(step_key, before, action)
        is_over = self.problem.environment.is_over(after.state)
        ended = is_over & self.horizon_terminates
        happened = DecisionRecord(
            before, learner.carry, learner.time, step, after, pay, is_over, ended
        )
        learner = self.take_in(learner, happened, carry, self.problem.initial(first_key))
        return learner._replace(key=key)

    def ready(self, learner: AgentState) -> Bool[Array, ""]:
        """Whether there is enough experience to learn from."""
        if self.warm_up is None:
            return learner.replay.full
        return (learner.steps >= self.warm_up) & (learner.replay.stored > 0)

    def update(self, learner: AgentState) -> AgentState:
        """One step of gradient descent on a batch, if there is enough to draw it from."""
        key, batch_key = jax.random.split(learner.key)
        batch = self.draw(learner, batch_key)
        loss, slope = jax.value_and_grad(self.loss_of)(learner.weights, learner, batch)
        change, optimiser = self._optimiser.update(slope, learner.optimiser)
        weights = optax.apply_updates(learner.weights, change)
        moved = learner._replace(
            weights=weights,
            target=self.target.apply(learner.target, weights),
            optimiser=optimiser,
            updates=learner.updates + 1,
            loss=learner.loss + LOSS_SHARE * (loss - learner.loss),
        )
        return choose(self.ready(learner), moved, learner._replace(key=key))._replace(key=key)

    def learn(self, learners: AgentState) -> AgentState:
        """The updates that follow a decision, of many learners side by side."""
        for _ in range(self.updates_per_step):
            before = learners.updates
            # Asked once for all seeds: under vmap both branches would be computed, every time.
            ready = jax.vmap(self.ready)(learners)
            learners = jax.lax.cond(jnp.any(ready), jax.vmap(self.update), _as_is, learners)
            if self.target.copies_rarely:
                due = (learners.updates > before) & self.target.is_due(learners.updates)
                learners = jax.lax.cond(jnp.any(due), self._renew_those, _as_is, learners, due)
        return learners

    def _renew_those(self, learners: AgentState, due: Bool[Array, " seed"]) -> AgentState:
        renew = lambda learner, now: choose(now, self.renew(learner), learner)  # noqa: E731
        return jax.vmap(renew)(learners, due)

    def train_steps(self, learners: AgentState, steps: int) -> AgentState:
        """Many learners side by side, that many steps further."""
        learners = _train_all(self, learners, jnp.asarray(steps, dtype=jnp.int32))
        require_finite_values(learners.weights)
        return learners

    def learning(self, learners: AgentState) -> LearningProgress:
        """How learning goes, for each learner: its loss, and what it expects where it stands."""
        return _progress(self, learners)

    def started_from(self, learners: AgentState, weights: Any) -> AgentState:
        """Learners that begin with weights learned before, and explore as little as at the end."""
        fresh = jax.tree.map(jnp.copy, weights)
        low = jnp.full_like(learners.epsilon, self.exploration.floor)
        return learners._replace(weights=weights, target=fresh, epsilon=low)

    def acting(self, learner: AgentState) -> Any:
        """The weights that greedy evaluation goes by."""
        return learner.target if self.acts_with_target else learner.weights

    def policy(self, learner: AgentState) -> Greedy:
        """The greedy policy of one learner."""
        return Greedy(self.problem, self.encoder, self.network, self.acting(learner))

    def evaluate(self, learners: AgentState, episodes: int = EPISODES) -> GreedyScore:
        """Means over greedy episodes, for each learner."""
        rounds = -(-episodes // EPISODES)  # of the same size, so that they are compiled once
        # Another stream of randomness than the one that the run goes on with.
        keys = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, 1), rounds))(
            learners.key
        )
        of = self.problem, self.encoder, self.network, self.acting(learners)
        parts = [score_greedy(*of, keys[:, k], min(EPISODES, episodes)) for k in range(rounds)]
        return jax.tree.map(lambda *part: sum(part) / len(part), *parts)


@partial(jax.jit, static_argnames="agent", donate_argnames="learners")
def _train_all(agent: DeepAgent, learners: AgentState, steps: Int[Array, ""]) -> AgentState:
    # Not a closure of the agent: equal agents share what was compiled.
    once = lambda _, now: agent.learn(jax.vmap(agent.experience)(now))  # noqa: E731
    return jax.lax.fori_loop(0, steps, once, learners)


@partial(jax.jit, static_argnames="agent")
def _progress(agent: DeepAgent, learners: AgentState) -> LearningProgress:
    def one(learner: AgentState) -> LearningProgress:
        features = agent.encode(learner.augmented)
        values = agent.network.apply(learner.weights, learner.carry, features)[1]
        return LearningProgress(learner.loss, jnp.max(values) / agent.scale)

    return jax.vmap(one)(learners)


def _as_is(learners: AgentState, *_: Any) -> AgentState:
    return learners


def _one_of(possible: Bool[Array, " action"], die: Float[Array, ""]) -> Int[Array, ""]:
    """One of the possible actions, each as likely."""
    number = jnp.sum(possible)
    place = (die * number).astype(jnp.int32)
    return jnp.argmax(jnp.cumsum(possible) == place + 1).astype(jnp.int32)


def of_action(
    values: Float[Array, "item action"], action: Int[Array, " item"]
) -> Float[Array, " item"]:
    """The value of the action taken."""
    # Compared with every index: quicker under vmap, and in the gradient, than a look-up.
    return jnp.sum(jnp.where(jnp.arange(values.shape[1]) == action[:, None], values, 0.0), axis=1)
