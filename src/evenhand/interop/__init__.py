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
from evenhand.interop.gymnasium import register_environments

if TYPE_CHECKING:
    from evenhand.interop.deployed_policy import NumpyPolicy, load_policy
    from evenhand.interop.gymnasium.external import (
        DictObservation,
        FlatObservation,
        FromInfo,
        FromReward,
    )
    from evenhand.interop.gymnasium.learner import (
        gymnasium_learner,
        load_learner,
        save_learner,
        score_episodes,
        score_side_by_side,
        train,
    )
    from evenhand.interop.gymnasium.wrapper import FairnessWrapper, fairness_of
    from evenhand.interop.logs import episode_traces, play, read_log, write_log
    from evenhand.interop.policy_export import export_policy
    from evenhand.interop.trackers import CsvSink, JsonLinesSink, MLflowSink, TensorBoardSink

__getattr__, __dir__, _names = lazy_exports(
    __name__,
    {
        "deployed_policy": (
            "NumpyPolicy",
            "load_policy",
        ),
        "gymnasium.external": (
            "DictObservation",
            "FlatObservation",
            "FromInfo",
            "FromReward",
        ),
        "gymnasium.learner": (
            "gymnasium_learner",
            "load_learner",
            "save_learner",
            "score_episodes",
            "score_side_by_side",
            "train",
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
        "policy_export": ("export_policy",),
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
