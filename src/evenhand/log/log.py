"""A log, read once: who received what when, who was there, was entitled, had asked."""

from __future__ import annotations

import datetime
import html
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np

from evenhand._util.numbers import as_numbers, moment_label, parse_moment
from evenhand._util.wording import format_number, join_names, pluralise
from evenhand.errors import BadLog, BadParameter, NotFinite, argument
from evenhand.events import Event
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import read_beside
from evenhand.log import people as entitling
from evenhand.log.checks import (
    ask_about_empty_amounts,
    note_aggregate,
    note_alike,
    note_only_left_out,
    note_rates,
    note_running_totals,
    out_of_order,
    refuse_unreadable,
)
from evenhand.log.counting import (
    HIGHEST,
    LOWEST,
    HiddenOverTime,
    HiddenRows,
    count,
    hidden_over_time,
    read_lots,
    without_unknown,
)
from evenhand.log.engines import fetch
from evenhand.log.files import LogTable, opened_log
from evenhand.log.from_events import read_told, told_of
from evenhand.log.history import (
    History,
    Known,
    Lots,
    Reading,
    Roster,
    TimedAmounts,
    Unchanging,
    lots_of_cells,
    presence,
)
from evenhand.log.layout import Notes, default_columns
from evenhand.log.options import (
    READING,
    WINDOW,
    AuditOptions,
    PeriodBorder,
    ReadLog,
    begins_beyond,
    beyond,
    bound_name,
    read_keywords,
    require_known,
)
from evenhand.log.people import (
    apply_roster,
    as_groups,
    asked_over_time,
    of_those,
    open_from,
    read_groups,
    read_requests,
    roster_of,
)
from evenhand.log.rows import LogEvents, plain_name, read_events, require_column
from evenhand.log.waits import Cases, judged_waits, read_cases

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    from evenhand.auditing.answer import Answer, BestThereWas
    from evenhand.auditing.chance.finding import ChanceFinding, NotTested
    from evenhand.decide.replay.answer import ReplayAnswer
    from evenhand.decide.world_from_log import WorldOfLog


# `Log`: who received what and when, who was there, was entitled and had asked. Read once.
#
# A reading ends in a `Record`, which holds all that a log says as arrays, and needs its source no
# more. A `Log` is a record under options: the part of it that counts, ready to be judged.

LARGEST = 1e290  # that all amounts may add up to, so that sums of sums are still numbers


class Kept(NamedTuple):
    """How much of a log is kept when it is read, where less will do for what is asked of it."""

    time_points: bool = True  # every one, and not days, however long the log is
    rows: bool | Callable[[History], bool] = True  # one by one, as things that are not divided
    ends: bool = True  # also with the lowest and the highest that suppressed amounts can be


@dataclass(frozen=True, eq=False)
class Record:
    """All that a log says, before any of it is left out."""

    label: str  # what the log is called in messages
    columns: tuple[str, ...]
    sources: tuple[str, ...]  # the files it was read from
    notes: Notes
    roster: Roster | None
    group_of: Mapping[str, str]
    history: History | None = None  # or, of waits,
    cases: Cases | None = None
    requests: History | None = None  # where they are a log apart
    entitled: Mapping[str, float] | None = None  # of those whose own rows do not say it
    lots: Lots | None = None  # where rows were kept apart
    hidden: HiddenOverTime | None = None
    ends: tuple[Record, ...] = ()  # with the lowest and the highest of the suppressed amounts
    runs: tuple[Record, ...] = ()  # where the log is of many runs; then all else is of the first


