"""Algorithm 1: tabular FairQCM. With no proposal it is Q-learning, and nothing else differs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.learn.proposals import NoProposal, Proposal, ReachableNow, Visited
from evenhand.learn.schedules import Constant, Exploration, Rate
from evenhand.learn.shaping import require_shaping, shaping
from evenhand.learn.tabular.tabular_model import Arena, build_arena, imagined_rows
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray


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


class World(NamedTuple):
    """The arrays that a learner walks on: its arena, whom it may imagine, and W(U) of each row."""

    arena: Arena
    imagined: Any  # Int[Array, "row proposal"]
    welfare: Any  # Float[Array, " row"]


class ExactScore(NamedTuple):
    """The exact value of the greedy policy: its score, and the steps that were not overridden."""

    score: Float[Array, ""]
    kept: Float[Array, ""]


@dataclass(frozen=True, eq=False)
class Tabular:
    """Tabular Q-learning on a memory-augmented problem, with imagined memories.

    `horizon_terminates` says whether the horizon ends an episode (no bootstrap beyond it) or only
    truncates it, as in the paper's recipe, which treats the process as going on. `shaping` adds a
    potential-based reward, which leaves the optimal policy as it is.
    """

    problem: Problem
    proposal: Proposal = NoProposal()
    discount: float = 0.99
    rate: Rate = Constant(0.1)
    exploration: Exploration = Exploration()
    horizon_terminates: bool = False
    initial_value: float = 0.0
    shaping: bool = False
    horizon: int | None = None  # None: the environment's own; 0: no horizon at all
    _built: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not 0.0 < self.discount <= 1.0:
            raise BadParameter(f"discount is {self.discount}: it must lie in (0, 1].")
        if self.shaping:
            require_shaping(self.problem, self.horizon_terminates, self.discount)
        if self.imagines:
            self.problem.require_memory_pays()
        _ = self.world  # built now, and not while something is being compiled

    @property
    def imagines(self) -> bool:
        return not isinstance(self.proposal, NoProposal)

    @cached_property
    def steps_an_episode(self) -> int | None:
        if self.horizon is None:
            return self.problem.environment.horizon
        return self.horizon or None

    @cached_property
    def _arena_and_table(self) -> tuple[Arena, Any]:
        return build_arena(self.problem, self.proposal, self.steps_an_episode)

    @property
    def arena(self) -> Arena:
        return self._arena_and_table[0]

    @cached_property
    def imagined(self) -> Int[np.ndarray, "row proposal"]:
        return imagined_rows(self._arena_and_table[1], self.proposal)

    def start(self, key: PRNGKeyArray) -> TabularState:
        """A learner that knows nothing, before its first episode."""
        arena = self.arena
        noise_key, key = jax.random.split(key)
        shape = (arena.num_seen, *arena.effects.shape)
        return TabularState(
            q=jnp.full(shape, self.initial_value, dtype=jnp.float32),
            updates=jnp.zeros(shape, dtype=jnp.float32),
            epsilon=jnp.full(shape[:2], self.exploration.start, dtype=jnp.float32),
            visits=jnp.zeros(arena.seen.shape, dtype=jnp.float32),
            row=jnp.zeros((), dtype=jnp.int32),
            noise=_draw(jnp.asarray(arena.noise), jax.random.uniform(noise_key)),
            time=jnp.zeros((), dtype=jnp.int32),
            key=key,
        )

    def action_values(
        self, learner: TabularState, augmented: AugmentedState
    ) -> Float[np.ndarray, " action"]:
        """What one learner expects of each action in an augmented state: its reasons."""
        arena, table = self._arena_and_table
        many = jax.tree.map(lambda leaf: np.asarray(leaf)[None], augmented)
        (row,) = table.find(table.model.to_rows(table.model.placed(many)))
        (noise,) = table.model.noise_numbers(many.state.noise)
        return np.asarray(learner.q)[arena.seen[row], noise]

    @cached_property
    def world(self) -> World:
        # Handed to compiled functions as arguments: as constants they would be compiled in.
        welfare = self.welfare if self.shaping else np.zeros(1, dtype=np.float32)
        return jax.tree.map(jnp.asarray, World(self.arena, self.imagined, welfare))

    def train_steps(self, learners: TabularState, steps: int) -> TabularState:
        """Many learners side by side, that many steps further."""
        return self._walk_all(self.world, learners, steps)

    @cached_property
    def _walk_all(self) -> Any:
        @partial(jax.jit, static_argnames="steps", donate_argnums=1)
        def train_steps(world: World, learners: TabularState, steps: int) -> TabularState:
            return jax.vmap(lambda learner: self._walk(world, learner, steps))(learners)

        return train_steps

    def _walk(self, world: World, learner: TabularState, steps: int) -> TabularState:
        # All dice of the stretch at once: drawing them step by step would cost more than learning.
        key, dice_key = jax.random.split(learner.key)
        actions = world.arena.effects.shape[1]
        number = self.proposal.number if isinstance(self.proposal, Visited) else 0
        dice = jax.random.uniform(dice_key, (steps, 4 + actions + number))
        learner = jax.lax.fori_loop(
            0, steps, lambda k, state: self._step(world, state, dice[k]), learner
        )
        return learner._replace(key=key)

    def _step(
        self, world: World, learner: TabularState, dice: Float[Array, " die"]
    ) -> TabularState:
        """One pass of Algorithm 1's loop."""
        arena = world.arena
        row, noise = learner.row, learner.noise
        seen = arena.seen[row]
        # Select the imagined memories: before the outcome is known.
        rows, exist = self._propose(world, learner, dice[4 + arena.effects.shape[1] :])
        # Select an action and execute it.
        action = _greedy_or_not(learner.q[seen, noise], learner.epsilon[seen, noise], dice)
        effect = arena.effects[noise, action]
        outcome = _draw(arena.chance[effect, :, row], dice[2])
        next_noise = _draw(arena.noise, dice[3])
        last = self._is_last(learner.time)
        # Update on the real and the imagined experiences.
        every = jnp.concatenate((row[None], rows))
        valid = jnp.concatenate((jnp.ones(1, dtype=bool), exist))
        following = arena.following[effect, outcome, every]
        reward = arena.pay[last, effect, outcome, every]
        ahead = jnp.max(learner.q[arena.seen[following], next_noise], axis=-1)
        bootstrap = 1.0 - last if self.horizon_terminates else 1.0
        if self.shaping:
            reward = reward + self._shaping(world, every, following, learner.time)
        target = reward + self.discount * bootstrap * ahead
        where = arena.seen[every], noise, action
        change = self.rate(learner.updates[where]) * (target - learner.q[where])
        return TabularState(
            q=learner.q.at[where].add(jnp.where(valid, change, 0.0)),
            updates=learner.updates.at[where].add(valid.astype(jnp.float32)),
            epsilon=learner.epsilon.at[seen, noise].set(
                self.exploration.after(learner.epsilon[seen, noise])
            ),
            visits=learner.visits.at[row].add(1.0),
            row=jnp.where(last == 1, 0, following[0]),
            noise=next_noise,
            time=jnp.where(last == 1, 0, learner.time + 1),
            key=learner.key,
        )

    def _is_last(self, time: Int[Array, ""]) -> Int[Array, ""]:
        if self.steps_an_episode is None:
            return jnp.zeros((), dtype=jnp.int32)
        return (time == self.steps_an_episode - 1).astype(jnp.int32)

    def _propose(
        self, world: World, learner: TabularState, dice: Float[Array, " die"]
    ) -> tuple[Array, Array]:
        """The rows of M'_t, and which of them exist."""
        if isinstance(self.proposal, Visited):
            # Visited memories, in the world as it is: other worlds are not imagined.
            here = world.arena.group == world.arena.group[learner.row]
            chance = jnp.cumsum(jnp.where(here, learner.visits, 0.0))
            rows = jnp.searchsorted(chance, dice * chance[-1], side="right")
            rows = jnp.minimum(rows, len(chance) - 1).astype(jnp.int32)
            # One drawn twice counts once, and the real one is not imagined.
            first = jnp.argmax(rows[:, None] == rows[None, :], axis=1) == jnp.arange(len(rows))
            return rows, first & (rows != learner.row) & (chance[-1] > 0)
        rows = world.imagined[learner.row]
        exist = rows >= 0
        if isinstance(self.proposal, ReachableNow):
            exist = exist & world.arena.reachable[learner.time, rows]
        return jnp.maximum(rows, 0), exist

    def _shaping(
        self, world: World, rows: Array, following: Array, time: Array
    ) -> Float[Array, " experience"]:
        """γΦ(x') − Φ(x) of every experience: see `learn.shaping`."""
        now, then = world.welfare[rows], world.welfare[following]
        horizon = self.steps_an_episode or 0
        return shaping(now, then, time, horizon, self.horizon_terminates, self.discount)

    @cached_property
    def welfare(self) -> Float[np.ndarray, " row"]:
        """W(U) of every row."""
        table = self._arena_and_table[1]
        _, carried = table.model.from_rows(table.rows, 0)
        if self.imagines:
            vectors = jax.vmap(self.problem.memory.implied_status)(carried.status)
        else:
            vectors = jax.vmap(self.problem.scheme.status.value)(carried[0].status)
        contributions = self.problem.scheme.aggregation.contribute(np.asarray(vectors), None)
        return np.asarray(contributions, dtype=np.float32)

    def evaluate(self, learners: TabularState, episodes: int = 0) -> ExactScore:
        """The exact undiscounted score of each learner's greedy policy, ties broken at random.

        It is no mean of episodes, however many are asked for.
        """
        if self.steps_an_episode is None:
            raise BadParameter("an episode needs a horizon to have a score.")
        return self._evaluate_all(self.world.arena, learners.q)

    @cached_property
    def _evaluate_all(self) -> Any:
        return jax.jit(jax.vmap(self._evaluate, in_axes=(None, 0)))

    def _evaluate(self, arena: Arena, q: Float[Array, "seen noise action"]) -> ExactScore:
        """The value of acting greedily, by backward induction over what an episode can reach."""
        count = self._arena_and_table[1].within[self.steps_an_episode or 0]
        arena = arena.first(count)
        q = q[arena.seen]
        best = q == jnp.max(q, axis=-1, keepdims=True)
        policy = best / jnp.sum(best, axis=-1, keepdims=True)
        chance = jnp.diff(arena.noise, prepend=0.0)
        # How likely each effect is in each row, over the noise and the broken ties.
        one_hot = jax.nn.one_hot(arena.effects, arena.following.shape[0])
        weight = jnp.einsum("rna,n,nae->er", policy, chance, one_hot)
        outcome = jnp.diff(arena.chance, axis=1, prepend=0.0) * weight[:, None]

        def back(values: Any, last: Any) -> tuple[Any, None]:
            score, kept = values
            paid = arena.pay[last] + score[arena.following]
            count = arena.kept + kept[arena.following]
            return ExactScore(
                jnp.sum(outcome * paid, (0, 1)), jnp.sum(outcome * count, (0, 1))
            ), None

        nothing = jnp.zeros(arena.seen.shape)
        lasts = jnp.zeros(self.steps_an_episode or 0, dtype=jnp.int32).at[0].set(1)
        values, _ = jax.lax.scan(back, ExactScore(nothing, nothing), lasts)
        return ExactScore(values.score[0], values.kept[0])


def _draw(cumulative: Any, die: Float[Array, ""]) -> Int[Array, ""]:
    """An index drawn with the given cumulative probabilities."""
    return jnp.sum(die >= cumulative[:-1]).astype(jnp.int32)


def _greedy_or_not(
    values: Float[Array, " action"], epsilon: Float[Array, ""], dice: Float[Array, " die"]
) -> Int[Array, ""]:
    """With probability epsilon any action, otherwise a best one, ties broken at random."""
    size = values.shape[0]
    order = dice[4 : 4 + size]
    best = jnp.argmax(jnp.where(values == jnp.max(values), order, -1.0))
    anything = jnp.minimum((dice[1] * size).astype(jnp.int32), size - 1)
    return jnp.where(dice[0] < epsilon, anything, best.astype(jnp.int32))
