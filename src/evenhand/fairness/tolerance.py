"""A distance from the mean that is let pass: an amount, or a share of the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import BadParameter, argument

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class Tolerance:
    """How far from the mean is let pass.

    >>> Tolerance.read("5%", "tolerance").around(np.array([200.0]))
    array([10.])
    >>> Tolerance.read(3, "tolerance").around(np.array([200.0]))
    array([3.])
    """

    amount: float = 0.0
    share: float = 0.0  # of the mean

    @classmethod
    def read(cls, value: Any, name: str) -> Tolerance:
        """From a number, or from text such as 5%; `name` is the argument that holds it."""
        text = str(value).strip()
        is_share = text.endswith("%")
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0):
            raise BadParameter(
                f"{argument(name)} is {value!r}: it must be an amount of at least 0, or a share of "
                "the mean such as 5%."
            )
        return cls(share=number / 100) if is_share else cls(amount=number)

    def around(self, mean: Float[np.ndarray, " time"]) -> Float[np.ndarray, " time"]:
        """The distance that is let pass at each time, by the mean there."""
        return self.amount + self.share * np.abs(mean)

    def __str__(self) -> str:
        return f"{100 * self.share:g}%" if self.share else f"{self.amount:g}"


NONE = Tolerance()
