"""Features in units of what was seen: grams or kilograms, a network is shown the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from evenhand.fairness.trace import Step
from evenhand.learn.deep.encoders import Encoder, Features, Layout, Raw
from evenhand.memory.attribute import Attribute
from evenhand.problem.problem import AgentView, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float


@dataclass(frozen=True)
class Gains(Encoder):
    """Every number as it is; of each stakeholder also its lead, and what serving it would bring.

    That is asked of the problem's own memory and welfare, so that it is right for whatever status
    and welfare the scheme has: the status and the welfare if the stakeholder now receives what it
    may expect to and nobody else anything, less those if nobody does.

    Args:
        unit: A typical amount that somebody receives.
        amount: What a stakeholder may expect to receive when served: a constant, and a factor for
            each of its own features of the state. Nothing: the unit.
    """

    unit: float = 1.0
    amount: tuple[float, ...] = ()
    gain_column = -4

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return Raw().code(attribute)

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        each, common = super().features(problem, state, seen)
        status = problem.memory.implied_status(seen.memory)
        size = problem.environment.num_stakeholders
        if status is None or jnp.shape(status) != (size,):
            return Features(each, common)
        expected = self._expected(each)
        gain, change = self._served(problem, state, seen.memory, expected)
        derived = (
            expected / self.unit,
            status - jnp.mean(status),
            jnp.sign(status) * jnp.log1p(jnp.abs(status) / self.unit),
            *_twice(gain),
            *_twice(change),
        )
        return Features(jnp.concatenate((each, jnp.stack(derived, axis=1)), axis=1), common)

    def _expected(self, each: Float[Array, "stakeholder feature"]) -> Float[Array, " stakeholder"]:
        if not self.amount:
            return jnp.full(each.shape[0], self.unit)
        constant, *factors = self.amount
        amount = constant + each[:, : len(factors)] @ jnp.asarray(factors)
        return jnp.where(jnp.abs(amount) < 1e-3 * self.unit, 0.0, amount)

    def _served(
        self, problem: Problem, state: Any, memory: Any, amount: Float[Array, " stakeholder"]
    ) -> tuple[Float[Array, " stakeholder"], Float[Array, " stakeholder"]]:
        def after(rewards: Float[Array, " stakeholder"]) -> Any:
            step = Step(jnp.zeros((), dtype=jnp.int32), rewards, state)
            status = problem.memory.implied_status(problem.memory.update(memory, step))
            assert status is not None
            return problem.scheme.contribution(status), status

        welfare, status = after(jnp.zeros_like(amount))
        welfares, statuses = jax.vmap(after)(jnp.diag(amount))
        gain, change = welfares - welfare, jnp.diag(statuses) - status
        return jnp.where(jnp.isfinite(gain), gain, 0.0), change


def _twice(values: Float[Array, " stakeholder"]) -> tuple[Array, Array]:
    """As they are, and compared with each other: however large they are, they can be told apart."""
    spread = jnp.max(jnp.abs(values)) + 1e-9
    return values, values / spread


@dataclass(frozen=True)
class Measured(Encoder):
    """The features of `Gains`, less the mean that was seen of each, by its deviation.

    Those of stakeholders have one mean and one deviation for all, so that they stay comparable.
    Last comes, for each, what serving it would add to the reward at once, in the learner's own
    units; and of the whole, the unit in which values at this moment are best told apart.
    """

    of: Gains
    each: tuple[tuple[float, float], ...]  # mean and deviation of each stakeholder's features
    common: tuple[tuple[float, float], ...]
    reward: float = 1.0  # what a gain of 1 is worth to the learner
    floor: float = 0.0  # of the unit; 0: it is 1 always

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return self.of.code(attribute)

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        raw = self.of.features(problem, state, seen)
        each, common = _scaled(raw.each, self.each), _scaled(raw.common, self.common)
        at_once = self.reward * raw.each[:, self.of.gain_column]
        unit = jnp.ones(())
        if self.floor:
            unit = jnp.maximum(jnp.max(jnp.abs(at_once)), self.floor)
        each = jnp.concatenate((each, at_once[:, None]), axis=1)
        return Features(each, jnp.concatenate((common, unit[None])))


def _scaled(values: Any, by: tuple[tuple[float, float], ...]) -> Any:
    mean, deviation = jnp.asarray(by, dtype=jnp.float32).reshape(-1, 2).T
    return (values - mean) / deviation
