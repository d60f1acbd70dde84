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
    unit: str | None = None  # the column of amounts

    @classmethod
    def of(cls, status: Status, unit: str | None) -> Terms:
        return cls(Direction.of(status), status.describe_mean(), unit)

    def off_share(self, amount: float, several: bool = False) -> str:
        """Being short of one's share by an amount; of harms, having more than it."""
        share = f"{'their' if several else 'its'} share"
        counted = self.unit is not None and COUNTED.fullmatch(self.unit)
        much = f"{format_number(amount)}{f' {self.unit}' if counted else ''}"
        of_what = "" if counted or self.unit is None else f" of {self.unit}"
        if self.direction.less_is_better:
            return f"{'each ' if several else ''}had {much} more than {share}{of_what}"
        return f"{'were each' if several else 'was'} {much} short of {share}{of_what}"
