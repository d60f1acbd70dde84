"""Statuses with a denominator: rates out of chances, and what was received of what was asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from evenhand._util.numbers import Array
from evenhand.fairness.status.beside import Beside, out_of
from evenhand.fairness.status.status import STATUSES, Returns, Status, Window
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Float


# Rates: what was received out of the chances, so far or within a period, and the mean wait.
#
# They look at the `Circumstances` of the trace, which must have the chances so far.


@STATUSES.register("rate")
@dataclass(frozen=True)
class Rate(Beside):
    """What was received out of the chances so far: granted of asked, breaches of attendances.

    Whoever had c chances counts as c equal ones, so that the mean is all that was received out of
    all chances; whoever had none yet is not judged.
    """

    symmetric = True
    part = "chances"
    needs = "how many chances each has had so far"

    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]:
        return out_of(values, beside)

    @property
    def weighed_by(self) -> str | None:
        return "its chances"

    def describe(self) -> str:
        return f"{self.of.describe()}, out of the chances it has had"

    def describe_mean(self) -> str:
        return "the mean rate (all amounts over all chances)"


class _InPeriod(NamedTuple):
    received: Any
    beside: Float[Array, " status"]  # the chances that each has had so far
    before: Float[Array, " status"]  # and had had before the present step


@STATUSES.register("rate_within_period")
@dataclass(frozen=True)
class RateWithinPeriod(Rate):
    """What was received in the present step out of the chances in it, where a step is a period.

    Whoever had no chance in the period is not judged at it.
    """

    of: Status = field(default=Window(1), kw_only=True)

    def init(self, num_stakeholders: int) -> Any:
        received, nothing = super().init(num_stakeholders)
        return _InPeriod(received, nothing, nothing)

    def update(self, state: Any, step: Step) -> Any:
        received = self.of.update(state.received, step)
        return _InPeriod(received, self._known(step.circumstances), state.beside)

    def value(self, state: Any) -> Float[Array, " status"]:
        return self.transform(self.of.value(state.received), state.beside - state.before)

    def scan(self, state: Any, steps: Trace) -> tuple[Any, Float[np.ndarray, "time status"]]:
        received, values = self.of.scan(state.received, steps)
        if not len(steps):
            return state, values
        so_far = self._so_far(state, steps)
        after = _InPeriod(received, so_far[-1], so_far[-2])
        return after, self.transform(values, np.diff(so_far, axis=0))

    def _so_far(self, state: Any, steps: Trace) -> Float[np.ndarray, "time status"]:
        """The chances before the first step and after each."""
        return np.concatenate((state.beside[None], self._known(steps.circumstances)))

    def weights(self, state: Any) -> Float[Array, " status"] | None:
        return state.beside - state.before

    def scan_weights(self, state: Any, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        return np.diff(self._so_far(state, steps), axis=0)

    @property
    def per_step(self) -> bool:
        return True

    @property
    def in_amounts(self) -> bool:
        return True

    def describe(self) -> str:
        return "what it has received in the period, out of the chances it had in it"

    def describe_mean(self) -> str:
        return "the mean rate of the period (all amounts over all chances in it)"


@dataclass(frozen=True)
class _OfCases(Rate):
    """A mean over the cases of each, which all count alike."""

    needs = "how many cases each has had so far"

    @property
    def in_amounts(self) -> bool:
        return False  # days of all its cases together are no share that anybody lacks

    @property
    def weighed_by(self) -> str | None:
        return "the number of its cases"


@STATUSES.register("mean_wait")
@dataclass(frozen=True)
class MeanWait(_OfCases):
    """How long the cases of each have waited so far, on average; each case counts alike."""

    unit: str = "days"

    def describe(self) -> str:
        return f"how many {self.unit} its cases have waited so far, on average"

    def describe_mean(self) -> str:
        return f"the mean wait (of all cases, in {self.unit})"


@STATUSES.register("share_in_time")
@dataclass(frozen=True)
class ShareInTime(_OfCases):
    """The share of the cases of each that ended within a limit, of those known to or not to."""

    def describe(self) -> str:
        return "the share of its cases that ended in time"

    def describe_mean(self) -> str:
        return "the mean share in time (of all cases)"


# Statuses of those who ask: what was received set against what was asked for.
#
# Whoever wants nothing more is not behind. They look at the `Circumstances` of the trace, which
# must have what each has asked for so far.


class OfRequests(Beside):
    """A status that sets what was received against what was asked for."""

    part = "asked"
    needs = "what each has asked for so far"
    per_unit: ClassVar[bool] = False  # whether it can be taken per unit of entitlement


@STATUSES.register("share_met")
@dataclass(frozen=True)
class ShareMet(OfRequests):
    """The share of what was asked for that was received.

    Whoever asked for a counts as a equal ones, so that the mean is all that was received out of
    all that was asked for; whoever has not asked yet is not judged.
    """

    symmetric = True
    keeps_linear = True

    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]:
        return out_of(values, beside)

    @property
    def weighed_by(self) -> str | None:
        return "what it has asked for"

    def describe(self) -> str:
        return f"{self.of.describe()}, out of what it has asked for"

    def describe_mean(self) -> str:
        return "the mean share (all that was received out of all that was asked for)"


@STATUSES.register("shortfall")
@dataclass(frozen=True)
class Shortfall(OfRequests):
    """Minus what was asked for and not received yet; 0 for whoever wants nothing more."""

    symmetric = True
    keeps_linear = True

    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]:
        return values - beside

    def weigh(self, beside: Float[Array, "*batch status"]) -> None:
        return None

    @property
    def weighs(self) -> bool:
        return False

    def describe(self) -> str:
        return "minus what it has asked for and not received yet"


class _Waiting(NamedTuple):
    received: Any  # the state of the status that is judged
    beside: Float[Array, " status"]  # what each has asked for so far
    before: Float[Array, " status"]  # what each had received before the present step
    counted: Any  # the state of what each has received


@STATUSES.register("while_waiting")
@dataclass(frozen=True)
class WhileWaiting(OfRequests):
    """What was received, judged among those who wait: who had asked for more than they had.

    `counted` is what is set against the requests, where the status is not itself what each got.
    """

    symmetric = True
    per_unit = True

    counted: Status = field(default=Returns(), kw_only=True)

    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]:
        return values

    def init(self, num_stakeholders: int) -> Any:
        received, counted = self.of.init(num_stakeholders), self.counted.init(num_stakeholders)
        nothing = self.counted.value(counted)
        return _Waiting(received, nothing, nothing, counted)

    def update(self, state: Any, step: Step) -> Any:
        return _Waiting(
            self.of.update(state.received, step),
            self._known(step.circumstances),
            self.counted.value(state.counted),
            self.counted.update(state.counted, step),
        )

    def scan(self, state: Any, steps: Trace) -> tuple[Any, Float[np.ndarray, "time status"]]:
        received, values = self.of.scan(state.received, steps)
        if not len(steps):
            return state, values
        counted, before = self._before(state, steps)
        asked = self._known(steps.circumstances)[-1]
        return _Waiting(received, asked, before[-1], counted), values

    @property
    def weighs(self) -> bool:
        return self.of.weighs

    @property
    def weighed_by(self) -> str | None:
        return self.of.weighed_by

    @property
    def in_amounts(self) -> bool:
        return False

    def describe_mean(self) -> str:
        return "the mean of those who wait"

    @property
    def is_sum(self) -> bool:
        return False  # who waits at a time depends on what was received before it

    def weights(self, state: Any) -> Float[Array, " status"] | None:
        return self._weighed(state.beside > state.before, self.of.weights(state.received))

    def scan_weights(self, state: Any, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        _, before = self._before(state, steps)
        waits = self._known(steps.circumstances) > before
        return self._weighed(waits, self.of.scan_weights(state.received, steps))

    def _before(self, state: Any, steps: Trace) -> tuple[Any, Float[np.ndarray, "time status"]]:
        """The state of what was received, and what each had received before each step."""
        counted, totals = self.counted.scan(state.counted, steps)
        return counted, np.concatenate((self.counted.value(state.counted)[None], totals[:-1]))

    def _weighed(self, waits: Any, inner: Any) -> Float[Array, "*time status"]:
        return np.where(waits, 1.0 if inner is None else inner, 0.0)

    def describe(self) -> str:
        return f"{self.of.describe()}, judged among those who wait for more"
