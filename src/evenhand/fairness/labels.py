"""Which stakeholders something treats alike: a label for each, equal for those it does.

A planner merges states that differ only in which of two exchangeable stakeholders is which, and a
network can use the same weights for both. So "alike" must be certain. The safe answer, which is
the default everywhere, is that all stakeholders are different.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar

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
