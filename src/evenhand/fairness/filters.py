"""Section 4: B, the time points at which fairness is assessed.

A filter is a fold over steps that also says, after each, whether that time point is assessed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from evenhand._util.checks import MOST_STEPS, is_finite_number, require_whole
from evenhand._util.numbers import Array, namespace
from evenhand._util.registry import Registry
from evenhand.errors import BadParameter, CannotStream
from evenhand.fairness.groups import Exchanging
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Bool

State = TypeVar("State")  # a counter, say


class Filter(Exchanging, ABC, Generic[State]):
    """The filter function B, as a fold."""

    @property
    def keeps_history(self) -> bool:
        """Whether it needs the whole history, so that it cannot be streamed or learned with."""
        return False

    @property
    def assesses_end(self) -> bool:
        """Whether the last time point is assessed because it is the last."""
        return False

    @property
    def always(self) -> bool:
        """Whether every time point is assessed."""
        return False

    @property
    def ignores_who(self) -> bool:
        """Whether it looks at times and at all that was given out, and never at who received it."""
        return False

    def may_fire_within(self, steps: int) -> bool:
        """Whether an episode of so many steps can have an assessment, as far as is known."""
        return True

    def assessments_within(self, steps: Any, horizon: int) -> Any:
        """How many of the first `steps` time points of an episode are assessed.

        None where that depends on what happens. `steps` may be an array.
        """
        return None

    def assessments_ahead(self, environment: Any, state: Any, discount: float) -> Any:
        """How many assessments are to come after a state where decisions go on, discounted.

        None where that is not known from the state of the environment.
        """
        return None

    def usual_assessments_ahead(self, environment: Any, discount: float) -> float | None:
        """The mean of `assessments_ahead` over the states of an environment, or None."""
        return None

    @abstractmethod
    def init(self) -> State: ...

    @abstractmethod
    def update(self, state: State, step: Step) -> tuple[State, Bool[Array, ""]]: ...

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "fairness is assessed …"."""

    def scan(self, state: State, steps: Trace) -> tuple[State, Bool[np.ndarray, " time"]]:
        """The state after many steps, and which of them are assessed."""
        fires = []
        for step in steps.steps():
            state, fired = self.update(state, step)
            fires.append(bool(fired))
        return state, np.array(fires, dtype=bool)

    def steps_for(self, assessments: int) -> int | None:
        """How many steps bring that many assessments for certain, or None if it is not known."""
        return None


FILTERS = Registry("filter")


@FILTERS.register("always")
@dataclass(frozen=True)
class Always(Filter[tuple[()]]):
    """Anytime fairness: every time point."""

    symmetric = True

    @property
    def always(self) -> bool:
        return True

    @property
    def ignores_who(self) -> bool:
        return True

    def assessments_within(self, steps: Any, horizon: int) -> Any:
        return steps

    def init(self) -> tuple[()]:
        return ()

    def update(self, state: tuple[()], step: Step) -> tuple[tuple[()], Bool[Array, ""]]:
        return state, np.ones((), dtype=bool)

    def scan(self, state: tuple[()], steps: Trace) -> tuple[tuple[()], Bool[np.ndarray, " time"]]:
        return state, np.ones(len(steps), dtype=bool)

    def describe(self) -> str:
        return "after every decision"

    def steps_for(self, assessments: int) -> int:
        return assessments


@FILTERS.register("every")
@dataclass(frozen=True)
class Every(Filter[Array]):
    """Periodic fairness: the time points p, 2p, …, ⌊T/p⌋·p."""

    symmetric = True

    period: int

    def __post_init__(self) -> None:
        period = require_whole(self.period, "period", most=MOST_STEPS)
        object.__setattr__(self, "period", period)

    @property
    def always(self) -> bool:
        return self.period == 1

    def may_fire_within(self, steps: int) -> bool:
        return self.period <= steps

    @property
    def ignores_who(self) -> bool:
        return True

    def assessments_within(self, steps: Any, horizon: int) -> Any:
        return steps // self.period

    def init(self) -> Array:
        return np.zeros((), dtype=np.int32)

    def update(self, state: Array, step: Step) -> tuple[Array, Bool[Array, ""]]:
        state = (state + 1) % self.period
        return state, state == 0

    def scan(self, state: Array, steps: Trace) -> tuple[Array, Bool[np.ndarray, " time"]]:
        phase = (state + np.arange(1, len(steps) + 1)) % self.period
        return phase[-1] if len(steps) else state, phase == 0

    def describe(self) -> str:
        return (
            "after every decision" if self.period == 1 else f"after every {self.period} decisions"
        )

    def steps_for(self, assessments: int) -> int:
        return self.period * assessments


