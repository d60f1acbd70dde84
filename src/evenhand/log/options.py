"""The options of an audit: written once, checked when built, and what cannot stand together."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Concatenate, NamedTuple, ParamSpec, TypeVar, overload

from evenhand._util.checks import is_finite_number, require_fields, require_kind, require_whole
from evenhand._util.registry import Registry
from evenhand._util.wording import as_names, nearest, pluralise
from evenhand.errors import (
    BadParameter,
    MissingPartParameter,
    UnknownArgument,
    WrongArguments,
    argument,
)
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import AfterEach, Always, Filter, Final
from evenhand.fairness.scheme import FairnessScheme, from_table, read_scheme_file
from evenhand.fairness.status import (
    LowerIsBetter,
    OfRequests,
    Returns,
    ShareMet,
    Shortfall,
    Status,
    WhileWaiting,
)
from evenhand.fairness.temporal import TEMPORALS, Mean, Temporal
from evenhand.fairness.trace import NONE, Tolerance
from evenhand.fairness.welfare import WELFARES, LogNash, Rawls, Welfare
from evenhand.log.layout import STAKEHOLDER as WHO
from evenhand.log.layout import TIME, FileLayout, HiddenMark, default_columns, read_marks
from evenhand.log.times import require_unit

# What the options of an audit cannot mean together, or alone: refused, with the reason.
#
# An option that would be ignored, or would change the meaning of another without a word, is a wrong
# answer that nobody notices.


class Apart(NamedTuple):
    """An option that cannot be given together with any of some others, and why."""

    option: str
    others: tuple[str, ...]
    why: str  # said of both, which are {one} and {other}


SET_AGAINST = "{one} and {other} both say what an amount is set against"
TOTALS = (
    "{one} needs what happened in each row, and {other} says that amounts are totals: take "
    "differences first, or"
)
PERIODS = "{one} judges each period from nothing, which {other} does not allow"
GIVEN_OUT = "{one} says that amounts are levels, and {other} that they are given out"
REFUSED = (
    Apart("out_of", ("entitlement", "asked", "requests"), SET_AGAINST),
    Apart("out_of", ("newcomers",), "{one} needs no beginning, which {other} would give it"),
    Apart("out_of", ("cumulative", "stock"), TOTALS),
    Apart(
        "out_of",
        ("unweighted",),
        "a rate ({one}) is weighted by its chances, without which it has no mean",
    ),
    Apart(
        "within_period",
        ("after_each", "when"),
        "{one} needs periods, and {other} looks at moments: say with {every} how long one is, or",
    ),
    *(
        refused
        for option in ("asked", "requests")
        for refused in (
            Apart(option, ("cumulative", "stock"), TOTALS),
            Apart(
                option,
                ("lower_is_better",),
                "{one} says that amounts are wanted, and {other} that less of them is better",
            ),
            Apart(
                option,
                ("newcomers",),
                "{one} says from when each wants something, and {other} would let it begin "
                "elsewhere",
            ),
        )
    ),
    Apart(
        "requests", ("run",), "the rows of {one} belong to no {other}: put them into the log, or"
    ),
    Apart("stock", ("cumulative", "after_each"), GIVEN_OUT),
    Apart("stock", ("newcomers",), "{one} says where each stands, which {other} would change"),
    Apart("before", ("since", "run", "requests", "asked"), PERIODS),
    Apart(
        "within",
        ("lower_is_better",),
        "{one} judges the share in time, which is better when higher, and {other} says less is",
    ),
    Apart("time_unit", ("time_format",), "{one} and {other} both say how times are written"),
    Apart("longest_open", ("within",), "{one} and {other} ask different questions"),
    Apart(
        "run",
        ("null", "draws", "power", "alarm"),
        "{one} averages many histories, and {other} is about a single one",
    ),
    Apart(
        "alarm",
        ("asked", "requests"),
        "{one} watches as a monitor does, which does not know {other}",
    ),
    Apart("alarm", ("cumulative", "stock", "out_of"), "{one} needs lots, and {other} has none"),
)
# Options that have a meaning only beside one of some others.
NEEDS = {
    "unweighted": ("entitlement",),
    "within_period": ("out_of",),
    "judge_requests": ("asked", "requests"),
    "requests_stakeholder": ("requests",),
    "requests_time": ("requests",),
    "requests_table": ("requests",),
    "within": ("wait_from",),
    "longest_open": ("wait_from",),
    "newcomers": ("roster",),
}
# What waits leave no room for.
NOT_OF_WAITS = (
    *(
        "time",
        "amount",
        "out_of",
        "asked",
        "requests",
        "entitlement",
        "newcomers",
        "after_each",
        "when",
    ),
    *("cumulative", "stock", "unweighted", "null", "draws", "power", "alarm"),
)


# What an audit says beside its scores, of which nothing else has any use.
OF_AUDITS_ALONE = (
    *("tolerance", "max_unfairness", "min_score", "alarm", "reference", "null", "draws", "power"),
    *("title", "description", "display_names"),
)


def refuse_of_audits_alone(given: Set[str], what: str) -> None:
    """Refuse what only an audit has a use for, where something else is asked of a log.

    Args:
        given: The names of the options that were given.
        what: What is asked, such as "a replay".
    """
    for name in OF_AUDITS_ALONE:
        if name in given:
            raise BadParameter(f"{argument(name)} is for an audit, and {what} has no use for it.")


def refuse_senseless(given: Set[str], filter_: Filter | None, per_unit: bool) -> None:
    """Refuse what options cannot mean together.

    Args:
        given: The names of the options that were given.
        filter_: When the scheme looks, if one is given.
        per_unit: Whether requests are judged in a way that can be per unit of an entitlement.
    """
    for option, others, why in REFUSED:
        for other in others:
            if option in given and other in given:
                words = why.format(
                    one=argument(option), other=argument(other), every=argument("every")
                )
                joint = "" if words.endswith(", or") else ":"
                raise BadParameter(f"{words}{joint} leave one out.")
    for option, needed in NEEDS.items():
        if option in given and not given & set(needed):
            raise BadParameter(
                f"{argument(option)} has no meaning without "
                f"{' or '.join(argument(name) for name in needed)}: give that too, or leave it out."
            )
    if not per_unit:
        _refuse_entitled_requests(given)
    if filter_ is not None:
        _refuse_filter(given, filter_)
    for name, what in (("cumulative", "running totals"), ("stock", "levels")):
        if name in given and "amount" not in given:
            raise BadParameter(
                f"{argument(name)} says that amounts are {what}: say with "
                f"{argument('amount')} which column holds them."
            )


def refuse_beside_waits(given: Set[str], by_group: bool) -> None:
    """Waits are counted from two dates, and there is no more to them.

    Args:
        given: The names of the options that were given.
        by_group: Whether groups are judged.
    """
    if not given >= {"wait_from", "wait_to"}:
        raise BadParameter(
            "a wait needs two dates: say with "
            f"{argument('wait_from')} and {argument('wait_to')} which columns hold them."
        )
    for name in NOT_OF_WAITS:
        if name in given:
            raise BadParameter(
                f"{argument('wait_from')} and {argument('wait_to')} say all there is to a wait: "
                f"leave {argument(name)} out."
            )
    if "longest_open" in given and by_group:
        raise BadParameter(
            f"{argument('longest_open')} is not summed by group: leave {argument('by')} out."
        )


def _refuse_entitled_requests(given: Set[str]) -> None:
    """Only what was received, among those who wait, can be per unit of an entitlement as well."""
    for option in ("requests", "asked"):
        if given >= {option, "entitlement"}:
            both = SET_AGAINST.format(one=argument(option), other=argument("entitlement"))
            raise BadParameter(
                f"{both}: leave one out, or judge with "
                f"{argument('judge_requests', 'while_waiting')}."
            )


def _refuse_filter(given: Set[str], own: Filter) -> None:
    """A scheme's filter is refused where the option that says the same would be."""
    senseless: tuple[str, ...] = () if own in (Always(), Final()) else ("within_period",)
    if isinstance(own, AfterEach):
        senseless += ("wait_from", "stock")
    for name in senseless:
        if name in given:
            raise BadParameter(
                f"the scheme looks {own.describe()}, which has no meaning with {argument(name)}: "
                f"leave the filter out of the scheme, and say when to look with "
                f"{argument('every')} or {argument('at_end')}."
            )


