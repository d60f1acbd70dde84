"""A stream judged as it happens: batches, time steps, alerts and alarms."""

from __future__ import annotations

import contextlib
import copy
import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from evenhand._util.checks import is_finite_number, require_kind
from evenhand._util.numbers import (
    CALENDAR,
    FIRST_MOMENT,
    LAST_MOMENT,
    as_numbers,
    as_timestamps,
    microseconds,
    moment_labels,
    parse_moment,
)
from evenhand._util.wording import as_names, join_tied, nearest, short_repr, tell_apart
from evenhand.auditing.case import join
from evenhand.auditing.chance.alarm import AlarmWatch, RaisedAlarm
from evenhand.auditing.chance.nulls import OddsOverTime
from evenhand.auditing.questions import MOST_PERIODS, Period, Question, needs_dates
from evenhand.auditing.scoring import Ranking, RunningTotals
from evenhand.auditing.verdict import Direction
from evenhand.errors import BadLog, BadParameter, UnknownStakeholder, argument
from evenhand.fairness.filters import FILTERS, Always
from evenhand.fairness.scheme import FairnessScheme, to_toml
from evenhand.fairness.status import WithCredit
from evenhand.fairness.stream import Block
from evenhand.fairness.trace import NONE, Circumstances, Tolerance, Trace
from evenhand.fairness.unfairness import ROUNDING
from evenhand.log.history import Roster, presence
from evenhand.log.options import one_of, require_limit

if TYPE_CHECKING:
    from jaxtyping import Float


# Events as a monitor takes them: some at a time, in the order in which they came.

FIRST_YEAR, LAST_YEAR = np.datetime64(FIRST_MOMENT, "Y"), np.datetime64(LAST_MOMENT, "Y")


class Batch(NamedTuple):
    """Events in order: when, the place of who received among the names, and how much.

    A time is a plain number, or else microseconds since 1970.
    """

    at: np.ndarray
    who: np.ndarray
    amount: np.ndarray
    plain_numbers: bool = True

    @classmethod
    def of(cls, events: list[tuple[float, int, float]], plain_numbers: bool) -> Batch:
        at, who, amount = zip(*events, strict=True) if events else ((), (), ())
        return cls(
            np.array(at, dtype=np.float64),
            np.array(who, dtype=np.int64),
            np.array(amount, dtype=np.float64),
            plain_numbers,
        )


def text_as_number(text: str) -> float:
    """An ISO date or timestamp as microseconds since 1970 in UTC; without a zone it is UTC."""
    try:
        return microseconds(parse_moment(text))
    except (ValueError, OverflowError):  # such as the year 1 in a zone ahead of UTC
        raise ValueError(f"the time {short_repr(text)} is not an ISO date or timestamp") from None


def time_as_number(time: Any) -> tuple[float, bool]:
    """A time of any kind as a number, and whether it is a plain number.

    >>> time_as_number("1970-01-02"), time_as_number(7)
    ((86400000000.0, False), (7.0, True))
    """
    if isinstance(time, str):
        return text_as_number(time), False
    if isinstance(time, datetime.date):  # a datetime is one too
        return text_as_number(time.isoformat()), False
    if isinstance(time, np.datetime64):  # NumPy has one that is none, and some beyond any calendar
        if not FIRST_YEAR <= time.astype("datetime64[Y]") <= LAST_YEAR:
            raise ValueError(f"the time {time} is not a date within {CALENDAR}")
        return float(as_numbers(np.asarray(time))), False
    if isinstance(time, Real) and not isinstance(time, bool):
        try:
            return float(time), True
        except OverflowError:
            raise ValueError(f"the time {short_repr(time)} is too large") from None
    raise ValueError(f"the time {time!r} is not a date, a timestamp or a number")


# The steps that a monitor judges: each moment at which something happens, or calendar periods.

STEPS = 4096  # periods taken at once, however long a gap in the events is