@dataclass(frozen=True, eq=False, repr=False)
class Log(ReadLog):
    """Who received what and when, who was there, was entitled and had asked: read once, immutable.

    `Log.read` makes one of a file, a database or a table, and `Log.from_events` of events in
    memory. It no longer depends on where it came from: its methods, and the functions that take
    logs, all speak of what was read then.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"month": [1, 2, 3, 4], "to": ["A", "A", "B", "B"], "doses": 20})
    >>> log = Log.read(table, stakeholder="to", time="month", amount="doses")
    >>> log
    <Log of the table: 80 doses to 2 stakeholders (A and B) at 4 time points from 1 to 4>
    >>> log.audit(welfare="rawls").score, log.audit(at_end=True, welfare="rawls").score
    (15.0, 40.0)
    """

    record: Record
    options: AuditOptions
    history: History  # of the part that counts
    roster: Roster | None
    group_of: Mapping[str, str]
    until: Any  # the moment up to which it is whole
    found: Notes  # what is odd, but not an error
    groups: Groups | None = None  # where groups are judged
    shares: Float[np.ndarray, " stakeholder"] | None = None  # what each is entitled to, at the end
    beside: Mapping[str, Known] = field(default_factory=dict)  # by circumstance
    amounts: Callable[[], Reading] | None = (
        None  # up to each moment, where they are not those of the history
    )
    lots: Lots | None = None  # where the rows of the log were kept apart
    hidden: HiddenRows | None = None  # suppressed amounts

    @classmethod
    def read(cls, source: Any, **options: Any) -> Log:
        """Read a log, once.

        Args:
            source: A path, a glob or several paths, the address of a database, or any table that
                narwhals knows: as for `audit`.
            options: What its columns mean and which rows count, as for `audit`: `stakeholder`,
                `time`, `amount`, `roster`, `entitlement`, `requests`, `group`, `where`, `since`,
                `until` and so on. How it is judged is said later. `when`, a condition on columns,
                is said here; a log is then assessed at the times it marks, unless another time to
                look is asked for. Times that are numbers stay numbers unless `time_unit` says
                what they count, or `since` or `until` is a date. Every time point and row is kept,
                where `audit` of a very long log keeps days, or no rows, if these will do.
        """
        require_known(options, "Log.read", (*READING, *WINDOW))
        said = {**options, **default_columns([source], options)}
        if {"requests", "asked"} & said.keys() and "entitlement" in said:
            said["judge_requests"] = "while_waiting"  # the one way to judge both, until it is said
        asked = AuditOptions(**said)
        return cls.of(record_of(source, asked), asked)

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event],
        label: str = "the events",
        by_request: bool | None = None,
        **options: Any,
    ) -> Log:
        """A log of what happened, in memory.

        Who joins and leaves is the roster; where nobody joins there is none. Entitlements count
        where not all are alike, and requests are not judged. Who pauses is there all the same.

        Args:
            events: What happened, in order; the times of all are dates, or those of all numbers.
            label: What the log is called in messages.
            by_request: Whether it is judged how requests were met; None for where anybody asks.
            options: What columns of the log are to be called (`stakeholder`, `time` and `amount`,
                which are called so by default), `since` and `until`.

        >>> from evenhand.events import Give, Join
        >>> log = Log.from_events([Join("Ann"), Join("Bob"), Give("Ann", at=1, amount=2)])
        >>> log.audit(welfare="rawls").score
        0.0
        """
        require_known(options, "Log.from_events", ("stakeholder", "time", "amount", *WINDOW))
        told = read_told(tuple(events), by_request, label)
        called = {name: name for name in ("stakeholder", "time", "amount")} | options
        if told.entitled is not None:
            called["entitlement"] = "entitlement"
        if told.requests is not None:
            called |= {"requests": label, "asked": "asked"}
        asked = AuditOptions(**called, roster=told.roster)
        notes = Notes()
        if told.unordered:
            notes.add(out_of_order(told.unordered))
        columns = (asked.time, asked.stakeholder, str(asked.amount), "entitlement")
        record = Record(
            label,
            columns,
            (),
            notes,
            told.roster,
            {},
            history=told.history,
            requests=told.requests,
            entitled=told.entitled,
            lots=told.lots,
        )
        return cls.of(record, asked)

    @classmethod
    def of(cls, record: Record, options: AuditOptions) -> Log:
        """A record under options: what lies in their window, and what is odd about it."""
        if record.runs:
            first = cls.of(record.runs[0], replace(options, run=None))
            return replace(first, record=record, options=options)
        if record.cases is not None:
            return _of_waits(record, record.cases, options)
        assert record.history is not None  # or it would be a log of waits
        return _of_amounts(record, record.history, options)

    @property
    def label(self) -> str:
        """What the log is called in messages."""
        return self.record.label

    @property
    def names(self) -> tuple[str, ...]:
        """The stakeholders."""
        return self.history.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about it, but not an error."""
        return tuple(self.found.sentences)

    @property
    def reading(self) -> dict[str, Any]:
        """The options that say how it was read."""
        return {name: getattr(self.options, name) for name in READING}

    def judged_by(self, options: AuditOptions) -> AuditOptions:
        """How this log was read, and how others say that it is judged."""
        if options.by_group and options.group != self.options.group:
            raise BadParameter(
                f"{argument('by')} names groups that were not read: give the column to Log.read as "
                f"{argument('group')}."
            )
        given = {one.name: getattr(options, one.name) for one in fields(AuditOptions)}
        given |= self.reading
        if options.when is None and options.times():
            given["when"] = None
        for name in WINDOW:
            if given[name] is None:
                given[name] = getattr(self.options, name)
        return AuditOptions(**given)

    def audit(self, **options: Any) -> Answer:
        """Judge the log: `audit` of it.

        Asked of a later layer, as are the best there was, a replay and a world: a log knows what
        can be asked of it, and nothing depends on that.

        Args:
            options: How it is judged, against what chance, and how it is shown, as for `audit`;
                `since` and `until` are allowed too.
        """
        from evenhand.auditing.audit_log import audit

        return audit(self, **options)

    def chance(self, **options: Any) -> ChanceFinding | NotTested | None:
        """Whether chance alone could have done it.

        Args:
            options: As for `audit`, such as `null`, `draws`, `seed` and `power`.
        """
        return self.audit(**options).chance

    def best(self, **options: Any) -> BestThereWas:
        """How fair the same supply could have been shared: `best_there_was` of it.

        Args:
            options: How it is judged, as for `audit`; and `lots`.
        """
        from evenhand.decide.hindsight.best_of_log import best_there_was

        return best_there_was(self, **options)

    def replay(self, rules: Any = (), **options: Any) -> ReplayAnswer:
        """What other rules would have done: `replay` of it.

        Args:
            rules: Which, by name or as objects; by default the usual ones.
            options: How it is judged, as for `audit`.
        """
        from evenhand.decide.replay.replay_log import replay

        return replay(self, rules=rules, **options)

    def world(self, block: Any = None, horizon: int | None = None, **options: Any) -> WorldOfLog:
        """An environment to learn in, made from the log: `world_of_log` of it.

        Args:
            block: How long the blocks of days are that are drawn again and again, such as "7d".
            horizon: How many decisions an episode has.
            options: How it is judged, as for `audit`; `until` says which part is learned from.
        """
        from evenhand.decide.world_from_log import world_of_log

        asked = read_keywords("Log.world", AuditOptions, [self], options)
        return world_of_log(self, asked, block, horizon)

    def events(self) -> list[Event]:
        """What happened, in order, as an allocator or a pool takes it.

        A row is something given. Of one that gives nothing no event tells, nor of groups.
        """
        odd = [name for name in ("out_of", "wait_from", "run") if getattr(self.options, name)]
        odd += ["stock"] if self.options.stock else []
        if odd:
            raise BadParameter(
                f"events tell what was given out, which a log with {argument(odd[0])} does not."
            )
        lots = lots_of_cells(self.history) if self.lots is None else self.lots
        return told_of(self.history, lots, self.roster, self.shares, self.beside)

    def to_frame(self, backend: Any = None) -> Any:
        """Who received how much when, as a data frame: a row for each who did at a time point.

        Args:
            backend: What the frame is of: "pandas", "polars", "pyarrow", or another that narwhals
                can make frames of. The default is the first of these three that is installed.
        """
        from evenhand.auditing.answer import AnswerTable

        history, options = self.history, self.options
        moments = history.slots[history.slot]
        times = moments if history.plain_numbers else moments.astype(object)
        columns = {
            options.time: times.tolist(),
            options.stakeholder: [history.names[k] for k in history.who.tolist()],
            options.amount or "amount": history.amount.tolist(),
        }
        kinds = (nw.Float64() if history.plain_numbers else nw.Datetime("us"), nw.String())
        types = dict(zip(columns, (*kinds, nw.Float64()), strict=True))
        return AnswerTable(columns, types).to_frame(backend)

    def __repr__(self) -> str:
        return f"<Log of {self.label}: {'; '.join(self._in_words())}>"

    def _repr_html_(self) -> str:
        """The log as a notebook shows it: who, when and how much, and what is odd."""
        first, *others = (*self._in_words(), *self.notes)
        rest = "".join(f"<li>{html.escape(words)}</li>" for words in others)
        return f"<p><strong>{html.escape(self.label)}</strong>: {html.escape(first)}</p>" + (
            f"<ul>{rest}</ul>" if rest else ""
        )

    def _in_words(self) -> list[str]:
        """Who, when and how much; and of how many runs it is the first, if there are several."""
        history, options = self.history, self.options
        much = "waits of " if options.waits else "levels of "
        if not (options.waits or options.stock):
            unit = {None: " events", "amount": ""}.get(options.amount, f" {options.amount}")
            much = f"{format_number(float(history.totals().sum()))}{unit} to "
        when = f"from {moment_label(history.first)} to {moment_label(history.slots[-1])}"
        points = f"at {pluralise(len(history.slots), 'time point')} " if history.exact else ""
        who = f"{pluralise(len(self.names), 'stakeholder')} ({join_names(self.names, 3)})"
        runs = len(self.record.runs)
        return [f"{much}{who} {points}{when}", *([f"the first of {runs:,} runs"] if runs else [])]


def record_of(source: Any, options: AuditOptions, kept: Kept = Kept()) -> Record:
    """All that a log says: read here, in one go, unless it was read already.

    Args:
        source: A log, or whatever `Log.read` takes.
        options: How it is read.
        kept: How much of it is needed.
    """
    if isinstance(source, Record):
        return source
    if isinstance(source, Log):
        return source.record
    with opened_log(source, options) as table:
        if options.run is None:
            return _read(table, options, kept)
        alone = replace(options, run=None)
        runs = tuple(_read(part, alone, kept) for part in split_runs(table, options.run))
        if not runs:
            raise BadLog(f"no row names a run: the column that {argument('run')} names is empty.")
        return replace(runs[0], runs=runs)


def log_of(source: Any, options: AuditOptions, kept: Kept = Kept()) -> Log:
    """A log under options; of one that was read already, these say only how it is judged.

    Args:
        source: A log, or whatever `Log.read` takes.
        options: How it is read and judged.
        kept: How much of it is needed.
    """
    options = options_for(source, options)
    return Log.of(record_of(source, options, kept), options)


def options_for(source: Any, options: AuditOptions) -> AuditOptions:
    """The options that hold for a log: of one that was read already, how that was is its own."""
    return source.judged_by(options) if isinstance(source, Log) else options


def split_runs(table: LogTable, column: str) -> list[LogTable]:
    """The table of each run, in order of the runs' names; an empty cell is not one."""
    require_column(table, column, "run")
    held = table.hold()
    frame = held.frame
    found = fetch(frame.select(nw.col(column)).unique().sort(column))[column]
    names = [name for name in found.tolist() if name is not None and name == name]
    if len({isinstance(name, str) for name in names}) > 1:  # as SQLite may have it
        raise BadLog(
            f"the column that {argument('run')} names holds numbers and text: write all runs alike."
        )
    return [replace(held, frame=frame.filter(nw.col(column) == name), paths=()) for name in names]


