"""Named errors. Each message says what is wrong, where, and how to fix it.

An error that a program may want to act on has fields, so that nobody needs to read its sentence.
"""

from __future__ import annotations

import contextlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

# What a terminal obeys rather than shows: control characters, halves of characters, line ends, and
# marks that turn the direction of the text after them.
OBEYED = ("Cc", "Cs", "Zl", "Zp")
TURNING = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

LONGEST_WORD = 200  # characters of a path or a name in a sentence
LONGEST_SENTENCE = 580

# How arguments are named: as in Python, unless somebody else (the command line) is speaking.
_NAMED: ContextVar[Callable[..., str] | None] = ContextVar("named", default=None)


def argument(name: str, *value: Any) -> str:
    """How a sentence names an argument, and its value if one is given.

    In Python it is named as in Python; the command line names its options (`naming_arguments`).

    >>> argument("every"), argument("every", "month")
    ('`every`', "`every='month'`")
    """
    named = _NAMED.get()
    if named is not None:
        return named(name, *value)
    return f"`{name}{''.join(f'={one!r}' for one in value)}`"


def argument_name(name: str) -> str:
    """The same where no sentence is around it, such as in a table.

    >>> argument_name("max_unfairness")
    'max_unfairness'
    """
    named = _NAMED.get()
    return name if named is None else named(name)


@contextlib.contextmanager
def naming_arguments(named: Callable[..., str]) -> Iterator[None]:
    """Sentences that are made meanwhile name arguments by `named(name)` or `named(name, value)`.

    >>> with naming_arguments(lambda name, *value: f"--{name}"):
    ...     argument("every")
    '--every'
    """
    before = _NAMED.set(named)
    try:
        yield
    finally:
        _NAMED.reset(before)


def visible(text: str) -> str:
    """A text of somebody else's as a terminal may have it: what it would obey is written out.

    >>> visible("\\x1b[31mred")
    '\\\\x1b[31mred'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if unicodedata.category(char) in OBEYED or char in TURNING
        else char
        for char in text
    )


def shortened(text: str, longest: int) -> str:
    """A text that is too long without its middle.

    >>> shortened("abcdefghij", 5)
    'ab…ij'
    """
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end]}…{text[-end:]}"


def as_sentence(text: str) -> str:
    """A sentence on one line and of one screen, whatever the names and paths in it are."""
    words = re.sub(
        rf"\S{{{LONGEST_WORD + 1},}}", lambda word: shortened(word[0], LONGEST_WORD), visible(text)
    )
    return shortened(words, LONGEST_SENTENCE)


_in_words = argument  # for constructors that have an argument of that name


class EvenhandError(ValueError):
    """Something a user can fix. The command line prints it as one sentence and exits with 2."""

    def __init__(self, sentence: str = "") -> None:
        super().__init__(as_sentence(sentence))

    def __reduce__(self) -> tuple[Any, ...]:
        """An error of a worker process arrives with its sentence and its fields."""
        return _restored, (type(self), str(self), dict(vars(self)))


def _restored(kind: type[EvenhandError], sentence: str, fields: dict[str, Any]) -> EvenhandError:
    error = kind.__new__(kind, sentence)  # the constructor would build the sentence anew
    vars(error).update(fields)
    return error


class UnequalLengths(EvenhandError):
    """Sequences that should describe the same steps or stakeholders differ in length."""


class NotFinite(EvenhandError):
    """A NaN or an infinity where a number is needed."""


class StatusPlace(NamedTuple):
    """Whose status, counted from 0, and at which time point, counted from 1."""

    stakeholder: int
    time: int

    def __str__(self) -> str:
        return f"the status of stakeholder {self.stakeholder} at time {self.time}"


class NegativeStatus(EvenhandError):
    """A status for which the chosen welfare function is undefined.

    The sentence is `what` it is about and the `reason`; `place` says whose status it is and when,
    where that is known.
    """

    def __init__(self, what: StatusPlace | str, reason: str = "") -> None:
        super().__init__(f"{what} {reason}".rstrip())
        self.reason = reason
        self.place = what if isinstance(what, StatusPlace) else None

    def about(self, what: str) -> NegativeStatus:
        """The same error in other words, such as the names and dates of a log."""
        return NegativeStatus(what, self.reason)


class WelfareOverflow(EvenhandError):
    """A welfare too large for a float64, such as the product of many large statuses."""


class ZeroEntitlement(EvenhandError):
    """An entitlement that is not positive, so that nothing can be measured against it."""


class GroupsDoNotFit(EvenhandError):
    """Groups that are empty, that share a member, or that do not fit the stakeholders."""


class WeightsDoNotFit(EvenhandError):
    """Weights of the wrong number, sign or order."""


class MissingCircumstances(EvenhandError):
    """A status that needs to know more of each stakeholder than what it received."""


class WeightsRefused(EvenhandError):
    """A part of a scheme that has no meaning where stakeholders count for unequal numbers."""


class NothingAssessed(EvenhandError):
    """The filter never fired, so that there is no score."""


class OverridesRefused(EvenhandError):
    """A trace with overrides, scored by an aggregation that has no place for them."""


class PresenceRefused(EvenhandError):
    """Stakeholders who come and go, with a scheme that needs everyone at every time point."""


class CannotStream(EvenhandError):
    """A part of the scheme needs the whole history, so that it cannot run step by step."""


class NoLimit(EvenhandError):
    """The infinite-horizon score is not known to exist, or not to the tolerance asked for."""


class CounterfactualsRefused(EvenhandError):
    """The scheme cannot say what the reward of an imagined memory would have been."""


class BadParameter(EvenhandError):
    """A constructor argument outside what the definition allows."""


class UnknownArgument(BadParameter, TypeError):
    """A keyword that a function does not have; the message offers the `nearest` of those it has.

    A TypeError too, as Python's own are.
    """

    def __init__(self, name: str, function: str, *, nearest: str | None) -> None:
        hint = f"see help({function})." if nearest is None else f"did you mean {nearest!r}?"
        super().__init__(f"{function} has no argument {name!r}: {hint}")
        self.name, self.nearest = name, nearest


class WrongArguments(BadParameter, TypeError):
    """More or fewer arguments than a function takes; a TypeError too, as Python's own are."""


