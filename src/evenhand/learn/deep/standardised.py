"""Features of one size, whatever the unit of what is observed: how they are scaled is measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.learn.deep.encoders import ENCODERS, Encoder, Features, observed, spread_to_members
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import AgentView, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float


@ENCODERS.register("standardised")
@dataclass(frozen=True)
class Standardised(Encoder):
    """Every attribute divided by a typical size of its own, as random play shows it.

    Amounts received, and the statuses that the memory implies, are shown as the lead over the
    least served, the distance to the mean, and a logarithm. Members are given the number of
    their group.

    Args:
        shifts: What is taken from each attribute, in the order in which they are observed.
        sizes: What each attribute is divided by.
        status_size: What a lead in status is divided by.
    """

    shifts: tuple[float, ...]
    sizes: tuple[float, ...]
    status_size: float = 1.0

    def __post_init__(self) -> None:
        numbers = np.asarray((*self.sizes, self.status_size))
        if len(self.shifts) != len(self.sizes) or not (numbers > 0).all():
            raise BadParameter(
                f"sizes is {self.sizes} and shifts is {self.shifts}: give both for each attribute, "
                "and sizes above 0."
            )

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        size = problem.environment.num_stakeholders
        attributes = observed(problem, state, seen)
        if len(attributes) != len(self.sizes):
            raise BadParameter(
                f"there are {len(attributes)} attributes and {len(self.sizes)} sizes: this encoder "
                "was made for another problem."
            )
        each, common = [jnp.zeros((size, 0))], [jnp.zeros(0)]
        for attribute, shift, scale in zip(attributes, self.shifts, self.sizes, strict=True):
            part = spread_to_members(attribute) if attribute.groups is not None else attribute
            values = jnp.asarray(part.values, dtype=jnp.float32)
            codes = leads(values / scale) if part.counts else ((values - shift) / scale)[..., None]
            if values.shape == (size,) and not part.shared:
                each.append(codes)
            else:
                common.append(codes.ravel())
        status = self._status(problem, seen, attributes)
        if status is not None and status.shape == (size,):
            each.append(leads(status / self.status_size))
        return Features(jnp.concatenate(each, axis=1), jnp.concatenate(common))

    def _status(
        self, problem: Problem, seen: AgentView, attributes: tuple[Attribute, ...]
    ) -> Array | None:
        """The status that the memory implies, unless it is what the memory is made of."""
        if any(attribute.counts for attribute in attributes):
            return None
        claim = problem.memory.implied_status(seen.memory)
        return None if claim is None else jnp.asarray(claim, dtype=jnp.float32)

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        raise NotImplementedError("attributes are coded by their place: see `features`.")


def leads(values: Float[Array, " n"]) -> Float[Array, "n feature"]:
    """The lead over the least, the distance to the mean, and the size as a logarithm."""
    ahead = values - jnp.min(values)
    about = values - jnp.mean(values)
    return jnp.stack((ahead, about, jnp.sign(values) * jnp.log1p(jnp.abs(values))), axis=1)
