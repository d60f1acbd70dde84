"""Moments as people write them."""

from __future__ import annotations

from typing import Any

import numpy as np


def moment_label(moment: Any) -> str:
    """A moment as people write it: a date, a time to the second, or a number."""
    return moment_labels(np.asarray(moment)[None])[0]


def moment_labels(moments: np.ndarray) -> list[str]:
    """Many of them.

    >>> moment_labels(np.array(["2021-03-31T00:00", "2021-03-31T10:30"], dtype="M8[us]"))
    ['2021-03-31', '2021-03-31 10:30:00']
    """
    if moments.dtype.kind != "M":
        return [f"{int(x)}" if x == int(x) else f"{x!r}" for x in moments.tolist()]
    texts = np.datetime_as_string(moments, unit="us").tolist()
    return [
        text[:10]
        if text.endswith("T00:00:00.000000")
        else text.removesuffix(".000000").replace("T", " ")
        for text in texts
    ]
