"""Runs: what was learned, every evaluation, the configuration, seeds, versions and wall time.

A run is saved as it goes. One that was killed goes on from where it was last saved, and ends with
the same numbers as one that was not.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand import __version__
from evenhand.errors import BadFile
from evenhand.learn.tabular import Learner, Tabular
from evenhand.tensors import read_tensors, write_tensors

if TYPE_CHECKING:
    from jaxtyping import Float

SAVE_EVERY = 2.0  # seconds: what a kill may cost

Progress = Callable[[int, int, float], None]  # steps done, of how many, the mean score


@dataclass(frozen=True, eq=False)
class Run:
    """One method with all its seeds, as far as it has come."""

    config: dict[str, Any]
    learners: Learner
    scores: Float[np.ndarray, "checkpoint seed"]
    kept: Float[np.ndarray, "checkpoint seed"]
    seconds: float = 0.0
    compile_seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> Float[np.ndarray, " checkpoint"]:
        """How many environment steps each evaluation came after."""
        return (np.arange(len(self.scores)) + 1) * self.config["every"]

    @property
    def finished(self) -> bool:
        return len(self.scores) * self.config["every"] >= self.config["steps"]


def train(
    learner: Tabular,
    config: dict[str, Any],
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Train for config["steps"] steps with an evaluation every config["every"], saving as it goes.

    Where the file at `path` holds an earlier part of the same run, that is continued.
    """
    run = _resume(config, path) or _begin(learner, config)
    saved, compiling = time.perf_counter(), True  # the first stretch includes compilation
    while not run.finished:
        started = time.perf_counter()
        learners = learner.walk(run.learners, config["every"])
        score, kept = jax.device_get(learner.evaluate(learners))
        took = time.perf_counter() - started
        run = Run(
            config,
            learners,
            np.concatenate((run.scores, np.asarray(score, dtype=np.float64)[None])),
            np.concatenate((run.kept, np.asarray(kept, dtype=np.float64)[None])),
            run.seconds + (0.0 if compiling else took),
            run.compile_seconds + (took if compiling else 0.0),
            _versions(),
        )
        compiling = False
        if progress:
            progress(len(run.scores) * config["every"], config["steps"], float(score.mean()))
        if path is not None and (run.finished or time.perf_counter() - saved > SAVE_EVERY):
            save_run(run, path)
            saved = time.perf_counter()
    return run


def _begin(learner: Tabular, config: dict[str, Any]) -> Run:
    keys = jax.vmap(jax.random.key)(np.asarray(config["seeds"], dtype=np.uint32))
    none = np.zeros((0, len(config["seeds"])))
    return Run(config, jax.jit(jax.vmap(learner.start))(keys), none, none)


def save_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run to a file, whole."""
    learners = run.learners._replace(key=jax.random.key_data(run.learners.key))
    arrays = {name: np.asarray(leaf) for name, leaf in learners._asdict().items()}
    header = {
        "config": run.config,
        "seconds": run.seconds,
        "compile_seconds": run.compile_seconds,
        "versions": run.versions,
    }
    arrays |= {"scores": run.scores, "kept": run.kept}
    write_tensors(path, "run", header, arrays)


def load_run(path: str | os.PathLike[str]) -> Run:
    """Read a run from a file; what is not one, or was cut, is refused."""
    header, arrays = read_tensors(path, "run", (*Learner._fields, "scores", "kept"))
    learners = Learner(*(jnp.asarray(arrays[name]) for name in Learner._fields))
    learners = learners._replace(key=jax.random.wrap_key_data(learners.key))
    return Run(
        header["config"],
        learners,
        arrays["scores"],
        arrays["kept"],
        header["seconds"],
        header["compile_seconds"],
        header["versions"],
    )


def _resume(config: dict[str, Any], path: str | os.PathLike[str] | None) -> Run | None:
    """An earlier part of the same run, if there is one."""
    if path is None or not Path(path).exists():
        return None
    run = load_run(path)
    if run.config != json.loads(json.dumps(config)):
        raise BadFile(
            f"{path} holds a run with other settings: choose another --out, or remove the file."
        )
    return run


def _versions() -> dict[str, str]:
    return {"evenhand": __version__, "jax": jax.__version__, "python": platform.python_version()}