# When to look and how to judge: the options that an audit and a monitor share.

FALLBACK = Rawls()  # where log-Nash is undefined, and no welfare was asked for
FALLBACK_NOTE = (
    "Some statuses are below 0, where log_nash is undefined: rawls (the status of the "
    "worst-off) is used instead."
)
TIMES = ("each_event", "every", "after_each", "when", "at_end")  # one of them says when to look
BY_VALUE = ("every", "after_each", "when")  # of them by a value, which may be empty or 0
Condition = Annotated[str, "a condition, as text, such as \"region = 'North'\""]
NEWCOMERS = ("mean", "zero", "least", "by-time")  # where those who join later begin


@dataclass(frozen=True, kw_only=True)
class SchemeOptions:
    """When to look and how to judge, of an audit and of a monitor. At most one says when."""

    each_event: bool = False  # at every time point, which is the default
    every: str | int | None = None  # a calendar period by name, or a number of time points
    after_each: float | None = None  # whenever another such amount has been given out
    when: Condition | None = None  # at time points with an event of which this condition holds
    at_end: bool = False  # once, at the end
    welfare: str | Welfare | None = None  # log_nash by default, and rawls where it is undefined
    temporal: str | Temporal | None = None  # mean by default
    scheme: Any = None  # a FairnessScheme or the path of a scheme file, in place of the two above
    lower_is_better: bool = False  # amounts are harms or waits: whoever has less is better off
    newcomers: str | None = None  # where those who join later begin; the mean by default
    unweighted: bool = False  # all count alike, whatever they are entitled to
    tolerance: float | str | None = None  # how far from the mean is let pass: an amount, or 5%
    max_unfairness: float | str | None = None  # how far anybody may be below it: the same
    min_score: float | None = None  # how low the score may be
    alarm: float | None = None  # alarm with at most this probability of ever being a false one

    def __post_init__(self) -> None:
        given = [argument(name) for name in self.times()]
        if len(given) > 1:
            raise BadParameter(f"{' and '.join(given)} ask different questions: choose one.")
        require_limit(self.min_score, "min_score")
        if self.alarm is not None and not (is_finite_number(self.alarm) and 0 < self.alarm < 1):
            raise BadParameter(
                f"{argument('alarm')} is {self.alarm!r}: the probability of ever raising a false "
                "alarm must lie between 0 and 1, such as 0.05."
            )
        for name in ("tolerance", "max_unfairness"):
            if getattr(self, name) is not None:
                Tolerance.read(getattr(self, name), name)
        if self.newcomers is not None:
            object.__setattr__(self, "newcomers", one_of(self.newcomers, "newcomers", NEWCOMERS))
        self.temporal_part()
        self._welfares()
        if self.scheme is not None:
            self._take_scheme(given)

    def times(self) -> list[str]:
        """The names of the arguments given that say when to look."""
        return times_given(vars(self))

    def _take_scheme(self, times: Sequence[str]) -> None:
        """A scheme file is read once, here; what it says must not be said twice."""
        for name in ("welfare", "temporal"):
            if getattr(self, name) is not None:
                raise BadParameter(
                    f"{argument(name)} is already said by the scheme: leave one out."
                )
        scheme = self.scheme
        if isinstance(scheme, str | os.PathLike):
            scheme = read_scheme_file(scheme)
            object.__setattr__(self, "scheme", scheme)
        require_kind(scheme, FairnessScheme, argument("scheme"), "anytime(Rawls())")
        if self.lower_is_better and scheme.status.negated:
            raise BadParameter(
                f"{argument('lower_is_better')} is already said by the scheme's status: leave one "
                "out."
            )
        if times and scheme.filter != Always():
            raise BadParameter(
                f"{times[0]} and the scheme's filter both say when to look: leave one out."
            )

    @property
    def allowed(self) -> Tolerance:
        """How far from the mean is let pass."""
        return NONE if self.tolerance is None else Tolerance.read(self.tolerance, "tolerance")

    @property
    def most_unfair(self) -> Tolerance | None:
        """How far anybody may be below the mean."""
        given = self.max_unfairness
        return None if given is None else Tolerance.read(given, "max_unfairness")

    def status(self) -> Status:
        """What each received, unless a scheme says otherwise."""
        return Returns() if self.scheme is None else self.scheme.status

    def directed(self, status: Status) -> Status:
        """A status such that higher is better."""
        return LowerIsBetter(of=status) if self.lower_is_better else status

    def temporal_part(self) -> Temporal:
        if isinstance(self.scheme, FairnessScheme):
            return self.scheme.temporal or Mean()
        return Mean() if self.temporal is None else _part(self.temporal, TEMPORALS, "temporal")

    def schemes(self, status: Status, filter_: Filter) -> list[FairnessScheme]:
        """The scheme to judge by, and one to fall back on where the first is undefined."""
        if self.scheme is not None:
            own = self.scheme
            return [FairnessScheme(status, own.aggregation, filter_, own.empty)]
        temporal = self.temporal_part()
        return [
            FairnessScheme(status, TimepointFirst(welfare, temporal), filter_)
            for welfare in self._welfares()
        ]

    def _welfares(self) -> list[Welfare]:
        if self.welfare is None:
            return [FALLBACK] if self.lower_is_better else [LogNash(), FALLBACK]
        return [_part(self.welfare, WELFARES, "welfare")]