def _read(table: LogTable, options: AuditOptions, kept: Kept) -> Record:
    """Read, count and check; what is odd but not an error goes into the notes."""
    notes = Notes()
    roster = None if options.roster is None else roster_of(options)
    spelt = () if roster is None else roster.names  # also of those who are left out
    requests = read_requests(options, spelt, notes)
    asking = () if requests is None else requests.names
    events = read_events(table, options, spelt + asking)
    names = tuple(filter(options.chooses, spelt))
    roster = None if roster is None else replace(roster, names=names)
    for sentence in (*table.notes, *events.notes):
        notes.add(sentence)
    known = {} if roster is None else roster.groups
    record = Record(table.label, table.columns, table.sources, notes, roster, {})
    if options.waits:
        refuse_unreadable(events)
        record = replace(record, cases=read_cases(events, names))
        return replace(record, group_of=_groups(events, known))
    if requests is not None:
        requests = of_those(requests, options.chooses)
    # Those who asked and received nothing are in no other log.
    everyone = names if requests is None else names + requests.names
    history = count(events, notes, kept.time_points, everyone)
    _refuse_too_large(history, table.label)
    hidden = hidden_over_time(events)
    record = replace(
        record,
        group_of=_groups(events, known),
        history=history,
        requests=requests,
        entitled=_entitled(events, history),
        lots=read_lots(events, history) if _are_kept(kept.rows, history) else None,
        hidden=hidden,
    )
    if hidden is None or not (kept.ends and hidden.bounded):
        return record
    ends = [
        count(end.fill(events), Notes(), kept.time_points, everyone) for end in (LOWEST, HIGHEST)
    ]
    alone = replace(record, notes=Notes(), hidden=None, lots=None)
    return replace(record, ends=tuple(replace(alone, history=end) for end in ends))


