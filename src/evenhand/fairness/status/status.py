"""Section 4: U, how well each stakeholder is doing at the end of a trace. Higher is better.

A status is a fold: `init` gives the state before anything happened, `update` takes one step into
account, `value` reads the status vector off. So it can be streamed, learned and planned with.
`scan` does many steps at once, for histories; it must agree with `update` repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from evenhand._util.numbers import Array
from evenhand._util.registry import Registry
from evenhand.errors import BadParameter
from evenhand.fairness.labels import Exchanging
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Float

State = TypeVar("State")  # what is carried from step to step: a tuple of arrays, say


class DeclaredRegularity(NamedTuple):
    """Definition "value-regular": what a status says of itself, with its reason.

    True holds for every finite set of events whose amounts are whole numbers; False says that for
    some such set no finite memory will do; None: it does not say.
    """

    regular: bool | None = None
    reason: str = "it does not say; pass events= to examine it"


class Status(Exchanging, ABC, Generic[State]):
    """The stakeholder status function U, as a fold over the steps of a trace."""

    @property
    def keeps_history(self) -> bool:
        """Whether it needs the whole history, so that it cannot be streamed or learned with."""
        return False

    @abstractmethod
    def init(self, num_stakeholders: int) -> State:
        """The state of the empty trace; refuses a number of stakeholders that does not fit."""

    @abstractmethod
    def update(self, state: State, step: Step) -> State: ...

    @abstractmethod
    def value(self, state: State) -> Float[Array, " status"]: ...

    def imaginable(self, state: State) -> Any:
        """The part of the state that may be imagined otherwise; clocks and the like may not."""
        return state

    def imagined(self, state: State, part: Any) -> State:
        """The state with that part replaced, or the nearest one that can be."""
        return part

    @abstractmethod
    def describe(self) -> str:
        """A phrase that completes "each stakeholder's status is …"."""

    def describe_mean(self) -> str:
        """What the mean of the status vector is, as a noun phrase."""
        return "the mean"

    @property
    def weighs(self) -> bool:
        """Whether stakeholders count by size or chances in the mean, and not all alike."""
        return False

    @property
    def weighed_by(self) -> str | None:
        """What each counts by in the mean and in welfare, as a noun phrase; None: all alike."""
        return None

    @property
    def negated(self) -> bool:
        """Whether it is minus what was logged, since less of that is better."""
        return False

    @property
    def in_amounts(self) -> bool:
        """Whether it is the plain amount received, or that per unit of what each counts by."""
        return False

    def scan(self, state: State, steps: Trace) -> tuple[State, Float[np.ndarray, "time status"]]:
        """The state after many steps, and the status vector after each of them."""
        values = []
        for step in steps.steps():
            state = self.update(state, step)
            values.append(np.asarray(self.value(state), dtype=np.float64))
        return state, np.array(values).reshape(len(steps), len(self.value(state)))

    @property
    def fixed_weights(self) -> Float[np.ndarray, " status"] | None:
        """As how many each entry counts, where that never changes; None: all count alike."""
        return None

    @property
    def weights_change(self) -> bool:
        """Whether the weights depend on what happened."""
        return False

    def weights(self, state: State) -> Float[Array, " status"] | None:
        """As how many each entry counts now, up to scale; whoever counts 0 is not judged yet."""
        return self.fixed_weights

    def scan_weights(self, state: State, steps: Trace) -> Float[np.ndarray, "time status"] | None:
        """The weights after each of many steps, from the state before them."""
        weights = self.weights(state)
        return None if weights is None else np.broadcast_to(weights, (len(steps), len(weights)))

    def names(self, stakeholders: Sequence[str]) -> tuple[str, ...]:
        """What the entries of the status vector are called."""
        return tuple(stakeholders)

    @property
    def per_stakeholder(self) -> bool:
        """Whether entry i of the status vector is stakeholder i, and not a group, say."""
        return True

    @property
    def is_sum(self) -> bool:
        """Whether it depends only on what each received in all, so that steps may be merged."""
        return False

    def of_totals(self, totals: Float[np.ndarray, "*batch n"], known: Any) -> np.ndarray:
        """The statuses of those who received so much in all, where that is what it depends on.

        Args:
            totals: What each received in all, in each of many cases.
            known: The circumstances at that moment, if it looks at them.
        """
        if not self.is_sum:
            raise BadParameter(
                f"{type(self).__name__} depends on more than what each received in all: give it a "
                "trace."
            )
        rows = totals.reshape(-1, totals.shape[-1])
        init = self.init(totals.shape[-1])
        steps = [Step(None, row, circumstances=known) for row in rows]
        values = [self.value(self.update(init, step)) for step in steps]
        return np.stack(values).reshape(*totals.shape[:-1], -1)

    @property
    def is_linear(self) -> bool:
        """Whether each entry is linear in what its stakeholder, or group, received in all."""
        return False

    @property
    def is_amount(self) -> bool:
        """Whether it is an amount of each, which can be taken per unit of an entitlement."""
        return True

    @property
    def per_step(self) -> bool:
        """Whether it is that of the present step alone, so that a step is to be a whole period."""
        return False

    def value_regular(self) -> DeclaredRegularity:
        """Whether a finite memory suffices for it, as far as it knows without seeing events."""
        return DeclaredRegularity()

    def magnitude(self, reward_bound: float, time: int) -> float | None:
        """A bound on |U_i(τ_t)| when no reward exceeds `reward_bound`, or None if none is known."""
        return None


STATUSES = Registry("status")
