"""Worlds of MO-Gymnasium as they are: they run on the host, and need the extra `mo`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.benchmarking.benchmark_world import BenchmarkWorld
from evenhand.envs import Environment, FishWood
from evenhand.errors import BadParameter, MissingExtra
from evenhand.fairness.periodic_and_anytime import anytime
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import GeneralisedGini, LogNash, Rawls, Welfare
from evenhand.learn.host import HostWorld

PREFIX = "mo/"


@dataclass(frozen=True)
class KnownWorld:
    """What is said of a world besides what it is: how it is judged, how long, and its twin."""

    welfare: Welfare
    horizon: int
    twin: Callable[[], Environment] | None = None  # the same world as a planner takes it


# Resource gathering pays a death with −1, where log-Nash is not defined: it is judged by a
# generalised Gini welfare, in which the worst-off weighs most.
KNOWN: Mapping[str, KnownWorld] = {
    "fishwood-v0": KnownWorld(Rawls(), 200, FishWood),
    "resource-gathering-v0": KnownWorld(GeneralisedGini((0.5, 0.3, 0.2)), 100),
    "four-room-v0": KnownWorld(LogNash(), 200),
}


@dataclass(frozen=True)
class MOWorld(BenchmarkWorld):
    """An environment of MO-Gymnasium: its reward is a vector, a component per stakeholder."""

    identifier: str

    @property
    def label(self) -> str:  # type: ignore[override]
        return PREFIX + self.identifier

    @property
    def shared(self) -> bool:
        return False

    def environment(self) -> HostWorld:
        import mo_gymnasium

        from evenhand.interop.gymnasium.learner import gymnasium_world

        env: Any = mo_gymnasium.make(self.identifier)
        size = int(env.unwrapped.reward_space.shape[0])
        return gymnasium_world(
            env,
            lambda step: step.reward,
            num_stakeholders=size,
            horizon=KNOWN[self.identifier].horizon,
        )

    def table(self) -> Any:
        return {"name": self.label}

    def own_scheme(self) -> FairnessScheme:
        return anytime(KNOWN[self.identifier].welfare, Total())

    def planned(self) -> Environment | None:
        twin = KNOWN[self.identifier].twin
        return None if twin is None else twin()


def mo_world(name: str) -> MOWorld:
    """The world of a name such as mo/fishwood-v0."""
    identifier = name.removeprefix(PREFIX)
    if identifier not in KNOWN:
        raise BadParameter(
            f"there is no world {name!r}: of MO-Gymnasium the benchmark has "
            f"{', '.join(PREFIX + one for one in KNOWN)}."
        )
    if importlib.util.find_spec("mo_gymnasium") is None:
        raise MissingExtra(
            f"{name} needs MO-Gymnasium, which is not installed: pip install 'evenhand[mo]'."
        )
    return MOWorld(identifier)