def _are_kept(rows: bool | Callable[[History], bool], history: History) -> bool:
    return rows if isinstance(rows, bool) else rows(history)


def _groups(events: LogEvents, known: Mapping[str, str]) -> Mapping[str, str]:
    return {} if events.options.group is None else read_groups(events, known)


def _entitled(events: LogEvents, history: History) -> Mapping[str, float] | None:
    """What each is entitled to, by a table or by rows that are not of the part judged."""
    options = events.options
    if options.entitlement is None:
        return None
    if events.has("entitled"):
        said = entitling.of_column(history)
        silent = [name for name in history.names if name not in said]
        return entitling.highest(history) | entitling.of_rows(events, silent)
    return entitling.of_table(
        options.entitlement, options.stakeholder, options.encoding, options.decimal
    )


def _of_amounts(record: Record, uncut: History, options: AuditOptions) -> Log:
    """What was received in a window, by those who were there."""
    notes, roster, requests = record.notes.copy(), record.roster, record.requests
    until = _read_until(options.until, uncut.plain_numbers)
    hidden = None
    if record.hidden is not None:
        # A running total or a level holds on from before.
        begins = None if options.holds_readings else options.since
        since = None if begins is None else _read_since(begins, uncut.plain_numbers)
        hidden = record.hidden.between(since, until)
    whole = _cut(uncut, until, options.until, notes)
    history = _from(whole, options.since, notes)
    if roster is not None:
        history = apply_roster(history, roster, notes, levels=options.stock)
    else:
        notes.add(
            "No roster was given: those who received nothing and are not in the log are not judged."
        )
    if hidden is not None:
        roster = without_unknown(roster, history, hidden.unknown)
    note_aggregate(history, notes)
    note_alike(history, notes)
    if options.amount is not None and roster is None:
        asked_for = () if requests is None else requests.names
        ask_about_empty_amounts(uncut, {*asked_for, *(hidden.unknown if hidden else ())}, notes)
    if roster is None and not (options.stock or options.out_of or options.has_requests):
        note_only_left_out(uncut, history, (options.since, options.until), notes)
    if options.out_of is None and not options.holds_readings and not options.has_requests:
        note_rates(history, options.amount, notes)
        note_running_totals(history, options.amount, notes)
    shares = _shares(record.entitled, whole, options)
    beside = _beside(options, whole, history, roster, shares)
    if options.has_requests:
        beside["asked"] = _asked(options, whole, history, roster, requests, until, notes)
    return Log(
        record,
        options,
        history,
        roster,
        record.group_of,
        until,
        notes,
        groups=as_groups(record.group_of, history.names) if options.by_group else None,
        shares=shares,
        beside=beside,
        # A level holds from when it is given, also from before anybody is judged by it.
        amounts=whole.received().totals if options.stock else None,
        lots=None if record.lots is None else record.lots.within(uncut, history, roster),
        hidden=hidden,
    )


