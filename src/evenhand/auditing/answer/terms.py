"""How the figures of an answer are put in words: the direction, what the mean is, amounts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from evenhand._util.wording import format_number
from evenhand.auditing.answer.direction import MORE_IS_BETTER, Direction
from evenhand.fairness.status import Status

PLAIN_MEAN = "the mean"
COUNTED = re.compile(r"[^\W\d_]+s")  # a column named so can stand behind a number: "3 doses"


@dataclass(frozen=True)
class Terms:
    """The words of one answer.

    >>> Terms(unit="doses").off_share(752000.0)
    'was 752,000 doses short of its share'
    >>> Terms(unit="given_out").off_share(3.0, several=True)
    'were each 3 short of their share of given_out'
    """

    direction: Direction = MORE_IS_BETTER
    mean: str = PLAIN_MEAN  # and what it is, where that is not plain
    unit: str | None = None  # what amounts are counted in: by default the column of amounts
    counted: bool = False  # whether the unit can stand behind a number, whatever its form

    @classmethod
    def of(cls, status: Status, column: str | None, unit: str | None = None) -> Terms:
        """From the column of amounts, and the unit if one was given."""
        return cls(
            Direction.of(status), status.describe_mean(), unit or column, counted=unit is not None
        )

    @property
    def units(self) -> tuple[str, str]:
        """What stands behind an amount, or else behind the share, to say what it is of."""
        if self.unit is None:
            return "", ""
        if self.counted or COUNTED.fullmatch(self.unit):
            return f" {self.unit}", ""
        return "", f" of {self.unit}"

    def off_share(self, amount: float, several: bool = False) -> str:
        """Being short of one's share by an amount; of harms, having more than it."""
        behind_number, behind_share = self.units
        share = f"{'their' if several else 'its'} share{behind_share}"
        much = f"{format_number(amount)}{behind_number}"
        if self.direction.less_is_better:
            return f"{'each ' if several else ''}had {much} more than {share}"
        return f"{'were each' if several else 'was'} {much} short of {share}"
