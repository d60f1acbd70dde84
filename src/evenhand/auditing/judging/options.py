"""What is asked of a log: when to look, and how to judge what is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand._util.registry import Registry
from evenhand.auditing.judging.questions import (
    AfterEachAmount,
    AsTheScheme,
    AtEnd,
    EachEvent,
    Question,
    WhenMarked,
    every,
)
from evenhand.errors import BadParameter, SchemeFileError
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Final
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import from_table, read_scheme_file
from evenhand.fairness.status import Returns, Status
from evenhand.fairness.temporal import TEMPORALS, Mean, Temporal
from evenhand.fairness.welfare import WELFARES, LogNash, Rawls, Welfare

FALLBACK = Rawls()  # where log-Nash is undefined, and no welfare was asked for
FALLEN_BACK = (
    "Some statuses are below 0, where log_nash is undefined: rawls (the status of the "
    "worst-off) is used instead."
)


@dataclass(frozen=True)
class Ask:
    """The options that make a question and a scheme; at most one says when to look."""

    each_event: bool = False
    every: str | int | None = None
    after_each: float | None = None
    when: str | None = None
    at_end: bool = False
    welfare: str | Welfare | None = None
    temporal: str | Temporal | None = None
    scheme: Any = None  # a FairnessScheme, or the path of a scheme file

    def __post_init__(self) -> None:
        given = self.times()
        if len(given) > 1:
            raise BadParameter(f"{' and '.join(given)} ask different questions: choose one.")
        if self.scheme is not None:
            for option, value in (("--welfare", self.welfare), ("--temporal", self.temporal)):
                if value is not None:
                    raise BadParameter(f"{option} is already said by the scheme: leave one out.")
            loaded = read_scheme(self.scheme)
            object.__setattr__(self, "scheme", loaded)
            if given and loaded.filter != Always():
                raise BadParameter(
                    f"{given[0]} and the scheme's filter both say when to look: leave one out."
                )

    def times(self) -> list[str]:
        """The options given that say when to look."""
        options = {
            "--each-event": self.each_event,
            "--every": self.every is not None,
            "--after-each": self.after_each is not None,
            "--when": self.when is not None,
            "--at-end": self.at_end,
        }
        return [option for option, given in options.items() if given]

    def question(self) -> Question:
        """When to look; at every time point unless told otherwise."""
        if self.every is not None:
            return every(str(self.every))
        if self.after_each is not None:
            return AfterEachAmount(self.after_each)
        if self.when is not None:
            return WhenMarked(self.when)
        if self.at_end:
            return AtEnd()
        if self.scheme is not None and not self.each_event:
            own = self.scheme.filter
            if own == Final():
                return AtEnd()
            return EachEvent() if own == Always() else AsTheScheme(own)
        return EachEvent()

    def status(self) -> Status:
        """What each received, unless a scheme says otherwise."""
        return Returns() if self.scheme is None else self.scheme.status

    def temporal_part(self) -> Temporal:
        if self.scheme is not None:
            return self.scheme.temporal or Mean()
        return Mean() if self.temporal is None else _part(self.temporal, TEMPORALS, "temporal")

    def schemes(self, status: Status, question: Question) -> list[FairnessScheme]:
        """The scheme to judge by, and one to fall back on where the first is undefined."""
        if self.scheme is not None:
            own = self.scheme
            return [FairnessScheme(status, own.aggregation, question.filter(), own.empty)]
        chosen = [LogNash(), FALLBACK] if self.welfare is None else [self._welfare()]
        temporal = self.temporal_part()
        return [
            FairnessScheme(status, TimepointFirst(welfare, temporal), question.filter())
            for welfare in chosen
        ]

    def _welfare(self) -> Welfare:
        return _part(self.welfare, WELFARES, "welfare")


def read_scheme(source: Any) -> FairnessScheme:
    """A scheme as it is, or from a scheme file."""
    if isinstance(source, FairnessScheme):
        return source
    return read_scheme_file(source)


def _part(value: Any, registry: Registry, kind: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return from_table(value, registry, kind)
    except SchemeFileError as error:
        if "needs" not in str(error):
            raise
        missing = str(error).split(":")[0]
        raise BadParameter(
            f"{missing}, which has no option: write the scheme to a file and use --scheme."
        ) from None