class TimeSteps:
    """From moments to steps, and what a step is called.

    A step has a key: its moment, or the number of its period.
    """

    def __init__(self, period: Period | None) -> None:
        self.period = period
        self.plain_numbers = True  # or dates, as the first events say

    def take_kind(self, plain_numbers: bool, begun: bool) -> None:
        """The first events say whether times are dates or plain numbers."""
        if self.period is not None and plain_numbers:
            raise BadParameter(f"{needs_dates(self.period)}.")
        if begun and plain_numbers != self.plain_numbers:
            kinds = ("dates", "plain numbers")
            raise BadLog(
                f"the times so far are {kinds[self.plain_numbers]}, and these are "
                f"{kinds[plain_numbers]}: give times of one kind."
            )
        self.plain_numbers = plain_numbers

    def keys(self, at: np.ndarray) -> np.ndarray:
        """The step that each moment belongs to."""
        return at if self.period is None else self.period.number(_days(at))

    def is_over(self, key: np.ndarray, last_at: float) -> bool:
        """Whether a step is complete, if nothing more happens at the latest moment."""
        return self.period is None or bool(self.period.last_day(key)[0] <= _days(last_at))

    def moments(self, keys: np.ndarray) -> np.ndarray:
        """When each step is judged."""
        if self.period is not None:
            return (self.period.last_day(keys) + 1).astype("datetime64[us]") - 1
        return keys if self.plain_numbers else as_timestamps(keys)

    def labels(self, keys: np.ndarray) -> list[str]:
        """What each step is called."""
        if self.period is not None:
            return [self.period.label(int(key)) for key in keys]
        return moment_labels(self.moments(keys))

    def refuse_leap(self, keys: np.ndarray) -> None:
        """Refuse to judge more empty periods than make sense, before anything is judged."""
        if self.period is None:
            return
        for k in np.flatnonzero(np.diff(keys) > MOST_PERIODS)[:1]:
            before, after = (self.period.label(int(key)) for key in keys[k : k + 2])
            raise BadLog(
                f"an event in {after} comes {int(keys[k + 1] - keys[k]):,} {self.period.name}s "
                f"after the one before it, in {before}, and at most {MOST_PERIODS:,} are assessed: "
                "fix its time, or ask for longer periods."
            )

    def closed(
        self, keys: np.ndarray, received: Float[np.ndarray, "step n"]
    ) -> Iterator[tuple[np.ndarray, Float[np.ndarray, "step n"]]]:
        """Every step but the last, which is still open, with the empty periods between."""
        if self.period is None:
            yield keys[:-1], received[:-1]
            return
        for k in range(len(keys) - 1):
            gap = np.arange(keys[k], keys[k + 1])
            for start in range(0, len(gap), STEPS):
                some = np.zeros((len(gap[start : start + STEPS]), received.shape[1]))
                if start == 0:
                    some[0] = received[k]
                yield gap[start : start + STEPS], some


def _days(at: Any) -> np.ndarray:
    return as_timestamps(at).astype("datetime64[D]")


# What assessments found: as objects for Python, or as JSON lines, which must be quick; alerts.

Line = dict[str, Any]


@dataclass(frozen=True)
class MonitoredAssessment:
    """What one assessment found."""

    number: int  # from 1
    time: str
    score: float  # so far
    welfare: float  # at this time
    unfair_to: dict[str, float]  # those below the mean, and how far
    alert: tuple[str, ...] = ()  # the thresholds that are passed, in words
    alert_begins: bool = False  # the assessment before had no alert

    def to_json(self) -> Line:
        """The same as plain values."""
        line = {
            "assessment": self.number,
            "time": self.time,
            "score": self.score,
            "welfare": self.welfare,
            "unfair_to": self.unfair_to,
        }
        if self.alert:
            line |= {"alert": list(self.alert), "alert_begins": self.alert_begins}
        return line


