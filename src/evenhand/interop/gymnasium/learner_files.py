"""Learners in Gymnasium environments as files: stopped, they go on another day.

A file holds all that was learned and stored, and what was measured of the environment. It does not
hold the environment, whose state is its own: a learner that was saved and one that was loaded both
begin a new episode, and go on alike.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import gymnasium

from evenhand._util.saved import (
    SavedRecord,
    named_leaves,
    read_tensors,
    reading_saved,
    with_leaves,
    write_tensors,
)
from evenhand.errors import BadFile, BadParameter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.interop.gymnasium.learner import gymnasium_learner
from evenhand.learn.deep.agent import AgentState
from evenhand.learn.host import HostLoop
from evenhand.learn.recipe import Measurements

KIND = "learner"


def save_learner(
    path: str | os.PathLike[str], loop: HostLoop, about: Mapping[str, Any] | None = None
) -> None:
    """Write a learner to a file, whole; then it begins a new episode.

    Args:
        path: The file.
        loop: A learner that `gymnasium_learner` made.
        about: What else the file is to say of it.
    """
    header = {
        "about": None if about is None else dict(about),
        "settings": _settings(loop),
        "seed": loop.seed,
        "learners": len(loop.rngs),
        "steps": loop.steps,
        "planned": loop.planned,
        "before_level": loop.before_level,
        "measured": None if loop.measured is None else loop.measured._asdict(),
        "randomness": [rng.bit_generator.state for rng in loop.rngs],
        "kept": loop.kept is not None,
    }
    arrays = {"learners": _kept_of(loop.learners)}
    if loop.kept is not None:
        arrays["kept"] = loop.kept
    write_tensors(path, KIND, header, named_leaves(arrays))
    loop.begin_again()


def load_learner(
    path: str | os.PathLike[str], env: gymnasium.Env, scheme: FairnessScheme, **how: Any
) -> HostLoop:
    """A learner as it was saved, at the start of an episode: `train` goes on from there.

    Args:
        path: The file.
        env: An environment like the one it was learned in.
        scheme: What fair means, as before.
        **how: All else that `gymnasium_learner` was given.
    """
    header, arrays = read_tensors(path, KIND)
    record = SavedRecord(header, path)
    with reading_saved(path, KIND):
        known = _measurements(record.value("measured"))
        seed, number = int(record.value("seed")), int(record.value("learners"))
        steps, planned = int(record.value("steps")), int(record.value("planned"))
        before_level = int(record.value("before_level"))
        states, kept = record.value("randomness"), bool(record.value("kept"))
    loop = gymnasium_learner(env, scheme, measured=known, seed=seed, **{"steps": planned, **how})
    if len(loop.rngs) != number:
        raise BadParameter(
            f"{path} holds {number} learners side by side and there are {len(loop.rngs)} "
            "environments: give one each, with beside=…"
        )
    _require_same(path, header["settings"], _settings(loop))
    now = loop.learners
    like = {"learners": _kept_of(now)}
    if kept:
        like["kept"] = loop.acting
    with reading_saved(path, KIND):
        found = with_leaves(like, arrays)
        for rng, state in zip(loop.rngs, states, strict=True):
            rng.bit_generator.state = state
    read = found["learners"]
    loop.learners = read._replace(
        augmented=now.augmented, pending=now.pending, carry=now.carry, time=now.time
    )
    loop.steps, loop.before_level, loop.kept = steps, before_level, found.get("kept")
    loop.begin_again()
    return loop


def _kept_of(learners: AgentState) -> Any:
    """What outlives an episode."""
    nothing: Any = ()
    return learners._replace(augmented=nothing, pending=nothing, carry=nothing, time=nothing)


def _measurements(saved: Any) -> Measurements | None:
    if saved is None:
        return None
    return Measurements(**{name: _tuples(value) for name, value in saved.items()})


def _settings(loop: HostLoop) -> dict[str, str]:
    """All that a learner was made with, in words, to be compared."""
    agent, problem = loop.agent, loop.agent.problem
    world = problem.environment
    made = {f.name: getattr(agent, f.name) for f in fields(agent) if f.name != "problem"}
    made |= {"scheme": problem.scheme, "memory": problem.memory}
    made |= {"num_stakeholders": world.num_stakeholders, "num_actions": world.num_actions}
    made |= {"horizon": world.horizon, "learn_every": loop.learn_every}
    return {name: repr(value) for name, value in made.items()}


def _require_same(path: Any, saved: Any, here: dict[str, str]) -> None:
    if not isinstance(saved, dict):
        raise BadFile(f"{path} is not a {KIND} that evenhand wrote.")
    for name, value in here.items():
        before = str(saved.get(name))
        if before != value:
            pairs = enumerate(zip(before, value, strict=False))
            same = next((k for k, (one, other) in pairs if one != other), 0)
            raise BadParameter(
                f"{path} holds a learner whose {name} is {_short(before, same)}, and here it is "
                f"{_short(value, same)}: give what it was made with."
            )


def _short(text: str, same: int) -> str:
    """A text; of a long one the part from shortly before it differs from another on."""
    if len(text) <= 80:
        return text
    first = max(0, same - 40)
    return "…" * (first > 0) + text[first : first + 77] + "…" * (len(text) > first + 77)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value
