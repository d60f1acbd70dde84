"""Requests in a Newton step: nobody may have more in all than it had asked for by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.decide.hindsight.assessment_models import longest_step

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

    Points = Float[np.ndarray, "point stakeholder"]

WIDER = 1e-9  # of all supply: requests are widened by it, so that there is an inside to move in


class RequestSlack:
    """What each could still have been given, and what it would be worth to have asked for more.

    Args:
        asked: In all, up to each point.
        holds: Where somebody can take something, and so must not have more than it asked for.
        totals: What each has in all, to begin with; it may be too much.
        supply: What there is in all.
    """

    def __init__(
        self,
        asked: Points,
        holds: Bool[np.ndarray, "point stakeholder"],
        totals: Points,
        supply: float,
    ) -> None:
        self.asked, self.holds = np.where(holds, asked, 0.0), holds
        self._wide = self.asked + WIDER * supply
        least = 0.1 * supply / max(int(holds.sum()), 1)
        self.slack = np.where(holds, np.maximum(self._wide - totals, least), 1.0)
        self.price = np.zeros_like(self.slack)
        self._room, self._target = self.price, self.price
        self.d_slack, self.d_price = self.price, self.price

    def begin(self, mu: float) -> None:
        """Take up prices for a complementarity."""
        self.price = np.where(self.holds, mu / self.slack, 0.0)

    @property
    def precision(self) -> Points:
        return self.price / self.slack

    def pull(self, totals: Points, mu: float, second_order: bool) -> Points:
        """What prices are to change by, at the present totals, for complementarity mu."""
        self._room = np.where(self.holds, self._wide - totals - self.slack, 0.0)
        wanted = mu - (self.d_slack * self.d_price if second_order else 0.0)
        self._target = np.where(self.holds, wanted / self.slack, 0.0) - self.price
        return self._target - self.precision * self._room

    def turn(self, change: Points) -> None:
        """Take up a direction: changes of totals."""
        self.d_slack = np.where(self.holds, self._room - change, 0.0)
        self.d_price = self._target - self.precision * self.d_slack

    def longest(self) -> tuple[float, float]:
        """How far it can go, primal and dual."""
        return longest_step(self.slack, self.d_slack), longest_step(self.price, self.d_price)

    def move(self, primal: float, dual: float) -> None:
        self.slack = self.slack + primal * self.d_slack
        self.price = self.price + dual * self.d_price

    def complementarity(self, primal: float = 0.0, dual: float = 0.0) -> tuple[float, int]:
        """The sum of products that go to 0, after steps in the present direction; how many."""
        slack, price = self.slack + primal * self.d_slack, self.price + dual * self.d_price
        return float(np.sum(slack * price)), int(self.holds.sum())

    def cost(self) -> float:
        """What all requests come to at their prices."""
        return float(np.sum(self.price * self.asked))
