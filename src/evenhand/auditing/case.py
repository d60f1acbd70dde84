"""What is judged, whatever the question: history, status, newcomers, who is there when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import as_numbers, as_timestamps, moment_labels
from evenhand._util.wording import join_names
from evenhand.auditing.questions import Question, Timeline
from evenhand.auditing.scoring import mean_status
from evenhand.errors import BadParameter, argument
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import (
    STATUSES,
    Beside,
    GroupTotals,
    Level,
    MeanWait,
    OfRequests,
    PerCurrentEntitlement,
    PerEntitlement,
    PerTimePresent,
    Rate,
    RateWithinPeriod,
    Returns,
    ShareInTime,
    Status,
    WhileWaiting,
    Window,
    WithCredit,
    read_beside,
)
from evenhand.fairness.trace import NONE, Circumstances, Standing, Tolerance, Trace
from evenhand.log.history import History, Known, Reading, Roster, TimedAmounts, Unchanging, presence
from evenhand.log.options import AuditOptions

if TYPE_CHECKING:
    from jaxtyping import Float

    from evenhand.log.log import Log


# Where those who join later begin: neither ahead nor behind, unless another rule is asked for.
#
# With the rule "mean", whoever joins at a time has from then on what it received since, and on top
# the mean status of those who were there, before anything was given at that time; others who join
# at the same time are left out of it. Nobody else's status changes: a newcomer brings no supply.

Stay = tuple[np.ndarray, np.ndarray]  # from and until of each who is judged, as numbers


def _least(statuses: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    return np.min(statuses, axis=-1)


# The status at which a newcomer begins, of those who are there, by rule.
STARTS: Mapping[str, Callable[[np.ndarray, np.ndarray | None], np.ndarray] | None] = {
    "mean": mean_status,
    "zero": None,
    "least": _least,
    "by-time": None,  # what was received per time point present needs no start
}


BEGINNINGS = {
    None: "",
    "mean": "They began at the mean of those who were there.",
    "zero": "They began at zero.",
    "least": "They began where the worst-off of those who were there stood.",
    "by-time": "Everyone is judged by what it received per time point at which it was there.",
}


class TimePresent(Reading):
    """At how many time points of a log each has been there, up to each moment."""

    def __init__(self, slots: np.ndarray, first: np.ndarray, last: np.ndarray) -> None:
        self.slots, self.last = slots, last
        self._before = np.searchsorted(slots, first, side="left")

    def by(self, moments: np.ndarray) -> Float[np.ndarray, "moment stakeholder"]:
        until = np.minimum(as_numbers(moments)[:, None], self.last)
        reached = np.searchsorted(self.slots, until, side="right")
        return np.maximum(reached - self._before, 0).astype(np.float64)


def newcomers_note(
    names: Sequence[str], stay: Stay, slots: np.ndarray, rule: str | None
) -> str | None:
    """Who was judged from when, and where they began; None if nobody joined during the log."""
    first, _ = stay
    later = np.flatnonzero(np.isfinite(first) & (first > as_numbers(slots[:1])[0]))
    if not len(later):
        return None
    order = later[np.argsort(first[later], kind="stable")]
    moments = first[order]
    if slots.dtype.kind == "M":
        moments = as_timestamps(moments)
    labels = moment_labels(moments)
    joined = [f"{names[k]} from {label}" for k, label in zip(order, labels, strict=True)]
    return f"Judged from when they joined: {join_names(joined)}. {BEGINNINGS[rule]}".rstrip()


def starting_credits(
    rule: str,
    status: Status,
    received: TimedAmounts,
    known_at: Callable[[np.ndarray], Circumstances | None],
    stay: Stay,
) -> Float[np.ndarray, " status"]:
    """The status at which each begins who joins later, and 0 for all others.

    Args:
        rule: One of `STARTS`.
        status: The status that is judged, which must depend on totals alone.
        received: What each stakeholder received, and when.
        known_at: What else is known at moments that are asked for in order.
        stay: From when until when each who is judged is there.
    """
    first, _ = stay
    found, totals = np.zeros(len(first)), received.totals()
    for moment in np.unique(first[np.isfinite(first)]):
        before = totals.by(np.array([np.nextafter(moment, -np.inf)]))
        join(found, moment, rule, status, before, known_at(np.array([moment])), stay)
    return found


def join(
    credits: Float[np.ndarray, " status"],
    moment: float,
    rule: str,
    status: Status,
    before: Float[np.ndarray, "1 stakeholder"],
    known: Circumstances | None,
    stay: Stay,
) -> None:
    """Enter the credits of those who join at a moment, by what each received before it."""
    start, (first, last) = STARTS[rule], stay
    there = (first < moment) & (last >= moment)
    if start is None or not there.any():
        return
    trace = Trace(rewards=before, circumstances=known)
    initial = status.init(before.shape[1])
    statuses = status.scan(initial, trace)[1] + credits
    standing = Standing.of(there[None], status.scan_weights(initial, trace))
    if standing.anybody:  # before the log begins nobody's entitlement may be known
        credits[first == moment] = standing.judge(start, statuses, np.nan)[0]


# The status that an audit judges by: the scheme's, set against what else the log says.

# The argument that says each part of the circumstances.
SAID_BY = {"chances": "out_of", "entitled": "entitlement", "asked": "asked"}


def judged_status(log: Log, options: AuditOptions) -> Status:
    """A status of groups where they are judged, per entitlement, as a rate, or of requests.

    Args:
        log: What was read, which says what amounts are set against.
        options: How to judge.
    """
    status = options.status()
    own = read_beside(status)
    if own is not None:
        _require_beside(own, log, options)
        return options.directed(status)
    _refuse_twice(status, options)
    if options.within_period:
        status = Window(1)
    shares = log.shares
    if log.groups is not None:
        status = GroupTotals(log.groups, of=status)
        shares = None if shares is None else log.groups.totals(shares)
    if "level" in log.beside:
        status = Level(of=status)
    elif "chances" in log.beside:
        status = _rate(status, log, options)
    elif "entitled" in log.beside:
        status = PerCurrentEntitlement(not options.unweighted, of=status)
    elif shares is not None:
        status = PerEntitlement(tuple(shares.tolist()), not options.unweighted, of=status)
    if options.request_status is not None:
        status = _of_requests(options.request_status, status, log.groups)
    return options.directed(status)


def _rate(status: Status, log: Log, options: AuditOptions) -> Rate:
    """What was received out of chances; of waits, their mean, or the share of those in time."""
    if options.within is not None:
        return ShareInTime(of=status)
    if options.waits:
        unit = "units of time" if log.history.plain_numbers else "days"
        return MeanWait(unit, of=status)
    return RateWithinPeriod(of=status) if options.within_period else Rate(of=status)


def _of_requests(kind: type[OfRequests], status: Status, groups: Groups | None) -> Status:
    """A status set against what was asked for."""
    if not issubclass(kind, WhileWaiting):
        return kind(of=status)
    return kind(of=status, counted=Returns() if groups is None else GroupTotals(groups))


def _require_beside(own: Beside, log: Log, options: AuditOptions) -> None:
    """A scheme's status that looks at more than amounts needs a log that says it."""
    name = STATUSES.name_of(own)
    given = SAID_BY.get(own.part)
    if given is None:
        raise BadParameter(
            f"the scheme's status is {name}, which needs {own.needs}, and no column says that: "
            "choose another status."
        )
    if isinstance(own, MeanWait | ShareInTime):
        raise BadParameter(
            f"the scheme's status is {name}, which is judged wherever {argument('wait_from')} and "
            f"{argument('wait_to')} are given: leave it out of the scheme."
        )
    if own.part not in log.beside or options.waits:
        raise BadParameter(
            f"the scheme's status is {name}, which needs {own.needs}: say with "
            f"{argument(given)} which column holds it, or choose another status."
        )
    if log.groups is not None:
        raise BadParameter(
            f"the scheme's status is {name}, which is not summed by group: leave the status out of "
            f"the scheme, since {argument(given)} says it already."
        )
    for said in ("judge_requests", "unweighted"):
        if getattr(options, said):
            raise BadParameter(
                f"{argument(said)} is already said by the scheme's status, {name}: leave one out."
            )
    if isinstance(own, OfRequests) and options.scheme.status.negated:
        raise BadParameter(
            f"the scheme says that less is better, and {argument(given)} that amounts are wanted: "
            "leave one out."
        )