def _beside(
    options: AuditOptions, whole: History, history: History, roster: Roster | None, shares: Any
) -> dict[str, Known]:
    """What else is known over time; an entitlement holds from before the first time judged."""
    if options.out_of is not None:
        return {"chances": history.ledger("chances")}
    if shares is None:
        return {}
    found: dict[str, Known] = {}
    if "entitled" in whole.beside:
        found |= entitling.over_time(whole, history, roster, shares)
    own = read_beside(options.status())
    if not found and own is not None and own.part == "entitled":
        found["entitled"] = lambda: Unchanging(shares)
    return found


def _asked(
    options: AuditOptions,
    whole: History,
    history: History,
    roster: Roster | None,
    requests: History | None,
    until: Any,
    notes: Notes,
) -> TimedAmounts:
    """What each has asked for; from a moment on, what it then still wanted is asked for too."""
    # Only periods of the calendar go on after the last row of the log.
    goes_on = until is not None and options.by_calendar
    if options.since is None:
        return asked_over_time(history, requests, until, goes_on, notes)
    from_start = whole if roster is None else apply_roster(whole, roster, Notes())
    asked = asked_over_time(from_start, requests, until, goes_on, notes)
    since = _read_since(options.since, whole.plain_numbers)
    return open_from(asked, from_start.received(), float(as_numbers(np.asarray(since))), notes)


