"""Section 6: augmented states as numbers for a network. What is coded is what the agent may see."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.registry import Registry
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import AgentView, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float


class Features(NamedTuple):
    """What is known of each stakeholder, and of the whole."""

    each: Float[Array, "stakeholder feature"]
    common: Float[Array, " feature"]


class Layout(NamedTuple):
    """How features lie in one vector: those of each stakeholder first."""

    stakeholders: int
    each: int
    common: int

    @property
    def size(self) -> int:
        return self.stakeholders * self.each + self.common

    def split(self, flat: Float[Array, " feature"]) -> Features:
        cut = self.stakeholders * self.each
        return Features(flat[:cut].reshape(self.stakeholders, self.each), flat[cut:])


class Encoder(ABC):
    """A code for ⟨s, m⟩ and for whatever else the scheme makes the agent carry."""

    def __call__(self, problem: Problem, state: Any, seen: AgentView) -> Float[Array, " feature"]:
        """The features as one vector."""
        each, common = self.features(problem, state, seen)
        return jnp.concatenate((each.ravel(), common))

    def layout(self, problem: Problem) -> Layout:
        """How the features of this problem lie in their vector."""

        def start(key: Any) -> Features:
            augmented = problem.initial(key)
            return self.features(problem, augmented.state, augmented.seen)

        shapes = jax.eval_shape(start, jax.random.key(0))
        stakeholders, each = shapes.each.shape
        return Layout(stakeholders, each, shapes.common.shape[0])

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        size = problem.environment.num_stakeholders
        each, common = [jnp.zeros((size, 0))], [jnp.zeros(0)]
        for attribute in observed(problem, state, seen):
            spread = attribute if attribute.groups is None else self.spread(attribute)
            code = self.code(spread).astype(jnp.float32)
            if jnp.shape(spread.values) == (size,) and not spread.shared:
                each.append(code)
            else:
                common.append(code.ravel())
        return Features(jnp.concatenate(each, axis=1), jnp.concatenate(common))

    def spread(self, attribute: Attribute) -> Attribute:
        """What to do with one number per group: nothing, or to give it to each of the members."""
        return attribute

    @abstractmethod
    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        """The features of each number of an attribute, on a last axis of their own."""


@dataclass(frozen=True)
class Raw(Encoder):
    """Every number as it is."""

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return jnp.asarray(attribute.values, dtype=jnp.float32)[..., None]


@dataclass(frozen=True)
class Binary(Encoder):
    """Whole numbers in binary, as many bits each as their range needs; others as they are."""

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        values = jnp.asarray(attribute.values)
        if not attribute.whole:
            return values[..., None]
        bits = max(1, math.ceil(math.log2(attribute.most - attribute.least + 1)))
        number = (values - attribute.least).astype(jnp.int32)
        return (number[..., None] >> np.arange(bits)) & 1


@dataclass(frozen=True)
class Relative(Encoder):
    """Counts as the lead over the least served and as a logarithm; the rest scaled down.

    Members are given the count of their group, so that a network that treats them alike knows it.
    """

    def spread(self, attribute: Attribute) -> Attribute:
        return spread_to_members(attribute)

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        values = jnp.asarray(attribute.values, dtype=jnp.float32)
        if attribute.counts:
            return jnp.stack((values - jnp.min(values), jnp.log1p(jnp.abs(values))), axis=-1)
        # A range of 1 is left as it is. In a long one, one step more is still to be noticed.
        reach = math.sqrt(max(1.0, attribute.most - attribute.least))
        return ((values - attribute.least) / reach)[..., None]


def spread_to_members(attribute: Attribute) -> Attribute:
    """One number per group as one per stakeholder: each is given that of its group."""
    groups = attribute.groups
    assert groups is not None
    group_of = {i: k for k, members in enumerate(groups.members) for i in members}
    own = np.asarray([group_of[i] for i in sorted(group_of)])
    return attribute._replace(values=attribute.values[own], groups=None)


ENCODERS = Registry("encoder", {"raw": Raw, "binary": Binary, "relative": Relative})


def observed(problem: Problem, state: Any, seen: AgentView) -> tuple[Attribute, ...]:
    """All that the agent may see: the state, its memory, and the scheme's counters and folds."""
    env = problem.environment
    return (
        *env.attributes(state),
        *problem.memory.attributes(seen.memory, env.horizon, env.num_stakeholders),
        *(part for leaf in jax.tree.leaves((seen.filter, seen.fold)) for part in _finite(leaf)),
    )


def _finite(leaf: Any) -> tuple[Attribute, ...]:
    """A number that is carried; of a running least or most, which starts infinite, also whether."""
    number = jnp.asarray(leaf)
    if not jnp.issubdtype(number.dtype, jnp.floating):
        return (Attribute(number),)
    known = jnp.isfinite(number)
    return Attribute(jnp.where(known, number, 0.0)), Attribute(known)
