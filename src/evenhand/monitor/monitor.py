"""One scheme, its running state, and what each assessment finds.

Events at one time are one time point, and a time point (or a calendar period) is judged once a
later event shows that it is over. **Late**: an event earlier than one before it counts at the
present time point, since what was assessed is not assessed again; a bet of an alarm on it is by the
odds of its own time, at which its recipient was there. **Repeated**: an event whose id
was seen before does not count; without ids every event counts, as in `audit`.
"""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.checks import is_finite_number, require_kind
from evenhand._util.wording import as_names, nearest, short_repr
from evenhand.auditing.case import join
from evenhand.auditing.chance.alarm import RaisedAlarm
from evenhand.auditing.questions import Question
from evenhand.auditing.scoring import RunningTotals
from evenhand.auditing.verdict import Direction
from evenhand.errors import BadParameter, UnknownStakeholder, argument
from evenhand.fairness.filters import FILTERS, Always
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import to_toml
from evenhand.fairness.status import WithCredit
from evenhand.fairness.stream import Block
from evenhand.fairness.trace import NONE, Circumstances, Tolerance, Trace
from evenhand.log.history import Roster, presence
from evenhand.log.options import one_of
from evenhand.monitor.alerts import Findings, Line, MonitoredAssessment, Thresholds, key_of
from evenhand.monitor.batch import Batch, time_as_number
from evenhand.monitor.chance_alarms import Alarms
from evenhand.monitor.time_steps import TimeSteps

if TYPE_CHECKING:
    from jaxtyping import Float

NEWCOMERS = ("zero", "mean", "least")  # where those who join later may begin
# Of these a snapshot has the values.
KEPT = ("last_at", "late", "outside", "ended", "open", "received", "credit")