def times_given(options: Mapping[str, Any]) -> list[str]:
    """The names of those options that say when to look.

    >>> times_given({"every": None, "after_each": 0, "at_end": False})
    ['after_each']
    """
    given = {name: options.get(name) for name in TIMES}
    return [
        name for name, value in given.items() if value is not None and (value or name in BY_VALUE)
    ]


def require_limit(value: Any, name: str) -> None:
    """Refuse a limit that is given and is not a number."""
    if value is not None and not is_finite_number(value):
        raise BadParameter(f"{argument(name)} is {value!r}: a limit must be a number.")


def one_of(value: str, name: str, known: Collection[str]) -> str:
    """One of some names, which may be written with hyphens or underscores."""
    found = {one.replace("-", "_"): one for one in known}.get(str(value).replace("-", "_"))
    if found is None:
        raise BadParameter(f"{argument(name)} is {value!r}: it must be one of {', '.join(known)}.")
    return found


def _part(value: Any, registry: Registry, kind: str) -> Any:
    """A part of a scheme, which may be given by its name alone if it needs no parameters."""
    if not isinstance(value, str):
        return value
    try:
        return from_table(value, registry, kind)
    except MissingPartParameter as error:
        raise BadParameter(
            f"{error.part} needs {error.parameter!r}, which a name alone does not say: write the "
            f"scheme to a file and give it as {argument('scheme')}."
        ) from None


