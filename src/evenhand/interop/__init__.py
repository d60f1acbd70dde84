"""The bridges to other tools: Gymnasium, MO-Gymnasium, Stable-Baselines3, logs, trackers.

To import this package registers our environments with Gymnasium, if that is installed:
`gymnasium.make("evenhand.interop:evenhand/Doughnuts-v0")` needs no other line. What is exported
here is loaded when first used; Stable-Baselines3 and torch only by `evenhand.interop.sb3`.
"""

# ruff: noqa: F401  # the imports under TYPE_CHECKING are for static checkers and readers

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from evenhand._util.registry import lazy_exports
from evenhand.interop.gymnasium.registration import register_environments

if TYPE_CHECKING:
    from evenhand.interop.gymnasium.learner import (
        gymnasium_learner,
        score_episodes,
        score_side_by_side,
        train,
    )
    from evenhand.interop.gymnasium.learner_files import load_learner, save_learner
    from evenhand.interop.gymnasium.observations import DictObservation, FlatObservation
    from evenhand.interop.gymnasium.stakeholder_rewards import FromInfo, FromReward
    from evenhand.interop.gymnasium.wrapper import FairnessWrapper, fairness_of
    from evenhand.interop.logs import episode_traces, play, read_log, write_log
    from evenhand.interop.numpy_policy.deployed_policy import NumpyPolicy, load_policy
    from evenhand.interop.numpy_policy.export import export_policy
    from evenhand.interop.trackers import CsvSink, JsonLinesSink, MLflowSink, TensorBoardSink

__getattr__, __dir__, _names = lazy_exports(
    __name__,
    {
        "gymnasium.learner": (
            "gymnasium_learner",
            "score_episodes",
            "score_side_by_side",
            "train",
        ),
        "gymnasium.learner_files": (
            "load_learner",
            "save_learner",
        ),
        "gymnasium.observations": (
            "DictObservation",
            "FlatObservation",
        ),
        "gymnasium.stakeholder_rewards": (
            "FromInfo",
            "FromReward",
        ),
        "gymnasium.wrapper": (
            "FairnessWrapper",
            "fairness_of",
        ),
        "logs": (
            "episode_traces",
            "play",
            "read_log",
            "write_log",
        ),
        "numpy_policy.deployed_policy": (
            "NumpyPolicy",
            "load_policy",
        ),
        "numpy_policy.export": ("export_policy",),
        "trackers": (
            "CsvSink",
            "JsonLinesSink",
            "MLflowSink",
            "TensorBoardSink",
        ),
    },
)
__all__ = ["register_environments", *_names]

with contextlib.suppress(ImportError):  # a policy that was exported runs without Gymnasium
    register_environments()
