"""What an agent can observe, in parts that say what they are, so that they can be coded."""

from __future__ import annotations

from typing import Any, NamedTuple

from evenhand.fairness.groups import Groups


class Attribute(NamedTuple):
    """Something observed: a number for each stakeholder, for each group, or of the whole.

    Numbers that are `whole` lie in least … most, both included, so that they can be coded in bits.
    `counts` are amounts received, of which the differences matter most. As many numbers as there
    are stakeholders are one each, unless they are `shared`.
    """

    values: Any
    least: float = 0.0
    most: float = 1.0
    whole: bool = False
    counts: bool = False
    groups: Groups | None = None
    shared: bool = False