# Where two periods of one log meet: the first ends just before it, the second begins with it.


@dataclass(frozen=True)
class PeriodBorder:
    """A moment that stands in place of `since` or `until`, and is named as what it was given as."""

    moment: Any

    def __str__(self) -> str:
        return str(self.moment)


def bound_name(bound: Any, name: str) -> str:
    """The argument that set a bound: `since` or `until`, unless two periods meet there."""
    return "before" if isinstance(bound, PeriodBorder) else name


def beyond(until: Any) -> str:
    """What comes later than a bound, as a sentence says it."""
    if isinstance(until, PeriodBorder):
        return f"from {argument('before')} on"
    return f"after {argument('until')}"


def begins_beyond(until: Any) -> str:
    """The same of when a log begins."""
    if isinstance(until, PeriodBorder):
        return f"no earlier than {argument('before')}"
    return beyond(until)


def how_to_finish(until: Any) -> str:
    """How a last period is scored that is not finished, as a sentence says it."""
    if isinstance(until, PeriodBorder):
        return f"To have it scored, let {argument('before')} be the first day of the next one."
    return f"If the log is whole up to a later date, say so with {argument('until')}."


# The options of an audit, as one object: written once, validated when built, handed down whole.

# How requests are judged, by the name that the option takes.
REQUEST_STATUSES: dict[str, type[OfRequests]] = {
    "share_met": ShareMet,
    "shortfall": Shortfall,
    "while_waiting": WhileWaiting,
}
NULL_NAMES = ("lottery", "shuffle", "by-group")  # what chance alone may do
MOST_DRAWS = 1_000_000
STAKEHOLDER, GROUP = "stakeholder", "group"  # what `by` may be, besides a column of groups
Column = Annotated[str, "the name of a column, as text"]
# Roles that one column may have at once: all who are of the same name are a group, and a run may be
# of one group alone. For every other two it would be a mistake that changes the answer unseen.
SHARED_ROLES = ({"stakeholder", "group"}, {"group", "run"})
# How a log is read; all other options say how it is judged and shown. `when` is among them, as it
# is a condition on columns, which are no longer there once a log was read.
READING = (
    *("stakeholder", "time", "amount", "out_of", "asked", "wait_from", "wait_to", "group", "run"),
    *("cumulative", "stock", "time_format", "time_unit", "decimal", "missing", "encoding", "sheet"),
    *("header_row", "wide", "time_from_name", "merge_names", "table", "engine", "entitlement"),
    *("requests", "requests_stakeholder", "requests_time", "requests_table", "roster"),
    *("only", "exclude", "where", "when"),
)
WINDOW = ("since", "until")  # said when a log is read, or later: of what was read, a part


