"""What serving each stakeholder would bring at once, as features: by the problem's own scheme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.fairness.trace import Step
from evenhand.learn.deep.encoders import ENCODERS, Encoder, Features, Raw
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import AgentView, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float

LEAST_AMOUNT = 1e-3  # of the unit: whoever may expect less than that receives nothing


class Served(NamedTuple):
    """What each stakeholder has by the scheme, and what changes if it is the one to be served."""

    status: Float[Array, " stakeholder"]
    amount: Float[Array, " stakeholder"]  # what it would receive
    gain: Float[Array, " stakeholder"]  # of the welfare of all
    change: Float[Array, " stakeholder"]  # of its own status


@ENCODERS.register("gains")
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

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return Raw().code(attribute)

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        return self.look(problem, state, seen)[0]

    def look(self, problem: Problem, state: Any, seen: AgentView) -> tuple[Features, Served | None]:
        """The features, and what serving each would bring, from which some of them come.

        None where the memory does not tell how each stakeholder is doing.
        """
        each, common = super().features(problem, state, seen)
        served = self._served(problem, state, seen, each)
        if served is None:
            return Features(each, common), None
        status, amount, gain, change = served
        derived = (
            amount / self.unit,
            status - jnp.mean(status),
            jnp.sign(status) * jnp.log1p(jnp.abs(status) / self.unit),
            gain,
            relative(gain),
            change,
            relative(change),
        )
        columns = [each, *(column[:, None] for column in derived)]
        return Features(jnp.concatenate(columns, axis=1), common), served

    def _served(
        self,
        problem: Problem,
        state: Any,
        seen: AgentView,
        each: Float[Array, "stakeholder feature"],
    ) -> Served | None:
        size, memory = problem.environment.num_stakeholders, problem.memory
        status = memory.implied_status(seen.memory)
        if status is None or jnp.shape(status) != (size,) or problem.scheme.welfare is None:
            return None
        amount = self._expected(each)

        def after(rewards: Any) -> Any:
            step = Step(jnp.zeros((), dtype=jnp.int32), rewards, state)
            then = memory.implied_status(memory.update(seen.memory, step))
            assert then is not None
            return problem.scheme.contribution(then), then

        one_each = np.eye(size, dtype=np.float32)
        welfare, unserved = after(jnp.zeros(size))
        welfares, statuses = jax.vmap(after)(one_each * jnp.asarray(amount)[:, None])
        gain = welfares - welfare
        change = jnp.sum(one_each * statuses, axis=1) - unserved
        return Served(status, amount, jnp.where(jnp.isfinite(gain), gain, 0.0), change)

    def _expected(self, each: Float[Array, "stakeholder feature"]) -> Float[Array, " stakeholder"]:
        if not self.amount:
            return jnp.full(each.shape[0], self.unit)
        constant, *factors = self.amount
        weights = np.zeros(each.shape[1], dtype=np.float32)
        weights[: len(factors)] = factors
        amount = constant + each @ weights
        return jnp.where(jnp.abs(amount) < LEAST_AMOUNT * self.unit, 0.0, amount)


def relative(values: Float[Array, " stakeholder"]) -> Float[Array, " stakeholder"]:
    """Values as shares of the largest: small differences can be told apart too."""
    return values / (jnp.max(jnp.abs(values)) + 1e-9)