class NoBestKnown(BadParameter):
    """A log or a score of which the best there was cannot be found.

    Args:
        why: What stands in the way.
        instead: What to do where the best was asked for.
    """

    def __init__(self, why: str, instead: str) -> None:
        super().__init__(f"{why}: {instead}.")
        self.why = why


class UnknownName(EvenhandError):
    """A name that no registry knows; the message offers the nearest."""


class SchemeFileError(EvenhandError):
    """A scheme file that cannot be read, or a scheme that cannot be written as one."""


class MissingPartParameter(SchemeFileError):
    """A part of a scheme without a parameter that it needs."""

    def __init__(self, part: str, parameter: str, table: str) -> None:
        super().__init__(f"{part} needs {parameter!r}: add it to the {table} table.")
        self.part, self.parameter = part, parameter


class UnknownEvent(EvenhandError):
    """A step whose label is not in the alphabet."""


class BadExpression(EvenhandError):
    """A regular expression over events that cannot be read."""


class NotAPartition(EvenhandError):
    """Languages of which some string belongs to none or to several; `witness` is a shortest one."""

    def __init__(
        self, message: str, *, witness: tuple[str, ...], accepted_by: tuple[int, ...]
    ) -> None:
        super().__init__(message)
        self.witness = witness
        self.accepted_by = accepted_by


class NotMarkovian(EvenhandError):
    """Two `histories` that end in the same state and memory, but not in the same status."""

    def __init__(
        self,
        message: str,
        *,
        histories: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]],
    ) -> None:
        super().__init__(message)
        self.histories = histories


class DoesNotClose(EvenhandError):
    """More states than allowed; `size` of them had been reached, and there are more."""

    def __init__(self, message: str, *, size: int) -> None:
        super().__init__(message)
        self.size = size


class NotRewardLike(EvenhandError):
    """A scheme that is not a sum of per-step rewards, where one is needed."""


class MemoryDoesNotPay(EvenhandError):
    """A memory that does not determine the reward, where imagined memories need one."""


class CannotPlan(EvenhandError):
    """A problem that an exact planner cannot take on; the message says what would help."""


class TooLarge(CannotPlan):
    """A problem with more states than there is memory for."""


class CannotWrite(EvenhandError):
    """A file that cannot be written where it was asked for."""


