"""The options of an audit, as one object: written once, validated when built, handed down whole."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from evenhand._util.registry import Registry
from evenhand.errors import BadParameter, MissingPartParameter, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Filter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import from_table, read_scheme_file
from evenhand.fairness.status import LowerIsBetter, Returns, Status
from evenhand.fairness.temporal import TEMPORALS, Mean, Temporal
from evenhand.fairness.welfare import WELFARES, LogNash, Rawls, Welfare

FALLBACK = Rawls()  # where log-Nash is undefined, and no welfare was asked for
FALLBACK_NOTE = (
    "Some statuses are below 0, where log_nash is undefined: rawls (the status of the "
    "worst-off) is used instead."
)
STAKEHOLDER, GROUP = "stakeholder", "group"  # what `by` may be, besides a column of groups


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
    unweighted: bool = False  # all count alike, whatever they are entitled to
    max_unfairness: float | None = None  # how far anybody may be below the mean
    min_score: float | None = None  # how low the score may be

    def __post_init__(self) -> None:
        given = self._times()
        if len(given) > 1:
            raise BadParameter(f"{' and '.join(given)} ask different questions: choose one.")
        for name in ("max_unfairness", "min_score"):
            limit = getattr(self, name)
            if limit is not None and not math.isfinite(limit):
                raise BadParameter(f"{argument(name)} is {limit}: a limit must be a number.")
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

    stakeholder: str  # columns of the log: who received,
    time: str  # when,
    amount: str | None = None  # how much (each row counts 1 without it),
    out_of: str | None = None  # out of how many chances, for a rate,
    group: str | None = None  # of which group,
    run: str | None = None  # in which run of a policy
    cumulative: bool = False  # the amounts are running totals
    time_format: str | None = None  # how dates are written, such as %d/%m/%Y
    encoding: str = "utf-8"  # how text files are written
    table: str | Sequence[str | None] | None = None  # of a database; to compare, one for each log
    engine: str | None = None  # what reads files: duckdb (the default) or spark
    by: str = STAKEHOLDER  # judge each stakeholder, each group, or each group of a column
    entitlement: Any = None  # a column, or a table or mapping of its own
    roster: Any = None  # all who should be served: a table or a list of names
    only: Sequence[str] = ()  # stakeholders: these alone
    exclude: Sequence[str] = ()  # or all but these
    where: str | None = None  # count only rows of which this condition holds
    until: Any = None  # the moment up to which the log is whole

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by not in (STAKEHOLDER, GROUP):  # a column of groups, said at once
            object.__setattr__(self, "group", self.by)
            object.__setattr__(self, "by", GROUP)
        if self.by_group and self.group is None:
            raise BadParameter(
                f"{argument('by', GROUP)} needs to know the groups: say with {argument('group')} "
                "which column holds them."
            )
        if self.out_of is not None:
            self._require_rate()
        elif self.unweighted and self.entitlement is None:
            raise BadParameter(
                f"{argument('unweighted')} counts all alike whatever they are entitled to, and "
                f"nothing says what that is: give {argument('entitlement')}, or leave it out."
            )
        if self.cumulative and self.amount is None:
            raise BadParameter(
                f"{argument('cumulative')} says that amounts are running totals: say with "
                f"{argument('amount')} which column holds them."
            )

    def _require_rate(self) -> None:
        """A rate is one amount out of another: what else would change its meaning is refused."""
        given = argument("out_of")
        for name in ("entitlement",):
            if getattr(self, name) is not None:
                raise BadParameter(
                    f"{given} and {argument(name)} both say what an amount is set against: leave "
                    "one out."
                )
        if self.cumulative:
            raise BadParameter(
                f"{given} needs what happened in each row, and {argument('cumulative')} says that "
                "amounts are running totals: take differences first, or leave one out."
            )
        if self.unweighted:
            raise BadParameter(
                f"a rate ({given}) is weighted by its chances, without which it has no mean: leave "
                f"{argument('unweighted')} out."
            )

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
        return function(*logs, options(**keywords))

    *logs, _ = inspect.signature(function).parameters.values()
    keywords = inspect.signature(options).parameters.values()
    called.__name__ = called.__qualname__ = function.__name__.removeprefix("_")
    called.__signature__ = inspect.signature(function).replace(  # type: ignore[attr-defined]
        parameters=[*logs, *keywords]
    )
    return called