@dataclass(frozen=True, eq=False)
class Findings:
    """Assessments in order. Those below the mean are listed one after the other, up to each end."""

    number: int  # of assessments before these
    times: list[str]
    scores: np.ndarray
    welfare: np.ndarray
    who: np.ndarray  # place of each one below, and
    far: np.ndarray  # how far
    ends: np.ndarray
    names: np.ndarray
    keys: np.ndarray  # each name as the beginning of a JSON member: b',"North":'
    alerts: dict[int, dict[str, Any]] = field(default_factory=dict)

    def each(self) -> list[MonitoredAssessment]:
        """An object for each assessment."""
        names, far = self.names[self.who].tolist(), self.far.tolist()
        starts, ends = [0, *self.ends[:-1].tolist()], self.ends.tolist()
        return [
            MonitoredAssessment(
                number=self.number + k + 1,
                time=time,
                score=float(self.scores[k]),
                welfare=float(self.welfare[k]),
                unfair_to=dict(zip(names[start:stop], far[start:stop], strict=True)),
                **self.alerts.get(k, {}),
            )
            for k, (time, start, stop) in enumerate(zip(self.times, starts, ends, strict=True))
        ]

    def encoded(self, only_alerts: bool = False) -> bytes:
        """The same as JSON lines; all numbers are written at once, and then cut apart."""
        members: list[bytes] = [b""] * (2 * len(self.far))
        members[::2], members[1::2] = self.keys[self.who].tolist(), _numbers(self.far)
        starts, ends = [0, *self.ends[:-1].tolist()], self.ends.tolist()
        rows = zip(
            orjson.dumps(self.times)[2:-2].split(b'","'),
            _numbers(self.scores),
            _numbers(self.welfare),
            starts,
            ends,
            strict=True,
        )
        out = []
        for k, (time, score, welfare, start, stop) in enumerate(rows):
            if only_alerts and k not in self.alerts:
                continue
            more = b"," + orjson.dumps(self.alerts[k])[1:-1] if k in self.alerts else b""
            below = b"".join(members[2 * start : 2 * stop])[1:]
            out.append(
                b'{"assessment":%d,"time":"%b","score":%b,"welfare":%b,"unfair_to":{%b}%b}\n'
                % (self.number + k + 1, time, score, welfare, below, more)
            )
        return b"".join(out)


class Thresholds:
    """What an alert is raised for, how many there were, and whether the last assessment had one.

    Args:
        names: Those who are judged.
        direction: Whether to be worse off is to lie below the mean or above it.
        max_unfairness: How far anybody may be from the mean: an amount, or a share such as "10%".
        min_score: The least that the score may be.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        direction: Direction,
        max_unfairness: float | str | None,
        min_score: float | None,
    ) -> None:
        self.names, self.direction = names, direction
        self.max_unfairness: Tolerance | None = None
        if max_unfairness is not None:
            self.max_unfairness = Tolerance.read(max_unfairness, "max_unfairness")
        require_limit(min_score, "min_score")
        self.min_score = min_score
        self.alerts = 0
        self.alarmed = False  # whether the last assessment had an alert

    def take(
        self, block: Block, deviation: Float[np.ndarray, "k n"], scores: Float[np.ndarray, " k"]
    ) -> dict[int, Line]:
        """What is past a threshold; an alert begins where the assessment before had none."""
        reasons: dict[int, list[str]] = {}
        if self.max_unfairness is not None:
            place = np.arange(len(deviation)), np.nanargmin(deviation, axis=1)
            lowest = deviation[place]
            mean = block.statuses[place] - lowest
            most = self.max_unfairness.around(mean)
            largest = np.nanmax(np.abs(deviation + mean[:, None]), axis=1)
            # By more than rounding: whoever is just at the limit keeps it.
            for k in np.flatnonzero(-lowest > most + ROUNDING * largest).tolist():
                lowest_here = Ranking.of(deviation[k], block.statuses[k]).lowest
                names = [self.names[place] for place in lowest_here]
                are = "is" if len(names) == 1 else "are"
                far, limit = tell_apart(-float(lowest[k]), float(most[k]))
                reasons.setdefault(k, []).append(
                    f"{join_tied(names)} {are} {far} {self.direction.worse} the mean, "
                    f"more than {limit}"
                )
        if self.min_score is not None:
            for k in np.flatnonzero(scores < self.min_score).tolist():
                low, least = tell_apart(float(scores[k]), self.min_score)
                reasons.setdefault(k, []).append(f"the score is {low}, below {least}")
        found: dict[int, Line] = {}
        for k in sorted(reasons):
            begins = k - 1 not in reasons if k else not self.alarmed
            found[k] = {"alert": tuple(reasons[k]), "alert_begins": begins}
        self.alarmed = len(scores) - 1 in reasons
        self.alerts += len(reasons)
        return found

    def snapshot(self) -> Line:
        """All that is needed to go on."""
        return {"alerts": self.alerts, "alarmed": self.alarmed}

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where others stopped."""
        self.alerts, self.alarmed = snapshot["alerts"], snapshot["alarmed"]


