"""Definition 1: a finite multi-stakeholder Markov decision process, given as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand._util.numbers import as_float64
from evenhand.errors import BadParameter, UnequalLengths
from evenhand.process.process import Transition

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class FiniteMDP:
    """⟨S, s_init, A, P, R_1 … R_n⟩: states and actions are the integers that index the arrays.

    The paper's γ is left to those who discount: `Returns(discount)` for what a stakeholder has,
    `Discounted(discount)` for the sum over time.
    """

    initial_state: int
    transitions: Float[np.ndarray, "state action next_state"]
    rewards: Float[np.ndarray, "state action next_state stakeholder"]

    def __post_init__(self) -> None:
        transitions = as_float64(self.transitions, "transitions")
        rewards = as_float64(self.rewards, "rewards")
        if transitions.ndim != 3 or transitions.shape[0] != transitions.shape[2]:
            raise UnequalLengths(
                f"transitions have shape {transitions.shape}: expected [state, action, state]."
            )
        if rewards.ndim != 4 or rewards.shape[:3] != transitions.shape:
            raise UnequalLengths(
                f"rewards have shape {rewards.shape}: expected {transitions.shape} and one more "
                "axis for the stakeholders."
            )
        sums = transitions.sum(axis=-1)
        wrong = np.argwhere((np.abs(sums - 1.0) > 1e-9) | (transitions.min(axis=-1) < 0))
        if len(wrong):
            state, action = wrong[0]
            raise BadParameter(
                f"the probabilities of state {state}, action {action} sum to "
                f"{sums[state, action]:g} or hold a negative one: they must be at least 0 and "
                "sum to 1."
            )
        if not 0 <= self.initial_state < len(transitions):
            raise BadParameter(
                f"initial_state is {self.initial_state}: states run from 0 to "
                f"{len(transitions) - 1}."
            )
        object.__setattr__(self, "transitions", transitions)
        object.__setattr__(self, "rewards", rewards)

    @property
    def num_states(self) -> int:
        return self.transitions.shape[0]

    @property
    def num_actions(self) -> int:
        return self.transitions.shape[1]

    @property
    def num_stakeholders(self) -> int:
        return self.rewards.shape[-1]

    @property
    def reward_bound(self) -> float:
        """No reward of any stakeholder is larger than this in size."""
        return float(np.abs(self.rewards).max())

    def initial(self, rng: np.random.Generator) -> int:
        return self.initial_state

    def step(self, state: int, action: int, rng: np.random.Generator) -> Transition:
        next_state = int(rng.choice(self.num_states, p=self.transitions[state, action]))
        return Transition(next_state, self.rewards[state, action, next_state])