@FILTERS.register("final")
@dataclass(frozen=True)
class Final(Filter[tuple[()]]):
    """Long-term fairness: the last time point alone. So far, that is the present one."""

    symmetric = True

    @property
    def assesses_end(self) -> bool:
        return True

    @property
    def ignores_who(self) -> bool:
        return True

    def assessments_within(self, steps: Any, horizon: int) -> Any:
        return steps // horizon

    def init(self) -> tuple[()]:
        return ()

    def update(self, state: tuple[()], step: Step) -> tuple[tuple[()], Bool[Array, ""]]:
        return state, np.zeros((), dtype=bool)

    def scan(self, state: tuple[()], steps: Trace) -> tuple[tuple[()], Bool[np.ndarray, " time"]]:
        return state, np.zeros(len(steps), dtype=bool)

    def describe(self) -> str:
        return "once, at the end"


@FILTERS.register("after_each")
@dataclass(frozen=True)
class AfterEach(Filter[tuple[Array, Array]]):
    """Bounded fairness: whenever another `amount` has been distributed among all stakeholders.

    A step that completes several amounts at once is one assessment. A correction that takes
    something back makes no assessment, and what it took must be distributed again first.
    """

    symmetric = True

    amount: float

    # 0.1 added up ten times falls just short of 1: what is missing by rounding is not missing.
    _ROUNDING = 1e-9

    def __post_init__(self) -> None:
        if not (is_finite_number(self.amount) and self.amount > 0):
            raise BadParameter(f"amount is {self.amount!r}: it must be a positive number.")

    @property
    def ignores_who(self) -> bool:
        return True

    def init(self) -> tuple[Array, Array]:
        return np.zeros(()), np.zeros(())

    def update(
        self, state: tuple[Array, Array], step: Step
    ) -> tuple[tuple[Array, Array], Bool[Array, ""]]:
        distributed, completed = state
        xp = namespace(step.rewards)
        distributed = distributed + xp.sum(step.rewards)
        now = xp.floor(distributed / self.amount + self._ROUNDING)
        return (distributed, xp.maximum(completed, now)), now > completed

    def scan(
        self, state: tuple[Array, Array], steps: Trace
    ) -> tuple[tuple[Array, Array], Bool[np.ndarray, " time"]]:
        distributed, completed = state
        running = distributed + np.cumsum(steps.rewards.sum(axis=1))
        now = np.floor(running / self.amount + self._ROUNDING)
        most = np.maximum.accumulate(np.concatenate(([completed], now)))
        after = running[-1] if len(steps) else distributed
        return (after, most[-1]), most[1:] > most[:-1]

    def describe(self) -> str:
        return f"whenever another {self.amount:g} has been distributed"


@dataclass(frozen=True)
class When(Filter[tuple[()]]):
    """Bounded fairness: wherever a predicate holds of the step just taken."""

    predicate: Callable[[Step], Any]

    def init(self) -> tuple[()]:
        return ()

    def update(self, state: tuple[()], step: Step) -> tuple[tuple[()], Bool[Array, ""]]:
        return state, self.predicate(step)

    def describe(self) -> str:
        name = getattr(self.predicate, "__name__", type(self.predicate).__name__)
        return f"wherever {name} holds of the step"


@dataclass(frozen=True)
class Marked(Filter[tuple[()]]):
    """Bounded fairness: at the steps that carry a mark."""

    words: str  # when that is, as in `describe`

    @property
    def ignores_who(self) -> bool:
        return True

    def init(self) -> tuple[()]:
        return ()

    def update(self, state: tuple[()], step: Step) -> tuple[tuple[()], Bool[Array, ""]]:
        return state, np.asarray(step.mark, dtype=bool)

    def scan(self, state: tuple[()], steps: Trace) -> tuple[tuple[()], Bool[np.ndarray, " time"]]:
        return state, np.asarray(steps.marks, dtype=bool)

    def describe(self) -> str:
        return self.words


@dataclass(frozen=True)
class WhenPrefix(Filter[tuple[()]]):
    """Bounded fairness: wherever a predicate holds of the whole trace so far. For scoring only."""

    predicate: Callable[[Trace], Any]

    @property
    def keeps_history(self) -> bool:
        return True

    def init(self) -> tuple[()]:
        return ()

    def update(self, state: tuple[()], step: Step) -> tuple[tuple[()], Bool[Array, ""]]:
        raise CannotStream(
            f"the filter ({self.describe()}) needs the whole history: score it with "
            "scheme.score(trace), or use When, whose predicate sees the step alone."
        )

    def scan(self, state: tuple[()], steps: Trace) -> tuple[tuple[()], Bool[np.ndarray, " time"]]:
        fires = [bool(self.predicate(steps.prefix(t))) for t in range(1, len(steps) + 1)]
        return state, np.array(fires, dtype=bool)

    def describe(self) -> str:
        name = getattr(self.predicate, "__name__", type(self.predicate).__name__)
        return f"wherever {name} holds of the history so far"
