"""Section 5.1: Σ = A × S, what can happen in a step, under a finite number of labels."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

from evenhand._util.checks import first_repeated
from evenhand._util.numbers import Array, as_float64, namespace
from evenhand.errors import BadParameter, UnequalLengths, UnknownEvent
from evenhand.fairness.trace import Step

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False, kw_only=True)
class Events:
    """A finite alphabet: its labels, and the function that labels a step.

    `label(step)` returns a label, or the index of one in `labels`. Under jit there are no
    strings: there it must return an index, computed in jax.numpy, and an index out of range
    cannot be noticed. On plain NumPy an unknown label or index is refused.

    `steps`, one for each label, are needed where a status is asked what it makes of an event:
    they stand for all steps with that label.

    >>> got = Events(labels=("gotA", "gotB"), label=lambda step: step.action)
    >>> int(got.index(Step(action="gotB", rewards=np.zeros(2))))
    1
    """

    labels: tuple[str, ...]
    label: Callable[[Step], Any]
    steps: tuple[Step, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if not self.labels:
            raise BadParameter("there are no labels: an alphabet has at least one.")
        for label in self.labels:
            if not isinstance(label, str) or not label:
                raise BadParameter(f"the label {label!r} is not a word: labels are strings.")
        twice = first_repeated(self.labels)
        if twice is not None:
            raise BadParameter(f"the label {twice!r} is given twice: name each event once.")
        if self.steps is not None:
            object.__setattr__(self, "steps", tuple(self.steps))
            self._require_steps_fit(self.steps)

    def _require_steps_fit(self, steps: tuple[Step, ...]) -> None:
        if len(steps) != len(self.labels):
            raise UnequalLengths(
                f"there are {len(steps)} steps for {len(self.labels)} labels: give one each."
            )
        for place, step in enumerate(steps):
            if (found := int(self.index(step))) != place:
                raise BadParameter(
                    f"the step given for {self.labels[place]!r} is labelled "
                    f"{self.labels[found]!r}: put the steps in the order of the labels."
                )

    @classmethod
    def of_pairs(cls, num_actions: int, num_states: int) -> Events:
        """Every pair (action, next state) of a finite problem, labelled "action,state".

        >>> Events.of_pairs(1, 3).labels
        ('0,0', '0,1', '0,2')
        """
        labels = tuple(f"{a},{s}" for a in range(num_actions) for s in range(num_states))
        return cls(labels=labels, label=lambda step: step.action * num_states + step.next_state)

    @classmethod
    def of_rewards(
        cls, rewards: Sequence[Sequence[float]], labels: Iterable[str] | None = None
    ) -> Events:
        """Steps distinguished by their rewards alone, which is all that a count looks at.

        Under jit rewards that are not among these count as the first of them.

        >>> Events.of_rewards([[1, 0], [0, 1], [0, 0]]).labels
        ('1,0', '0,1', '0,0')
        """
        table = as_float64(rewards, "rewards")
        if table.ndim != 2:
            raise UnequalLengths(
                f"rewards have shape {table.shape}: expected [event, stakeholder]."
            )
        names = labels or (",".join(f"{r:g}" for r in row) for row in table)
        return cls(
            labels=tuple(names),
            label=lambda step: _row_of(step.rewards, table),
            steps=tuple(Step(action=None, rewards=row) for row in table),
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def num_stakeholders(self) -> int:
        return len(self.require_steps()[0].rewards)

    def require_steps(self) -> tuple[Step, ...]:
        if self.steps is None:
            raise BadParameter(
                "these events have labels but no steps: pass steps=, one for each label, or use "
                "Events.of_rewards, so that a status can be asked what it makes of them."
            )
        return self.steps

    def index(self, step: Step) -> Int[Array, ""]:
        """The index of a step's label."""
        label = self.label(step)
        if isinstance(label, str):
            return np.asarray(self.position(label))
        if array_api_compat.is_jax_array(label):  # perhaps traced: its value is not known
            return label
        return self._in_range(np.asarray(label))

    def position(self, label: str) -> int:
        """Where a label stands in `labels`."""
        if label not in self._position:
            near = difflib.get_close_matches(label, self.labels, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.labels)}."
            raise UnknownEvent(f"there is no event {label!r}: {hint}")
        return self._position[label]

    @cached_property
    def _position(self) -> dict[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    def _in_range(self, index: Int[np.ndarray, "*batch"]) -> Int[np.ndarray, "*batch"]:
        if not np.issubdtype(index.dtype, np.integer):
            raise UnknownEvent(
                f"the labelling function returned {index!r}: it must return a label or the index "
                "of one."
            )
        if index.size and (index.min() < 0 or index.max() >= len(self)):
            raise UnknownEvent(
                f"the labelling function returned index {index}, but there are {len(self)} labels "
                f"(0 to {len(self) - 1})."
            )
        return index


def _row_of(
    rewards: Float[Array, " stakeholder"], table: Float[np.ndarray, "event stakeholder"]
) -> Int[Array, ""]:
    xp = namespace(rewards)
    same = xp.all(xp.asarray(table, dtype=rewards.dtype) == rewards, axis=-1)
    if xp is np and not same.any():
        raise UnknownEvent(f"a step has rewards {rewards}, which are not among the events.")
    return xp.argmax(same)