def _of_waits(record: Record, cases: Cases, options: AuditOptions) -> Log:
    """Cases with two dates in place of amounts."""
    notes, roster = record.notes.copy(), record.roster
    if options.since is not None:
        since = _read_since(options.since, cases.plain_numbers)
        begins = float(as_numbers(np.asarray(since)))
        cases = cases.begun_from(begins, bound_name(options.since, "since"), notes)
    until = _read_until(options.until, cases.plain_numbers)
    ready = judged_waits(cases, options, until)
    if roster is not None and roster.dated:
        raise BadParameter(
            f"a roster with dates and waits ({argument('wait_from')}) cannot be judged together: "
            "leave the dates out of the roster."
        )
    history = ready.history if roster is None else apply_roster(ready.history, roster, notes)
    return Log(
        record,
        options,
        history,
        roster,
        record.group_of,
        until,
        notes,
        groups=as_groups(record.group_of, history.names) if options.by_group else None,
        beside=ready.beside,
        amounts=ready.amounts,
    )


def _refuse_too_large(history: History, label: str) -> None:
    most = max(float(history.amount.max()), -float(history.amount.min()))
    if most * len(history.amount) > LARGEST:
        raise NotFinite(
            f"the amounts of {label} are too large to add up (one is {most:g}): fix them, leave "
            f"such rows out with {argument('where')}, or count in larger units, such as millions."
        )


def _shares(
    entitled: Mapping[str, float] | None, whole: History, options: AuditOptions
) -> Float[np.ndarray, " stakeholder"] | None:
    """What each is entitled to: the latest that the log says, or a table."""
    if entitled is None:
        return None
    given = dict(entitled)
    if "entitled" in whole.beside:
        given |= entitling.of_column(whole)
    if options.merge_names:
        plain = {plain_name(name): value for name, value in given.items()}
        known = {name: plain.get(plain_name(name)) for name in whole.names}
        given = {name: value for name, value in known.items() if value is not None}
    return entitling.in_order(given, whole.names)


def _read_until(value: Any, plain_numbers: bool) -> Any:
    """The moment up to which the log is whole: of a day its last one, or a number."""
    if value is None:
        return None
    if isinstance(value, PeriodBorder):
        border = _read_since(value, plain_numbers)
        return np.nextafter(border, -np.inf) if plain_numbers else border - np.timedelta64(1, "us")
    found = read_moment(value, "until", plain_numbers)
    if not plain_numbers and found == found.astype("datetime64[D]"):
        found += np.timedelta64(1, "D") - np.timedelta64(1, "us")
    return found


def _read_since(value: Any, plain_numbers: bool) -> Any:
    """The moment from which the log is judged."""
    if isinstance(value, PeriodBorder):
        return read_moment(value.moment, "before", plain_numbers)
    return read_moment(value, "since", plain_numbers)


def read_moment(value: Any, name: str, plain_numbers: bool) -> Any:
    """A moment that an argument names, of the kind that the times of the log are."""
    what = f"{argument(name)} is {value!r}"
    if plain_numbers:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise BadParameter(f"{what}, and the log's times are plain numbers: give a number.")
        return number
    if isinstance(value, datetime.date | np.datetime64):
        value = str(value)
    try:
        return np.datetime64(parse_moment(str(value)), "us")
    except ValueError:
        raise BadParameter(f"{what}: it must be a date such as 2021-03-31.") from None