class Monitor:
    """Takes events as they come, and says at each assessment how things stand.

    Args:
        scheme: The fairness scheme to watch by. It must run step by step.
        names: All stakeholders, also those who may never receive anything; nobody twice.
        question: When to look, if by calendar periods; otherwise the scheme's filter says it.
        roster: From when until when each stakeholder is there, if they come and go.
        max_unfairness: Alert when anybody is further below the mean than this amount, or this share
            of the mean, such as "10%" (where less is better, further above it).
        min_score: Alert when the score is below this.
        tolerance: A distance from the mean that is let pass: an amount, or a share such as "5%".
        newcomers: Where those begin who join later by the roster: "zero", or where the scheme's
            status is `WithCredit`, "mean" or "least" of those there.
        alarms: Raises an alarm where somebody is behind by more than a lottery explains, if given.

    >>> from evenhand import Rawls, anytime
    >>> monitor = Monitor(anytime(Rawls()), ("A", "B"))
    >>> monitor.push(1, "A")  # more may come at time 1
    []
    >>> [(found.time, found.score, found.unfair_to) for found in monitor.push(2, "B")]
    [('1', 0.0, {'B': -0.5})]
    >>> [(found.time, found.score, found.unfair_to) for found in monitor.finish()]
    [('2', 0.5, {})]
    """

    def __init__(
        self,
        scheme: FairnessScheme,
        names: Sequence[str],
        question: Question | None = None,
        roster: Roster | None = None,
        max_unfairness: float | str | None = None,
        min_score: float | None = None,
        tolerance: float | str | None = None,
        newcomers: str = "zero",
        alarms: Alarms | None = None,
    ) -> None:
        require_kind(scheme, FairnessScheme, "scheme", "anytime(Rawls())")
        names = _require_names(names)
        self.names, self.roster = names, roster
        self.judged_names = scheme.status.names(names)
        if question is not None:
            require_kind(question, Question, "question", 'every("month")')
        if roster is not None:
            require_kind(roster, Roster, "roster", f"Roster({names!r})")
        self._name_array = np.array(self.judged_names, dtype=object)
        self._key_array = np.array([key_of(name) for name in self.judged_names], dtype=object)
        if roster is not None and roster.dated and self.judged_names != names:
            raise BadParameter("a roster with dates cannot be watched by group: leave one out.")
        self.stream = scheme.stream(len(names))
        let_pass = NONE if tolerance is None else Tolerance.read(tolerance, "tolerance")
        self.totals = RunningTotals(len(self.judged_names), let_pass)
        self.time_steps = TimeSteps(None if question is None else question.period)
        self.thresholds = Thresholds(
            self.judged_names, Direction.of(scheme.status), max_unfairness, min_score
        )
        self.last_at = -np.inf  # the latest event, and so the open time point
        self.open = np.zeros(len(names))  # what was received at it, or in its period
        self.newcomers = one_of(newcomers, "newcomers", NEWCOMERS)
        self.received = np.zeros(len(names))  # in all, and
        self.credit = np.zeros(len(names))  # what each began with, where newcomers have some
        self.alarms = alarms
        self.late = 0
        self.outside = 0  # events outside their stakeholder's stay
        self.ended = False  # whether the end was judged, and nothing happened since

    @property
    def begun(self) -> bool:
        return self.last_at > -np.inf

    def push(
        self, time: Any, stakeholder: str | int, amount: float = 1.0
    ) -> list[MonitoredAssessment]:
        """Take one event into account.

        Args:
            time: When it happened: a date or a timestamp (as such, or as ISO 8601 text), or a
                number. All times are of one kind.
            stakeholder: Who received something: one of the names.
            amount: How much: a finite number.

        Returns:
            What was found at the assessments that the event completes: none while more may happen
            at the same time, and several where periods went by in which nothing happened.
        """
        try:
            at, plain_numbers = time_as_number(time)
        except ValueError as error:
            raise BadParameter(f"{error}.") from None
        name = str(stakeholder)
        if name not in self.names:
            raise UnknownStakeholder(name, nearest=nearest(name, self.names))
        if not np.isfinite(at):
            raise BadParameter(f"{argument('time')} is {time!r}: it must be finite.")
        if not is_finite_number(amount):
            raise BadParameter(
                f"{argument('amount')} is {short_repr(amount)}: it must be a finite number."
            )
        event = (at, self.names.index(name), float(amount))
        return self.take(Batch.of([event], plain_numbers))

    def take(self, batch: Batch) -> list[MonitoredAssessment]:
        """Take many events into account; what the assessments found that they complete."""
        return [one for findings in self.found(batch) for one in findings.each()]

    def finish(self) -> list[MonitoredAssessment]:
        """The events are over: judge what is open, unless it is an unfinished period."""
        return [one for findings in self.found_at_end() for one in findings.each()]

    def found(self, batch: Batch) -> list[Findings]:
        """What `take` finds, the assessments still together; a refused batch changes nothing."""
        with self._whole_or_not_at_all():
            return self._found(batch)

    def found_at_end(self) -> list[Findings]:
        """What `finish` finds, the assessments still together."""
        with self._whole_or_not_at_all():
            return self._found_at_end()

    @contextlib.contextmanager
    def _whole_or_not_at_all(self) -> Iterator[None]:
        """Whatever is refused meanwhile leaves the monitor as it was."""
        before = self._state()
        try:
            yield
        except Exception:
            self._go_back(before)
            raise

    def _found(self, batch: Batch) -> list[Findings]:
        if not len(batch.at):
            return []
        self.time_steps.take_kind(batch.plain_numbers, self.begun)
        batch = self._inside(batch)
        if not len(batch.at):
            return []
        at = np.maximum(np.maximum.accumulate(batch.at), self.last_at)
        self.late += int((batch.at < at).sum())
        before = at[:1] if not self.begun else np.array([self.last_at])
        keys = self.time_steps.keys(np.concatenate((before, at)))
        steps = np.unique(keys)
        self.time_steps.refuse_leap(steps)
        self._join(at, batch)
        place = np.searchsorted(steps, keys[1:]) * len(self.names) + batch.who
        received = np.bincount(place, batch.amount, minlength=len(steps) * len(self.names))
        received = received.reshape(len(steps), len(self.names))
        received[0] += self.open
        if self.ended and keys[1] > keys[0] and self.time_steps.is_over(keys[:1], self.last_at):
            # The step that was open has been judged at the end: only empty periods follow it.
            if self.time_steps.period is None:
                steps, received = steps[1:], received[1:]
            else:
                steps[0] += 1
        closed = self.time_steps.closed(steps, received)
        found = [one for keys, some in closed for one in self._judged(keys, some)]
        if self.alarms is not None:  # last, as it refuses nothing and cannot be taken back
            self.alarms.take(at, batch)
        self.open, self.last_at, self.ended = received[-1], float(at[-1]), False
        return found

    def _join(self, at: np.ndarray, batch: Batch) -> None:
        """Let those who join by the last of some events begin where the rule says."""
        status = self.stream.scheme.status
        if self.roster is None or not isinstance(status, WithCredit):
            return
        first, last = self.roster.bounds(self.names, self.time_steps.plain_numbers)
        self.credit = self.credit.copy()
        joining = first[np.isfinite(first) & (first > self.last_at) & (first <= at[-1])]
        for moment in np.unique(joining):
            before = self.received + self._sums(batch, at < moment)
            join(self.credit, moment, self.newcomers, status.of, before[None], None, (first, last))
        self.received = self.received + self._sums(batch, slice(None))

    def _sums(self, batch: Batch, which: np.ndarray | slice) -> Float[np.ndarray, " n"]:
        return np.bincount(batch.who[which], batch.amount[which], minlength=len(self.names))

    def _found_at_end(self) -> list[Findings]:
        if not self.begun or self.ended:
            return []
        self.ended = True
        found: list[Findings] = []
        key = self.time_steps.keys(np.array([self.last_at]))
        if self.time_steps.is_over(key, self.last_at):
            found += self._judged(key, self.open[None])
            self.open = np.zeros(len(self.names))
        present = self._present(key)
        end = self.stream.end(None if present is None else present[0])
        found += self._findings(end, key) if end is not None else []
        if self.alarms is not None:
            self.alarms.close()
        return found

    def new_alarms(self) -> list[RaisedAlarm]:
        """The alarms that were raised since this was last asked."""
        return [] if self.alarms is None else self.alarms.new(self.time_steps.plain_numbers)

    def summary(self) -> Line:
        """How things stand over all."""
        totals = self.totals
        final = self.stream.status if self.stream.steps else np.zeros(len(self.judged_names))
        return {
            "assessments": totals.assessments,
            "score": self.stream.score if totals.assessments else None,
            "alerts": self.thresholds.alerts,
            **({} if self.alarms is None else self.alarms.summary(self.time_steps.plain_numbers)),
            "late": self.late,
            "outside_roster_dates": self.outside,
            "stakeholders": [
                {
                    "name": name,
                    "final": float(final[i]),
                    "last_unfairness": None if np.isnan(totals.last[i]) else float(totals.last[i]),
                    "overall_unfairness": float(totals.overall[i]),
                    "share_below": float(totals.share_below[i]),
                    "longest_spell": int(totals.longest[i]),
                }
                for i, name in enumerate(self.judged_names)
            ],
        }

    def snapshot(self) -> dict[str, Any]:
        """All that is needed to go on as if the monitor had never stopped.

        It is a copy: it stays as it is while the monitor goes on.
        """
        known = {
            "watches": self._watches(),
            "begun": self.begun,
            **({} if self.alarms is None else {"watch": self.alarms.snapshot()}),
            **self._state(),
        }
        return copy.deepcopy(known)

    def _state(self) -> dict[str, Any]:
        """All but the alarms, as objects that the monitor replaces and does not change."""
        return {
            "plain_numbers": self.time_steps.plain_numbers,
            **self.thresholds.snapshot(),
            **{name: getattr(self, name) for name in KEPT},
            "totals": self.totals.snapshot(),
            "stream": self.stream.snapshot(),
        }

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where another monitor of the same scheme and names stopped.

        Args:
            snapshot: What `snapshot` gave. Several monitors may go on from one.
        """
        if not isinstance(snapshot, Mapping) or "watches" not in snapshot:
            raise BadParameter(
                f"{argument('snapshot')} is {short_repr(snapshot)}: it must be what the "
                "`snapshot` of a monitor gave."
            )
        if snapshot["watches"] != self._watches():
            raise BadParameter(
                f"{argument('snapshot')} is that of a monitor that watched something else (another "
                "scheme, other stakeholders or another alarm): make this one as that was made."
            )
        snapshot = copy.deepcopy(snapshot)
        if self.alarms is not None:
            self.alarms.resume(snapshot["watch"])
        self._go_back(snapshot)

    def _go_back(self, state: Mapping[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, state[name])
        self.time_steps.plain_numbers = state["plain_numbers"]
        self.thresholds.resume(state)
        self.totals.resume(state["totals"])
        self.stream.resume(state["stream"])

    def _watches(self) -> tuple[Any, ...]:
        """What must be the same when another monitor goes on from where this one stops."""
        alarm = None if self.alarms is None else self.alarms.watches()
        return scheme_in_words(self.stream.scheme), self.names, alarm

    def _judged(self, keys: np.ndarray, received: Float[np.ndarray, "step n"]) -> list[Findings]:
        if not len(keys):
            return []
        # Every step is over, so each carries the mark of a finished period.
        trace = Trace(
            rewards=received,
            marks=np.ones(len(keys), dtype=bool),
            circumstances=self._circumstances(len(keys)),
        )
        found, start = [], 0
        for block in self.stream.blocks(trace, self._present(keys)):
            here = keys[start : start + len(block.assessed)][block.assessed]
            start += len(block.assessed)
            found += self._findings(block, here)
        return found

    def _circumstances(self, steps: int) -> Circumstances | None:
        """What each began with, the same at every step: before it joins nobody is judged."""
        if not isinstance(self.stream.scheme.status, WithCredit):
            return None
        return Circumstances(credit=np.broadcast_to(self.credit, (steps, len(self.credit))))

    def _findings(self, block: Block, keys: np.ndarray) -> list[Findings]:
        if not len(block.statuses):
            return []
        scores, before = self.stream.running(block), self.totals.assessments
        deviation, below = self.totals.take(block)
        rows, places = np.nonzero(below)
        return [
            Findings(
                number=before,
                times=self.time_steps.labels(keys),
                scores=scores,
                welfare=block.contributions if block.contributions.ndim == 1 else scores,
                who=places,
                far=deviation[rows, places],
                ends=np.cumsum(below.sum(axis=1)),
                names=self._name_array,
                keys=self._key_array,
                alerts=self.thresholds.take(block, deviation, scores),
            )
        ]

    def _inside(self, batch: Batch) -> Batch:
        """Without events outside their stakeholder's stay, which `audit` does not count either."""
        if self.roster is None or not self.roster.dated or not len(batch.at):
            return batch
        first, last = self.roster.bounds(self.names, self.time_steps.plain_numbers)
        inside = (batch.at >= first[batch.who]) & (batch.at <= last[batch.who])
        self.outside += int((~inside).sum())
        return Batch(batch.at[inside], batch.who[inside], batch.amount[inside], batch.plain_numbers)

    def _present(self, keys: np.ndarray) -> Any:
        """Who is there at each step; None where everyone is."""
        return presence(self.roster, self.names, self.time_steps.moments(keys))


def scheme_in_words(scheme: FairnessScheme) -> str:
    """All that must be the same of a scheme for a monitor to go on, its numbers included."""
    calendar = ""
    if FILTERS.name_of(scheme.filter) is None:  # one of the audit's own, for calendar periods
        calendar = scheme.filter.describe()
        scheme = replace(scheme, filter=Always())
    try:
        return to_toml(scheme) + calendar
    except ValueError:  # a part that is a Python function
        return scheme.describe() + calendar


def _require_names(names: Any) -> tuple[str, ...]:
    """All who are watched, as texts; refused if it is one text, nobody, or somebody twice."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise BadParameter(
            f"{argument('names')} is {short_repr(names)}: it must be a list of names, such as "
            "('Ann', 'Ben')."
        )
    found = as_names(names)
    if not found:
        raise BadParameter(f"{argument('names')} is empty: name everyone who is to be watched.")
    for name, times in Counter(found).items():
        if times > 1:
            raise BadParameter(f"{argument('names')} has {name!r} twice: name everyone once.")
    return found
