"""U: what a history means for each stakeholder, as a fold over its steps."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from evenhand._util.checks import MOST_STEPS, require_whole
from evenhand._util.numbers import Array, as_float64, namespace
from evenhand._util.registry import Registry
from evenhand.errors import BadParameter, CannotStream, UnequalLengths
from evenhand.fairness.groups import Exchanging
from evenhand.fairness.trace import Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Float


# Section 4: U, how well each stakeholder is doing at the end of a trace. Higher is better.
#
# A status is a fold: `init` gives the state before anything happened, `update` takes one step into
# account, `value` reads the status vector off. So it can be streamed, learned and planned with.
# `scan` does many steps at once, for histories; it must agree with `update` repeated.

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


# Any Python function of a whole trace as a status, for scoring only.


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


# Definition "Markovian function": a status that the last state determines.


@dataclass(frozen=True)
class StateStatus(Status[Array]):
    """U(τ) = read(s_{t+1}): what an environment keeps in its state, read off it.

    `start` is the status before anything happened, where there is no step to read it from.
    """

    read: Callable[[Any], Float[Array, " status"]]
    start: float = 0.0

    def init(self, num_stakeholders: int) -> Array:
        return np.full(num_stakeholders, self.start)

    def update(self, state: Array, step: Step) -> Array:
        return self.read(step.next_state)

    def value(self, state: Array) -> Float[Array, " status"]:
        return state

    def value_regular(self) -> DeclaredRegularity:
        why = "it is read off the state, of which the paper has finitely many"
        return DeclaredRegularity(True, why)

    def describe(self) -> str:
        name = getattr(self.read, "__name__", type(self.read).__name__)
        return f"what {name} reads off the state"


# Statuses that remember what each stakeholder received: in all, lately, or when last.

STRETCH = 16  # steps that one matrix product takes at a time, see `_recurrence`


class _Running(NamedTuple):
    total: Float[Array, " status"]
    weight: Any  # γ^(t−1) of the step to come


LARGEST_WINDOW = 1 << 30  # bytes that the steps of a window may take


@STATUSES.register("returns")
@dataclass(frozen=True)
class Returns(Status[_Running]):
    """The return so far, G_i = Σ γ^(t−1) r_i; with discount 1 a count or a sum of amounts."""

    symmetric = True

    discount: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.discount <= 1.0:
            raise BadParameter(f"discount is {self.discount}: it must lie in (0, 1].")

    def init(self, num_stakeholders: int) -> _Running:
        return _Running(np.zeros(num_stakeholders), np.ones(()))

    def update(self, state: _Running, step: Step) -> _Running:
        return _Running(state.total + state.weight * step.rewards, state.weight * self.discount)

    def value(self, state: _Running) -> Float[Array, " status"]:
        return state.total

    def imaginable(self, state: _Running) -> Float[Array, " status"]:
        return state.total

    def imagined(self, state: _Running, part: Float[Array, " status"]) -> _Running:
        return state._replace(total=part)

    def scan(
        self, state: _Running, steps: Trace
    ) -> tuple[_Running, Float[np.ndarray, "time status"]]:
        rewards, weight = steps.rewards, state.weight
        if self.discount < 1.0:
            weights = weight * self.discount ** np.arange(len(steps) + 1)
            rewards, weight = weights[:-1, None] * rewards, weights[-1]
        totals = _recurrence(rewards, state.total, decay=1.0)
        return _Running(totals[-1] if len(totals) else state.total, weight), totals

    def describe(self) -> str:
        if self.discount == 1.0:
            return "what it has received so far"
        return f"what it has received so far, step t discounted by {self.discount:g}^(t−1)"

    @property
    def is_sum(self) -> bool:
        return self.discount == 1.0

    def of_totals(self, totals: Float[np.ndarray, "*batch n"], known: Any) -> np.ndarray:
        return totals if self.is_sum else super().of_totals(totals, known)

    @property
    def is_linear(self) -> bool:
        return self.discount == 1.0

    @property
    def in_amounts(self) -> bool:
        return self.discount == 1.0

    def value_regular(self) -> DeclaredRegularity:
        if self.discount == 1.0:
            why = "a sum grows without bound; with a horizon it is value-regular"
        else:
            why = (
                "discounted returns take a new value at any length; with a horizon they are finite"
            )
        return DeclaredRegularity(False, why)

    def magnitude(self, reward_bound: float, time: int) -> float:
        steps = time if self.discount == 1.0 else (1 - self.discount**time) / (1 - self.discount)
        return reward_bound * steps


@STATUSES.register("decayed")
@dataclass(frozen=True)
class Decayed(Status[Array]):
    """Rewards that fade: U_t = λ U_(t−1) + r_t with λ = 2^(−1/half_life)."""

    symmetric = True

    half_life: float

    def __post_init__(self) -> None:
        if not (self.half_life > 0.0 and math.isfinite(self.half_life)):
            raise BadParameter(f"half_life is {self.half_life}: it must be a positive number.")

    @property
    def decay(self) -> float:
        return 2.0 ** (-1.0 / self.half_life)

    def init(self, num_stakeholders: int) -> Array:
        return np.zeros(num_stakeholders)

    def update(self, state: Array, step: Step) -> Array:
        return self.decay * state + step.rewards

    def value(self, state: Array) -> Float[Array, " status"]:
        return state

    def scan(self, state: Array, steps: Trace) -> tuple[Array, Float[np.ndarray, "time status"]]:
        values = _recurrence(steps.rewards, state, self.decay)
        return values[-1] if len(values) else state, values

    def describe(self) -> str:
        return f"what it has received, fading by half every {self.half_life:g} steps"

    def value_regular(self) -> DeclaredRegularity:
        why = "what fades never quite goes, so that every length brings new values"
        return DeclaredRegularity(False, why)

    def magnitude(self, reward_bound: float, time: int) -> float:
        return reward_bound * min(time, 1.0 / (1.0 - self.decay))


@STATUSES.register("window")
@dataclass(frozen=True)
class Window(Status[Array]):
    """What each stakeholder received in the last `length` steps."""

    symmetric = True

    length: int

    def __post_init__(self) -> None:
        length = require_whole(self.length, "length", most=MOST_STEPS)
        object.__setattr__(self, "length", length)

    def init(self, num_stakeholders: int) -> Array:
        size = 8 * self.length * num_stakeholders
        if size > LARGEST_WINDOW:
            raise BadParameter(
                f"length is {self.length:,}: a window of so many steps of "
                f"{num_stakeholders:,} stakeholders would take {size / 2**30:,.0f} GB, and at most "
                f"{LARGEST_WINDOW / 2**30:.0f} is given to one; make it shorter, or leave it out "
                "if it is longer than the history."
            )
        return np.zeros((self.length, num_stakeholders))

    def update(self, state: Array, step: Step) -> Array:
        return namespace(step.rewards).concat((state[1:], step.rewards[None]))

    def value(self, state: Array) -> Float[Array, " status"]:
        # Summed anew: a running difference would drift, and equal windows would come out unequal.
        return namespace(state).sum(state, axis=0)

    def scan(self, state: Array, steps: Trace) -> tuple[Array, Float[np.ndarray, "time status"]]:
        if len(steps) == 0:
            return state, steps.rewards
        received = np.concatenate((state, steps.rewards))
        windows = np.lib.stride_tricks.sliding_window_view(received[1:], self.length, axis=0)
        return received[len(received) - self.length :], windows.sum(axis=-1)

    def describe(self) -> str:
        return f"what it has received in the last {self.length} steps"

    def value_regular(self) -> DeclaredRegularity:
        why = f"the last {self.length} steps are one of finitely many strings"
        return DeclaredRegularity(True, why)

    def magnitude(self, reward_bound: float, time: int) -> float:
        return reward_bound * min(time, self.length)


@STATUSES.register("waiting_time")
@dataclass(frozen=True)
class WaitingTime(Status[Array]):
    """Minus the number of steps since the stakeholder last received something (or the start)."""

    symmetric = True

    def init(self, num_stakeholders: int) -> Array:
        return np.zeros(num_stakeholders)

    def update(self, state: Array, step: Step) -> Array:
        return namespace(step.rewards).where(step.rewards > 0, 0.0, state - 1.0)

    def imagined(self, state: Array, part: Array) -> Array:
        return namespace(part).minimum(part, 0.0)  # nobody waits less than no time

    def value(self, state: Array) -> Float[Array, " status"]:
        return state

    def scan(self, state: Array, steps: Trace) -> tuple[Array, Float[np.ndarray, "time status"]]:
        time = np.arange(1.0, len(steps) + 1)[:, None]
        # Waiting since before this block is waiting since "time" U_0 ≤ 0, as U_0 is minus the wait.
        last_served = np.maximum.accumulate(np.where(steps.rewards > 0, time, state), axis=0)
        values = last_served - time
        return values[-1] if len(values) else state, values

    @property
    def is_amount(self) -> bool:
        return False  # but a time

    def describe(self) -> str:
        return "minus the steps it has waited since it last received something"

    def value_regular(self) -> DeclaredRegularity:
        why = "a wait grows without bound; with a horizon it is value-regular"
        return DeclaredRegularity(False, why)

    def magnitude(self, reward_bound: float, time: int) -> float:
        return time


def _recurrence(
    rewards: Float[np.ndarray, "time n"], start: Float[np.ndarray, " n"], decay: float
) -> Float[np.ndarray, "time n"]:
    """U_t = decay · U_(t−1) + r_t for all t, with U_0 = start.

    A short stretch of it is a product with a triangular matrix, which is about twice as fast as a
    running sum; the ends of the stretches are the same recurrence again, at decay^length. The
    result is laid out with time contiguous, so that welfare over many time points runs along it.
    """
    steps, size = rewards.shape
    weights, fade = _stretch(decay)
    if steps <= STRETCH:
        return weights[:steps, :steps].T @ rewards + fade[:steps, None] * start
    padded = -(-steps // STRETCH) * STRETCH
    inputs = np.zeros((size, padded))
    inputs[:, :steps] = rewards.T
    stretches = (inputs.reshape(-1, STRETCH) @ weights).reshape(size, -1, STRETCH)
    ends = _recurrence(stretches[:, :, -1].T, start, decay**STRETCH)
    before = np.concatenate((start[None], ends[:-1])).T[:, :, None]
    stretches += before if decay == 1.0 else before * fade
    return stretches.reshape(size, padded)[:, :steps].T


@functools.cache
def _stretch(decay: float) -> tuple[np.ndarray, np.ndarray]:
    """What each reward of a stretch still counts at each later step, and the start before it."""
    age = np.arange(STRETCH) - np.arange(STRETCH)[:, None]
    weights = np.where(age >= 0, decay ** np.maximum(age, 0.0), 0.0)
    return weights, decay ** np.arange(1.0, STRETCH + 1)
