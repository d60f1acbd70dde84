"""The problems of the study: the paper's, a waiting list, and those where looking ahead pays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.envs import (
    Boosters,
    Crates,
    Doughnuts,
    Environment,
    Jobs,
    Lending,
    Shifts,
    Triage,
    WaitingList,
)
from evenhand.learn.default_recipe import default_steps
from evenhand.problem.problem import Problem


@dataclass(frozen=True)
class Studied:
    """A problem of the study.

    Args:
        environment: Where it is learned; its own scheme says what is fair.
        steps: How many decisions each learner takes.
        looks_ahead: Whether the best simple rule is below the optimum by construction.
    """

    environment: Environment
    steps: int
    looks_ahead: bool = False

    @property
    def default_steps(self) -> int:
        """How many decisions `evenhand train` takes where nothing is said."""
        return default_steps(self.environment.horizon)

    @property
    def problem(self) -> Problem:
        return Problem(self.environment, self.environment.default_scheme())


STUDIED: Mapping[str, Studied] = {
    "shifts": Studied(Shifts(), 6_000, looks_ahead=True),
    "crates": Studied(Crates(), 6_000, looks_ahead=True),
    "boosters": Studied(Boosters(), 6_000, looks_ahead=True),
    "triage": Studied(Triage(), 6_000, looks_ahead=True),
    "jobs": Studied(Jobs(), 6_000, looks_ahead=True),
    "doughnuts": Studied(Doughnuts(), 4_000),
    "waiting list": Studied(WaitingList((0.5, 0.4), 1.0, 3, 12), 6_000),
    "lending": Studied(Lending(), 8_000),
}
