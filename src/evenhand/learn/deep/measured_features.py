"""Features in units of what was seen: grams or kilograms, a network is shown the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from evenhand.learn.deep.encoders import ENCODERS, Encoder, Features
from evenhand.learn.deep.gains import Gains, relative
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import AgentView, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float

TIE_BREAK = 1e-3  # of the unit
Moments = tuple[tuple[float, float], ...]  # mean and deviation of each feature


@ENCODERS.register("measured")
@dataclass(frozen=True)
class Measured(Encoder):
    """The features of `Gains`, less the mean that was seen of each, by its deviation.

    Those of stakeholders have one mean and one deviation for all, so that they stay comparable.
    Last comes, for each, what serving it would add to the reward at once, in the learner's own
    units; and of the whole, the unit in which values at this moment are best told apart. Where
    several would add as much, it is more for whose own status would rise by more.

    Args:
        of: The features.
        each: Of each stakeholder's features.
        common: Of the features of the whole.
        reward: What a gain of 1 in welfare is worth to the learner.
        floor: The least unit of values; the unit is the largest gain of the moment. 0: it is 1.
    """

    of: Gains
    each: Moments
    common: Moments
    reward: float = 1.0
    floor: float = 0.0

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return self.of.code(attribute)

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        raw, served = self.of.look(problem, state, seen)
        at_once, unit = jnp.zeros(raw.each.shape[0]), jnp.ones(())
        if served is not None:
            at_once = self.reward * served.gain
            if self.floor:
                unit = jnp.maximum(jnp.max(jnp.abs(at_once)), self.floor)
            at_once = at_once + TIE_BREAK * unit * relative(served.change)
        each, common = _scaled(raw.each, self.each), _scaled(raw.common, self.common)
        return Features(
            jnp.concatenate((each, at_once[:, None]), axis=1),
            jnp.concatenate((common, unit[None])),
        )


def _scaled(values: Any, by: Moments) -> Any:
    mean, deviation = np.asarray(by, dtype=np.float32).reshape(-1, 2).T
    return (values - mean) / deviation
