"""The environment that the options of a command ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.envs import Environment

# Constructor arguments, and the options that set them.
OPTIONS = {"num_stakeholders": "--stakeholders", "horizon": "--horizon", "presence": "--presence"}


def environment_options(
    name: str, stakeholders: int | None, horizon: int | None, presence: str | None
) -> tuple[type[Environment], dict[str, Any]]:
    """The environment of a name, and the constructor arguments that were given for it."""
    from evenhand.envs import ENVIRONMENTS

    kind = ENVIRONMENTS.get(name)
    given = {
        "num_stakeholders": stakeholders,
        "horizon": horizon,
        "presence": None if presence is None else parse_chances(presence),
    }
    given = {argument: value for argument, value in given.items() if value is not None}
    for argument in given:
        if argument not in kind.options:  # type: ignore[attr-defined]
            takes = [OPTIONS[known] for known in kind.options]  # type: ignore[attr-defined]
            hint = f"it takes {' and '.join(takes)}" if takes else "leave it out"
            raise BadParameter(f"{name} has no {OPTIONS[argument]}: {hint}.")
    return kind, given


def build_environment(kind: type[Environment], arguments: Mapping[str, Any]) -> Environment:
    """The environment of these arguments; refuses one that needs more than options can say."""
    try:
        return kind(**arguments)
    except TypeError as error:
        raise BadParameter(
            f"{kind.__name__} cannot be built from the options alone: {error}. Give its other "
            "arguments defaults, or use it from Python."
        ) from None


def parse_chances(text: str) -> float | tuple[float, ...]:
    """One chance for all, or one each, as typed."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise BadParameter(
            f"--presence is {text!r}: give one number, or one each with commas, such as 0.9,0.5."
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers
