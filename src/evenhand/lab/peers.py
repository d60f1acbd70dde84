"""Learners that others have published, written from their papers as `DeepAgent`s.

Linear scalarisation: DQN on Σ w_i r_i, which with equal weights is DQN on the sum of rewards.

Siddique, Weng and Zimmer (2020): GGF-DQN, a network of vectors judged by generalised Gini. Q̂(s, a)
has a component per stakeholder. Acting is argmax_a GGF_w(Q̂(s, a)). The target of an experience is
r + γ Q̂'(s', a*), component by component, with a* = argmax_a GGF_w(r + γ Q̂'(s', a)).

Fan, Peng, Tian and Fain (2023): welfare Q-learning, a table of vectors scalarised when acting.
Q(s, a) is a vector, one value per stakeholder. What is done depends on what was received so far:
argmax_a W(R + γ^t Q(s, a)), with R the discounted rewards of the episode. The update bootstraps
from the action that is best by itself: a* = argmax_a W(γ Q(s', a)), and
Q(s, a) ← Q(s, a) + α (r + γ Q(s', a*) − Q(s, a)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import Array, namespace
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.status import Window
from evenhand.fairness.temporal import Total
from evenhand.fairness.trace import Step
from evenhand.fairness.welfare import GeneralisedGini, GeometricMean, Nash, Welfare
from evenhand.learn.deep import replay_buffer as replay
from evenhand.learn.deep.agent import AgentState, DecisionRecord, DeepAgent
from evenhand.learn.deep.encoders import Encoder, Features, Layout
from evenhand.learn.deep.networks import MLP, Network
from evenhand.learn.deep.replay_buffer import Replay
from evenhand.memory.memory import Attribute, Memory
from evenhand.problem.problem import AgentView, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray


@dataclass(frozen=True)
class WeightedSum(Welfare):
    """Σ w_i u_i, each stakeholder with a weight of its own."""

    weights: tuple[float, ...]

    def __call__(self, values: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return values @ namespace(values).asarray(self.weights, dtype=values.dtype)

    def describe(self) -> str:
        return "a weighted sum of the statuses"


def linear_scheme(weights: tuple[float, ...]) -> FairnessScheme:
    """The reward of a step is the weighted sum of what it brought; nothing is remembered."""
    return anytime(WeightedSum(weights), Total(), Window(1))


def candidate_weights(size: int, number: int) -> list[tuple[float, ...]]:
    """Equal weights, and others that are spread over the simplex, the same ones every time."""
    drawn = np.random.default_rng(0).dirichlet(np.full(size, 2.0), number - 1)
    rows = [np.full(size, 1.0 / size), *drawn]
    return [tuple(np.round(row, 6).tolist()) for row in rows]


def halving_weights(size: int) -> tuple[float, ...]:
    """The paper's w_i = 1/2^i, scaled to sum to 1: the worst-off weighs most."""
    weights = [0.5**k for k in range(size)]
    return tuple(weight / sum(weights) for weight in weights)


class VectorExperience(NamedTuple):
    """s, a, the reward of each stakeholder, s', and the discount of what follows."""

    features: Float[Array, " feature"]
    action: Int[Array, ""]
    rewards: Float[Array, " stakeholder"]
    bootstrap: Float[Array, ""]
    following: Float[Array, " feature"]


@dataclass(frozen=True)
class GiniNetwork(Network):
    """Layers with a value per action and stakeholder; an action is worth their GGF."""

    weights: tuple[float, ...]
    hidden: tuple[int, ...] = (64, 64)

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Any:
        return MLP(self.hidden).init(key, layout, num_actions * len(self.weights))

    def vectors(
        self, weights: Any, features: Float[Array, " feature"]
    ) -> Float[Array, "action stakeholder"]:
        flat = MLP(self.hidden).apply(weights, (), features)[1]
        return flat.reshape(-1, len(self.weights))

    def gini(self, vectors: Float[Array, "... stakeholder"]) -> Float[Array, ...]:
        return GeneralisedGini(self.weights)(vectors)

    def apply(
        self, weights: Any, carry: Any, features: Float[Array, " feature"]
    ) -> tuple[Any, Float[Array, " action"]]:
        return carry, self.gini(self.vectors(weights, features))


