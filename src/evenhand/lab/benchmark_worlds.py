"""Worlds and schemes of the benchmark: what is decided where, and how it is judged.

A world is an environment of the package, at the size that stands here or at one that is asked for,
or one of MO-Gymnasium as it is, which runs on the host and needs the extra `mo`. Each is judged at
the end (long-term), four times (periodic) and at every step (anytime), by the welfare of its
default scheme, added up.
"""

from __future__ import annotations

import importlib.util
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand._util.wording import short_repr
from evenhand.envs import ENVIRONMENTS, Environment, FishWood
from evenhand.errors import BadParameter, EvenhandError, MissingExtra
from evenhand.fairness.aggregation import TimepointFirst
from evenhand.fairness.filters import Always, Every, Filter, Final
from evenhand.fairness.scheme import FairnessScheme, anytime, from_table, to_table
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import GeneralisedGini, LogNash, Rawls, Welfare
from evenhand.learn.host import HostWorld
from evenhand.memory.memory import Nothing
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from evenhand.problem.problem import EnvironmentLike

PREFIX = "mo/"  # of worlds of MO-Gymnasium
PERIODS = 4  # assessments of a periodic scheme
SCHEMES = ("long-term", "periodic", "anytime")

# The sizes at which the worlds of the package take part by their name alone.
SIZES: Mapping[str, Mapping[str, Any]] = {
    "doughnuts": {"name": "doughnuts", "num_stakeholders": 3, "horizon": 20},
    "lending": {"name": "lending", "horizon": 10},
    "vaccines": {"name": "vaccines"},
    "waiting_list": {
        "name": "waiting_list",
        "arrivals": (0.4, 0.3),
        "urgencies": (1.0, 2.0),
        "capacity": 3,
        "horizon": 20,
    },
    "taxi": {"name": "taxi"},
    "small_taxi": {
        "name": "taxi",
        "origins": ((0, 0), (2, 2)),
        "destinations": ((0, 2), (2, 0)),
        "size": (3, 3),
        "horizon": 24,
    },
    "fish_wood": {"name": "fish_wood", "horizon": 40},
}


class BenchmarkWorld(ABC):
    """Where decisions are made: its name, what it is, and an environment on request."""

    label: str

    @abstractmethod
    def environment(self) -> EnvironmentLike:
        """An environment of its own for whoever asks."""

    @abstractmethod
    def table(self) -> Any:
        """What it is, in words and numbers that JSON has; `world_of` reads it."""

    @abstractmethod
    def own_scheme(self) -> FairnessScheme:
        """How it is judged by default."""

    @abstractmethod
    def planned(self) -> Environment | None:
        """The same world as a planner takes it, where there is one."""

    @property
    def shared(self) -> bool:
        """Whether one environment may be used for everything, as it has no state of its own."""
        return True


@dataclass(frozen=True)
class PackageWorld(BenchmarkWorld):
    """An environment of the package, or one registered by others."""

    label: str
    made: Environment

    def environment(self) -> Environment:
        return self.made

    def table(self) -> Any:
        written = to_table(self.made, ENVIRONMENTS)
        return {"name": written} if isinstance(written, str) else written

    def own_scheme(self) -> FairnessScheme:
        return self.made.default_scheme()

    def planned(self) -> Environment:
        return self.made


@dataclass(frozen=True)
class BenchmarkPair:
    """A world and how it is judged: what every method is run on."""

    world: BenchmarkWorld
    scheme_name: str
    scheme: FairnessScheme

    @property
    def name(self) -> str:
        return f"{self.world.label}/{self.scheme_name}"

    @property
    def long_term(self) -> bool:
        return isinstance(self.scheme.filter, Final)

    def problem(self) -> Problem:
        """The problem to learn, in an environment of its own."""
        return Problem(self.world.environment(), self.scheme)

    def judge(self, environment: EnvironmentLike) -> Problem:
        """The same, seen by nobody: what scores an episode, whatever a method was taught."""
        return Problem(environment, self.scheme, Nothing())

    def to_json(self) -> dict[str, Any]:
        return {"world": self.world.table(), "scheme": self.scheme_name}


def world_of(asked: str | Mapping[str, Any]) -> BenchmarkWorld:
    """The world of a name, of MO-Gymnasium (mo/ID), or of a table such as
    {"name": "taxi", "horizon": 30}, which may also be given as JSON text.
    """
    if isinstance(asked, str) and asked.lstrip().startswith("{"):
        try:
            asked = json.loads(asked)
        except ValueError as error:
            raise BadParameter(f"the world {short_repr(asked)} is not JSON: {error}.") from None
    table = {"name": asked} if isinstance(asked, str) else asked
    name = table.get("name")
    if isinstance(name, str) and name.startswith(PREFIX):
        return mo_world(name)
    if isinstance(asked, str) and asked in SIZES:
        return replace(_package_world(SIZES[asked]), label=asked)
    return _package_world(table)


def _package_world(table: Mapping[str, Any]) -> PackageWorld:
    try:
        made = from_table(_tuples(dict(table)), ENVIRONMENTS, "environment")
    except EvenhandError as error:
        known = ", ".join((*SIZES, "mo/fishwood-v0"))
        asked = table["name"] if set(table) == {"name"} else dict(table)
        raise BadParameter(
            f"there is no world {short_repr(asked)}: {error} The benchmark has {known}, and "
            "every environment that `evenhand list` shows."
        ) from None
    return PackageWorld(_label(table, made), made)


def _label(table: Mapping[str, Any], made: Environment) -> str:
    for label, known in SIZES.items():
        if from_table(dict(known), ENVIRONMENTS, "environment") == made:
            return label
    given = [f"{name}={_compact(value)}" for name, value in table.items() if name != "name"]
    return f"{table['name']}({','.join(given)})" if given else str(table["name"])


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _tuples(value: Any) -> Any:
    """Lists as tuples, all the way down: environments are hashable."""
    if isinstance(value, Mapping):
        return {name: _tuples(one) for name, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def scheme_of(world: BenchmarkWorld, name: str) -> FairnessScheme:
    """The scheme of a name for a world: the welfare of its own scheme, assessed then."""
    own = world.own_scheme()
    horizon = world.environment().horizon
    when: dict[str, Filter] = {
        "long-term": Final(),
        "periodic": Every(max(1, horizon // PERIODS)),
        "anytime": Always(),
    }
    if name not in when:
        raise BadParameter(f"there is no scheme {name!r}: there are {', '.join(SCHEMES)}.")
    if own.welfare is None:
        raise BadParameter(
            f"{world.label} is judged by {type(own.aggregation).__name__}, which is not a welfare "
            "at each time point: the benchmark has no schemes for it."
        )
    return replace(own, aggregation=TimepointFirst(own.welfare, Total()), filter=when[name])


def pair_of(table: Mapping[str, Any]) -> BenchmarkPair:
    """The pair that was written so."""
    world = world_of(table["world"])
    return BenchmarkPair(world, table["scheme"], scheme_of(world, table["scheme"]))


def pairs_of(
    worlds: Sequence[str | Mapping[str, Any]], schemes: Sequence[str] = SCHEMES
) -> list[BenchmarkPair]:
    """Every world with every scheme.

    Args:
        worlds: Names, or tables with the arguments of an environment.
        schemes: long-term, periodic, anytime.
    """
    return [
        BenchmarkPair(world, name, scheme_of(world, name))
        for world in map(world_of, worlds)
        for name in schemes
    ]


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
