"""Which side of the mean is the worse one, and how statuses and distances are shown.

Inside, higher is always better: of harms and waits the status is minus what was logged, and
unfairness below 0 means worse off. A reader is shown what was logged, and "above the mean" is then
the worse side.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenhand._util.wording import format_number
from evenhand.fairness.status import Status


@dataclass(frozen=True)
class Direction:
    """The two sides of the mean in words, and the sign that turns a status into what was logged.

    >>> LESS_IS_BETTER.far(-5.5), MORE_IS_BETTER.far(-5.5)
    ('5.5 above the mean', '5.5 below the mean')
    >>> LESS_IS_BETTER.as_logged(-14.0), LESS_IS_BETTER.signed(-5.5)
    (14.0, '+5.5')
    """

    worse: str
    better: str
    sign: int

    @staticmethod
    def of(status: Status) -> Direction:
        """That of a status."""
        return LESS_IS_BETTER if status.negated else MORE_IS_BETTER

    @property
    def less_is_better(self) -> bool:
        return self.sign < 0

    def as_logged(self, value: float) -> float:
        """A status, a mean or a distance from it as the log has it."""
        return self.sign * value + 0.0  # nothing is -0

    def signed(self, unfairness: float) -> str:
        """A distance from the mean as the log has it, with its sign."""
        return format_number(self.as_logged(unfairness), signed=True)

    def far(self, unfairness: float) -> str:
        """How far on the worse side."""
        return f"{format_number(-unfairness)} {self.worse} the mean"


MORE_IS_BETTER = Direction(worse="below", better="above", sign=1)
LESS_IS_BETTER = Direction(worse="above", better="below", sign=-1)