@dataclass(frozen=True, kw_only=True)
class GiniDQN(DeepAgent):
    """GGF-DQN; the rewards are those of each stakeholder, whatever the problem's scheme is."""

    network: GiniNetwork

    def empty_replay(self) -> tuple[Replay, Any]:
        number, blank = jnp.zeros(()), jnp.zeros(self.layout.size)
        rewards = jnp.zeros(self.problem.environment.num_stakeholders)
        action = jnp.zeros((), dtype=jnp.int32)
        item = VectorExperience(blank, action, rewards, number, blank)
        return replay.init(item, self.capacity), ()

    def store(self, learner: AgentState, happened: DecisionRecord) -> AgentState:
        item = VectorExperience(
            self.encode(happened.before),
            jnp.asarray(happened.step.action, dtype=jnp.int32),
            self.scale * happened.step.rewards,
            jnp.where(happened.terminated, 0.0, self.discount),
            self.encode(happened.after),
        )
        items = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], item)
        stored = replay.add(learner.replay, items, jnp.ones(1, dtype=bool))
        return learner._replace(replay=stored)

    def draw(self, learner: AgentState, key: PRNGKeyArray) -> VectorExperience:
        return replay.sample(learner.replay, key, self.batch)

    def loss_of(
        self, weights: Any, learner: AgentState, batch: VectorExperience
    ) -> Float[Array, ""]:
        vectors = jax.vmap(self.network.vectors, in_axes=(None, 0))
        now = vectors(weights, batch.features)
        own = jnp.take_along_axis(now, batch.action[:, None, None], axis=1)[:, 0]
        goal = jax.lax.stop_gradient(
            self.goals(vectors(learner.target, batch.following), batch.rewards, batch.bootstrap)
        )
        return jnp.mean(jnp.sum(self.loss(own - goal), axis=-1))

    def goals(
        self,
        ahead: Float[Array, "item action stakeholder"],
        rewards: Float[Array, "item stakeholder"],
        bootstrap: Float[Array, " item"],
    ) -> Float[Array, "item stakeholder"]:
        """r + γ Q̂'(s', a*), where a* is the best by GGF of the same sum."""
        sums = rewards[:, None] + bootstrap[:, None, None] * ahead
        best = jnp.argmax(self.network.gini(sums), axis=-1)
        return jnp.take_along_axis(sums, best[:, None, None], axis=1)[:, 0]


ROWS = 1 << 16  # of the table: what is seen is told apart by a hash into so many
SMOOTHING = 0.01  # λ: the paper's Nash welfare is Σ log(u_i + λ), with λ for what is not above 0
MULTIPLIERS = np.random.default_rng(7).integers(1, 2**32, 4096, dtype=np.uint32) | np.uint32(1)


@dataclass(frozen=True)
class DiscountedReceipts(Memory[tuple[Any, Any]]):
    """R = Σ γ^t r_t so far, and the number t of steps."""

    discount: float

    symmetric = True

    def init(self, num_stakeholders: int) -> tuple[Any, Any]:
        return np.zeros(num_stakeholders), np.zeros(())

    def update(self, memory: tuple[Any, Any], step: Step) -> tuple[Any, Any]:
        received, time = memory
        return received + self.discount**time * step.rewards, time + 1.0

    def attributes(self, memory: Any, horizon: int, size: int) -> tuple[Attribute, ...]:
        return Attribute(memory[0]), Attribute(memory[1])

    def describe(self) -> str:
        return f"what each has received, discounted by {self.discount:g} a step"


@dataclass(frozen=True)
class TableRow(Encoder):
    """What was received, the row of the table that the observation falls into, and the time."""

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        received, time = seen.memory
        parts = [jnp.ravel(part.values) for part in problem.environment.attributes(state)]
        row = table_row(jnp.concatenate([jnp.zeros(0), *parts]))
        common = jnp.stack([row.astype(jnp.float32), jnp.asarray(time, dtype=jnp.float32)])
        return Features(jnp.asarray(received, dtype=jnp.float32)[:, None], common)

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        raise NotImplementedError  # nothing is coded one by one


