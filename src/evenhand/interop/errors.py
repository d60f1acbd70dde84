"""Named errors of the bridges."""

from __future__ import annotations

from evenhand.errors import EvenhandError
from evenhand.errors import MissingExtra as MissingExtra


class CannotCarry(EvenhandError):
    """An observation space that has no place for the memory."""


class NotReset(EvenhandError):
    """A step in an environment whose episode has not begun or is over."""


class NotDiscrete(EvenhandError):
    """Actions that cannot be counted, with a learner that has a value for each."""


class NoStakeholderRewards(EvenhandError):
    """An environment that does not say what each stakeholder received."""
