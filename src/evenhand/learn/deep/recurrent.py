"""Section 6 (baseline RNN): no engineered memory; a recurrent network learns what to remember."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.errors import BadParameter
from evenhand.learn.deep import replay_buffer as replay
from evenhand.learn.deep.agent import AgentState, DecisionRecord, DeepAgent, of_action
from evenhand.learn.deep.networks import Recurrent
from evenhand.learn.deep.replay_buffer import Replay

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class Moment(NamedTuple):
    """One step of a stored history; the next in the buffer is the next in time."""

    features: Float[Array, " feature"]
    carry: Float[Array, " width"]  # what acting carried into the step
    first: Bool[Array, ""]  # whether an episode begins here
    action: Int[Array, ""]
    reward: Float[Array, ""]
    bootstrap: Float[Array, ""]
    following: Float[Array, " feature"]


@dataclass(frozen=True, kw_only=True)
class RecurrentDQN(DeepAgent):
    """Deep Q-learning on stored sequences, of which the first `burn_in` steps only warm up.

    A sequence starts with what acting carried into it, and goes through its burn-in with the
    weights of now before any error counts. A batch is as many sequences of `length` as fill it.
    """

    network: Recurrent
    length: int = 16
    burn_in: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.network, Recurrent):
            raise BadParameter(f"{type(self.network).__name__} carries nothing: use Recurrent.")
        if self.length < 1 or self.burn_in < 0:
            raise BadParameter(
                f"length is {self.length} and burn_in {self.burn_in}: at least 1 and 0 are needed."
            )
        stored = self.capacity if self.warm_up is None else min(self.capacity, self.warm_up)
        if stored < self.window:
            raise BadParameter(
                f"sequences of {self.window} steps do not fit into {stored} stored ones: "
                "raise capacity and warm_up, or shorten length and burn_in."
            )

    @property
    def window(self) -> int:
        return self.burn_in + self.length

    def empty_replay(self) -> tuple[Replay, Any]:
        number, blank = jnp.zeros(()), jnp.zeros(self.layout.size)
        action, first = jnp.zeros((), dtype=jnp.int32), jnp.zeros((), dtype=bool)
        moment = Moment(blank, self.network.start(), first, action, number, number, blank)
        return replay.init(moment, self.capacity), ()

    def store(self, learner: AgentState, happened: DecisionRecord) -> AgentState:
        before, after = happened.before, happened.after
        pay = happened.pay
        if self.shaping:
            now, then = (
                self.problem.welfare(self.problem.scheme.status.value(at.scheme_state.status))
                for at in (before, after)
            )
            pay = pay + self.shaping_of(now, then, happened)
        moment = Moment(
            self.encode(before),
            happened.carry,
            happened.time == 0,
            happened.step.action,
            self.scale * pay,
            jnp.where(happened.terminated, 0.0, self.discount),
            self.encode(after),
        )
        item = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], moment)
        stored = replay.add(learner.replay, item, jnp.ones(1, dtype=bool))
        return learner._replace(replay=stored)

    def draw(self, learner: AgentState, key: PRNGKeyArray) -> Moment:
        """Sequences that lie anywhere in the buffer, on a leading axis of sequences."""
        number = max(1, self.batch // self.length)
        return replay.sample_sequences(learner.replay, key, number, self.window)

    def loss_of(self, weights: Any, learner: AgentState, batch: Moment) -> Float[Array, ""]:
        return jnp.mean(jax.vmap(lambda one: self._loss_of_one(weights, learner, one))(batch))

    def _loss_of_one(self, weights: Any, learner: AgentState, moments: Moment) -> Float[Array, ""]:
        start, cut = moments.carry[0], self.burn_in
        warm = jax.tree.map(lambda leaf: leaf[:cut], moments)
        counted = jax.tree.map(lambda leaf: leaf[cut:], moments)
        unroll, values = self.network.unroll, self.network.values
        carries = []
        for each in (weights, learner.target):
            carry = start
            if cut:
                carry = unroll(each, carry, warm.features, warm.first)[-1]
            carry = jax.lax.stop_gradient(carry)
            carries.append(unroll(each, carry, counted.features, counted.first))
        value = of_action(values(weights, carries[0]), counted.action)
        ahead = self._following(learner.target, carries[1], counted.following)
        if self.double:
            own = self._following(learner.weights, carries[0], counted.following)
            best = of_action(ahead, jnp.argmax(own, axis=1))
        else:
            best = jnp.max(ahead, axis=1)
        goal = jax.lax.stop_gradient(counted.reward + counted.bootstrap * best)
        return jnp.mean(self.loss(value - goal))

    def _following(
        self, weights: Any, carries: Array, features: Array
    ) -> Float[Array, "time action"]:
        """The values one step on: of what followed each step, with the carry of after it."""
        return jax.vmap(lambda carry, x: self.network.apply(weights, carry, x)[1])(
            carries, features
        )