def table_row(observation: Float[Array, " feature"]) -> Int[Array, ""]:
    """A row for an observation, the same for the same to four decimals."""
    whole = jnp.round(observation * 1e4).astype(jnp.int32).astype(jnp.uint32)
    mixed = jnp.sum((whole + 1) * MULTIPLIERS[: whole.shape[0]], dtype=jnp.uint32)
    mixed = (mixed ^ (mixed >> 15)) * jnp.uint32(0x2C1B3C6D)
    return ((mixed ^ (mixed >> 12)) % ROWS).astype(jnp.int32)


def scalarised(welfare: Welfare, vectors: Float[Array, "... n"]) -> Float[Array, ...]:
    """W where it is defined everywhere: Nash smoothed as in the paper, others from their least."""
    xp = namespace(vectors)
    if isinstance(welfare, Nash | GeometricMean):
        return xp.sum(xp.log(xp.maximum(vectors + SMOOTHING, SMOOTHING)), axis=-1)
    least = welfare.least_status
    if math.isfinite(least):
        vectors = xp.maximum(vectors, least + (SMOOTHING if welfare.least_excluded else 0.0))
    return welfare(vectors)


@dataclass(frozen=True)
class WelfareTable(Network):
    """Q(s, a) as vectors in a table; the value of an action is W(R + γ^t Q(s, a))."""

    welfare: Welfare
    discount: float
    initial_value: float = 0.0

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Float[Array, ...]:
        return jnp.full((ROWS, num_actions, layout.stakeholders), self.initial_value)

    def apply(
        self, weights: Any, carry: Any, features: Float[Array, " feature"]
    ) -> tuple[Any, Float[Array, " action"]]:
        received, row, time = split(features)
        return carry, scalarised(self.welfare, received + self.discount**time * weights[row])


def split(features: Float[Array, " feature"]) -> tuple[Any, Any, Any]:
    """What was received, the row, the time."""
    return features[:-2], features[-2].astype(jnp.int32), features[-1]


@dataclass(frozen=True, kw_only=True)
class WelfareQLearning(DeepAgent):
    """Welfare Q-learning; `learning_rate` is α, and every step is learned from once, as it comes.

    `problem.memory` must be `DiscountedReceipts`, `encoder` `TableRow` and `network` a
    `WelfareTable` of the same discount.
    """

    network: WelfareTable

    def empty_replay(self) -> tuple[Replay, Any]:
        return replay.init(jnp.zeros(()), 1), ()  # nothing is kept

    def store(self, learner: AgentState, happened: DecisionRecord) -> AgentState:
        table = learner.weights
        _, row, _ = split(self.encode(happened.before))
        _, following, _ = split(self.encode(happened.after))
        ahead = table[following]
        best = jnp.argmax(scalarised(self.network.welfare, self.discount * ahead))
        bootstrap = jnp.where(happened.terminated, 0.0, self.discount)
        goal = happened.step.rewards + bootstrap * ahead[best]
        action = happened.step.action
        moved = self.learning_rate * (goal - table[row, action])
        return learner._replace(weights=table.at[row, action].add(moved))

    def learn(self, learners: AgentState) -> AgentState:
        return learners

    def acting(self, learner: AgentState) -> Any:
        return learner.weights

    def draw(self, learner: AgentState, key: PRNGKeyArray) -> Any:
        raise NotImplementedError  # there is nothing to draw from

    def loss_of(self, weights: Any, learner: AgentState, batch: Any) -> Float[Array, ""]:
        raise NotImplementedError

    def choose(
        self, learner: AgentState, augmented: Any, key: PRNGKeyArray
    ) -> tuple[Any, Int[Array, ""]]:
        """Epsilon-greedy; where all actions are worth the same, any of them."""
        carry, values = self.network.apply(learner.weights, (), self.encode(augmented))
        same = jnp.max(values) == jnp.min(values)
        explores, anything = jax.random.split(key)
        at_random = (jax.random.uniform(explores) < learner.epsilon) | same
        other = jax.random.randint(anything, (), 0, values.shape[0])
        return carry, jnp.where(at_random, other, jnp.argmax(values)).astype(jnp.int32)