def _from(history: History, since: Any, notes: Notes) -> History:
    """The history from a moment on; what comes before is counted in a note."""
    if since is None:
        return history
    moment, given = _read_since(since, history.plain_numbers), argument(bound_name(since, "since"))
    gone = int((history.slots < moment).sum())
    if gone == len(history.slots):
        raise BadLog(f"the log ends before {given}: nothing is left to judge.")
    if not gone:
        return history
    notes.add(_left_out(gone, f"before {given}"))
    return history.only_cells(lambda part: history.slot[part] >= gone)


def _cut(history: History, until: Any, given: Any, notes: Notes) -> History:
    """The history up to and including `until`; what comes after it is counted in a note."""
    if until is None or not (history.slots > until).any():
        return history
    left = int((history.slots <= until).sum())
    if not left:
        raise BadLog(f"the log begins {begins_beyond(given)}: nothing is left to judge.")
    notes.add(_left_out(len(history.slots) - left, beyond(given)))
    return history.before(left)


def _left_out(points: int, where: str) -> str:
    return f"{pluralise(points, 'time point')} {where} {'was' if points == 1 else 'were'} left out."


# What was given out at each time point, and who could have received it.
#
# This is what stays fixed whenever somebody asks what else could have happened: whether chance
# would have done the same, how much fairer it could have been, what another rule would have done.


@dataclass(frozen=True, eq=False)
class Supply:
    """The time points of a log, the lots of each, and what is known of the stakeholders at each.

    Eligible at a time point is who is present then and, where requests are known, had asked by then
    for more than it had received before. What somebody had received depends on how the lots were
    shared, so `asked` is given here and set against receipts by whoever shares them.
    """

    names: tuple[str, ...]
    moments: np.ndarray  # of the time points: datetime64[us] in UTC, or plain numbers
    lots: Lots
    roster: Roster | None = None
    shares: Float[np.ndarray, " stakeholder"] | None = None  # entitlements that never change
    beside: Mapping[str, TimedAmounts] = field(default_factory=dict)  # asked, entitled

    @classmethod
    def of(cls, log: Log) -> Supply:
        """The supply of a log; what each got at a time point is one lot, unless rows were kept."""
        known = {part: log.beside.get(part) for part in ("asked", "entitled")}
        return cls(
            names=log.history.names,
            moments=log.history.slots,
            lots=lots_of_cells(log.history) if log.lots is None else log.lots,
            roster=log.roster,
            shares=log.shares,
            beside={part: k for part, k in known.items() if isinstance(k, TimedAmounts)},
        )

    def amounts(self) -> Float[np.ndarray, " time"]:
        """All that was given out at each time point."""
        given = self.lots.amount * self.lots.copies
        return np.bincount(self.lots.slot, weights=given, minlength=len(self.moments))

    def present(self, times: slice = slice(None)) -> Bool[np.ndarray, "time stakeholder"]:
        """Who is there at each time point, by the roster."""
        moments = self.moments[times]
        here = presence(self.roster, self.names, moments)
        return np.ones((len(moments), len(self.names)), dtype=bool) if here is None else here

    def bounds(self) -> tuple[Float[np.ndarray, " stakeholder"], Float[np.ndarray, " stakeholder"]]:
        """From when and until when each is there by the roster, as numbers."""
        if self.roster is not None and self.roster.dated:
            return self.roster.bounds(self.names, self.moments.dtype.kind != "M")
        size = len(self.names)
        return np.full(size, -np.inf), np.full(size, np.inf)

    def asked(self) -> Reading | None:
        """What each has asked for up to each moment, where requests are known."""
        return self.beside["asked"].totals() if "asked" in self.beside else None

    def entitled(self) -> Reading | Float[np.ndarray, " stakeholder"]:
        """What each is entitled to: at each moment where that changes, 1 where nothing is said."""
        if "entitled" in self.beside:
            return self.beside["entitled"].levels()
        return np.ones(len(self.names)) if self.shares is None else self.shares
