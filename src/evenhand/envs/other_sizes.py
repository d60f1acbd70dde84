"""An environment for another number of stakeholders, all like those that there are."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from evenhand._util.checks import require_whole
from evenhand.errors import BadParameter, EvenhandError, argument

if TYPE_CHECKING:
    from evenhand.envs.environment import Environment


def resized(
    environment: Environment, num_stakeholders: int | None, horizon: int | None
) -> Environment:
    """The environment built anew: what it has one each of, it has one each of the same again.

    Args:
        environment: One whose stakeholders are all alike.
        num_stakeholders: How many there are to be; None: as many as there are.
        horizon: How many decisions there are to be; None: as many as there are.
    """
    for name, value in (("num_stakeholders", num_stakeholders), ("horizon", horizon)):
        if value is not None:
            require_whole(value, argument(name))
    size = environment.num_stakeholders
    number = size if num_stakeholders is None else num_stakeholders
    kind = type(environment)
    if number != size and len(set(environment.exchangeable())) > 1:
        raise BadParameter(
            f"the stakeholders of this {kind.__name__} are not alike, so that {number} of them are "
            "not defined by these: build the environment, and give its problem to for_problem."
        )
    if not is_dataclass(environment):
        raise _unknown(kind, number)
    own = {spec.name: getattr(environment, spec.name) for spec in fields(environment) if spec.init}
    if horizon is not None:
        own = {**own, "horizon": horizon}
    if number != size:
        own = {name: _repeated(value, size, number) for name, value in own.items()}
        own = {name: number if name == "num_stakeholders" else own[name] for name in own}
    try:
        built = kind(**own)
    except (EvenhandError, TypeError):
        raise _unknown(kind, number) from None
    if (built.num_stakeholders, built.horizon) != (number, own.get("horizon", built.horizon)):
        raise _unknown(kind, number)
    return built


def _repeated(value: Any, size: int, number: int) -> Any:
    """One each of the same, for more or fewer; anything else as it is."""
    one_each = isinstance(value, tuple) and len(value) == size and len(set(value)) == 1
    return value[:1] * number if one_each else value


def _unknown(kind: type, number: int) -> BadParameter:
    return BadParameter(
        f"{kind.__name__} does not say how it would be with {number} stakeholders: build it, and "
        "give its problem to for_problem."
    )
