"""Where two periods of one log meet: the first ends just before it, the second begins with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.errors import argument


@dataclass(frozen=True)
class PeriodBorder:
    """A moment that stands in place of `since` or `until`, and is named as what it was given as."""

    moment: Any

    def __str__(self) -> str:
        return str(self.moment)


def bound_name(bound: Any, name: str) -> str:
    """The argument that set a bound: `since` or `until`, unless two periods meet there."""
    return "before" if isinstance(bound, PeriodBorder) else name


def beyond(until: Any) -> str:
    """What comes later than a bound, as a sentence says it."""
    if isinstance(until, PeriodBorder):
        return f"from {argument('before')} on"
    return f"after {argument('until')}"


def begins_beyond(until: Any) -> str:
    """The same of when a log begins."""
    if isinstance(until, PeriodBorder):
        return f"no earlier than {argument('before')}"
    return beyond(until)


def how_to_finish(until: Any) -> str:
    """How a last period is scored that is not finished, as a sentence says it."""
    if isinstance(until, PeriodBorder):
        return f"To have it scored, let {argument('before')} be the first day of the next one."
    return f"If the log is whole up to a later date, say so with {argument('until')}."
