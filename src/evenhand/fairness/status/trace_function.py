"""Any Python function of a whole trace as a status, for scoring only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import as_float64
from evenhand.errors import CannotStream, UnequalLengths
from evenhand.fairness.status.status import Status
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class TraceFunction(Status[tuple[()]]):
    """U(τ_t) by calling a function on every prefix: as general as the paper's U, and as slow.

    >>> TraceFunction(lambda trace: trace.rewards.max(axis=0)).describe()
    'what the function <lambda> says of the history'
    """

    function: Callable[[Trace], Any]

    @property
    def keeps_history(self) -> bool:
        return True

    def init(self, num_stakeholders: int) -> tuple[()]:
        return ()

    def update(self, state: tuple[()], step: Step) -> tuple[()]:
        raise CannotStream(
            f"{self.describe()} needs the whole history: score it with scheme.score(trace), or "
            "write the status as a fold (a subclass of Status)."
        )

    def value(self, state: tuple[()]) -> Float[np.ndarray, " status"]:
        raise CannotStream(f"{self.describe()} has no value before the trace is known.")

    def scan(
        self, state: tuple[()], steps: Trace
    ) -> tuple[tuple[()], Float[np.ndarray, "time status"]]:
        values: list[np.ndarray] = []
        for t in range(1, len(steps) + 1):
            vector = as_float64(self.function(steps.prefix(t)), f"the status at time {t}")
            if vector.ndim != 1 or len(vector) != len(values[0] if values else vector):
                raise UnequalLengths(
                    f"the status function returned an array of shape {vector.shape} at time {t}: "
                    "it must return one number per stakeholder, always as many."
                )
            values.append(vector)
        return state, np.array(values) if values else np.zeros((0, steps.num_stakeholders))

    def describe(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"what the function {name} says of the history"
