"""Columns that grow block by block: in memory while they are short, in a temporary file beyond.

So what comes back from an engine may be longer than memory. The file has no name (it lies where
TMPDIR says) and is gone with the last array that looks into it.
"""

from __future__ import annotations

import tempfile
import weakref
from typing import Any

import numpy as np

IN_MEMORY = 1 << 23  # values of a column that are kept in memory


class Column:
    """Values of one type, added at the end."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._parts: list[np.ndarray] = []
        self._file: Any = None

    def append(self, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, dtype=self.dtype)
        self.length += len(values)
        if self._file is None:
            self._parts.append(values)
            if self.length > IN_MEMORY:
                self._file = tempfile.TemporaryFile(prefix="evenhand-")  # noqa: SIM115
                weakref.finalize(self, self._file.close)  # what was mapped of it stays
                for part in self._parts:
                    part.tofile(self._file)
                self._parts.clear()
        else:
            values.tofile(self._file)

    def array(self) -> np.ndarray:
        """All of it, as an array that is read from the file only where it is looked at."""
        if self._file is None:
            return np.concatenate([np.zeros(0, dtype=self.dtype), *self._parts])
        self._file.flush()
        mapped: np.ndarray = np.memmap(self._file, self.dtype, mode="r", shape=(self.length,))
        return mapped
