"""A finite problem as a table to learn in: its rows, and those of imagined memories."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.envs import State
from evenhand.learn.imagined_memories import Proposal
from evenhand.planning.model import MemoryForStatus, Model, SchemeAndMemory
from evenhand.planning.table import StateTable, tabulate
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


# The memories of a table's rows: what a proposal for tables chooses among.


@dataclass(frozen=True, eq=False)
class MemoryRows:
    """The rows of a table, each with the part of its memory that may be imagined otherwise."""

    table: StateTable

    @property
    def num_rows(self) -> int:
        return self.table.num_states

    @cached_property
    def _parts(self) -> tuple[Any, Any]:
        return self.table.model.from_rows(self.table.rows, 0)

    @cached_property
    def memories(self) -> Any:
        """The imaginable memory of every row, with a leading axis of rows."""
        return self.table.model.problem.memory.imaginable(self._parts[1].status)

    @cached_property
    def groups(self) -> Int[np.ndarray, " row"]:
        """A number for each row, the same for rows that differ in nothing but that memory."""
        world, carried = self._parts
        fixed = self._with(jax.tree.map(np.zeros_like, self.memories))
        return number_rows((world, carried._replace(status=fixed)))

    def find(self, memories: Any) -> Int[np.ndarray, " row"]:
        """For each row the row with another memory in place of its own; −1 if there is none."""
        world, carried = self._parts
        changed = carried._replace(status=self._with(memories))
        return self.table.index.find(self.table.model.to_rows((world, changed)))

    def near(self, proposal: Proposal) -> Int[np.ndarray, "row proposal"]:
        """For each row the rows that a proposal names by their memory."""
        memories = jax.tree.map(jnp.asarray, self.memories)
        imagined, exists = jax.tree.map(np.array, jax.vmap(proposal.near)(memories))
        found = np.empty(exists.shape, dtype=np.int32)
        for k in range(exists.shape[1]):
            one = jax.tree.map(lambda leaf, k=k: leaf[:, k].astype(float), imagined)
            found[:, k] = np.where(exists[:, k], self.find(one), -1)
        return _each_once(found)

    def _with(self, memories: Any) -> Any:
        return self.table.model.problem.memory.imagined(self._parts[1].status, memories)


def _each_once(found: Int[np.ndarray, "row proposal"]) -> Int[np.ndarray, "row proposal"]:
    """The same rows without the real one and without repetitions; −1 in their place.

    What is proposed may come to the same where not every memory can be: the leads of 1 and 1 more.
    """
    found = np.where(found == np.arange(len(found))[:, None], -1, found)
    order = np.argsort(found, axis=1, kind="stable")
    ascending = np.take_along_axis(found, order, axis=1)
    again = np.zeros(found.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ascending[:, 1:] == ascending[:, :-1], axis=1)
    return np.where(again, -1, found)


def number_rows(parts: object) -> Int[np.ndarray, " row"]:
    """A number for each row (leading axis) of a pytree, the same for equal rows."""
    leaves = jax.tree.leaves(parts)
    flat = [np.asarray(leaf, dtype=float).reshape(len(leaf), -1) for leaf in leaves]
    columns = np.round(np.concatenate(flat, axis=1), 9)
    return np.unique(columns, axis=0, return_inverse=True)[1].ravel().astype(np.int32)


# A small problem as integers: what a tabular learner learns in.
#
# Rows are the reachable augmented states, listed with the planner's own machinery and so with the
# problem's own μ and reward. A learner sees of a row what its policy may depend on (`seen`), and
# the noise. It never looks a probability up: those are for the dice alone.


class TabularModel(NamedTuple):
    """The arrays of a tabular problem. `last` is 0, or 1 for the last step of an episode."""

    following: Int[np.ndarray, "effect outcome row"]
    chance: Float[np.ndarray, "effect outcome row"]  # cumulative over outcomes
    pay: Float[np.ndarray, "last effect outcome row"]
    kept: Float[np.ndarray, "last effect outcome row"]  # 1 where the step was not overridden
    seen: Int[np.ndarray, " row"]
    effects: Int[np.ndarray, "noise action"]
    noise: Float[np.ndarray, " noise"]  # cumulative probability
    starts: Float[np.ndarray, " start"]  # cumulative probability of the first rows
    reachable: Bool[np.ndarray, "time row"]
    group: Int[np.ndarray, " row"]  # rows that differ in the imaginable memory alone share one

    @property
    def num_seen(self) -> int:
        return int(self.seen.max()) + 1

    def first(self, count: int) -> TabularModel:
        """The model of the first rows alone; what leads out of them leads to the last of them."""
        return self._replace(
            following=self.following[..., :count].clip(max=count - 1),
            chance=self.chance[..., :count],
            pay=self.pay[..., :count],
            kept=self.kept[..., :count],
            seen=self.seen[:count],
        )


def build_tabular_model(
    problem: Problem, proposal: Proposal, horizon: int | None
) -> tuple[TabularModel, StateTable]:
    """The arrays of a problem: what is reachable within the horizon, and what is imagined from it.

    A learner that imagines memories walks on rows that hold its memory in place of the scheme's
    status, which that memory must determine (checked). Any other walks on rows that hold both.
    """
    imagines = proposal.imagines
    model = Model(problem, MemoryForStatus() if imagines else SchemeAndMemory(), canonical=False)
    size = problem.environment.num_stakeholders
    table = tabulate(model, horizon, beyond=proposal.steps_ahead(size))
    model = table.model  # which keeps the step number where rules depend on it
    expanded = table.pay.shape[1]
    rows = table.rows[:expanded]
    last = (horizon or 1) - 1
    first = model.expand(rows, 0)
    final = first if last == 0 else model.expand(rows, last)
    order = lambda part: np.moveaxis(part, 0, -1).astype(np.float32)  # noqa: E731
    padding = table.num_states - expanded  # rows that only an episode's end reaches
    pad = lambda part: np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, padding)])  # noqa: E731
    # What cannot happen may have no pay.
    paid = (np.nan_to_num(part.pay, neginf=0.0) for part in (first, final))
    pay = np.stack([pad(order(part)) for part in paid])
    every = np.ones(first.pay.shape)
    kept = np.stack([pad(order(every - _overridden(model, rows, time))) for time in (0, last)])
    chance = np.cumsum(pad(table.probability), axis=1).astype(np.float32)
    tabular_model = TabularModel(
        pad(table.following),
        chance,
        pay,
        kept,
        _seen(model, table, imagines),
        model.effects,
        np.cumsum(model.noise[1]).astype(np.float32),
        np.cumsum(model.start_chance).astype(np.float32),
        _reachable(table, horizon),
        MemoryRows(table).groups if imagines else np.zeros(table.num_states, dtype=np.int32),
    )
    return tabular_model, table


def _overridden(
    model: Model, rows: Float[np.ndarray, "row column"], time: int
) -> np.ndarray | float:
    """1 for every outcome in which the environment put something in place of the welfare."""
    env = model.environment
    if not env.may_override:
        return 0.0
    _, first = np.unique(model.effects, return_index=True)
    noise_of, action_of = np.unravel_index(first, model.effects.shape)
    noises = jax.tree.map(lambda leaf: np.asarray(leaf)[noise_of], model.noise[0])

    def overridden(world: Any, noise: Any, action: Any) -> jax.Array:
        _, worlds = env.outcomes(world, noise, action)
        state = State(world, noise)
        return jax.vmap(lambda after: env.override(state, action, after).applies)(worlds)

    worlds, _ = model.from_rows(rows, time)
    by_effect = jax.vmap(overridden, in_axes=(None, 0, 0))
    applies = jax.jit(jax.vmap(by_effect, in_axes=(0, None, None)))(worlds, noises, action_of)
    return np.asarray(applies, dtype=float)


def _seen(model: Model, table: StateTable, imagines: bool) -> Int[np.ndarray, " row"]:
    """Rows that look alike to the learner have the same number. The step number is not seen."""
    if imagines and not model.keep_time:  # no two rows are alike
        return np.arange(table.num_states, dtype=np.int32)
    world, carried = model.from_rows(table.rows, 0)
    world = world._replace(time=np.zeros_like(world.time))
    if imagines:
        return number_rows((world, carried))
    scheme_state, memory = carried
    return number_rows((world, scheme_state.filter, scheme_state.fold, memory))


def _reachable(table: StateTable, horizon: int | None) -> Bool[np.ndarray, "time row"]:
    if horizon is None:
        return np.ones((1, table.num_states), dtype=bool)
    layers = [table.first_layer()]
    for time in range(horizon - 1):
        layers.append(table.after(layers[-1], time))
    return np.array(layers)


def imagined_rows(table: StateTable, proposal: Proposal) -> Int[np.ndarray, "row proposal"]:
    """For each row, the rows that differ from it in their memory as proposed; −1 for none."""
    rows = proposal.rows(MemoryRows(table))
    # What would follow the outermost rows is not in the table, so nothing can be imagined there.
    return np.where(rows < table.pay.shape[1], rows, -1)