def key_of(name: str) -> bytes:
    """The beginning of a member of a JSON object, after another member."""
    return b"," + orjson.dumps(name) + b":"


def _numbers(values: np.ndarray) -> list[bytes]:
    return orjson.dumps(values.tolist())[1:-1].split(b",") if len(values) else []


# Alarms of a monitor: somebody is behind by more than a lottery explains, at any look.


class Alarms:
    """A watch fed with the events of a monitor, each of them a lot.

    Args:
        names: All stakeholders.
        alpha: The probability of ever raising a false alarm, over all looks and stakeholders.
        odds: The odds of each at any moment.
        groups: The group of each, if groups are watched too.
        less_is_better: Whether to be behind is to receive more.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        alpha: float,
        odds: OddsOverTime,
        groups: Sequence[str] | None,
        less_is_better: bool,
    ) -> None:
        self.alpha, self.groups = alpha, groups
        self._odds = odds
        self._watch = AlarmWatch(names, alpha, odds, groups, less_is_better)

    @property
    def raised(self) -> bool:
        return self._watch.raised

    def take(self, at: Float[np.ndarray, " event"], batch: Batch) -> None:
        """Take events into account, at the time points at which they count.

        A late event counts at the present time point, and its bet is by the odds of its own time.
        """
        self._odds.plain_numbers = batch.plain_numbers
        self._watch.take(at, batch.who, batch.amount, batch.at)

    def close(self) -> None:
        """The events are over."""
        self._watch.close()

    def new(self, plain_numbers: bool) -> list[RaisedAlarm]:
        """The alarms that were not asked for before."""
        return [RaisedAlarm.of(one, plain_numbers) for one in self._watch.new_alarms()]

    def summary(self, plain_numbers: bool) -> dict[str, Any]:
        """All alarms, and how much evidence there is now."""
        raised = [RaisedAlarm.of(one, plain_numbers).to_json() for one in self._watch.alarms]
        return {"alarms": raised, "evidence": self._watch.evidence, "needed": 1 / self.alpha}

    def watches(self) -> dict[str, Any]:
        """What must be the same when a monitor goes on."""
        return {"alpha": self.alpha, "groups": None if self.groups is None else list(self.groups)}

    def snapshot(self) -> dict[str, Any]:
        """All that is needed to go on."""
        return self._watch.snapshot()

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where others stopped."""
        self._watch.resume(snapshot)


# One scheme, its running state, and what each assessment finds.
#
# Events at one time are one time point, and a time point (or a calendar period) is judged once a
# later event shows that it is over. **Late**: an event earlier than one before it counts at the
# present time point, since what was assessed is not assessed again; a bet of an alarm on it is by
# the odds of its own time, at which its recipient was there. **Repeated**: an event whose id was
# seen before does not count; without ids every event counts, as in `audit`.

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
