"""Stakeholders in groups, and which of them a part treats alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand._util.checks import first_repeated
from evenhand._util.numbers import Array, namespace
from evenhand.errors import GroupsDoNotFit

if TYPE_CHECKING:
    from jaxtyping import Float


# Which stakeholders something treats alike: a label for each, equal for those it does.
#
# A planner merges states that differ only in which of two exchangeable stakeholders is which, and a
# network can use the same weights for both. So "alike" must be certain. The safe answer, which is
# the default everywhere, is that all stakeholders are different.

Labels = tuple[int, ...]  # one for each stakeholder


def all_alike(size: int) -> Labels:
    """The labels of a part that treats all stakeholders alike."""
    return (0,) * size


def all_different(size: int) -> Labels:
    """The labels of a part that may treat each stakeholder in its own way."""
    return tuple(range(size))


def by_value(values: Iterable[Hashable]) -> Labels:
    """Those with equal values are alike.

    >>> by_value([0.8, 0.5, 0.8])
    (0, 1, 0)
    """
    numbers: dict[Hashable, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values)


def refine(parts: Sequence[Labels], size: int) -> Labels:
    """The labels of several parts together: different where any of the parts differ."""
    return by_value(zip(*parts, strict=True)) if parts else all_alike(size)


class Exchanging:
    """Something that says which stakeholders it treats alike.

    A subclass that treats all of them alike sets `symmetric`; one that treats some of them alike
    overrides `exchangeable`.
    """

    symmetric: ClassVar[bool] = False

    def exchangeable(self, size: int) -> Labels:
        """A label for each of `size` stakeholders, equal for those that are treated alike."""
        return all_alike(size) if self.symmetric else all_different(size)


# Stakeholders taken together: protected groups, regions, classes of patients.


@dataclass(frozen=True)
class Groups:
    """Named groups of stakeholder indices; a stakeholder belongs to at most one.

    >>> Groups.of({"A": [0, 1], "B": [2, 3]}).totals(np.array([1.0, 2.0, 3.0, 4.0]))
    array([3., 7.])
    >>> Groups.of(["A", "A", "B", "B"]) == Groups.of({"A": [0, 1], "B": [2, 3]})
    True
    """

    names: tuple[str, ...]
    members: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, groups: Groups | Mapping[str, Sequence[int]] | Sequence[str]) -> Groups:
        """From {name: members}, or from one group name per stakeholder."""
        if isinstance(groups, Groups):
            return groups
        if not isinstance(groups, Mapping):
            labels = [str(label) for label in groups]
            groups = {
                name: [i for i, label in enumerate(labels) if label == name] for name in labels
            }
        try:
            members = tuple(tuple(int(i) for i in part) for part in groups.values())
        except (TypeError, ValueError):
            raise GroupsDoNotFit(
                "the members of a group are the numbers of stakeholders, from 0: write a list of "
                "whole numbers for each group."
            ) from None
        return cls(tuple(groups), members)

    def __post_init__(self) -> None:
        if not self.names:
            raise GroupsDoNotFit("there are no groups: name at least one, with its members.")
        for name, part in zip(self.names, self.members, strict=True):
            if not part:
                raise GroupsDoNotFit(
                    f"group {name!r} has no members: give it some or leave it out."
                )
        everyone = [i for part in self.members for i in part]
        twice = first_repeated(everyone)
        if twice is not None:
            raise GroupsDoNotFit(f"stakeholder {twice} is listed twice: one group each.")
        if min(everyone) < 0:
            raise GroupsDoNotFit(f"stakeholder {min(everyone)} does not exist: indices start at 0.")

    def require_fit(self, num_stakeholders: int) -> None:
        """Every stakeholder in a group, and no one in a group who does not exist."""
        everyone = {i for part in self.members for i in part}
        for i in sorted(everyone ^ set(range(num_stakeholders))):
            if i < num_stakeholders:
                raise GroupsDoNotFit(f"stakeholder {i} is in no group: put everyone into one.")
            name = next(n for n, part in zip(self.names, self.members, strict=True) if i in part)
            raise GroupsDoNotFit(
                f"group {name!r} names stakeholder {i}, but there are only {num_stakeholders} "
                f"(0 to {num_stakeholders - 1})."
            )

    def totals(self, values: Float[Array, "*batch stakeholder"]) -> Float[Array, "*batch group"]:
        """The sum over each group's members."""
        xp = namespace(values)
        return values @ xp.asarray(self._indicator(values.shape[-1]), dtype=values.dtype)

    def labels(self, num_stakeholders: int) -> Labels:
        """A label for each stakeholder: the same for those of one group."""
        group_of = {i: group for group, part in enumerate(self.members) for i in part}
        alone = len(self.names)  # a stakeholder in no group is like no other
        return tuple(group_of.get(i, alone + i) for i in range(num_stakeholders))

    def _indicator(self, num_stakeholders: int) -> Float[np.ndarray, "stakeholder group"]:
        indicator = np.zeros((num_stakeholders, len(self.names)))
        for group, part in enumerate(self.members):
            indicator[list(part), group] = 1.0
        return indicator
