"""What an engine worked out, as NumPy arrays: the only place where rows leave their engine."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np


def fetch(frame: nw.LazyFrame[Any]) -> dict[str, np.ndarray]:
    """The columns of a frame; an empty place is NaN, NaT or None."""
    if frame.implementation.is_duckdb():
        columns = frame.to_native().fetchnumpy()  # needs no other package, unlike collect()
        return {name: _filled(values) for name, values in columns.items()}
    eager = frame.collect()
    return {name: np.asarray(eager[name].to_numpy()) for name in eager.columns}


def fetch_one(relation: Any, column: str) -> Any:
    """The one value of a DuckDB relation of one row."""
    return relation.fetchnumpy()[column][0]


def _filled(values: Any) -> np.ndarray:
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    if values.dtype.kind in "iub":
        values = values.astype(np.float64)
    plain = np.array(values.data)
    plain[np.ma.getmaskarray(values)] = {"f": np.nan, "M": np.datetime64("NaT")}.get(
        values.dtype.kind
    )
    return plain
