"""A small problem as integers: what a tabular learner walks about in.

Rows are the reachable augmented states, listed with the planner's own machinery and so with the
problem's own μ and pay. A learner sees of a row what its policy may depend on (`seen`), and the
noise. It never looks a probability up: those are for the dice alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.learn.proposals import (
    Everything,
    Neighbours,
    NoProposal,
    Proposal,
    ReachableNow,
    Visited,
)
from evenhand.planning.model import Model
from evenhand.planning.state_table import StateTable, tabulate
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

MAX_IMAGINED = 1 << 24  # entries in the table of who may be imagined from where


class Arena(NamedTuple):
    """The arrays of a tabular problem. `last` is 0, or 1 for the last step of an episode."""

    following: Int[np.ndarray, "effect outcome row"]
    chance: Float[np.ndarray, "effect outcome row"]  # cumulative over outcomes
    pay: Float[np.ndarray, "last effect outcome row"]
    kept: Float[np.ndarray, "effect outcome row"]  # 1 where the step was not overridden
    seen: Int[np.ndarray, " row"]
    effects: Int[np.ndarray, "noise action"]
    noise: Float[np.ndarray, " noise"]  # cumulative probability
    reachable: Bool[np.ndarray, "time row"]
    group: Int[np.ndarray, " row"]  # rows that differ in the imaginable memory alone share one

    @property
    def num_seen(self) -> int:
        return int(self.seen.max()) + 1

    def first(self, count: int) -> Arena:
        """The arena of the first rows alone; what leads out of them leads to the last of them."""
        return self._replace(
            following=self.following[..., :count].clip(max=count - 1),
            chance=self.chance[..., :count],
            pay=self.pay[..., :count],
            kept=self.kept[..., :count],
            seen=self.seen[:count],
        )


def build_arena(
    problem: Problem, proposal: Proposal, horizon: int | None
) -> tuple[Arena, StateTable]:
    """The arena of a problem: what is reachable within the horizon, and what is imagined from it.

    A learner that imagines memories walks on rows that hold its memory in place of the scheme's
    status, which that memory must determine (checked). Any other walks on rows that hold both.
    """
    imagines = not isinstance(proposal, NoProposal)
    model = Model(problem, use_memory=imagines, canonical=False, carry_memory=not imagines)
    size = problem.environment.num_stakeholders
    table = tabulate(model, horizon, beyond=proposal.steps_ahead(size))
    expanded = len(table.pay[0])
    rows = table.rows[:expanded]
    last = (horizon or 1) - 1
    first = model.expand(rows, 0)
    final = first if horizon is None or last == 0 else model.expand(rows, last)
    order = lambda part: np.moveaxis(part, 0, -1).astype(np.float32)  # noqa: E731
    padding = table.num_states - expanded  # rows that only an episode's end reaches
    pad = lambda part: np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, padding)])  # noqa: E731
    pay = np.stack([pad(order(np.nan_to_num(part.pay))) for part in (first, final)])
    chance = np.cumsum(pad(table.probability), axis=1).astype(np.float32)
    arena = Arena(
        pad(table.following),
        chance,
        pay,
        pad(order(_kept(model, rows))),
        _seen(model, table, imagines),
        model.effects,
        np.cumsum(model.noise[1]).astype(np.float32),
        _reachable(table, horizon),
        _groups(table) if imagines else np.zeros(table.num_states, dtype=np.int32),
    )
    return arena, table


def _kept(model: Model, rows: Float[np.ndarray, "row column"]) -> np.ndarray:
    """1 for every outcome in which the environment put nothing in place of the welfare."""
    shape = model.expand(rows[:1], 0).pay.shape[1:]
    env = model.environment
    _, first = np.unique(model.effects, return_index=True)
    noise_of, action_of = np.unravel_index(first, model.effects.shape)
    noises = jax.tree.map(lambda leaf: np.asarray(leaf)[noise_of], model.noise[0])

    def overridden(world: Any, noise: Any, action: Any) -> jax.Array:
        from evenhand.envs import State

        _, worlds = env.outcomes(world, noise, action)
        state = State(world, noise)
        return jax.vmap(lambda after: env.override(state, action, after).applies)(worlds)

    worlds, _ = model.from_rows(rows, 0)
    if not env.may_override:
        return np.ones((len(rows), *shape))
    by_effect = jax.vmap(overridden, in_axes=(None, 0, 0))
    applies = jax.jit(jax.vmap(by_effect, in_axes=(0, None, None)))(worlds, noises, action_of)
    return 1.0 - np.asarray(applies, dtype=float)


def _seen(model: Model, table: StateTable, imagines: bool) -> Int[np.ndarray, " row"]:
    """Rows that look alike to the learner have the same number."""
    if imagines:
        return np.arange(table.num_states, dtype=np.int32)
    world, (books, memory) = model.from_rows(table.rows, 0)
    return _numbered((world, books.filter, books.fold, memory))


def _reachable(table: StateTable, horizon: int | None) -> Bool[np.ndarray, "time row"]:
    if horizon is None:
        return np.ones((1, table.num_states), dtype=bool)
    here = np.zeros(table.num_states, dtype=bool)
    here[0] = True
    layers = [here]
    for time in range(horizon - 1):
        layers.append(table.after(layers[-1], time))
    return np.array(layers)


def imagined_rows(table: StateTable, proposal: Proposal) -> Int[np.ndarray, "row proposal"]:
    """For each row, the rows that differ from it in their memory as proposed; −1 for none."""
    if isinstance(proposal, NoProposal | Visited):
        return np.zeros((table.num_states, 0), dtype=np.int32)
    if isinstance(proposal, Everything | ReachableNow):
        rows = _all_others(table)
    elif isinstance(proposal, Neighbours):
        rows = _neighbours(table, proposal)
    else:
        raise BadParameter(f"{type(proposal).__name__} is not a proposal for tables.")
    # What would follow the outermost rows is not in the table, so nothing can be imagined there.
    return np.where(rows < table.pay.shape[1], rows, -1)


def _groups(table: StateTable) -> Int[np.ndarray, " row"]:
    """Rows that differ in the imaginable part of their memory alone have the same number."""
    world, books = table.model.from_rows(table.rows, 0)
    memory = table.model.problem.memory
    varied = memory.imaginable(books.status)
    fixed = memory.imagined(books.status, jax.tree.map(np.zeros_like, varied))
    return _numbered((world, books._replace(status=fixed)))


def _numbered(parts: object) -> Int[np.ndarray, " row"]:
    """A number for each row (leading axis) of a pytree, the same for equal rows."""
    leaves = jax.tree.leaves(parts)
    flat = [np.asarray(leaf, dtype=float).reshape(len(leaf), -1) for leaf in leaves]
    columns = np.round(np.concatenate(flat, axis=1), 9)
    return np.unique(columns, axis=0, return_inverse=True)[1].ravel().astype(np.int32)


def _all_others(table: StateTable) -> Int[np.ndarray, "row proposal"]:
    """Every other row of the same group."""
    group = _groups(table)
    largest = int(np.bincount(group).max())
    if largest * len(group) > MAX_IMAGINED:
        raise BadParameter(
            f"every one of {len(group)} states would imagine up to {largest} others: use Above, "
            "Around or Visited, which imagine few."
        )
    others = np.full((len(group), largest - 1), -1, dtype=np.int32)
    for number in range(group.max() + 1):
        members = np.flatnonzero(group == number)
        for row in members:
            rest = members[members != row]
            others[row, : len(rest)] = rest
    return others


def _neighbours(table: StateTable, proposal: Neighbours) -> Int[np.ndarray, "row proposal"]:
    world, books = table.model.from_rows(table.rows, 0)
    memory = table.model.problem.memory
    varied = memory.imaginable(books.status)
    if not isinstance(varied, np.ndarray) or varied.ndim != 2:
        raise BadParameter(
            f"{type(proposal).__name__} imagines memories that are one number each: use it with "
            "Full, Min or a memory of groups, or another proposal."
        )
    imagined, exists = (np.array(part) for part in jax.vmap(proposal.near)(jnp.asarray(varied)))
    found = np.full(exists.shape, -1, dtype=np.int32)
    for k in range(exists.shape[1]):
        changed = books._replace(status=memory.imagined(books.status, imagined[:, k].astype(float)))
        rows = table.model.to_rows((world, changed))
        found[:, k] = np.where(exists[:, k], table.index.find(rows), -1)
    return found
