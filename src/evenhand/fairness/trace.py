"""Section 3, τ: what happened step by step, who was there, and what else is known of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand._util.checks import first_repeated
from evenhand._util.numbers import Array, as_float64, namespace
from evenhand.errors import BadParameter, UnequalLengths, argument

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


# Who is there to be judged, and as how many each counts.
#
# Stakeholders who come and go are judged while they are there, and only then. A stakeholder of
# weight w counts as w equal ones; of those who are there the weights are scaled to a mean of 1, so
# that with equal weights nothing changes. A weight of 0 is as not being there.

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Judgment = Callable[[Float[Array, "*batch time n"], Float[Array, "time n"] | None], Array]


def scaled(weights: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """Weights of mean 1: n·e_i / Σe.

    >>> scaled(np.array([1.0, 3.0]))
    array([0.5, 1.5])
    """
    xp = namespace(weights)
    return weights * (weights.shape[-1] / xp.sum(weights, axis=-1, keepdims=True))


class Standing(NamedTuple):
    """At each of some time points: who is there, and the weight of each. None: all, and alike.

    >>> statuses = np.array([[6.0, 8.0, 1.0], [6.0, 8.0, 10.0]])
    >>> present = np.array([[True, True, False], [True, True, True]])
    >>> from evenhand.fairness.unfairness import unfairness
    >>> Standing(present).judge(unfairness, statuses, absent=0.0)
    array([[-1.,  1.,  0.],
           [-2.,  0.,  2.]])
    """

    present: Bool[np.ndarray, "time status"] | None = None
    weights: Float[np.ndarray, "time status"] | None = None

    @classmethod
    def of(
        cls,
        present: Bool[np.ndarray, "time status"] | None,
        weights: Float[np.ndarray, "time status"] | None,
    ) -> Standing:
        """Whoever has no weight is not there."""
        if weights is not None:
            weighs = weights > 0
            present = weighs if present is None else present & weighs
        if present is not None and present.all():
            present = None
        return cls(present, weights)

    @property
    def anybody(self) -> bool:
        """Whether anybody counts; where nobody is there, or has a weight, nothing is assessed."""
        if self.weights is None:
            return self.present is None or bool(self.present.any())
        weighs = self.weights > 0
        return bool((weighs if self.present is None else weighs & self.present).any())

    def rows(self, chosen: slice | np.ndarray) -> Standing:
        """Some of the time points."""
        return Standing(*(None if part is None else part[chosen] for part in self))

    def judge(
        self, judgment: Judgment, statuses: Float[Array, "*batch time status"], absent: float = 0.0
    ) -> Float[Array, "*batch time ..."]:
        """A function of statuses and weights (a welfare, unfairness), taken over those there.

        Where it gives a number for each stakeholder, those who are not there get `absent`.
        """
        xp, axes = namespace(statuses), statuses.ndim
        if self.present is None:
            return xp.asarray(judgment(statuses, self._scaled(slice(None))))
        parts = []
        for rows, mask in self.stretches():
            there = statuses[..., rows, :][..., mask]
            values = xp.asarray(judgment(there, self._scaled(rows, mask)))
            parts.append(_spread(values, mask, absent) if values.ndim == axes else values)
        return xp.concat(parts, axis=axes - 2) if parts else xp.asarray(judgment(statuses, None))

    def stretches(self) -> Iterator[tuple[slice, Bool[np.ndarray, " status"]]]:
        """The longest runs of time points over which the same stakeholders are there."""
        present = self.present
        if present is None:
            return
        changes = np.flatnonzero((present[1:] != present[:-1]).any(axis=1)) + 1
        ends = [*changes.tolist(), len(present)] if len(present) else []
        for start, stop in zip([0, *ends], ends, strict=False):
            yield slice(start, stop), present[start]

    def _scaled(
        self, rows: slice, mask: Bool[np.ndarray, " status"] | None = None
    ) -> Float[np.ndarray, "time n"] | None:
        """The weights of those there, or None where they count alike, as in the paper."""
        if self.weights is None:
            return None
        weights = self.weights[rows] if mask is None else self.weights[rows][:, mask]
        if (weights == weights[:, :1]).all():
            return None
        return scaled(weights)


def _spread(
    values: Float[Array, "*batch time n"], mask: Bool[np.ndarray, " status"], absent: float
) -> Float[Array, "*batch time status"]:
    """The values of those there in their places, and `absent` in all others."""
    xp = namespace(values)
    if xp is not np:  # arrays that cannot be written to
        return xp.where(mask, xp.take(values, np.cumsum(mask) - 1, axis=-1), absent)
    spread = np.full((*values.shape[:-1], len(mask)), absent, dtype=values.dtype)
    spread[..., mask] = values
    return spread


# What is known of each stakeholder at a moment, beside what it received.
#
# A trace that carries circumstances can be judged by rates, requests and entitlements that change
# (see `status.beside`). Those of many moments are arrays [time, stakeholder], a row for each step.


@dataclass(frozen=True, eq=False)
class Circumstances:
    """At one moment or at many: what each may claim by then. None where it is not known."""

    entitled: Float[np.ndarray, "*time stakeholder"] | None = None  # to how much, at that moment
    chances: Float[np.ndarray, "*time stakeholder"] | None = None  # that it had so far
    asked: Float[np.ndarray, "*time stakeholder"] | None = None  # for how much, so far
    credit: Float[np.ndarray, "*time stakeholder"] | None = None  # with which it began
    level: Float[np.ndarray, "*time stakeholder"] | None = None  # at which it stands
    time_points: Float[np.ndarray, "*time stakeholder"] | None = None  # it was there at, so far

    @classmethod
    def stacked(cls, moments: Sequence[Circumstances]) -> Circumstances:
        """Those of many moments, from those of each."""
        parts = moments[0]._known()
        return cls(**{part: np.stack([getattr(one, part) for one in moments]) for part in parts})

    def __len__(self) -> int:
        return max(len(part) for part in self._known().values())

    def __getitem__(self, rows: int | slice | np.ndarray) -> Circumstances:
        return Circumstances(**{name: part[rows] for name, part in self._known().items()})

    def _known(self) -> dict[str, np.ndarray]:
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        return {name: part for name, part in parts.items() if part is not None}


# A distance from the mean that is let pass: an amount, or a share of the mean.


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


# Section 3: what happened, step by step.
#
# Time points are counted from 1, as in the paper: τ_t is the trace after t actions, and the initial
# state (t = 0) is not assessed. Arrays are counted from 0: row t − 1 of `rewards` belongs to the
# t-th action. This is the one place where the two meet.


class Override(NamedTuple):
    """A reward the environment puts in place of the welfare of a step (or of many steps)."""

    applies: Bool[Array, ...]
    value: Float[Array, ...]


class Step(NamedTuple):
    """What one decision did: all that a status, a filter or a memory may look at."""

    action: Any
    rewards: Float[Array, " stakeholder"]
    next_state: Any = None
    override: Override | None = None
    feedback: Any = None
    mark: Any = None  # whether a filter of marked steps looks at it
    circumstances: Circumstances | None = None  # what is known of each stakeholder after it


@dataclass(frozen=True, eq=False)
class Trace:
    """A finite trace τ_T = s_1, a_1, …, s_T, a_T, s_{T+1} with each stakeholder's rewards.

    Only the rewards are needed to score most schemes; all else may be left out.

    >>> trace = Trace(rewards=[[1, 0], [0, 1]])
    >>> len(trace), trace.num_stakeholders
    (2, 2)
    >>> trace.returns()
    array([1., 1.])
    """

    rewards: Float[np.ndarray, "time stakeholder"]
    states: Sequence[Any] | None = None
    actions: Sequence[Any] | None = None
    overrides: Override | None = None
    feedback: Float[np.ndarray, " time"] | None = None
    marks: Bool[np.ndarray, " time"] | None = None  # the steps that a filter of marks looks at
    circumstances: Circumstances | None = None  # what is known of each stakeholder at each step
    stakeholders: tuple[str, ...] = ()
    times: Sequence[Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        rewards = as_float64(self.rewards, "rewards")
        if rewards.ndim != 2:
            raise UnequalLengths(
                f"rewards must be a table [time, stakeholder], not an array of shape "
                f"{rewards.shape}: for no steps at all pass numpy.zeros((0, n))."
            )
        steps, stakeholders = rewards.shape
        if stakeholders == 0:
            raise UnequalLengths("rewards has no stakeholders: at least one column is needed.")
        set_field = object.__setattr__  # the fields of a frozen dataclass, put into one form
        set_field(self, "rewards", rewards)
        _require_length("states", self.states, steps + 1, f"one more than the {steps} steps")
        _require_length("actions", self.actions, steps, "one per step")
        for name in ("times", "marks", "circumstances"):
            _require_length(name, getattr(self, name), steps, "one per step")
        set_field(self, "overrides", _as_overrides(self.overrides, steps))
        if self.feedback is not None:
            _require_length("feedback", self.feedback, steps, "one per step")
            set_field(self, "feedback", as_float64(self.feedback, "feedback"))
        names = tuple(self.stakeholders)
        if names:
            _require_names(names, stakeholders)
        set_field(self, "stakeholders", names or _numbered(stakeholders))

    @classmethod
    def from_steps(
        cls, steps: Iterable[Step], initial_state: Any = None, num_stakeholders: int | None = None
    ) -> Trace:
        """A trace from the steps of a rollout."""
        steps = list(steps)
        if not steps and num_stakeholders is None:
            raise UnequalLengths("a trace of no steps needs num_stakeholders.")
        states = [initial_state, *(step.next_state for step in steps)]
        overrides = [
            float(step.override.value) if step.override and bool(step.override.applies) else None
            for step in steps
        ]
        feedback = [step.feedback for step in steps]
        if any(value is not None for value in feedback) and None in feedback:
            raise UnequalLengths(
                f"step {feedback.index(None) + 1} has no feedback but others do: give it to all."
            )
        known = [step.circumstances for step in steps if step.circumstances is not None]
        return cls(
            rewards=[step.rewards for step in steps] or np.zeros((0, num_stakeholders or 0)),  # type: ignore[arg-type]
            states=None if all(state is None for state in states) else states,
            actions=[step.action for step in steps],
            overrides=overrides,  # type: ignore[arg-type]
            feedback=feedback if feedback and feedback[0] is not None else None,  # type: ignore[arg-type]
            marks=_marks_of(steps),
            circumstances=Circumstances.stacked(known) if known else None,
        )

    @classmethod
    def from_events(
        cls, events: Iterable[tuple[Any, ...]], stakeholders: Sequence[str] | None = None
    ) -> Trace:
        """A trace from (time, stakeholder) or (time, stakeholder, amount) events, in any order.

        Events at one time are one time point. Whoever got nothing is not among the events: name
        all `stakeholders` if there may be such.

        >>> Trace.from_events([(1, "A", 2), (1, "B", 1), (2, "A")]).rewards
        array([[2., 1.],
               [1., 0.]])
        """
        rows = [_as_event(event, place) for place, event in enumerate(events)]
        try:
            times = sorted({time for time, _, _ in rows})
        except TypeError:
            raise BadParameter(
                "the events' times cannot be put in order: use numbers alone or dates alone."
            ) from None
        names = tuple(stakeholders or dict.fromkeys(name for _, name, _ in rows))
        if not names:
            raise UnequalLengths("no events and no stakeholders: there is nothing to score.")
        column = {name: i for i, name in enumerate(names)}
        row = {time: t for t, time in enumerate(times)}
        rewards = np.zeros((len(times), len(names)))
        for place, (time, name, amount) in enumerate(rows):
            if name not in column:
                raise BadParameter(
                    f"event {place} names {name!r}, who is not among the stakeholders given: "
                    "add the name or drop the event."
                )
            rewards[row[time], column[name]] += amount
        return cls(rewards=rewards, stakeholders=names, times=times)

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def num_stakeholders(self) -> int:
        return self.rewards.shape[1]

    def prefix(self, time: int) -> Trace:
        """τ_t, the trace after its first `time` actions (0 gives the empty trace)."""
        if not 0 <= time <= len(self):
            raise BadParameter(f"τ_{time} does not exist: the trace has {len(self)} steps.")
        return self.block(0, time)

    def block(self, start: int, stop: int) -> Trace:
        """Steps start + 1 … stop as a trace of their own; arrays are views, nothing is copied."""
        block = object.__new__(Trace)  # already validated as part of the whole
        set_field, overrides = object.__setattr__, self.overrides
        for name in ("rewards", "actions", "feedback", "marks", "circumstances", "times"):
            part = getattr(self, name)
            set_field(block, name, None if part is None else part[start:stop])
        set_field(block, "states", None if self.states is None else self.states[start : stop + 1])
        set_field(block, "overrides", overrides and Override(*(p[start:stop] for p in overrides)))
        set_field(block, "stakeholders", self.stakeholders)
        return block

    def steps(self) -> Iterator[Step]:
        """The steps one by one, as a stream would bring them."""
        for t in range(len(self)):
            yield Step(
                action=None if self.actions is None else self.actions[t],
                rewards=self.rewards[t],
                next_state=None if self.states is None else self.states[t + 1],
                override=self.overrides
                and Override(self.overrides.applies[t], self.overrides.value[t]),
                feedback=None if self.feedback is None else self.feedback[t],
                mark=None if self.marks is None else self.marks[t],
                circumstances=None if self.circumstances is None else self.circumstances[t],
            )

    def returns(self, discount: float = 1.0) -> Float[np.ndarray, " stakeholder"]:
        """Section 3: G_i(τ) = Σ_t γ^(t−1) R_i(s_t, a_t, s_{t+1}) for every stakeholder i."""
        return discount ** np.arange(len(self)) @ self.rewards


def _marks_of(steps: Sequence[Step]) -> Bool[np.ndarray, " time"] | None:
    """The marks of steps, if any of them says whether it has one."""
    marks = [step.mark for step in steps]
    return None if all(mark is None for mark in marks) else np.array(marks, dtype=bool)


def _as_event(event: tuple[Any, ...], place: int) -> tuple[Any, str, float]:
    if len(event) not in (2, 3):
        raise UnequalLengths(
            f"event {place} has {len(event)} parts: use (time, stakeholder) or "
            "(time, stakeholder, amount)."
        )
    time, name, *amount = event
    if time != time:  # NaN would not sort
        raise BadParameter(f"event {place} has no time (NaN): give it one or drop the event.")
    return (
        time,
        name,
        float(as_float64(amount[0], f"the amount of event {place}")) if amount else 1.0,
    )


def _as_overrides(overrides: Any, steps: int) -> Override | None:
    """Overrides from a list with None where there is none, from {time: value}, or as they are."""
    if overrides is None:
        return None
    if isinstance(overrides, Mapping):
        wrong = [time for time in overrides if not 1 <= time <= steps]
        if wrong:
            raise BadParameter(
                f"an override is given for time {wrong[0]}, but times run from 1 to {steps}."
            )
        overrides = [overrides.get(t) for t in range(1, steps + 1)]
    if not isinstance(overrides, Override):
        _require_length("overrides", overrides, steps, "one per step, None where there is none")
        applies = np.array([value is not None for value in overrides], dtype=bool)
        overrides = Override(applies, [0.0 if value is None else value for value in overrides])
    applies = np.asarray(overrides.applies, dtype=bool)
    value = as_float64(overrides.value, "overrides")
    _require_length("overrides", applies, steps, "one per step, None where there is none")
    if applies.shape != value.shape:
        raise UnequalLengths("overrides must be plain numbers, one per step, None where none is.")
    return Override(applies, value) if applies.any() else None


@lru_cache(maxsize=4)  # a long history is many traces of as many stakeholders
def _numbered(size: int) -> tuple[str, ...]:
    """The names of stakeholders that have none."""
    return tuple(map(str, range(size)))


def _require_names(names: tuple[str, ...], size: int) -> None:
    """One for each stakeholder, and no two alike."""
    _require_length("stakeholders", names, size, "one per column of rewards")
    twice = first_repeated(names)
    if twice is not None:
        raise BadParameter(f"two stakeholders are called {twice!r}: give each its own name.")


def _require_length(what: str, values: Any, length: int, meaning: str) -> None:
    if values is None:
        return
    try:
        found = len(values)
    except TypeError:
        raise UnequalLengths(f"{what} is {values!r}: it must be a sequence, {meaning}.") from None
    if found != length:
        raise UnequalLengths(f"{what} has {found} entries, expected {length}: {meaning}.")
