"""A learned table on its own: greedy for its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.learn.tabular.algorithm_1 import TabularState
from evenhand.problem.problem import AugmentedState

if TYPE_CHECKING:
    from jaxtyping import Float

    from evenhand.learn.tabular.q_learning import Tabular


@dataclass(frozen=True, eq=False)
class GreedyTable:
    """The policy that takes the action of highest value, the first of them if there are several.

    It is used as `policies.greedy_policy.Greedy` is; a table carries nothing between decisions.
    """

    agent: Tabular
    learner: TabularState  # of one seed

    def start(self) -> tuple[()]:
        """What it carries into an episode: nothing."""
        return ()

    def decide(self, carry: tuple[()], augmented: AugmentedState) -> tuple[tuple[()], int]:
        """The carry for the next decision, and the action."""
        return (), int(np.argmax(self.values(carry, augmented)))

    def values(self, carry: tuple[()], augmented: AugmentedState) -> Float[np.ndarray, " action"]:
        """Why: the value of each action."""
        return self.agent.action_values(self.learner, augmented)
