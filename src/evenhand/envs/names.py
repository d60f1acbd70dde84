"""The environments and hard-coded policies by the names people type."""

from __future__ import annotations

from evenhand.envs.doughnuts import Doughnuts
from evenhand.envs.hard_coded import (
    GreedyForBank,
    LongestWaitFirst,
    Random,
    RoundRobin,
    TurnTaking,
)
from evenhand.envs.lending import GaussianLending, Lending
from evenhand.envs.vaccines import Vaccines
from evenhand.envs.waiting_list import WaitingList
from evenhand.fairness.registry import Registry

ENVIRONMENTS = Registry(
    "environment",
    {
        "doughnuts": Doughnuts,
        "lending": Lending,
        "lending_gaussian": GaussianLending,
        "vaccines": Vaccines,
        "waiting_list": WaitingList,
    },
)
METHODS = Registry(
    "method",
    {
        "oracle": TurnTaking,
        "random": Random,
        "round_robin": RoundRobin,
        "greedy_for_bank": GreedyForBank,
        "longest_wait_first": LongestWaitFirst,
    },
)
