"""Siddique, Weng and Zimmer (2020): GGF-DQN, a network of vectors judged by generalised Gini.

Q̂(s, a) has a component per stakeholder. Acting is argmax_a GGF_w(Q̂(s, a)). The target of an
experience is r + γ Q̂'(s', a*), component by component, with
a* = argmax_a GGF_w(r + γ Q̂'(s', a)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.fairness.welfare import GeneralisedGini
from evenhand.learn.deep import replay_buffer as replay
from evenhand.learn.deep.agent import AgentState, DecisionRecord, DeepAgent
from evenhand.learn.deep.encoders import Layout
from evenhand.learn.deep.networks import MLP, Network
from evenhand.learn.deep.replay_buffer import Replay

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray


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
