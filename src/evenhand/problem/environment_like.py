"""What a problem asks of an environment, and the environments that are known by name.

The environments themselves lie above problems: those of `evenhand.envs` register here when they
are imported, and so does a user's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from evenhand._util.checks import refuse_class
from evenhand._util.numbers import Array
from evenhand._util.registry import Registry
from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.memory.attribute import Attribute

if TYPE_CHECKING:
    from jaxtyping import Bool, PRNGKeyArray


ENVIRONMENTS = Registry("environment")


class EnvironmentLike(Protocol):
    """What a problem asks of an environment; `envs.Environment` answers it in pure JAX."""

    @property
    def num_stakeholders(self) -> int: ...
    @property
    def num_actions(self) -> int: ...
    @property
    def horizon(self) -> int: ...
    @property
    def may_override(self) -> bool: ...
    @property
    def compiled(self) -> bool:
        """Whether `initial`, `step` and `is_over` are JAX, or the environment runs on the host."""
        ...

    def initial(self, key: PRNGKeyArray) -> Any: ...
    def step(self, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Step]: ...
    def is_over(self, state: Any) -> Bool[Array, ""]: ...
    def attributes(self, state: Any) -> tuple[Attribute, ...]: ...
    def achieved(self, world: Any) -> Bool[Array, ""]: ...


def require_environment_like(environment: Any) -> None:
    """Refuse what lacks a part of an environment that every problem asks for."""
    refuse_class(environment, "environment")
    asked = ("num_stakeholders", "horizon", "may_override", "initial")
    missing = [name for name in asked if not hasattr(environment, name)]
    if missing:
        raise BadParameter(
            f"environment is {short_repr(environment)}, which has no "
            f"{' and no '.join(missing[:2])}: give one of evenhand.envs, such as "
            "Doughnuts(), or a subclass of Environment."
        )
