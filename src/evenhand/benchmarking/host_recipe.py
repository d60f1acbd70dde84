"""An agent for environments on the host, with the same plain numbers for every network method.

The same parts as there: a clock, exploration that falls over a third of the steps, a target that
drifts, double targets. Sizes are not measured but left as they are, or scaled down by their range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import MLP
from evenhand.learn.deep.targets import PolyakUpdate
from evenhand.learn.proposals import Proposal
from evenhand.learn.schedules import ExplorationBySteps
from evenhand.memory.memory import Clock, Product
from evenhand.problem.problem import Problem


def host_learner(
    problem: Problem, steps: int, proposal: Proposal, settings: Mapping[str, Any]
) -> DQN:
    """A learner for a problem on the host.

    Args:
        problem: What to learn, with the memory to see; a clock is added to it.
        steps: How many decisions it will take.
        proposal: What to imagine.
        settings: Fields of `DQN` in place of those here.
    """
    horizon = problem.environment.horizon
    seen = replace(problem, memory=Product((problem.memory, Clock(horizon + 1))))
    chosen: dict[str, Any] = {
        "encoder": Relative(),
        "network": MLP((64, 64)),
        "discount": 1.0,
        "scale": 1.0 / horizon,
        "learning_rate": 1e-3,
        "batch": 64,
        "capacity": 20_000,
        "warm_up": min(500, max(1, steps // 20)),
        "exploration": ExplorationBySteps(max(1, steps // 3)),
        "target": PolyakUpdate(0.005),
        "double": True,
        "horizon_terminates": True,
    }
    return DQN(problem=seen, proposal=proposal, **{**chosen, **settings})
