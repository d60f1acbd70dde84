"""The options of an audit, as one object: written once, validated when built, handed down whole."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from evenhand._util.registry import Registry
from evenhand.auditing.combinations import refuse_beside_waits, refuse_senseless
from evenhand.auditing.hidden_marks import HiddenMark, read_marks
from evenhand.auditing.layout import STAKEHOLDER as WHO
from evenhand.auditing.layout import TIME, FileLayout
from evenhand.auditing.time_units import require_unit
from evenhand.auditing.workload_columns import default_columns
from evenhand.errors import BadParameter, MissingPartParameter, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Filter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import from_table, read_scheme_file
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
from evenhand.fairness.tolerance import NONE, Tolerance
from evenhand.fairness.welfare import WELFARES, LogNash, Rawls, Welfare

FALLBACK = Rawls()  # where log-Nash is undefined, and no welfare was asked for
FALLBACK_NOTE = (
    "Some statuses are below 0, where log_nash is undefined: rawls (the status of the "
    "worst-off) is used instead."
)
# How requests are judged, by the name that the option takes.
REQUEST_STATUSES: dict[str, type[OfRequests]] = {
    "share_met": ShareMet,
    "shortfall": Shortfall,
    "while_waiting": WhileWaiting,
}
NEWCOMERS = ("mean", "zero", "least", "by-time")  # where those who join later begin
NULL_NAMES = ("lottery", "shuffle", "by-group")  # what chance alone may do
MOST_DRAWS = 1_000_000
STAKEHOLDER, GROUP = "stakeholder", "group"  # what `by` may be, besides a column of groups
# Roles that one column may have at once: all who are of the same name are a group, and a run may be
# of one group alone. For every other two it would be a mistake that changes the answer unseen.
SHARED_ROLES = ({"stakeholder", "group"}, {"group", "run"})


@dataclass(frozen=True, kw_only=True)
class SchemeOptions:
    """When to look and how to judge, of an audit and of a monitor. At most one says when."""

    each_event: bool = False  # at every time point, which is the default
    every: str | int | None = None  # a calendar period by name, or a number of time points
    after_each: float | None = None  # whenever another such amount has been given out
    when: str | None = None  # at time points with an event of which this condition holds
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
        given = self._times()
        if len(given) > 1:
            raise BadParameter(f"{' and '.join(given)} ask different questions: choose one.")
        if self.min_score is not None and not math.isfinite(self.min_score):
            raise BadParameter(
                f"{argument('min_score')} is {self.min_score}: a limit must be a number."
            )
        if self.alarm is not None and not 0 < self.alarm < 1:
            raise BadParameter(
                f"{argument('alarm')} is {self.alarm:g}: the probability of ever raising a false "
                "alarm must lie between 0 and 1, such as 0.05."
            )
        for name in ("tolerance", "max_unfairness"):
            if getattr(self, name) is not None:
                Tolerance.read(getattr(self, name), name)
        if self.newcomers is not None:
            object.__setattr__(self, "newcomers", _named(self.newcomers, "newcomers", NEWCOMERS))
        self.temporal_part()
        self._welfares()
        if self.scheme is not None:
            self._take_scheme(given)

    def _times(self) -> list[str]:
        """The arguments given that say when to look."""
        given = {
            "each_event": self.each_event,
            "every": self.every is not None,
            "after_each": self.after_each is not None,
            "when": self.when is not None,
            "at_end": self.at_end,
        }
        return [argument(name) for name, is_given in given.items() if is_given]

    def _take_scheme(self, times: Sequence[str]) -> None:
        """A scheme file is read once, here; what it says must not be said twice."""
        for name in ("welfare", "temporal"):
            if getattr(self, name) is not None:
                raise BadParameter(
                    f"{argument(name)} is already said by the scheme: leave one out."
                )
        scheme = self.scheme
        if not isinstance(scheme, FairnessScheme):
            scheme = read_scheme_file(scheme)
            object.__setattr__(self, "scheme", scheme)
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


@dataclass(frozen=True, kw_only=True)
class AuditOptions(SchemeOptions):
    """All that can be asked of an audit: the keyword arguments of `audit`, where each is explained.

    >>> AuditOptions(stakeholder="to", time="month", by="region").group
    'region'
    """

    stakeholder: str = ""  # columns of the log: who received,
    time: str = ""  # when,
    amount: str | None = None  # how much (each row counts 1 without it),
    out_of: str | None = None  # out of how many chances, for a rate,
    asked: str | None = None  # for how much was asked (of `requests`, if they are a log apart),
    wait_from: str | None = None  # from when a case waited (in place of `time`),
    wait_to: str | None = None  # until when, empty while it is open,
    group: str | Sequence[str] | None = None  # of which group; several columns are taken together,
    run: str | None = None  # in which run of a policy
    cumulative: bool = False  # the amounts are running totals
    stock: bool = False  # the amounts are levels at a time, such as beds or people housed
    time_format: str | None = None  # how dates are written, such as %d/%m/%Y
    time_unit: str | None = None  # what times count that are numbers, such as s, ms or year
    decimal: str | None = None  # the sign before the fraction of a number, . or ,
    missing: Any = ()  # marks in place of amounts that are not told, such as "*" or "*=1-4"
    encoding: str = "utf-8"  # how text files are written
    sheet: str | int | None = None  # of a workbook, by its name or its number from 1
    header_row: int | str | None = None  # the row of the columns' names from 1, or two such as 3-4
    wide: str | None = None  # each column is a "time" or a "stakeholder"
    time_from_name: bool = False  # the time of a file's rows stands in its name
    merge_names: bool = False  # names that differ only in capitals, spaces or accents are one
    table: str | Sequence[str | None] | None = None  # of a database; to compare, one for each log
    engine: str | None = None  # what reads files: duckdb (the default) or spark
    by: str = STAKEHOLDER  # judge each stakeholder, each group, or each group of a column
    entitlement: Any = None  # a column, or a table or mapping of its own
    within_period: bool = False  # a rate is that of each assessed period, and not so far
    within: Any = None  # judge the share of cases that waited no longer than this, such as 30d
    longest_open: bool = False  # judge the longest wait of those that are still open
    requests: Any = None  # who asked, if not in the same rows: a table of its own
    requests_stakeholder: str | None = None  # columns of the requests, if called otherwise there:
    requests_time: str | None = None  # who asked, and when
    requests_table: str | None = None  # the table of requests, if they are in a database
    judge_requests: str | None = None  # one of REQUEST_STATUSES; share_met by default
    roster: Any = None  # all who should be served: a table or a list of names
    reference: str | None = None  # the group that the others are compared with
    only: Sequence[str] = ()  # stakeholders: these alone
    exclude: Sequence[str] = ()  # or all but these
    where: str | None = None  # count only rows of which this condition holds
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
            name = _named(self.judge_requests, "judge_requests", REQUEST_STATUSES)
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
        """The marks in place of amounts that are not told."""
        return tuple(self.missing)

    @property
    def needs_calendar(self) -> bool:
        """Whether the question speaks of days, so that times that are numbers must be dates."""
        if isinstance(self.every, str) and not self.every.strip().lstrip("+-").isdigit():
            return True
        if isinstance(self.within, str) and self.within.strip()[-1:].isalpha():
            return True
        return any(_is_date(given) for given in (self.since, self.until, self.before))

    def _take_waits(self) -> None:
        """A wait begins at the time of its row, and is better when shorter."""
        same = {"time"} if self.time == self.wait_from else set()
        refuse_beside_waits(self._given() - same, self.by != STAKEHOLDER)
        object.__setattr__(self, "time", self.wait_from)
        if self.within is None:  # a share in time is better when higher
            object.__setattr__(self, "lower_is_better", True)

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
            object.__setattr__(self, "null", _named(self.null, "null", NULL_NAMES))
        if self.draws is not None and not 1 <= self.draws <= MOST_DRAWS:
            raise BadParameter(
                f"{argument('draws')} is {self.draws}: it must be a whole number from 1 to "
                f"{MOST_DRAWS:,}."
            )
        if self.seed < 0:
            raise BadParameter(f"{argument('seed')} is {self.seed}: it must be at least 0.")
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


def _named(value: str, name: str, known: Collection[str]) -> str:
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


P = ParamSpec("P")
Result = TypeVar("Result")


@overload
def with_keywords(
    function: Callable[[Any, AuditOptions], Result], options: Callable[P, AuditOptions]
) -> Callable[Concatenate[Any, P], Result]: ...


@overload
def with_keywords(
    function: Callable[[Any, Any, AuditOptions], Result], options: Callable[P, AuditOptions]
) -> Callable[Concatenate[Any, Any, P], Result]: ...


def with_keywords(function: Any, options: Any) -> Any:
    """A function of logs and options as one of logs and keyword arguments, for users to call.

    So the arguments are written once, as the fields of the options; type checkers, `help` and
    editors see them in the signature.
    """

    @functools.wraps(function)
    def called(*logs: Any, **keywords: Any) -> Any:
        return function(*logs, options(**{**keywords, **default_columns(logs, keywords)}))

    *logs, _ = inspect.signature(function).parameters.values()
    keywords = inspect.signature(options).parameters.values()
    called.__name__ = called.__qualname__ = function.__name__.removeprefix("_")
    called.__signature__ = inspect.signature(function).replace(  # type: ignore[attr-defined]
        parameters=[*logs, *keywords]
    )
    return called
