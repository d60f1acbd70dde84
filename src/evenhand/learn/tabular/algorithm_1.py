"""Algorithm 1's loop as pure functions on arrays: it knows no problem, only its tables.

What decides the loop besides the arrays is one hashable object, so that two learners that are
alike on problems of one shape share what was compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.fairness.filters import Always, Filter
from evenhand.learn.imagined_memories import Proposal, ProposalContext
from evenhand.learn.schedules import Exploration, LearningRate, shaping
from evenhand.learn.tabular.tabular_model import TabularModel

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


class TabularState(NamedTuple):
    """The state of one run: what was learned, and where it stands in its episode."""

    q: Float[Array, "seen noise action"]
    updates: Float[Array, "seen noise action"]  # how often each was updated
    epsilon: Float[Array, "seen noise"]
    visits: Float[Array, " row"]
    row: Int[Array, ""]
    noise: Int[Array, ""]
    time: Int[Array, ""]
    key: PRNGKeyArray


class Tables(NamedTuple):
    """The arrays that a learner learns in: its model, what it may imagine, W(U) of each row."""

    model: TabularModel
    imagined: Int[np.ndarray, "row proposal"]
    welfare: Float[np.ndarray, " row"]


class ExactScore(NamedTuple):
    """The exact value of the greedy policy: its score, and the steps that were not overridden."""

    score: Float[Array, ""]
    kept: Float[Array, ""]


@dataclass(frozen=True)
class Algorithm1:
    """The settings of the loop; `horizon` is None where episodes do not end."""

    proposal: Proposal
    discount: float
    rate: LearningRate
    exploration: Exploration
    horizon_terminates: bool
    shaping: bool
    horizon: int | None
    assessed: Filter = Always()

    def train(self, tables: Tables, learner: TabularState, steps: int) -> TabularState:
        """One learner, that many steps further."""
        # All dice of the stretch at once: drawing them step by step would cost more than learning.
        key, dice_key = jax.random.split(learner.key)
        actions = tables.model.effects.shape[1]
        dice = jax.random.uniform(dice_key, (steps, 4 + actions + self.proposal.num_dice))
        learner = jax.lax.fori_loop(
            0, steps, lambda k, state: self.step(tables, state, dice[k]), learner
        )
        return learner._replace(key=key)

    def step(
        self, tables: Tables, learner: TabularState, dice: Float[Array, " die"]
    ) -> TabularState:
        """One pass of Algorithm 1's loop."""
        model = tables.model
        row, noise = learner.row, learner.noise
        seen = model.seen[row]
        # Select the imagined memories: before the outcome is known.
        rows, exist = self.propose(tables, learner, dice[4 + model.effects.shape[1] :])
        # Select an action and execute it.
        action = _greedy_or_not(learner.q[seen, noise], learner.epsilon[seen, noise], dice)
        effect = model.effects[noise, action]
        outcome = draw(model.chance[effect, :, row], dice[2])
        next_noise = draw(model.noise, dice[3])
        last = self._is_last(learner.time)
        # Update on the real and the imagined experiences.
        every = jnp.concatenate((row[None], rows))
        valid = jnp.concatenate((jnp.ones(1, dtype=bool), exist))
        following = model.following[effect, outcome, every]
        reward = model.pay[last, effect, outcome, every]
        ahead = jnp.max(learner.q[model.seen[following], next_noise], axis=1)
        bootstrap = 1.0 - last if self.horizon_terminates else 1.0
        if self.shaping:
            reward = reward + self._shaping(tables, every, following, learner.time)
        target = reward + self.discount * bootstrap * ahead
        where = model.seen[every], noise, action
        change = self.rate(learner.updates[where]) * (target - learner.q[where])
        return TabularState(
            q=learner.q.at[where].add(jnp.where(valid, change, 0.0)),
            updates=learner.updates.at[where].add(valid.astype(jnp.float32)),
            epsilon=learner.epsilon.at[seen, noise].set(
                self.exploration.after(learner.epsilon[seen, noise])
            ),
            visits=learner.visits.at[row].add(1.0),
            # The die of the outcome serves again: a new episode has nothing to do with its last.
            row=jnp.where(last == 1, draw(model.starts, dice[2]), following[0]),
            noise=next_noise,
            time=jnp.where(last == 1, 0, learner.time + 1),
            key=learner.key,
        )

    def propose(
        self, tables: Tables, learner: TabularState, dice: Float[Array, " die"]
    ) -> tuple[Int[Array, " proposal"], Bool[Array, " proposal"]]:
        """The rows of M'_t, and which of them exist."""
        model = tables.model
        context = ProposalContext(
            row=learner.row,
            listed=tables.imagined[learner.row],
            alike=model.group == model.group[learner.row],
            reachable=model.reachable[learner.time],
            visits=learner.visits,
        )
        rows, exist = self.proposal.draw(context, dice)
        return jnp.maximum(rows, 0), exist & (rows >= 0)

    def _is_last(self, time: Int[Array, ""]) -> Int[Array, ""]:
        if self.horizon is None:
            return jnp.zeros((), dtype=jnp.int32)
        return (time == self.horizon - 1).astype(jnp.int32)

    def _shaping(
        self, tables: Tables, rows: Array, following: Array, time: Array
    ) -> Float[Array, " experience"]:
        """γΦ(x') − Φ(x) of every experience: see `learn.shaping`."""
        now, then = tables.welfare[rows], tables.welfare[following]
        horizon = self.horizon or 0
        settings = horizon, self.horizon_terminates, self.discount, self.assessed
        return shaping(now, then, time, *settings)


