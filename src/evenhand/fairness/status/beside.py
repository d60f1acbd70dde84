"""Statuses that set what was received beside something else that is known, such as a size.

They look at the `Circumstances` of the trace.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from evenhand._util.numbers import Array
from evenhand.errors import MissingCircumstances
from evenhand.fairness.groups import Labels
from evenhand.fairness.status.derived import mean_per_entitlement
from evenhand.fairness.status.status import STATUSES, Returns, Status
from evenhand.fairness.trace import Circumstances, Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Float


class _Seen(NamedTuple):
    received: Any  # the state of the status that is set beside something
    beside: Float[Array, " status"]  # what is known at this moment


@dataclass(frozen=True)
class Beside(Status[_Seen]):
    """A function of another status and of what is known of each at that moment."""

    part: ClassVar[str]  # of the circumstances
    keeps_linear: ClassVar[bool] = False  # whether it is linear in the other status

    of: Status = field(default=Returns(), kw_only=True)

    @abstractmethod
    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]: ...

    def weigh(self, beside: Float[Array, "*batch status"]) -> Float[Array, "*batch status"] | None:
        """As how many each counts, by what is known of it; None: all count alike."""
        return beside

    @property
    def keeps_history(self) -> bool:
        return self.of.keeps_history

    def init(self, num_stakeholders: int) -> _Seen:
        received = self.of.init(num_stakeholders)
        return _Seen(received, np.zeros(len(self.of.value(received))))

    def update(self, state: _Seen, step: Step) -> _Seen:
        return _Seen(self.of.update(state.received, step), self._known(step.circumstances))

    def value(self, state: _Seen) -> Float[Array, " status"]:
        return self.transform(self.of.value(state.received), state.beside)

    def scan(self, state: _Seen, steps: Trace) -> tuple[_Seen, Float[np.ndarray, "time status"]]:
        received, values = self.of.scan(state.received, steps)
        if not len(steps):
            return state, values
        beside = self._known(steps.circumstances)
        return _Seen(received, beside[-1]), self.transform(values, beside)

    @property
    def weighs(self) -> bool:
        return True

    @property
    def in_amounts(self) -> bool:
        return self.weighs and self.of.in_amounts and not self.of.weighs

    @property
    def weights_change(self) -> bool:
        return True

    def weights(self, state: _Seen) -> Float[Array, " status"] | None:
        return self.weigh(state.beside)

    def scan_weights(self, state: _Seen, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        return self.weigh(self._known(steps.circumstances))

    @property
    def negated(self) -> bool:
        return self.of.negated

    def names(self, stakeholders: Sequence[str]) -> tuple[str, ...]:
        return self.of.names(stakeholders)

    def exchangeable(self, size: int) -> Labels:
        return self.of.exchangeable(size)

    @property
    def per_stakeholder(self) -> bool:
        return self.of.per_stakeholder

    @property
    def is_sum(self) -> bool:
        return self.of.is_sum

    def of_totals(self, totals: Float[np.ndarray, "*batch n"], known: Any) -> np.ndarray:
        return self.transform(self.of.of_totals(totals, known), self._known(known))

    @property
    def is_linear(self) -> bool:
        return self.keeps_linear and self.of.is_linear

    @property
    def per_step(self) -> bool:
        return self.of.per_step

    def _known(self, circumstances: Circumstances | None) -> Float[Array, "*time status"]:
        known = getattr(circumstances, self.part, None)
        if known is None:
            raise MissingCircumstances(
                f"{type(self).__name__} needs to know at each step {self.needs}: give the trace "
                f"circumstances=Circumstances({self.part}=…)."
            )
        return known

    needs: ClassVar[str]  # as a noun phrase


class _WeighedAsInside(Beside):
    """A status by which everybody counts as in the status that it is a function of."""

    @property
    def weighs(self) -> bool:
        return self.of.weighs

    @property
    def weighed_by(self) -> str | None:
        return self.of.weighed_by

    @property
    def weights_change(self) -> bool:
        return self.of.weights_change

    def weights(self, state: _Seen) -> Float[Array, " status"] | None:
        return self.of.weights(state.received)

    def scan_weights(self, state: _Seen, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        return self.of.scan_weights(state.received, steps)


@STATUSES.register("per_time_present")
@dataclass(frozen=True)
class PerTimePresent(_WeighedAsInside):
    """What was received per time point at which the stakeholder was there, this one included."""

    symmetric = True
    keeps_linear = True
    part = "time_points"
    needs = "at how many time points each has been there so far"

    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]:
        return values / np.maximum(beside, 1.0)  # whoever was never there is not judged

    @property
    def in_amounts(self) -> bool:
        return False

    def describe(self) -> str:
        return f"{self.of.describe()}, per time point at which it was there"


@STATUSES.register("with_credit")
@dataclass(frozen=True)
class WithCredit(_WeighedAsInside):
    """A status on top of what each began with, such as the mean of those there when it joined."""

    symmetric = True
    keeps_linear = True
    part = "credit"
    needs = "what each began with"

    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]:
        return values + beside

    @property
    def in_amounts(self) -> bool:
        return self.of.in_amounts

    def describe_mean(self) -> str:
        return self.of.describe_mean()

    def describe(self) -> str:
        return f"{self.of.describe()}, on top of what it began with"


@STATUSES.register("level")
@dataclass(frozen=True)
class Level(Beside):
    """A level at which each stands, whatever it received."""

    symmetric = True
    part = "level"
    needs = "the level at which each stands"

    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]:
        return beside

    def weigh(self, beside: Float[Array, "*batch status"]) -> None:
        return None

    @property
    def weighs(self) -> bool:
        return False

    def describe(self) -> str:
        return "the level at which it stands"


@STATUSES.register("per_current_entitlement")
@dataclass(frozen=True)
class PerCurrentEntitlement(Beside):
    """What was received per unit of what each is entitled to at that moment."""

    symmetric = True
    keeps_linear = True
    part = "entitled"
    needs = "what each is entitled to"

    weighted: bool = True

    def transform(
        self, values: Float[Array, "*batch status"], beside: Float[Array, "*batch status"]
    ) -> Float[Array, "*batch status"]:
        return out_of(values, beside)  # nobody is judged before its entitlement is known

    def weigh(self, beside: Float[Array, "*batch status"]) -> Float[Array, "*batch status"] | None:
        return beside if self.weighted else None

    def describe(self) -> str:
        counted = "" if self.weighted else " (all counted alike, whatever their entitlement)"
        return f"{self.of.describe()}, per unit of its entitlement at that time{counted}"

    def describe_mean(self) -> str:
        return mean_per_entitlement(self.weighted, self.of.in_amounts)

    @property
    def weighs(self) -> bool:
        return self.weighted

    @property
    def weighed_by(self) -> str | None:
        return "its entitlement at that time" if self.weighted else None


def out_of(
    values: Float[Array, "*batch status"], chances: Float[Array, "*batch status"]
) -> Float[Array, "*batch status"]:
    """Amounts out of what they could have been; 0 for those who had no chance, not judged there."""
    return np.divide(values, chances, out=np.zeros_like(values), where=chances > 0)


def read_beside(status: Status) -> Beside | None:
    """The part of a status that looks at circumstances, if it has one."""
    inner: Status | None = status
    while inner is not None and not isinstance(inner, Beside):
        inner = getattr(inner, "of", None)
    return inner
