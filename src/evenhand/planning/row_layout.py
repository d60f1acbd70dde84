"""Augmented states as rows of numbers, and back: which columns hold what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class RowLayout:
    """The place of every array of a pytree in a row, found from one example of it."""

    structure: Any
    places: tuple[tuple[slice, tuple[int, ...], np.dtype], ...]

    @classmethod
    def of(cls, example: Any) -> RowLayout:
        leaves, structure = jax.tree.flatten(example)
        places, begin = [], 0
        for leaf in leaves:
            places.append((slice(begin, begin + leaf.size), leaf.shape, leaf.dtype))
            begin += leaf.size
        return cls(structure, tuple(places))

    def to_rows(self, tree: Any) -> Float[np.ndarray, "row column"]:
        """Trees with a leading axis as rows."""
        leaves = jax.tree.leaves(jax.device_get(tree))
        return np.concatenate(
            [np.asarray(leaf, dtype=np.float64).reshape(len(leaf), -1) for leaf in leaves], axis=1
        )

    def from_rows(self, rows: Float[np.ndarray, "row column"]) -> Any:
        """The trees of many rows, with a leading axis."""
        leaves = [
            rows[:, place].reshape(len(rows), *shape).astype(dtype)
            for place, shape, dtype in self.places
        ]
        return jax.tree.unflatten(self.structure, leaves)

    def from_row(self, row: Float[jax.Array, " column"]) -> Any:
        """The tree of one row."""
        leaves = [row[place].reshape(shape).astype(dtype) for place, shape, dtype in self.places]
        return jax.tree.unflatten(self.structure, leaves)

    def columns_of_each(self, size: int) -> Int[np.ndarray, "feature stakeholder"]:
        """The columns that hold something of each of `size` stakeholders, one row per feature."""
        found = [
            np.arange(place.start, place.stop).reshape(-1, size)
            for place, shape, _ in self.places
            if shape and shape[-1] == size
        ]
        return np.concatenate(found) if found else np.zeros((0, size), dtype=int)
