"""The mistakes that the paper's scripts make with imagined experience, to see what they cost.

Doughnuts: an imagined memory gains a doughnut even where it was wasted. Lending: the imagined
reward is of the memory before the step, not after it. Neither is of any use but to be measured.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from evenhand.envs import Doughnuts
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from evenhand._util.arrays import Array
    from evenhand.fairness.trace import Step
    from evenhand.problem.reward import SchemeState


@dataclass(frozen=True)
class _Mistaken(Problem):
    """A problem that rewards real experience rightly and imagined experience as the scripts do."""

    def imagine(
        self, memory: Any, scheme_state: SchemeState, step: Step, over: Any
    ) -> tuple[Any, SchemeState, Array]:
        following, after, pay = super().imagine(memory, scheme_state, step, over)
        # Each mistake is of one script, and a script is of one environment.
        if isinstance(self.environment, Doughnuts):
            served = jnp.arange(self.environment.num_stakeholders) == step.action
            return memory + served, after, pay
        after, pay = self.pay.step_reward(
            scheme_state, self.memory.implied_status(memory), step, over
        )
        return following, after, pay

    def require_memory_pays(self, seed: int = 0, episodes: int = 64) -> None:
        """It does not, which is the point."""


def with_script_mistakes(problem: Problem) -> Problem:
    """The same problem, its counterfactuals made as the scripts make them."""
    given = {spec.name: getattr(problem, spec.name) for spec in fields(problem) if spec.init}
    return _Mistaken(**given)
