"""Section 5.2: a memory-augmented problem, and the reward of each of its steps."""

from evenhand._util import require_jax  # noqa: F401
from evenhand.problem.problem import (
    ENVIRONMENTS,
    AgentView,
    AugmentedState,
    EnvironmentLike,
    Problem,
    build_problem,
    describe_problem,
)
from evenhand.problem.reward import (
    FairnessReward,
    RewardLikeness,
    SchemeState,
    bounded_reward_like,
    is_sum_of_rewards,
    reward_like,
)

__all__ = [
    "ENVIRONMENTS",
    "AgentView",
    "AugmentedState",
    "EnvironmentLike",
    "FairnessReward",
    "Problem",
    "RewardLikeness",
    "SchemeState",
    "bounded_reward_like",
    "build_problem",
    "describe_problem",
    "is_sum_of_rewards",
    "reward_like",
]
