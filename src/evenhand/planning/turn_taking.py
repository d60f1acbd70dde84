"""Section 6 (turn taking): whether serving the least served of those present is optimal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from evenhand.fairness.status import Returns

if TYPE_CHECKING:
    from evenhand.planning.planner import Plan

MAX_CHECKED = 50_000_000  # triples of state, noise and action that are looked at


@dataclass(frozen=True)
class TurnTakingCheck:
    """Whether turn taking is optimal in every reachable state; if not, a state where it is not."""

    optimal: bool
    witness: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        if self.witness is None:
            return {"optimal": self.optimal}
        return {"optimal": self.optimal, "witness": self.witness}

    def describe(self) -> str:
        if self.witness is None:
            return (
                "The optimal policy is turn taking: of those present, serve the one who has had "
                "least. This holds in every state that can be reached, at every step."
            )
        values, chosen = self.witness["values"], self.witness["chosen"]
        best = max(range(len(values)), key=values.__getitem__)
        present = [i for i, here in enumerate(self.witness["noise"][0]) if here]
        return (
            f"Turn taking is not optimal here: at step {self.witness['time']}, with {present} "
            f"present, it serves {chosen} (worth {values[chosen]:.4f}) where serving {best} is "
            f"worth {values[best]:.4f}."
        )


def check_turn_taking(found: Plan) -> TurnTakingCheck | None:
    """Compare a plan with turn taking in every state; None where that means nothing or takes long.

    Args:
        found: The plan of a problem in which stakeholders are served in turn, judged by what each
            has received.
    """
    problem, table = found.problem, found.table
    environment: Any = problem.environment
    if not environment.takes_turns or problem.scheme.status != Returns():
        return None
    noises = len(table.model.noise[1])
    if sum(table.within[:-1]) * noises * environment.num_actions > MAX_CHECKED:
        return None

    def least_served(world: Any, scheme_state: Any, noise: Any) -> Any:
        return jnp.argmin(jnp.where(noise, scheme_state.status.total, jnp.inf))

    optimal, witness = found.is_best_everywhere(least_served, treats_alike=True)
    return TurnTakingCheck(optimal, witness)
