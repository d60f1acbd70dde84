"""Section 3, traces in and out: rollouts as event logs that `evenhand audit` reads, and back.

A log has a row for each run, step and stakeholder, also for those who received nothing: a step in
which a doughnut was wasted is a time point too, and a stakeholder that never got one is judged.
"""

from __future__ import annotations

import glob
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.files import write_whole
from evenhand._util.wording import join_names
from evenhand.errors import BadLog, BadParameter, MissingColumn
from evenhand.fairness.trace import Trace
from evenhand.log.engines import literal

if TYPE_CHECKING:
    import gymnasium

    from evenhand.learn.policies import Greedy

COLUMNS = ("run", "step", "stakeholder", "amount")


def write_log(path: str | os.PathLike[str], traces: Sequence[Trace]) -> None:
    """Write traces to a Parquet file, one run each, whole or not at all.

    Args:
        path: The file; one that is there is replaced.
        traces: One per run, with the same stakeholders in each.
    """
    import duckdb

    if not traces:
        raise BadParameter("there are no traces to write: a log needs at least one run.")
    names = traces[0].stakeholders
    for run, trace in enumerate(traces):
        if trace.stakeholders != names:
            raise BadParameter(
                f"run {run} has the stakeholders {', '.join(trace.stakeholders)} where run 0 has "
                f"{', '.join(names)}: write them to files of their own."
            )
    lengths, size = [len(trace) for trace in traces], len(names)
    rows = {
        "run": np.repeat(np.arange(len(traces)), np.array(lengths) * size),
        "step": np.repeat(np.concatenate([np.arange(1, n + 1) for n in lengths]), size),
        "stakeholder": np.tile(np.array(names, dtype=object), sum(lengths)),
        "amount": np.concatenate([trace.rewards.ravel() for trace in traces]),
        "action": np.repeat(np.concatenate([_actions(trace) for trace in traces]), size),
    }
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        written = Path(folder, "log.parquet")
        connection.register("rows", rows)
        connection.execute(f"COPY rows TO {literal(str(written))} (FORMAT parquet)")
        write_whole(path, written.read_bytes())


def _actions(trace: Trace) -> np.ndarray:
    """One for each step: −1 if none is known, and of several numbers a text such as [0, 1]."""
    if trace.actions is None:
        return np.full(len(trace), -1)
    actions = np.asarray(trace.actions)
    if actions.size == len(trace):
        return actions.ravel()
    return np.array([json.dumps(one.tolist()) for one in actions], dtype=object)


def read_log(path: str | os.PathLike[str]) -> list[Trace]:
    """The traces of a log that `write_log` wrote, or of one with the same columns.

    Args:
        path: A Parquet file with the columns run, step, stakeholder and amount.
    """
    import duckdb

    if not Path(path).is_file():
        raise BadLog(f"there is no file {path}.")
    with duckdb.connect() as connection:
        try:
            table = connection.read_parquet(glob.escape(os.fspath(path)))
        except duckdb.Error as error:
            raise BadLog(f"{path} cannot be read as Parquet: {error}.") from None
        missing = [name for name in COLUMNS if name not in table.columns]
        if missing:
            raise MissingColumn(missing, str(path), known=table.columns)
        columns = table.project(", ".join(COLUMNS)).order("run, step").fetchnumpy()
    if not len(columns["run"]):
        raise BadLog(f"{path} is empty: there is no run in it.")
    empty = [name for name in COLUMNS if np.ma.is_masked(columns[name])]
    if empty:
        raise BadLog(
            f"{path} has rows without {join_names(empty)}: fill them in, or leave them out."
        )
    who, run = [str(name) for name in columns["stakeholder"]], columns["run"]
    names = tuple(dict.fromkeys(who))
    events = list(zip(columns["step"].tolist(), who, columns["amount"], strict=True))
    starts = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
    ends = [*starts[1:], len(events)]
    return [
        Trace.from_events(events[start:end], names) for start, end in zip(starts, ends, strict=True)
    ]


def policy_traces(policy: Greedy, runs: int, seed: int = 0) -> list[Trace]:
    """The traces of greedy runs of a learned policy, compiled and side by side."""
    import jax

    from evenhand.envs.episodes import rollouts, to_trace

    problem = policy.problem
    found = rollouts(
        problem.environment,
        policy.act,
        problem.memory,
        jax.random.key(seed),
        runs,
    )
    found = jax.device_get(found)
    return [to_trace(jax.tree.map(lambda leaf, i=i: leaf[i], found)) for i in range(runs)]


def play(
    env: gymnasium.Env, act: Callable[[Any], Any], runs: int = 1, seed: int = 0
) -> list[Trace]:
    """The traces of whole episodes in a wrapped environment.

    Args:
        env: An environment in a `FairnessWrapper`.
        act: The action for an observation, such as
            `lambda seen: model.predict(seen, deterministic=True)[0]` of an SB3 model.
        runs: How many episodes.
        seed: Of the first episode; each further one has the next seed.
    """
    traces = []
    for run in range(runs):
        observation, _ = env.reset(seed=seed + run)
        steps, is_over = [], False
        while not is_over:
            observation, _, terminated, truncated, info = env.step(act(observation))
            if "step_context" not in info:
                raise BadParameter("put a FairnessWrapper around the environment to trace it.")
            steps.append(info["step_context"].step._replace(next_state=None))
            is_over = terminated or truncated
        traces.append(Trace.from_steps(steps))
    return traces


def episode_traces(
    episodes: Iterable[Any], stakeholder_rewards: Callable[[Any], Any] | None = None
) -> list[Trace]:
    """The traces of episodes as Minari keeps them: any with `rewards`, `actions` and `infos`.

    Each must have a reward for each stakeholder and step, in its infos, as its rewards, or as
    `stakeholder_rewards` finds it in the episode.
    """
    traces = []
    for place, episode in enumerate(episodes):
        infos = getattr(episode, "infos", None) or {}
        if stakeholder_rewards is not None:
            rewards = np.asarray(stakeholder_rewards(episode), dtype=float)
        else:
            rewards = np.asarray(infos.get("stakeholder_rewards", episode.rewards), dtype=float)
        steps = len(episode.actions)
        if rewards.ndim == 2 and len(rewards) == steps + 1:
            rewards = rewards[1:]  # infos begin with that of the reset, which is not a step
        if rewards.ndim != 2 or len(rewards) != steps:
            raise BadLog(
                f"episode {place} has rewards of shape {rewards.shape} for {steps} steps: one for "
                "each step and stakeholder is needed (record_infos=True, or stakeholder_rewards=)."
            )
        traces.append(Trace(rewards=rewards, actions=list(episode.actions)))
    return traces