@dataclass(frozen=True, kw_only=True)
class AuditOptions(SchemeOptions):
    """All that can be asked of an audit: the keyword arguments of `audit`, where each is explained.

    >>> AuditOptions(stakeholder="to", time="month", by="region").group
    'region'
    """

    stakeholder: Column = ""  # columns of the log: who received,
    time: Column = ""  # when,
    amount: Column | None = None  # how much (each row counts 1 without it),
    out_of: Column | None = None  # out of how many chances, for a rate,
    asked: Column | None = None  # for how much was asked (of `requests`, if they are a log apart),
    wait_from: Column | None = None  # from when a case waited (in place of `time`),
    wait_to: Column | None = None  # until when, empty while it is open,
    group: (  # of which group; several columns are taken together,
        Annotated[str | Sequence[str], "the name of a column, or a list of names"] | None
    ) = None
    run: Column | None = None  # in which run of a policy
    cumulative: bool = False  # the amounts are running totals
    stock: bool = False  # the amounts are levels at a time, such as beds or people housed
    time_format: (  # how dates are written
        Annotated[str, "text such as '%d/%m/%Y' or 'day-first'"] | None
    ) = None
    time_unit: str | None = None  # what times count that are numbers, such as s, ms or year
    decimal: str | None = None  # the sign before the fraction of a number, . or ,
    missing: Any = ()  # marks in place of suppressed amounts, such as "*" or "*=1-4"
    encoding: Annotated[str, "the name of an encoding, such as 'utf-8'"] = "utf-8"
    sheet: str | int | None = None  # of a workbook, by its name or its number from 1
    header_row: int | str | None = None  # the row of the columns' names from 1, or two such as 3-4
    wide: (  # of what the table has a column for each
        Annotated[str, "time or stakeholder, whichever each column is one of"] | None
    ) = None
    time_from_name: bool = False  # the time of a file's rows stands in its name
    merge_names: bool = False  # names that differ only in capitals, spaces or accents are one
    table: str | Sequence[str | None] | None = None  # of a database; to compare, one for each log
    engine: Annotated[str, "duckdb or spark"] | None = None  # what reads files
    by: Annotated[  # judge each stakeholder, each group, or each group of a column
        str | Sequence[str], "'stakeholder', 'group' or the name of a column"
    ] = STAKEHOLDER
    entitlement: Any = None  # a column, or a table or mapping of its own
    within_period: bool = False  # a rate is that of each assessed period, and not so far
    within: Any = None  # judge the share of cases that waited no longer than this, such as 30d
    longest_open: bool = False  # judge the longest wait of those that are still open
    requests: Any = None  # who asked, if not in the same rows: a table of its own
    requests_stakeholder: Column | None = None  # of the requests, if called otherwise there:
    requests_time: Column | None = None  # who asked, and when
    requests_table: str | None = None  # the table of requests, if they are in a database
    judge_requests: str | None = None  # one of REQUEST_STATUSES; share_met by default
    roster: Any = None  # all who should be served: a table or a list of names
    reference: str | None = None  # the group that the others are compared with
    only: Sequence[Any] = ()  # stakeholders: these alone
    exclude: Sequence[Any] = ()  # or all but these
    where: Condition | None = None  # count only rows of which this condition holds
    since: Any = None  # the moment from which rows count
    until: Any = None  # the moment up to which the log is whole
    before: Any = None  # judge what was before this moment and what came after it, side by side
    chance: bool = True  # whether chance alone could have done it, where that is quickly found out
    null: str | None = None  # what chance alone does: one of NULL_NAMES, the first by default
    draws: int | None = None  # how many histories are drawn; chosen by what they cost by default
    seed: int = 0  # where chance begins
    power: bool = False  # how far behind would somebody have to be for the log to show it
    title: str | None = None  # of the report
    description: str | None = None  # a sentence or two at its top
    unit: str | None = None  # what amounts are counted in; by default the column is named
    display_names: Any = None  # names to show in place of codes: a table or a mapping

    def __post_init__(self) -> None:
        require_fields(self)
        self._take_names()
        if self.waits:
            self._take_waits()
        self._name_wide()
        if not self.stakeholder:
            raise BadParameter(
                f"say with {argument('stakeholder')} which column says who received."
            )
        if not self.time:
            raise BadParameter(f"say with {argument('time')} which column holds the times.")
        super().__post_init__()
        self._require_writing()
        if self.judge_requests is not None:
            name = one_of(self.judge_requests, "judge_requests", REQUEST_STATUSES)
            object.__setattr__(self, "judge_requests", name)
        if self.by not in (STAKEHOLDER, GROUP):  # a column of groups, said at once
            object.__setattr__(self, "group", self.by)
            object.__setattr__(self, "by", GROUP)
        if self.by_group and self.group is None:
            raise BadParameter(
                f"{argument('by', GROUP)} needs to know the groups: say with {argument('group')} "
                "which column holds them."
            )
        if self.reference is not None and self.group is None:
            raise BadParameter(
                f"{argument('reference')} is a group: say with {argument('group')} which column "
                "holds the groups."
            )
        refuse_shared(self._roles(), "column", SHARED_ROLES)
        if self.scheme is not None and self.scheme.status.per_step:
            object.__setattr__(self, "within_period", True)
        filter_ = None if self.scheme is None else self.scheme.filter
        kind = self.request_status
        refuse_senseless(self._given(), filter_, kind is None or kind.per_unit)
        self._require_chance()

    def _take_names(self) -> None:
        """Names are texts here, as in a log that was read."""
        object.__setattr__(self, "only", as_names(self.only))
        object.__setattr__(self, "exclude", as_names(self.exclude))
        if self.reference is not None:
            object.__setattr__(self, "reference", str(self.reference))

    def _name_wide(self) -> None:
        """The columns that a wide table is made into have names, whether they are said or not."""
        if self.time_from_name and not self.time:
            object.__setattr__(self, "time", TIME)
        if self.wide is None:
            return
        if self.wide in (TIME, WHO) and not getattr(self, self.wide):
            object.__setattr__(self, self.wide, self.wide)
        if self.amount is None:
            object.__setattr__(self, "amount", "amount")

    @property
    def layout(self) -> FileLayout:
        """How the file of the log is laid out."""
        made = {self.wide, "amount"} if self.wide is not None else set[str | None]()
        made |= {TIME} if self.time_from_name else set()
        columns = {
            role: name
            for role, name in self._roles().items()
            if role not in made and role != "group"
        }
        named = [name for name in (*columns.values(), *self.group_columns) if isinstance(name, str)]
        if isinstance(self.entitlement, str) and "." in self.entitlement:
            named.remove(self.entitlement)  # more likely a file
        return FileLayout(
            sheet=self.sheet,
            header_row=self.header_row,
            wide=self.wide,
            time_from_name=self.time_from_name,
            stakeholder=self.stakeholder,
            time=self.time,
            amount=self.amount or "amount",
            named=tuple(named),
        )

    def _require_writing(self) -> None:
        """What is said of how numbers and times are written."""
        if self.decimal not in (None, ".", ","):
            raise BadParameter(
                f"{argument('decimal')} is {self.decimal!r}: it must be '.' or ',', which stands "
                "before the fraction of a number."
            )
        if self.time_unit is not None:
            require_unit(self.time_unit)
        _ = self.layout  # which checks itself
        object.__setattr__(self, "missing", read_marks(self.missing))

    @property
    def marks(self) -> tuple[HiddenMark, ...]:
        """The marks in place of suppressed amounts."""
        return tuple(self.missing)

    @property
    def needs_calendar(self) -> bool:
        """Whether the question speaks of days, so that times that are numbers must be dates."""
        if self.by_calendar:
            return True
        if isinstance(self.within, str) and self.within.strip()[-1:].isalpha():
            return True
        return any(_is_date(given) for given in (self.since, self.until, self.before))

    @property
    def by_calendar(self) -> bool:
        """Whether it is assessed by calendar periods, and not at time points of the log."""
        return isinstance(self.every, str) and not self.every.strip().lstrip("+-").isdigit()

    def _take_waits(self) -> None:
        """A wait begins at the time of its row, and is better when shorter."""
        same = {"time"} if self.time == self.wait_from else set()
        refuse_beside_waits(self._given() - same, self.by != STAKEHOLDER)
        object.__setattr__(self, "time", self.wait_from)
        if self.within is None:  # a share in time is better when higher
            object.__setattr__(self, "lower_is_better", True)

    def require_no_audit(self, what: str) -> None:
        """Refuse what only an audit has a use for.

        Args:
            what: What is asked in place of an audit, such as "a replay".
        """
        refuse_of_audits_alone(self._given(), what)

    def _given(self) -> set[str]:
        """The names of the options that say something other than by default."""
        said = {one.name: (getattr(self, one.name), one.default) for one in fields(self)}
        return {name for name, (value, default) in said.items() if not _same(value, default)}

    @property
    def request_status(self) -> type[OfRequests] | None:
        """How requests are judged, where any are known."""
        return REQUEST_STATUSES[self.judge_requests or "share_met"] if self.has_requests else None

    @property
    def waits(self) -> bool:
        return self.wait_from is not None or self.wait_to is not None

    def _roles(self) -> dict[str, Any]:
        """What each column of the log is for."""
        named = (
            "stakeholder",
            "time",
            "amount",
            "group",
            "out_of",
            "wait_to",
            "entitlement",
            "run",
        )
        roles = {name: getattr(self, name) for name in named}
        if self.requests is None:  # otherwise it is a column of another log
            roles["asked"] = self.asked
        return roles

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns whose values together make a group."""
        if self.group is None:
            return ()
        return (self.group,) if isinstance(self.group, str) else tuple(self.group)

    def _require_chance(self) -> None:
        """What is asked of chance makes sense, and is not at once left out."""
        if self.null is not None:
            object.__setattr__(self, "null", one_of(self.null, "null", NULL_NAMES))
        if self.draws is not None:
            draws = require_whole(self.draws, argument("draws"), most=MOST_DRAWS)
            object.__setattr__(self, "draws", draws)
        object.__setattr__(self, "seed", require_whole(self.seed, argument("seed"), least=0))
        if self.asks_chance and not self.chance:
            raise BadParameter(
                f"{argument(self.asks_chance)} asks about chance, which was to be left out: choose "
                "one."
            )

    @property
    def asks_chance(self) -> str | None:
        """The argument by which somebody asked expressly about chance, if one was given."""
        given = {
            "null": self.null is not None,
            "draws": self.draws is not None,
            "power": self.power,
        }
        return next((name for name, is_given in given.items() if is_given), None)

    @property
    def holds_readings(self) -> bool:
        """Whether an amount is what stands at a time, and not what was added then."""
        return self.cumulative or self.stock

    @property
    def has_requests(self) -> bool:
        return self.asked is not None or self.requests is not None

    @property
    def by_group(self) -> bool:
        return self.by == GROUP

    def chooses(self, name: str) -> bool:
        """Whether a stakeholder is to be judged."""
        return (not self.only or name in self.only) and name not in self.exclude

    def for_log(self, place: int) -> AuditOptions:
        """The options for one of two logs, which may be tables of other names."""
        if self.table is None or isinstance(self.table, str):
            return self
        return replace(self, table=self.table[place])


def _is_date(given: Any) -> bool:
    """Whether a moment that was given is a date and not a number."""
    if given is None or isinstance(given, int | float):
        return False
    try:
        float(str(given))
    except ValueError:
        return True
    return False


def refuse_shared(
    roles: Mapping[str, Any], what: str, allowed: Collection[Collection[str]] = ()
) -> None:
    """Refuse a column (or a key) that is named for two roles, unless they are `allowed` together.

    >>> refuse_shared({"stakeholder": "to", "amount": "doses"}, "column")
    """
    named = [(role, name) for role, name in roles.items() if isinstance(name, str)]
    for (one, name), (other, same) in itertools.combinations(named, 2):
        if name == same and {one, other} not in [set(pair) for pair in allowed]:
            raise BadParameter(
                f"{argument(one)} and {argument(other)} both name the {what} {name!r}: each needs "
                f"a {what} of its own."
            )


def _same(value: Any, default: Any) -> bool:
    """Whether an option says what it says by default; a table says more, and has no truth value."""
    plain = isinstance(value, bool | str | int | float | Sequence)
    return value is default or (plain and value == default)


# Functions of logs and options, as users call them: of logs and keyword arguments.

P = ParamSpec("P")
Result = TypeVar("Result")
Options = TypeVar("Options", bound=AuditOptions)


class ReadLog(ABC):
    """A log that was read, and so says itself how."""

    @property
    @abstractmethod
    def reading(self) -> dict[str, Any]:
        """The options that say how it was read."""


@overload
def with_keywords(
    function: Callable[[Any, Options], Result], options: Callable[P, Options]
) -> Callable[Concatenate[Any, P], Result]: ...


@overload
def with_keywords(
    function: Callable[[Any, Any, Options], Result], options: Callable[P, Options]
) -> Callable[Concatenate[Any, Any, P], Result]: ...


def with_keywords(function: Any, options: Any) -> Any:
    """A function of logs and options as one of logs and keyword arguments, for users to call.

    So the arguments are written once, as the fields of the options; type checkers, `help` and
    editors see them in the signature.
    """

    known = inspect.signature(options).parameters
    expected = len(inspect.signature(function).parameters) - 1

    @functools.wraps(function)
    def called(*logs: Any, **keywords: Any) -> Any:
        if len(logs) != expected:
            raise WrongArguments(
                f"{called.__name__} takes {pluralise(expected, 'log')} and everything else by "
                f"name, such as stakeholder=…: {len(logs)} were given without a name."
            )
        return function(*logs, read_keywords(called.__name__, options, logs, keywords))

    *logs, _ = inspect.signature(function).parameters.values()
    called.__name__ = called.__qualname__ = function.__name__.removeprefix("_")
    called.__signature__ = inspect.signature(function).replace(  # type: ignore[attr-defined]
        parameters=[*logs, *known.values()]
    )
    return called


def read_keywords(
    called: str, options: Callable[..., Options], logs: Sequence[Any], keywords: Mapping[str, Any]
) -> Options:
    """The options that keywords say, together with what logs say themselves.

    Args:
        called: What the function is called that was given them.
        options: The class of the options.
        logs: The logs that it was given.
        keywords: What else it was given.
    """
    require_known(keywords, called, inspect.signature(options).parameters)
    return options(**{**keywords, **_said_by_logs(logs, keywords)})


def require_known(keywords: Collection[str], called: str, known: Collection[str]) -> None:
    """Refuse a keyword that a function does not have.

    Args:
        keywords: Those that were given.
        called: What the function is called.
        known: Those it has.
    """
    for name in keywords:
        if name not in known:
            raise UnknownArgument(name, called, nearest=nearest(name, known))


def _said_by_logs(logs: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """What logs say themselves: the columns of a job log, or all of how one was read."""
    read = [log for log in logs if isinstance(log, ReadLog)]
    if not read:
        return default_columns(logs, keywords)
    if len(read) == len(logs):
        for name in READING:
            if name in keywords:
                raise BadParameter(
                    f"{argument(name)} says how a log is read, and this one was read already: give "
                    "it to Log.read."
                )
    said = {name: value for name, value in read[0].reading.items() if name not in keywords}
    if times_given(keywords):  # when to look is said anew
        said.pop("when", None)
    return said
