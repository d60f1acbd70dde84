"""Q-learning in a table, seeds side by side, and the greedy table that results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.checks import require_hashable
from evenhand.errors import BadParameter
from evenhand.learn.imagined_memories import NoProposal, Proposal
from evenhand.learn.schedules import (
    Constant,
    Exploration,
    LearningRate,
    require_finite_values,
    require_shaping,
)
from evenhand.learn.tabular.algorithm_1 import (
    Algorithm1,
    ExactScore,
    Tables,
    TabularState,
    draw,
    evaluate_all,
    train_all,
)
from evenhand.learn.tabular.tabular_model import TabularModel, build_tabular_model, imagined_rows
from evenhand.planning.table import StateTable
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Float, Int, PRNGKeyArray


# A learned table on its own: greedy for its values.


@dataclass(frozen=True, eq=False)
class GreedyTable:
    """The policy that takes the action of highest value, the first of them if there are several.

    It is used as `policies.greedy_policy.Greedy` is; a table carries nothing between decisions.
    """

    agent: Tabular
    learner: TabularState  # of one seed

    def start(self) -> tuple[()]:
        """What it carries into an episode: nothing."""
        return ()

    def decide(self, carry: tuple[()], augmented: AugmentedState) -> tuple[tuple[()], int]:
        """The carry for the next decision, and the action."""
        return (), int(np.argmax(self.values(carry, augmented)))

    def values(self, carry: tuple[()], augmented: AugmentedState) -> Float[np.ndarray, " action"]:
        """Why: the value of each action."""
        return self.agent.action_values(self.learner, augmented)


# Algorithm 1: tabular FairQCM. With no proposal it is Q-learning, and nothing else differs.


@dataclass(frozen=True)
class Tabular:
    """Tabular Q-learning on a memory-augmented problem, with imagined memories.

    Args:
        problem: What to learn, with the memory that the agent sees.
        proposal: Which memories to imagine at each step; none by default.
        discount: γ, in (0, 1].
        rate: The learning rate, from how often a value was updated.
        exploration: Epsilon-greedy, by augmented state.
        horizon_terminates: Whether the horizon ends an episode (no bootstrap beyond it) or only
            truncates it, as in the paper's recipe, which treats the process as going on.
        initial_value: What every action is worth before anything is learned.
        shaping: Whether to add a potential-based reward, which leaves the optimal policy as it is.
        horizon: How many steps an episode has. None: the environment's own; 0: no horizon at all.
    """

    problem: Problem
    proposal: Proposal = NoProposal()
    discount: float = 0.99
    rate: LearningRate = Constant(0.1)
    exploration: Exploration = Exploration()
    horizon_terminates: bool = False
    initial_value: float = 0.0
    shaping: bool = False
    horizon: int | None = None

    def __post_init__(self) -> None:
        require_hashable(self)
        if not 0.0 < self.discount <= 1.0:
            raise BadParameter(f"discount is {self.discount}: it must lie in (0, 1].")
        if self.shaping:
            require_shaping(self.problem, self.horizon_terminates, self.discount)
        if self.imagines:
            self.problem.require_memory_pays()
        _ = self.tables  # built now, and not while something is being compiled

    @property
    def imagines(self) -> bool:
        return self.proposal.imagines

    @cached_property
    def steps_an_episode(self) -> int | None:
        if self.horizon is None:
            return self.problem.environment.horizon
        return self.horizon or None

    @cached_property
    def _model_and_table(self) -> tuple[TabularModel, StateTable]:
        return build_tabular_model(self.problem, self.proposal, self.steps_an_episode)

    @property
    def model(self) -> TabularModel:
        """The problem as arrays."""
        return self._model_and_table[0]

    @property
    def table(self) -> StateTable:
        """The planner's table that the arrays are made from."""
        return self._model_and_table[1]

    @cached_property
    def imagined(self) -> Int[np.ndarray, "row proposal"]:
        return imagined_rows(self.table, self.proposal)

    @cached_property
    def tables(self) -> Tables:
        # Handed to compiled functions as arguments: as constants they would be compiled in.
        welfare = self.welfare if self.shaping else np.zeros(1, dtype=np.float32)
        return jax.tree.map(jnp.asarray, Tables(self.model, self.imagined, welfare))

    @cached_property
    def algorithm(self) -> Algorithm1:
        """What decides the loop besides the arrays."""
        return Algorithm1(
            self.proposal,
            self.discount,
            self.rate,
            self.exploration,
            self.horizon_terminates,
            self.shaping,
            self.steps_an_episode,
            self.problem.scheme.filter,
        )

    def start(self, key: PRNGKeyArray) -> TabularState:
        """A learner that knows nothing, before its first episode."""
        model = self.model
        noise_key, key = jax.random.split(key)
        start_key = jax.random.fold_in(noise_key, 1)
        shape = (model.num_seen, *model.effects.shape)
        return TabularState(
            q=jnp.full(shape, self.initial_value, dtype=jnp.float32),
            updates=jnp.zeros(shape, dtype=jnp.float32),
            epsilon=jnp.full(shape[:2], self.exploration.start, dtype=jnp.float32),
            visits=jnp.zeros(model.seen.shape, dtype=jnp.float32),
            row=draw(jnp.asarray(model.starts), jax.random.uniform(start_key)),
            noise=draw(jnp.asarray(model.noise), jax.random.uniform(noise_key)),
            time=jnp.zeros((), dtype=jnp.int32),
            key=key,
        )

    def policy(self, learner: TabularState) -> GreedyTable:
        """The greedy policy of one learner."""
        return GreedyTable(self, learner)

    def action_values(
        self, learner: TabularState, augmented: AugmentedState
    ) -> Float[np.ndarray, " action"]:
        """What one learner expects of each action in an augmented state: its reasons."""
        table = self.table
        many = jax.tree.map(lambda leaf: np.asarray(leaf)[None], augmented)
        (row,) = table.find(table.model.to_rows(table.model.placed(many)))
        (noise,) = table.model.noise_numbers(many.state.noise)
        return np.asarray(learner.q)[self.model.seen[row], noise]

    def train_steps(self, learners: TabularState, steps: int) -> TabularState:
        """Many learners side by side, that many steps further."""
        learners = train_all(self.algorithm, self.tables, learners, steps)
        require_finite_values(learners.q)
        return learners

    @cached_property
    def welfare(self) -> Float[np.ndarray, " row"]:
        """W(U) of every row."""
        _, carried = self.table.model.from_rows(self.table.rows, 0)
        if self.imagines:
            vectors = jax.vmap(self.problem.memory.implied_status)(carried.status)
        else:
            vectors = jax.vmap(self.problem.scheme.status.value)(carried[0].status)
        return np.asarray(self.problem.welfare(np.asarray(vectors)), dtype=np.float32)

    def evaluate(self, learners: TabularState, episodes: int | None = None) -> ExactScore:
        """The exact undiscounted score of each learner's greedy policy, ties broken at random.

        It is not a mean of episodes, however many are asked for.
        """
        horizon = self.steps_an_episode
        if horizon is None:
            raise BadParameter("an episode needs a horizon to have a score.")
        return evaluate_all(self.tables.model, learners.q, self.table.within[horizon], horizon)
