"""When to look and how to judge: the options that an audit and a monitor share."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from evenhand._util.checks import is_finite_number, require_kind
from evenhand._util.registry import Registry
from evenhand.errors import BadParameter, MissingPartParameter, argument
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Filter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import from_table, read_scheme_file
from evenhand.fairness.status import LowerIsBetter, Returns, Status
from evenhand.fairness.temporal import TEMPORALS, Mean, Temporal
from evenhand.fairness.trace import NONE, Tolerance
from evenhand.fairness.welfare import WELFARES, LogNash, Rawls, Welfare

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
