"""Arrow's columns as NumPy arrays: how most engines hand rows over."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.auditing.sources.engines.engine import Arrays


def as_arrays(table: Any) -> Arrays:
    """The columns of an Arrow table or batch; an empty place is NaN, NaT or None."""
    return {name: as_array(table.column(name)) for name in table.schema.names}


def as_array(column: Any) -> np.ndarray:
    """One of them, which may be one piece or many."""
    if hasattr(column, "chunks"):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))
