"""What evenhand saves (policies, runs, plans, a monitor's state), with anything in it changed."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from safetensors.numpy import load, save

from evenhand._util import saved
from fuzzing.damage import (
    DEEP,
    Damage,
    changed_somewhere,
    changes,
    damaged,
    damages,
    nested,
    places,
    rarely,
)
from fuzzing.trial import Content

FOLDER = "EVENHAND_FUZZ_SAMPLES"  # where the undamaged files lie, as an environment variable
KINDS = {"policy": "fair.policy", "run": "fair.run", "plan": "best.plan"}
STATE = "monitor.state"
WATCHED = (
    "--name",
    "A",
    "--name",
    "B",
    "--stakeholder",
    "who",
    "--time",
    "day",
    "--amount",
    "much",
)
EVENTS = b'{"who": "A", "day": 1, "much": 2}\n{"who": "B", "day": 2, "much": 3}\n'


def make_samples(folder: Path) -> None:
    """A file of each kind; of learners that have not learned, as nothing is compiled for these."""
    import jax

    from evenhand.envs import Doughnuts
    from evenhand.lab.run_spec import RunSpec
    from evenhand.lab.runs import Run, save_run
    from evenhand.learn.policy_files import save_policies
    from evenhand.learn.schedules import seed_keys, start_learners
    from evenhand.memory.memory import Full
    from evenhand.planning.planner import plan, save_plan
    from evenhand.problem.problem import Problem

    small = Doughnuts(2, 3, presence=0.8)
    save_plan(plan(Problem(small, small.default_scheme(), Full())), folder / KINDS["plan"])
    spec = RunSpec(small, "fairqcm", (0,), steps=100, every=50, recipe="best")
    measures = {name: np.ones((2, 1)) for name in ("score", "kept")}
    learners = start_learners(spec.build(), seed_keys(spec.seeds))
    save_run(Run(spec, learners, measures), folder / KINDS["run"])
    deep = RunSpec(small, "fairqcm", (0,), steps=6, every=3, recipe="best", deep=True)
    agent: Any = deep.build()
    layout = agent.encoder.layout(agent.problem)
    weights = agent.network.init(jax.random.key(0), layout, small.num_actions)
    about = {"spec": deep.to_json(), "measures": {}, "optimum": 1.0}
    weights = jax.tree.map(lambda leaf: leaf[None], weights)
    save_policies(folder / KINDS["policy"], agent, weights, about)


def _sample(name: str) -> bytes:
    return (Path(os.environ[FOLDER]) / name).read_bytes()


@dataclass(frozen=True)
class Saved:
    """A file of arrays with a header; its digest is right however it was changed."""

    kind: str
    header: tuple[tuple[float, str, Any], ...] = ()
    arrays: tuple[tuple[float, str], ...] = ()
    deep: int = 0
    honest: bool = True
    damage: Damage = ()

    def content(self) -> bytes:
        whole = _sample(KINDS[self.kind])
        size = int.from_bytes(whole[:8], "little")
        header = json.loads(json.loads(whole[8 : 8 + size])["__metadata__"]["evenhand"])
        arrays = load(whole)
        header.pop("digest")
        header = changed_somewhere(header, list(self.header))
        for at, how in self.arrays:
            _change(arrays, at, how)
        if self.deep and isinstance(header, dict):
            header["spec"] = nested(self.deep, 1)
        if isinstance(header, dict) and self.honest:
            try:
                header["digest"] = saved._digest(header, arrays)
            except (RecursionError, ValueError):
                header["digest"] = "x"
        text = _dumped(header, self.deep)
        written = save(arrays, metadata={"evenhand": text.encode("utf-8", "replace").decode()})
        return damaged(written, self.damage)

    def smaller(self) -> list[Content]:
        found: list[Content] = []
        for name in ("damage", "arrays", "header"):
            some = getattr(self, name)
            found += [replace(self, **{name: some[:k] + some[k + 1 :]}) for k in range(len(some))]
        return found


def _dumped(header: Any, deep: int) -> str:
    if not deep:
        return json.dumps(header)
    header = {**header, "spec": "HERE"} if isinstance(header, dict) else header
    return json.dumps(header).replace('"HERE"', "[" * deep + "]" * deep)


def _change(arrays: dict[str, np.ndarray], at: float, how: str) -> None:
    if not arrays:
        return
    name = sorted(arrays)[int(at * (len(arrays) - 1))]
    array = arrays[name]
    if how == "leave out":
        del arrays[name]
    elif how == "rename":
        arrays["x"] = arrays.pop(name)
    elif how == "other type":
        arrays[name] = array.astype(np.int8)
    elif how == "nan":
        filled = array.astype(float) * np.nan
        arrays[name] = filled.astype(array.dtype) if array.dtype.kind == "f" else filled
    elif how == "empty":
        arrays[name] = array[:0]
    elif how == "longer":
        arrays[name] = np.concatenate([array, array]) if array.ndim else array
    elif how == "far":
        arrays[name] = np.full_like(array, 10**9 if array.dtype.itemsize > 2 else 1)
    elif how == "flat":
        arrays[name] = array.ravel()


array_changes = st.tuples(
    places,
    st.sampled_from(["leave out", "rename", "other type", "nan", "empty", "longer", "far", "flat"]),
)


@st.composite
def saved_files(draw: st.DrawFn, kinds: tuple[str, ...] = ("policy", "run")) -> Saved:
    kind = draw(st.sampled_from(kinds))
    how = draw(st.integers(0, 9))
    if how == 9:
        return Saved(kind, damage=draw(damages))
    if how == 8:
        return Saved(kind, arrays=tuple(draw(st.lists(array_changes, min_size=1, max_size=2))))
    if how == 7:
        return Saved(kind, deep=DEEP)
    some = tuple(draw(st.lists(changes, min_size=1, max_size=2)))
    return Saved(kind, header=some, honest=not rarely(draw, 10))


@dataclass(frozen=True)
class State:
    """A monitor's saved state."""

    changes: tuple[tuple[float, str, Any], ...] = ()
    deep: int = 0
    damage: Damage = ()

    def content(self) -> bytes:
        state = changed_somewhere(json.loads(_sample(STATE)), list(self.changes))
        if self.deep and isinstance(state, dict):
            state["monitor"] = "HERE"
        text = json.dumps(state).replace('"HERE"', "[" * self.deep + "]" * self.deep)
        return damaged(text.encode(), self.damage)

    def smaller(self) -> list[Content]:
        return [
            replace(self, changes=self.changes[:k] + self.changes[k + 1 :])
            for k in range(len(self.changes))
        ]


@st.composite
def states(draw: st.DrawFn) -> State:
    how = draw(st.integers(0, 9))
    if how == 9:
        return State(damage=draw(damages))
    if how == 8:
        return State(deep=draw(st.sampled_from([100, DEEP])))
    return State(tuple(draw(st.lists(changes, max_size=2))))
