"""Section 6: where it is decided. One environment a file, the policies to hold against, rollouts.

Everything here needs jax.
"""

from evenhand._util import require_jax  # noqa: F401
from evenhand.envs.boosters import Boosters
from evenhand.envs.crates import Crates
from evenhand.envs.doughnuts import Doughnuts
from evenhand.envs.environment import (
    BestRecipe,
    Environment,
    LearningNumbers,
    MDPEnvironment,
    Outcomes,
    OutcomesNotFinite,
    PaperRecipe,
    Recipe,
    State,
)
from evenhand.envs.episodes import (
    METHODS,
    Act,
    GreedyForBank,
    LongestWaitFirst,
    Random,
    Rollout,
    RoundRobin,
    TurnTaking,
    as_policy,
    as_process,
    rollout,
    rollouts,
    to_trace,
)
from evenhand.envs.fair_taxi import FairTaxi
from evenhand.envs.fish_wood import FishWood
from evenhand.envs.jobs import Jobs
from evenhand.envs.lending import GaussianLending, Lending
from evenhand.envs.log_world import LogWorld
from evenhand.envs.shifts import Shifts
from evenhand.envs.triage import Triage
from evenhand.envs.vaccines import Vaccines
from evenhand.envs.waiting_list import WaitingList
from evenhand.problem.problem import ENVIRONMENTS

__all__ = [
    "ENVIRONMENTS",
    "METHODS",
    "Act",
    "BestRecipe",
    "Boosters",
    "Crates",
    "Doughnuts",
    "Environment",
    "FairTaxi",
    "FishWood",
    "GaussianLending",
    "GreedyForBank",
    "Jobs",
    "LearningNumbers",
    "Lending",
    "LogWorld",
    "LongestWaitFirst",
    "MDPEnvironment",
    "Outcomes",
    "OutcomesNotFinite",
    "PaperRecipe",
    "Random",
    "Recipe",
    "Rollout",
    "RoundRobin",
    "Shifts",
    "State",
    "Triage",
    "TurnTaking",
    "Vaccines",
    "WaitingList",
    "as_policy",
    "as_process",
    "rollout",
    "rollouts",
    "to_trace",
]