def _refuse_twice(status: Status, options: AuditOptions) -> None:
    """A scheme's status that is no plain sum of amounts cannot be set against anything more."""
    if options.scheme is None:
        return
    against = {
        "out_of": options.out_of is not None,
        "wait_from": options.waits,
        "stock": options.stock,
        "asked": options.asked is not None or options.requests is not None,
    }
    per_unit = options.request_status is not None and options.request_status.per_unit
    sized = any(isinstance(one, PerEntitlement) for one in _inner(status))
    plain = status.is_sum and status.in_amounts and not sized
    named = [name for name, given in against.items() if given]
    if named and (sized or not (plain or per_unit) or (named == ["asked"] and status.negated)):
        raise BadParameter(
            f"the scheme's status is {status.describe()}, which {argument(named[0])} cannot be set "
            "beside: leave the status out of the scheme, or leave the other out."
        )
    if options.entitlement is not None and not status.is_amount:
        raise BadParameter(
            f"the scheme's status is {status.describe()}, which is not an amount to be taken per "
            f"unit of {argument('entitlement')}: leave one out, or name per_entitlement inside it."
        )
    if options.entitlement is not None and sized:
        raise BadParameter(
            f"the scheme's status says already what each is entitled to: leave "
            f"{argument('entitlement')} out, or the status out of the scheme."
        )


def _inner(status: Status | None) -> Iterator[Status]:
    """A status, that of which it is a function, and so on."""
    while status is not None:
        yield status
        status = getattr(status, "of", None)


# What is judged, whatever the question: the history, the status, and who is there when.

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
