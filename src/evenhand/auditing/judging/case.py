"""What is judged, whatever the question: a history laid out as steps, and who is there when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.judging.questions import Question, Timeline
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.prepare import Prepared
from evenhand.auditing.reading.roster import Roster, presence
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import (
    GroupTotals,
    PerEntitlement,
    Returns,
    Status,
)
from evenhand.fairness.trace import Trace

if TYPE_CHECKING:
    from jaxtyping import Bool

    Present = Bool[np.ndarray, "step status"] | None


@dataclass(frozen=True, eq=False)
class Case:
    """The history, the status, and who is there when."""

    history: History
    status: Status = Returns()
    roster: Roster | None = None
    groups: Groups | None = None  # where groups are the stakeholders
    until: Any = None  # the moment up to which the log is known to be whole

    @classmethod
    def of(cls, log: Prepared, status: Status) -> Case:
        """A log judged by a status: of groups where they are judged, and per entitlement."""
        shares = log.shares
        if log.groups is not None:
            status = GroupTotals(log.groups, of=status)
            shares = None if shares is None else log.groups.totals(shares)
        if shares is not None:
            status = PerEntitlement(tuple(shares.tolist()), of=status)
        return cls(log.history, status, log.roster, log.groups, log.until)

    @property
    def names(self) -> tuple[str, ...]:
        return self.status.names(self.history.names)

    def timeline(self, question: Question) -> Timeline:
        if self.status.is_sum:
            return question.merged(self.history, self.until)
        return question.timeline(self.history, self.until)

    def present(self, moments: np.ndarray) -> Present:
        here = presence(self.roster, self.history.names, moments)
        if here is None or self.groups is None:
            return here
        return np.stack([here[:, list(part)].any(axis=1) for part in self.groups.members], axis=1)

    def steps(self, timeline: Timeline) -> Iterator[tuple[Trace, Present]]:
        """The steps in blocks: a part of the trace, and who is there at each step of it."""
        start = 0
        for trace in self.history.traces(timeline.step_of_slot, timeline.steps):
            stop = start + len(trace)
            if timeline.marks is not None:
                trace = replace(trace, actions=timeline.marks[start:stop])  # type: ignore[arg-type]
            yield trace, self.present(timeline.moments[start:stop])
            start = stop
