"""The environment that the options of a command ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.envs import Environment

# Constructor arguments, and the options that set them.
OPTIONS = {"num_stakeholders": "--stakeholders", "horizon": "--horizon", "presence": "--presence"}
# The largest that an option may be. Whether what was asked for fits into memory depends on several
# of them, and is looked at where it is known; beyond these nothing would.
LARGEST = {
    "--stakeholders": 100_000,
    "--horizon": 1_000_000,  # decisions
    "--seed": 2**32 - 1,  # of which a random key is made
    "--seeds": 10_000,
    "--steps": 10**10,
    "--episodes": 10**8,
}


def at_most(option: str) -> Callable[[int | None], int | None]:
    """What looks at the value of an option as soon as it is read."""

    def looked_at(value: int | None) -> int | None:
        require_at_most(option, value)
        return value

    return looked_at


def require_at_most(option: str, value: int | None) -> None:
    """Refuse more than makes sense, before anything is made of that size.

    >>> require_at_most("--seeds", 10)
    """
    if value is not None and value > LARGEST[option]:
        written = f"{value:,}" if value < 10**20 else "a number of more than 20 digits"
        raise BadParameter(f"{option} is {written}: it must be at most {LARGEST[option]:,}.")


def environment_options(
    name: str, stakeholders: int | None, horizon: int | None, presence: str | None
) -> tuple[type[Environment], dict[str, Any]]:
    """The environment of a name, and the constructor arguments that were given for it."""
    from evenhand.envs import ENVIRONMENTS
    from evenhand.envs.own_environment import load_environment

    kind = load_environment(name) if ":" in name else ENVIRONMENTS.get(name)
    require_at_most("--stakeholders", stakeholders)
    require_at_most("--horizon", horizon)
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
    from evenhand.envs.own_environment import require_environment

    try:
        built = kind(**arguments)
    except TypeError as error:
        raise BadParameter(
            f"{kind.__name__} cannot be built from the options alone: {error}. Give its other "
            "arguments defaults, or use it from Python."
        ) from None
    if not kind.__module__.startswith("evenhand."):
        require_environment(built)
    return built


def parse_chances(text: str) -> float | tuple[float, ...]:
    """One chance for all, or one each, as typed."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise BadParameter(
            f"--presence is {text!r}: give one number, or one each with commas, such as 0.9,0.5."
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers
