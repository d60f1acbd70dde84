"""The memories of a table's rows: what a proposal for tables chooses among."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.learn.proposals import Proposal
from evenhand.planning.table import StateTable

if TYPE_CHECKING:
    from jaxtyping import Int


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
