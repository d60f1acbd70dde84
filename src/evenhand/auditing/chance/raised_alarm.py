"""Alarms that were raised, in words and with the names of times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._util.moments import as_timestamps, moment_label
from evenhand._util.wording import format_number, join_names
from evenhand.auditing.chance.alarm import Alarm


@dataclass(frozen=True)
class RaisedAlarm:
    """An alarm in words and with the names of times."""

    time: str
    name: str
    is_group: bool
    evidence: float
    since: str

    @classmethod
    def of(cls, alarm: Alarm, plain_numbers: bool) -> RaisedAlarm:
        at, since = (_label(moment, plain_numbers) for moment in (alarm.at, alarm.since))
        return cls(at, alarm.name, alarm.is_group, alarm.evidence, since)

    @property
    def sentence(self) -> str:
        """Such as "J03 is behind by more than a lottery explains, since 2021-03-04"."""
        who = f"the group {self.name}" if self.is_group else self.name
        return (
            f"{who} is behind by more than a fair lottery explains; the evidence begins at "
            f"{self.since}"
        )

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class AlarmFinding:
    """What a watch over a log found."""

    alpha: float
    evidence: float  # at the end: 1 says nothing, 1/α or more at any time is an alarm
    alarms: tuple[RaisedAlarm, ...]

    @property
    def breach(self) -> str | None:
        """What is wrong, in words, if anything is."""
        if not self.alarms:
            return None
        first = self.alarms[0]
        more = [one.name for one in self.alarms[1:]]
        others = f"; later also {join_names(more)}" if more else ""
        return f"alarm at {first.time}: {first.sentence}{others}"

    def sentence(self) -> str:
        """What was found, whether or not there was an alarm."""
        if self.alarms:
            return f"{self.breach}."
        return (
            "no alarm: at no time point was anybody behind by so much more than a fair lottery "
            f"explains (the evidence at the end is {format_number(self.evidence)}, and an alarm "
            f"needs {format_number(1 / self.alpha)})."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "evidence": self.evidence,
            "needed": 1 / self.alpha,
            "raised": [one.to_json() for one in self.alarms],
        }


def _label(moment: float, plain_numbers: bool) -> str:
    return moment_label(np.float64(moment) if plain_numbers else as_timestamps(np.float64(moment)))
