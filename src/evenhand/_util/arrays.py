"""One definition, two number systems: NumPy float64 in audits, JAX in planning and learning."""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat
import numpy as np

from evenhand.errors import NotFinite

# A NumPy or a JAX array. Both are reached through their common interface (see `namespace`), for
# which there is no static type yet; shapes stand in the signatures instead.
Array: TypeAlias = Any


def namespace(array: Array) -> Any:
    """The module (NumPy, or JAX's) whose functions apply to this array."""
    # The streaming path asks often, and this answer is quick; a scalar is what sums end in.
    if type(array) is np.ndarray or isinstance(array, np.generic):
        return np
    return array_api_compat.array_namespace(array)


def as_float64(values: Any, what: str) -> np.ndarray:
    """Numbers from the outside as float64, or an error that names the first bad place."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise NotFinite(f"{what} must be numbers in equal rows: {error}.") from None
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise NotFinite(
            f"{what} holds {array[place]} at index {place if len(place) != 1 else place[0]}: "
            "replace or remove it first."
        )
    return array
