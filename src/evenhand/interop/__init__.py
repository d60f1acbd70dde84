"""The bridges to other tools: Gymnasium, MO-Gymnasium, Stable-Baselines3, logs, trackers.

To import this package registers the environments once Gymnasium is loaded, so that
`gymnasium.make("evenhand.interop:evenhand/Doughnuts-v0")` needs no other line. What is exported
here is loaded when first used; Stable-Baselines3 and torch only by `evenhand.interop.sb3`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from evenhand.interop.registering import register_environments, register_when_loaded

if TYPE_CHECKING:
    from evenhand.interop.exporting import export_policy
    from evenhand.interop.learning import gymnasium_learner, score_episodes, train
    from evenhand.interop.logs import episode_traces, play, read_log, write_log
    from evenhand.interop.observing import Beside, Flat
    from evenhand.interop.policies import Policy, load_policy
    from evenhand.interop.rewarding import FromInfo, FromReward
    from evenhand.interop.tracking import CsvSink, JsonLinesSink, MLflowSink, TensorBoardSink
    from evenhand.interop.wrapper import FairnessWrapper, fairness_of

__all__ = [
    "Beside",
    "CsvSink",
    "FairnessWrapper",
    "Flat",
    "FromInfo",
    "FromReward",
    "JsonLinesSink",
    "MLflowSink",
    "Policy",
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
    "exporting": ("export_policy",),
    "learning": ("gymnasium_learner", "score_episodes", "train"),
    "logs": ("episode_traces", "play", "read_log", "write_log"),
    "observing": ("Beside", "Flat"),
    "policies": ("Policy", "load_policy"),
    "rewarding": ("FromInfo", "FromReward"),
    "tracking": ("CsvSink", "JsonLinesSink", "MLflowSink", "TensorBoardSink"),
    "wrapper": ("FairnessWrapper", "fairness_of"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'evenhand.interop' has no attribute {name!r}")
    return getattr(importlib.import_module(f"evenhand.interop.{_MODULE_OF[name]}"), name)


register_when_loaded()
