"""Functions of logs and options, as users call them: of logs and keyword arguments."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from evenhand._util.wording import nearest, pluralise
from evenhand.auditing.options import READING, AuditOptions
from evenhand.auditing.scheme_options import times_given
from evenhand.auditing.workload_columns import default_columns
from evenhand.errors import BadParameter, UnknownArgument, WrongArguments, argument

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
