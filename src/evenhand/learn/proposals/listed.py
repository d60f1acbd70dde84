"""Proposals for tables, which know all their memories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import BadParameter
from evenhand.learn.proposals.proposal import PROPOSALS, Proposal, ProposalContext

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int

    from evenhand.learn.tabular.memory_rows import MemoryRows

MAX_IMAGINED = 1 << 24  # entries in the list of rows that may be imagined from each row


@PROPOSALS.register("all")
@dataclass(frozen=True)
class Everything(Proposal):
    """Every other memory there is."""

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        return _all_others(memories)

    def describe(self) -> str:
        return "every other memory"


@PROPOSALS.register("reachable")
@dataclass(frozen=True)
class ReachableNow(Proposal):
    """Every other memory that can be reached by this step number."""

    def rows(self, memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
        return _all_others(memories)

    def draw(
        self, context: ProposalContext, dice: Float[Array, " die"]
    ) -> tuple[Int[Array, " proposal"], Bool[Array, " proposal"]]:
        return context.listed, (context.listed >= 0) & context.reachable[context.listed]

    def describe(self) -> str:
        return "every other memory that can be reached by now"


def _all_others(memories: MemoryRows) -> Int[np.ndarray, "row proposal"]:
    """Every other row of the same group."""
    group = memories.groups
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
