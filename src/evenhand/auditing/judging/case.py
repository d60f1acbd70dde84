"""What is judged, whatever the question: the history, the status, and who is there when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.moments import as_numbers
from evenhand.auditing.judging.judged_status import judged_status
from evenhand.auditing.judging.newcomers import Stay, TimePresent, newcomers_note, starting_credits
from evenhand.auditing.judging.questions import Question, Timeline
from evenhand.auditing.log import Log
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.roster import Roster, presence
from evenhand.auditing.reading.timed_amounts import Known, Reading, TimedAmounts, Unchanging
from evenhand.errors import BadParameter, argument
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import PerTimePresent, Returns, Status, WithCredit
from evenhand.fairness.trace import NONE, Circumstances, Tolerance, Trace

if TYPE_CHECKING:
    from jaxtyping import Bool

    Present = Bool[np.ndarray, "step status"] | None

OF_MEMBERS = ("entitled", "chances", "asked")  # circumstances that a group has of its members


@dataclass(frozen=True, eq=False)
class Case:
    """What is judged, whatever the question: the history, the status, and who is there when."""

    history: History
    status: Status = Returns()
    roster: Roster | None = None
    groups: Groups | None = None  # where groups are the stakeholders
    until: Any = None  # the moment up to which the log is known to be whole
    beside: Mapping[str, Known] = field(default_factory=dict)  # what else is known over time
    amounts: Callable[[], Reading] | None = (
        None  # up to each moment, where they are not those of the history
    )
    in_whole_units: bool = False  # all amounts are whole, and a status times its weight is one
    tolerance: Tolerance = NONE  # how far from the mean is let pass
    is_share: bool = False  # the status is a rate of which nobody can have more than 1
    levels: bool = False  # amounts are levels at which each stands
    shown: Mapping[str, str] = field(default_factory=dict)  # names in place of codes

    @classmethod
    def of(cls, log: Log, options: AuditOptions) -> Case:
        """A log judged by a status: of groups where they are judged, and per entitlement."""
        case = cls(
            history=log.history,
            status=judged_status(log, options),
            roster=log.roster,
            groups=log.groups,
            until=log.until,
            beside=log.beside,
            amounts=log.amounts,
            levels=options.stock,
            in_whole_units=_in_whole_units(log, options),
            tolerance=options.allowed,
            is_share=options.out_of is not None,
        )
        return case._with_newcomers(options.newcomers)

    def _with_newcomers(self, rule: str | None) -> Case:
        """The case with those who join later where a rule lets them begin."""
        if rule is not None and self._dates() is None:
            raise BadParameter(
                f"{argument('newcomers')} says where those begin who join later, and the roster "
                "says of nobody from when it is there: give it a column 'from', or leave it out."
            )
        stay = self.stay()
        if stay is None:
            return self
        if not self.status.is_sum:
            if rule not in (None, "zero"):
                raise BadParameter(
                    f"{argument('newcomers', rule)} needs a status that is a sum of what was "
                    f"received, and here it is {self.status.describe()}: leave it out, or say "
                    f"{argument('newcomers', 'zero')}."
                )
            return self
        if rule == "by-time":
            return replace(self, status=PerTimePresent(of=self.status))
        found = starting_credits(
            rule or "mean", self.status, self.history.received(), self.known_at(), stay
        )
        beside = {**self.beside, "credit": lambda: Unchanging(found)}
        return replace(self, status=WithCredit(of=self.status), beside=beside)

    def newcomers_note(self, rule: str | None) -> str | None:
        """Who was judged from when, and where they began."""
        stay = self._dates()
        if stay is None:
            return None
        began = None
        if self.stay() is not None:
            began = rule or ("mean" if self.status.is_sum else "zero")
        return newcomers_note(self.names, stay, self.history.slots, began)

    def stay(self) -> Stay | None:
        """The same where a newcomer needs a beginning: a rate, a request or a level needs none."""
        if self.levels or {"chances", "level", "asked"} & set(self.beside):
            return None
        return self._dates()

    def _dates(self) -> Stay | None:
        """From when until when each who is judged is there, if anybody comes or goes."""
        if self.roster is None or not self.roster.first:
            return None
        first, last = self.roster.bounds(self.history.names, self.history.plain_numbers)
        if self.groups is not None:
            first = np.array([first[list(part)].min() for part in self.groups.members])
            last = np.array([last[list(part)].max() for part in self.groups.members])
        return first, last

    @property
    def members(self) -> tuple[str, ...]:
        """Everyone in the log, as they are shown."""
        return self._as_shown(self.history.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Those who are judged, as they are shown."""
        return self._as_shown(self.status.names(self.members))

    def _as_shown(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.shown.get(name, name) for name in names) if self.shown else names

    def timeline(self, question: Question) -> Timeline:
        merged = self.status.is_sum or self.status.per_step
        return question.timeline(self.history, self.until, merged)

    def present(self, moments: np.ndarray) -> Present:
        here = presence(self.roster, self.history.names, moments)
        if here is None or self.groups is None:
            return here
        return np.stack([here[:, list(part)].any(axis=1) for part in self.groups.members], axis=1)

    def steps(self, timeline: Timeline) -> Iterator[tuple[Trace, Present]]:
        """The steps in blocks: a part of the trace, and who is there at each step of it."""
        start, readings = 0, self._readings()
        amounts = None if self.amounts is None else self.amounts()
        before = np.zeros((1, len(self.history.names)))
        for rewards in self.history.rewards(timeline.step_of_slot, timeline.steps):
            stop = start + len(rewards)
            moments = timeline.moments[start:stop]
            if amounts is not None:
                totals = amounts.by(moments)
                rewards = np.diff(totals, axis=0, prepend=before)
                before = totals[-1:]
            trace = Trace(
                rewards,
                marks=None if timeline.marks is None else timeline.marks[start:stop],
                circumstances=self._circumstances(readings, moments) if readings else None,
            )
            yield trace, self.present(moments)
            start = stop

    def known_at(self) -> Callable[[np.ndarray], Circumstances | None]:
        """What else is known at moments that are asked for in order, from the beginning."""
        readings = self._readings()
        return lambda moments: self._circumstances(readings, moments) if readings else None

    def _readings(self) -> dict[str, Reading]:
        """What is known over time, to be read from its beginning."""
        known: dict[str, Reading] = {
            part: _reading(part, known) for part, known in self.beside.items()
        }
        if isinstance(self.status, PerTimePresent):
            stay = self.stay()
            assert stay is not None  # or it would be judged by another status
            known["time_points"] = TimePresent(as_numbers(self.history.slots), *stay)
        return known

    def _circumstances(self, readings: Mapping[str, Reading], moments: np.ndarray) -> Circumstances:
        """What is known at each of some moments."""
        parts = {}
        for part, reading in readings.items():
            known = reading.by(moments)
            if self.groups is not None and part in OF_MEMBERS:
                known = self.groups.totals(np.nan_to_num(known))  # of members known by then
            parts[part] = np.ascontiguousarray(known)
        return Circumstances(**parts)


def _in_whole_units(log: Log, options: AuditOptions) -> bool:
    """Whether what anybody lacks of its share is a number of whole units."""
    plain = options.scheme is None and not options.waits and not options.has_requests
    plain = plain and options.newcomers != "by-time"
    weighed = log.shares is None or not options.unweighted
    if not (plain and weighed and options.out_of is None):
        return False
    history = log.history
    return all(
        bool((history.amount[part] == np.rint(history.amount[part])).all())
        for part in history.parts()
    )


def _reading(part: str, known: Known) -> Reading:
    """What is known over time, to be read from its beginning."""
    if not isinstance(known, TimedAmounts):
        return known()
    return known.levels() if part == "entitled" else known.totals()
