"""The default learner on the host: everything follows from the problem and a short random walk."""

from __future__ import annotations

from typing import Any

from evenhand.fairness.scheme import FairnessScheme
from evenhand.learn.deep.gains import Gains
from evenhand.learn.deep.measured_features import Measured
from evenhand.learn.deep.stakeholder_network import StakeholderNetwork
from evenhand.learn.deep.targets import PolyakUpdate
from evenhand.learn.host_survey import Measurements
from evenhand.learn.schedules import ExplorationBySteps
from evenhand.memory.memory import Clock, Full, Memory, OfStatus, Product
from evenhand.problem.problem import Problem
from evenhand.problem.reward import reward_like

LONGEST_CLOCK = 1000  # steps of an episode up to which the agent knows how many there were
FEWEST_SURVEYED, MOST_SURVEYED = 200, 2000  # random decisions
VISITS = 40  # of each action among them
SHORTEST_VIEW = 20.0  # steps that a reward is traced back over
LEARN_EVERY = 2  # decisions
LEAST_UNIT = 0.05  # of values at a moment, as a share of the usual one


def survey_steps(num_actions: int, steps: int) -> int:
    """How many random decisions come before those that are learned from: some of each action.

    Args:
        num_actions: How many actions there are.
        steps: How many decisions are made in all.
    """
    enough = min(MOST_SURVEYED, max(FEWEST_SURVEYED, VISITS * num_actions))
    return max(1, min(enough, steps // 5))


def default_memory(scheme: FairnessScheme, horizon: int) -> Memory:
    """What determines the reward: the totals, or whatever the status carries; and a clock.

    Args:
        scheme: What fair means.
        horizon: After how many decisions an episode is cut off.
    """
    known: Memory = Full() if scheme.status.is_sum else OfStatus(scheme.status)
    return known if horizon > LONGEST_CLOCK else Product((known, Clock(horizon + 1)))


def shapes_by_default(problem: Problem) -> bool:
    """Whether a step is rewarded by the welfare that it adds.

    Where the status is a sum: what was received stays received, so that a step is worth the
    welfare it adds for all steps to come. A status that moves by itself, such as a waiting time,
    loses tomorrow what it gained today: to reward the gain for all steps to come would be wrong by
    most of it, and the network would have to learn the correction.
    """
    sums = reward_like(problem.scheme).holds and problem.scheme.status.is_sum
    return sums and not problem.augment_with_score


def default_settings(
    problem: Problem, measured: Measurements, steps: int, shaping: bool | None = None
) -> dict[str, Any]:
    """The fields of `learn.DQN` for a problem on the host.

    Args:
        problem: What to learn, with the memory that the agent sees.
        measured: What a random walk showed.
        steps: How many decisions will be learned from: exploration falls by them.
        shaping: Whether to shape, where it is not for the problem to say.
    """
    horizon, size = problem.environment.horizon, problem.environment.num_stakeholders
    shaping = shapes_by_default(problem) if shaping is None else shaping
    view = min(float(horizon), max(SHORTEST_VIEW, 2.0 * size))
    left = view if shaping else 1.0  # steps for which a gain is rewarded
    informed = bool(measured.serves and measured.largest_gain)
    scale = 1.0 / (left * measured.largest_gain) if measured.largest_gain else 1.0 / measured.pay
    floor = LEAST_UNIT if shaping and measured.largest_gain else 0.0
    raw = Gains(measured.unit, measured.amount)
    updates = max(1, steps // LEARN_EVERY)
    return {
        "encoder": Measured(raw, measured.each, measured.common, scale * left, floor),
        "network": StakeholderNetwork((32, 32), measured.serves, view),
        "discount": 1.0 - 1.0 / view,
        "learning_rate": 1e-3,
        "halved_after": max(1, updates // 10),
        "batch": 64,
        "capacity": min(50_000, max(1000, steps)),
        "warm_up": max(50, min(500, steps // 20)),
        "exploration": ExplorationBySteps(max(1, steps // 4), 0.5 if informed else 1.0, 0.02),
        "target": PolyakUpdate(0.005),
        "double": True,
        "horizon_terminates": True,
        "shaping": shaping,
        "scale": scale,
        "lookahead": 3,
    }
