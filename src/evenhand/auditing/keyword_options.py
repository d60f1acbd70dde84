"""Functions of logs and options, as users call them: of logs and keyword arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

from evenhand._util.wording import nearest, pluralise
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.workload_columns import default_columns
from evenhand.errors import UnknownArgument, WrongArguments

P = ParamSpec("P")
Result = TypeVar("Result")
Options = TypeVar("Options", bound=AuditOptions)


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
        for name in keywords:
            if name not in known:
                raise UnknownArgument(name, called.__name__, nearest=nearest(name, known))
        return function(*logs, options(**{**keywords, **default_columns(logs, keywords)}))

    *logs, _ = inspect.signature(function).parameters.values()
    called.__name__ = called.__qualname__ = function.__name__.removeprefix("_")
    called.__signature__ = inspect.signature(function).replace(  # type: ignore[attr-defined]
        parameters=[*logs, *known.values()]
    )
    return called