@partial(jax.jit, static_argnames=("algorithm", "steps"), donate_argnames="learners")
def train_all(
    algorithm: Algorithm1, tables: Tables, learners: TabularState, steps: int
) -> TabularState:
    """Many learners side by side, that many steps further."""
    return jax.vmap(lambda learner: algorithm.train(tables, learner, steps))(learners)


@partial(jax.jit, static_argnames=("count", "horizon"))
def evaluate_all(
    model: TabularModel, q: Float[Array, "seed seen noise action"], count: int, horizon: int
) -> ExactScore:
    """The value of acting greedily, for every seed; `count` rows are reached within the horizon."""
    return jax.vmap(lambda one: _evaluate(model.first(count), one, horizon))(q)


def _evaluate(
    model: TabularModel, q: Float[Array, "seen noise action"], horizon: int
) -> ExactScore:
    """By backward induction over what an episode can reach, ties broken at random."""
    q = q[model.seen]
    best = q == jnp.max(q, axis=-1, keepdims=True)
    policy = best / jnp.sum(best, axis=-1, keepdims=True)
    chance = jnp.diff(model.noise, prepend=0.0)
    # How likely each effect is in each row, over the noise and the broken ties.
    one_hot = jax.nn.one_hot(model.effects, model.following.shape[0])
    weight = jnp.einsum("rna,n,nae->er", policy, chance, one_hot)
    outcome = jnp.diff(model.chance, axis=1, prepend=0.0) * weight[:, None]

    def back(values: ExactScore, last: Int[Array, ""]) -> tuple[ExactScore, None]:
        score, kept = values
        reward = model.pay[last] + score[model.following]
        count = model.kept[last] + kept[model.following]
        return ExactScore(jnp.sum(outcome * reward, (0, 1)), jnp.sum(outcome * count, (0, 1))), None

    nothing = jnp.zeros(model.seen.shape)
    lasts = jnp.zeros(horizon, dtype=jnp.int32).at[0].set(1)
    values, _ = jax.lax.scan(back, ExactScore(nothing, nothing), lasts)
    begins = jnp.diff(model.starts, prepend=0.0)
    return ExactScore(*(begins @ part[: begins.shape[0]] for part in values))


def draw(cumulative: Array | np.ndarray, die: Float[Array, ""]) -> Int[Array, ""]:
    """An index drawn with the given cumulative probabilities."""
    return jnp.sum(die >= cumulative[:-1]).astype(jnp.int32)


def _greedy_or_not(
    values: Float[Array, " action"], epsilon: Float[Array, ""], dice: Float[Array, " die"]
) -> Int[Array, ""]:
    """With probability epsilon any action, otherwise a best one, ties broken at random."""
    size = values.shape[0]
    order = dice[4 : 4 + size]
    best = jnp.argmax(jnp.where(values == jnp.max(values), order, -1.0))
    anything = (dice[1] * size).astype(jnp.int32)  # a die is below 1, also when rounded
    return jnp.where(dice[0] < epsilon, anything, best.astype(jnp.int32))
