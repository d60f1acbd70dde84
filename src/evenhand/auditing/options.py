"""The options of an audit, as one object: written once, validated when built, handed down whole."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from evenhand._util.checks import require_fields, require_whole
from evenhand._util.wording import as_names
from evenhand.auditing.combinations import (
    refuse_beside_waits,
    refuse_of_audits_alone,
    refuse_senseless,
)
from evenhand.auditing.hidden_marks import HiddenMark, read_marks
from evenhand.auditing.layout import STAKEHOLDER as WHO
from evenhand.auditing.layout import TIME, FileLayout
from evenhand.auditing.scheme_options import Condition, SchemeOptions, one_of
from evenhand.auditing.time_units import require_unit
from evenhand.errors import BadParameter, argument
from evenhand.fairness.status import OfRequests, ShareMet, Shortfall, WhileWaiting

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
