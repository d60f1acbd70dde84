"""One definition, two number systems: NumPy float64 in audits, JAX in planning and learning."""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat
import numpy as np

from evenhand._util.wording import short_repr
from evenhand.errors import NotFinite, UnequalLengths

# A NumPy or a JAX array. Both are reached through their common interface (see `namespace`), for
# which there is no static type yet; shapes stand in the signatures instead.
Array: TypeAlias = Any


def namespace(array: Array) -> Any:
    """The module (NumPy, or JAX's) whose functions apply to this array."""
    # The streaming path asks often, and this answer is quick; a scalar is what sums end in.
    if type(array) is np.ndarray or isinstance(array, np.generic):
        return np
    return array_api_compat.array_namespace(array)


def as_array(values: Any, what: str, axes: int = 1) -> Array:
    """An array as it is, and lists and tables of numbers as one of float64.

    Args:
        values: From the outside.
        what: How an error names it.
        axes: How many axes it has at least.
    """
    is_array = type(values) is np.ndarray or array_api_compat.is_array_api_obj(values)
    array = values if is_array else as_float64(values, what)
    if array.ndim < axes:
        needed = "one number per stakeholder" if axes == 1 else "a row for each time point"
        raise UnequalLengths(f"{what} is {short_repr(values)}: it must have {needed}.")
    return array


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