class BadFile(EvenhandError):
    """A file that cannot be read, or is not what it should be."""


class BadLog(EvenhandError):
    """A log that cannot be judged as it is: empty, without names, or with unreadable times."""


class MissingColumn(EvenhandError):
    """Columns that a table does not have; the message offers the `nearest` of those it has.

    `argument` is the argument that names the column, if there is one.
    """

    def __init__(
        self,
        columns: Sequence[str],
        table: str,
        *,
        known: Sequence[str] = (),
        nearest: str | None = None,
        argument: str | None = None,
    ) -> None:
        missing, some = (", ".join(repr(name) for name in part) for part in (columns, known[:12]))
        named = "" if argument is None else f" ({_in_words(argument)})"
        hint = f"it has {some}." if nearest is None else f"did you mean {nearest!r}?"
        super().__init__(f"{table} has no column {missing}{named}: {hint}")
        self.columns, self.table = tuple(columns), table
        self.nearest, self.argument = nearest, argument


class DoubledColumn(EvenhandError):
    """A column's name that a table has several times, where it must say which one is meant."""


class MissingKey(EvenhandError):
    """A key that no line of a stream has; the message offers the `nearest` of those there are."""

    def __init__(
        self, key: str, *, known: Sequence[str], nearest: str | None, argument: str
    ) -> None:
        some = ", ".join(repr(name) for name in known[:12])
        hint = f"the keys are {some}." if nearest is None else f"did you mean {nearest!r}?"
        super().__init__(f"no line that was read has a key {key!r} ({_in_words(argument)}): {hint}")
        self.key, self.nearest, self.argument = key, nearest, argument


class UnknownStakeholder(EvenhandError):
    """A stakeholder that a log does not have; the message offers the `nearest` name."""

    def __init__(self, name: str, *, nearest: str | None, argument: str | None = None) -> None:
        hint = "check its spelling." if nearest is None else f"did you mean {nearest!r}?"
        who = f"there is no stakeholder {name!r}"
        if argument is not None:
            who = f"{_in_words(argument)} names {name!r}, who is not in the log"
        super().__init__(f"{who}: {hint}")
        self.name, self.nearest, self.argument = name, nearest, argument


class BadCondition(EvenhandError):
    """A filter expression that cannot be read, or that does not fit the table's columns."""


class BadRoster(EvenhandError):
    """A roster, or a table of entitlements, that does not fit the log."""


class MissingExtra(EvenhandError, ImportError):
    """A package that something needs and that is not installed; the message names the extra.

    An ImportError too, for whoever tries an import and does something else without it.
    """


class CannotConnect(EvenhandError):
    """A database or an engine that cannot be reached, does not let us in, or was lost."""


class BadStore(EvenhandError):
    """A store of decisions that cannot be used as it is, or that was changed from outside."""


class StoreUnavailable(BadStore):
    """A store that cannot be reached at the moment; whether a write arrived is not known."""


class StoreConflict(EvenhandError):
    """An entry of the log that another process was quicker to write; `table` is where."""

    def __init__(self, table: str) -> None:
        super().__init__("another process has decided meanwhile: ask again who is next.")
        self.table = table


class StaleTurn(EvenhandError):
    """A decision for a turn that is over: something else happened in the pool meanwhile."""


class UnknownPool(EvenhandError):
    """A pool that the store does not have; the message offers the `nearest` name."""

    def __init__(self, name: str, *, nearest: str | None) -> None:
        hint = "GET /v1/pools shows which there are." if nearest is None else ""
        super().__init__(f"there is no pool {name!r}: {hint or f'did you mean {nearest!r}?'}")
        self.name, self.nearest = name, nearest


class UnreadablePool(EvenhandError):
    """A pool of the store that this process cannot read; the message says the `reason`."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the pool {name!r} cannot be used here: {reason}")
        self.name, self.reason = name, reason


class UnknownDecision(EvenhandError):
    """A number in the log of a pool that is not a decision, or is not there."""


class CannotCarry(EvenhandError):
    """An observation space that has no place for the memory."""


class NotReset(EvenhandError):
    """A step in an environment whose episode has not begun or is over."""


class NotDiscrete(EvenhandError):
    """Actions that cannot be counted, with a learner that has a value for each."""


class NoStakeholderRewards(EvenhandError):
    """An environment that does not say what each stakeholder received."""
