"""How it is solved by experience: sections 5.2 and 5.3.

What is exported here is loaded when first used, and jax with it.
"""

# ruff: noqa: F401  # the imports under TYPE_CHECKING are for static checkers and readers

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util import require_jax
from evenhand._util.registry import lazy_exports

if TYPE_CHECKING:
    from evenhand.learn.deep.agent import (
        HardUpdate,
        Huber,
        Loss,
        PolyakUpdate,
        Squared,
        TargetUpdate,
    )
    from evenhand.learn.deep.dqn import DQN, RecurrentDQN
    from evenhand.learn.deep.encoders import Binary, Encoder, Raw, Relative
    from evenhand.learn.deep.networks import MLP, EquivariantMLP, Network, Recurrent
    from evenhand.learn.fairqcm import FairQCM, Learned
    from evenhand.learn.imagined_memories import (
        Above,
        Around,
        Everything,
        NoProposal,
        Past,
        Proposal,
        ProposalContext,
        ReachableNow,
        Replayed,
        SomeAbove,
        SomeAround,
        Visited,
    )
    from evenhand.learn.policies import Greedy
    from evenhand.learn.policy_files import load_policies, save_policies
    from evenhand.learn.recipe import default_learner, default_tables
    from evenhand.learn.schedules import Constant, Exploration, LearningRate, Watkins
    from evenhand.learn.tabular.q_learning import Tabular

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "deep.agent": (
            "HardUpdate",
            "Huber",
            "Loss",
            "PolyakUpdate",
            "Squared",
            "TargetUpdate",
        ),
        "deep.dqn": (
            "DQN",
            "RecurrentDQN",
        ),
        "deep.encoders": (
            "Binary",
            "Encoder",
            "Raw",
            "Relative",
        ),
        "deep.networks": (
            "EquivariantMLP",
            "MLP",
            "Network",
            "Recurrent",
        ),
        "fairqcm": (
            "FairQCM",
            "Learned",
        ),
        "imagined_memories": (
            "Above",
            "Around",
            "Everything",
            "NoProposal",
            "Past",
            "Proposal",
            "ProposalContext",
            "ReachableNow",
            "Replayed",
            "SomeAbove",
            "SomeAround",
            "Visited",
        ),
        "policies": ("Greedy",),
        "policy_files": (
            "load_policies",
            "save_policies",
        ),
        "recipe": (
            "default_learner",
            "default_tables",
        ),
        "schedules": (
            "Constant",
            "Exploration",
            "LearningRate",
            "Watkins",
        ),
        "tabular.q_learning": ("Tabular",),
    },
)
