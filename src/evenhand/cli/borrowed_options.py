"""Options that two verbs share, defined once: one verb takes those of another by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any


def borrow_options(
    lender: Callable[..., Any], names: Sequence[str] | None = None, *, into: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command options of another, which it receives as one mapping.

    Args:
        lender: The command, or any function, whose parameters declare the options.
        names: Which of them, by the names of its parameters; all by default.
        into: The parameter of the borrowing command that receives them.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = inspect.signature(command, eval_str=True).parameters
        lent = inspect.signature(lender, eval_str=True).parameters
        taken = tuple(lent) if names is None else names

        @functools.wraps(command)
        def called(**given: Any) -> Any:
            borrowed = {name: given.pop(name) for name in taken}
            return command(**given, **{into: borrowed})

        mine = [parameter for name, parameter in own.items() if name != into]
        place = next(
            (k for k, one in enumerate(mine) if one.default is not inspect.Parameter.empty),
            len(mine),
        )
        together = [*mine[:place], *(lent[name] for name in taken), *mine[place:]]
        together = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in together]
        called.__signature__ = inspect.Signature(together)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in together}
        return called

    return decorate
