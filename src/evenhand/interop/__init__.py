"""The bridges to other tools: Gymnasium, MO-Gymnasium, Stable-Baselines3, logs, trackers.

To import this package registers the environments once Gymnasium is loaded, so that
`gymnasium.make("evenhand.interop:evenhand/Doughnuts-v0")` needs no other line. What is exported
here is loaded when first used; Stable-Baselines3 and torch only by `evenhand.interop.sb3`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.interop.gymnasium.registration import register_environments, register_when_loaded

if TYPE_CHECKING:
    from evenhand.interop.gymnasium.learner import gymnasium_learner, score_episodes, train
    from evenhand.interop.gymnasium.observations import DictObservation, FlatObservation
    from evenhand.interop.gymnasium.stakeholder_rewards import FromInfo, FromReward
    from evenhand.interop.gymnasium.wrapper import FairnessWrapper, fairness_of
    from evenhand.interop.logs import episode_traces, play, read_log, write_log
    from evenhand.interop.numpy_policy.deployed_policy import NumpyPolicy, load_policy
    from evenhand.interop.numpy_policy.export import export_policy
    from evenhand.interop.trackers import CsvSink, JsonLinesSink, MLflowSink, TensorBoardSink

__all__ = [
    "CsvSink",
    "DictObservation",
    "FairnessWrapper",
    "FlatObservation",
    "FromInfo",
    "FromReward",
    "JsonLinesSink",
    "MLflowSink",
    "NumpyPolicy",
    "TensorBoardSink",
    "episode_traces",
    "export_policy",
    "fairness_of",
    "gymnasium_learner",
    "load_policy",
    "play",
    "read_log",
    "register_environments",
    "score_episodes",
    "train",
    "write_log",
]

_HOME = {
    "gymnasium.learner": ("gymnasium_learner", "score_episodes", "train"),
    "gymnasium.observations": ("DictObservation", "FlatObservation"),
    "gymnasium.stakeholder_rewards": ("FromInfo", "FromReward"),
    "gymnasium.wrapper": ("FairnessWrapper", "fairness_of"),
    "logs": ("episode_traces", "play", "read_log", "write_log"),
    "numpy_policy.deployed_policy": ("NumpyPolicy", "load_policy"),
    "numpy_policy.export": ("export_policy",),
    "trackers": ("CsvSink", "JsonLinesSink", "MLflowSink", "TensorBoardSink"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'evenhand.interop' has no attribute {name!r}")
    return getattr(importlib.import_module(f"evenhand.interop.{_MODULE_OF[name]}"), name)


register_when_loaded()
