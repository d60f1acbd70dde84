"""Runs: what was learned, every evaluation, what was to be run, versions and wall time.

A run is saved as it goes. One that was killed goes on from where it was last saved, and ends with
the same numbers as one that was not. One that is interrupted from the keyboard ends with what
there is. Trials of the benchmark are kept in the same files. Rows of tables, of which there is
nothing to go on from half way, are kept as JSON.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from evenhand import __version__
from evenhand._util.files import read_file, write_whole
from evenhand._util.saved import (
    SavedRecord,
    named_leaves,
    parse_json,
    read_tensors,
    reading_saved,
    require_finite,
    with_leaves,
    write_tensors,
)
from evenhand.errors import BadFile, BadParameter
from evenhand.lab.run_spec import RunSpec, spec_in
from evenhand.learn.deep.agent import AgentState, DeepAgent
from evenhand.learn.policy_files import Saved, load_policies
from evenhand.learn.schedules import seed_keys, start_learners

if TYPE_CHECKING:
    from jaxtyping import Float, PRNGKeyArray

    from evenhand.lab.executors import Spec

SAVE_EVERY = 2.0  # seconds: what a kill may cost
SAVING_SHARE = 0.05  # of the time, at most: large runs are saved less often
FINAL_EPISODES = 1000  # that a last evaluation is the mean of, where evaluations are sampled

# What an evaluation may say, in this order: loss and value are of networks.
MEASURES = ("score", "kept", "achieved", "loss", "value")

KIND, MAX_BYTES = "result", 64 << 20  # of a file that keeps a row

Progress = Callable[[int, int, float], None]  # steps done, of how many, the mean score
Row = dict[str, Any]


class Agent(Protocol):
    """What can be trained: tabular and deep agents alike. Learners have a leading axis of seeds."""

    def start(self, key: PRNGKeyArray) -> Any: ...
    def train_steps(self, learners: Any, steps: int) -> Any: ...
    def evaluate(self, learners: Any, episodes: int = ...) -> Any: ...


@dataclass(frozen=True, eq=False)
class Run:
    """One method with all its seeds, as far as it has come."""

    spec: Any  # a `RunSpec`, or another `Spec`
    learners: Any  # as read from a file: its arrays by name, until `restore`
    measures: dict[str, Float[np.ndarray, "checkpoint seed"]]
    seconds: float = 0.0
    compile_seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)  # more that JSON has: of a benchmark

    @property
    def scores(self) -> Float[np.ndarray, "checkpoint seed"]:
        return self.measures["score"]

    @property
    def final(self) -> Float[np.ndarray, " seed"]:
        """The last evaluation of each seed."""
        return self.scores[-1]

    @property
    def kept(self) -> Float[np.ndarray, "checkpoint seed"]:
        return self.measures["kept"]

    @property
    def steps(self) -> Float[np.ndarray, " checkpoint"]:
        """How many environment steps each evaluation came after."""
        return (np.arange(len(self.scores)) + 1) * self.spec.every

    @property
    def finished(self) -> bool:
        return len(self.scores) * self.spec.every >= self.spec.steps


def train(
    learner: Agent,
    spec: RunSpec,
    path: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Run:
    """Train for `spec.steps` steps with an evaluation every `spec.every`, saving as it goes.

    Where the file at `path` holds an earlier part of the same run, that is continued.
    """
    run = _resume(learner, spec, path) or _begin(learner, spec)
    saved, pause = time.perf_counter(), SAVE_EVERY
    compiling = True  # the first stretch includes compilation
    try:
        while not run.finished:
            run = _stretch(learner, run, compiling)
            compiling = False
            if progress:
                done = len(run.scores) * spec.every
                progress(done, spec.steps, float(run.scores[-1].mean()))
            now = time.perf_counter()
            if path is not None and (run.finished or now - saved > pause):
                save_run(run, path)
                saved = time.perf_counter()
                pause = max(SAVE_EVERY, (saved - now) / SAVING_SHARE)
    except KeyboardInterrupt:
        if not len(run.scores):
            raise
        # Learners in the middle of a stretch are no more: then what was saved last is all.
        if path is not None and not _under_way(run.learners):
            save_run(run, path)
    return run


def _under_way(learners: Any) -> bool:
    """Whether their memory was handed to a stretch that has not come to its end."""
    return any(leaf.is_deleted() for leaf in jax.tree.leaves(learners))


def _stretch(learner: Agent, run: Run, compiling: bool) -> Run:
    """The run up to its next evaluation; the last one is of more episodes."""
    started = time.perf_counter()
    learners = learner.train_steps(run.learners, run.spec.every)
    done = (len(run.scores) + 1) * run.spec.every
    more = {"episodes": FINAL_EPISODES} if done >= run.spec.steps else {}
    if run.spec.evaluation is not None:
        more = {"episodes": run.spec.evaluation}
    measured = jax.device_get(learner.evaluate(learners, **more))._asdict()
    if isinstance(learner, DeepAgent):
        measured |= jax.device_get(learner.learning(learners))._asdict()
    took = time.perf_counter() - started
    return Run(
        run.spec,
        learners,
        {name: _with_row(run.measures.get(name), row) for name, row in measured.items()},
        run.seconds + (0.0 if compiling else took),
        run.compile_seconds + (took if compiling else 0.0),
        versions(),
    )


def _with_row(rows: np.ndarray | None, row: Any) -> np.ndarray:
    row = np.asarray(row, dtype=np.float64)[None]
    return row if rows is None or not len(rows) else np.concatenate((rows, row))


def _begin(learner: Agent, spec: RunSpec) -> Run:
    keys = seed_keys(spec.seeds)
    none = {"score": np.zeros((0, len(spec.seeds)))}
    learners = start_learners(learner, keys)
    if spec.start is not None and isinstance(learner, DeepAgent):
        learners = start_from_policies(learner, learners, spec.start, spec.seeds)
    return Run(spec, learners, none)


def header_of_run(run: Run) -> dict[str, Any]:
    """What stands in the header of a file of a run, or of the policies that it came to."""
    return {
        "spec": run.spec.to_json(),
        "seconds": run.seconds,
        "compile_seconds": run.compile_seconds,
        "versions": run.versions,
    }


def save_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run to a file, whole."""
    header = header_of_run(run)
    if run.about:
        header["about"] = run.about
    arrays = named_leaves(run.learners)
    arrays |= {f"measure.{name}": rows for name, rows in run.measures.items()}
    write_tensors(path, "run", header, arrays)


def load_run(path: str | os.PathLike[str], kind: Any = RunSpec) -> Run:
    """Read a run from a file; what is not one, or was cut, is refused.

    Args:
        path: The file.
        kind: Of which class its `spec` is.
    """
    header, arrays = read_tensors(path, "run")
    spec = spec_in(header, path, kind)
    measures = {
        name: arrays.pop(f"measure.{name}") for name in MEASURES if f"measure.{name}" in arrays
    }
    require_measures(spec, measures, path)
    about = SavedRecord(header.get("about", {}), path, "about").values
    return Run(spec, arrays, measures, *times_in(header, path), about=dict(about))


def times_in(
    header: Mapping[str, Any], path: str | os.PathLike[str]
) -> tuple[float, float, dict[str, str]]:
    """How long a saved run took, how long that was to compile, and the versions it ran with."""
    record = SavedRecord(header, path)
    versions = record.table("versions")
    return (
        record.number("seconds"),
        record.number("compile_seconds"),
        {name: versions.text(name) for name in versions.values},
    )


def require_measures(
    spec: Spec, measures: Mapping[str, np.ndarray], path: str | os.PathLike[str]
) -> None:
    """Refuse evaluations that are not those of a run: a number for each of its seeds, each time."""
    if "score" not in measures:
        raise BadFile(f"{path} cannot be read: it lacks the scores of its evaluations.")
    rows = len(measures["score"])
    for name, values in measures.items():
        if values.dtype != np.float64 or values.shape != (rows, len(spec.seeds)):
            raise BadFile(
                f"{path} cannot be read: its {name!r} has the shape {values.shape} of "
                f"{values.dtype}, where {len(spec.seeds)} numbers for each evaluation belong."
            )
    if not 0 < rows <= spec.steps // spec.every:
        raise BadFile(
            f"{path} cannot be read: it has {rows} evaluations, and at most "
            f"{spec.steps // spec.every} belong to it."
        )
    require_finite(path, dict(measures))


def restore(learner: Agent, run: Run) -> Run:
    """The run with its learners in place, ready to go on or to be evaluated."""
    like = jax.eval_shape(jax.vmap(learner.start), seed_keys(run.spec.seeds))
    return replace(run, learners=jax.tree.map(jnp.asarray, with_leaves(like, run.learners)))


def saved_run(spec: Spec, path: str | os.PathLike[str]) -> Run | None:
    """An earlier part of the same run, if there is one; a file with anything else is refused."""
    if not os.path.exists(path):
        return None
    run = load_run(path, type(spec))
    if run.spec == spec:
        return run
    what = "other settings"
    if replace(run.spec, seeds=spec.seeds) == spec:
        what = f"other seeds ({', '.join(map(str, run.spec.seeds))})"
    elif run.spec.version != spec.version:
        what = f"evenhand {run.spec.version}, and this is {spec.version}"
    raise BadFile(f"{path} holds a run with {what}: choose another output, or remove the file.")


def _resume(learner: Agent, spec: RunSpec, path: str | os.PathLike[str] | None) -> Run | None:
    run = None if path is None else saved_run(spec, path)
    if run is None:
        return None
    with reading_saved(path or "", "run"):
        return restore(learner, run)


def versions() -> dict[str, str]:
    """Of all that the numbers of a run depend on."""
    return {"evenhand": __version__, "jax": jax.__version__, "python": platform.python_version()}


def start_from_policies(
    agent: DeepAgent, learners: AgentState, path: str | os.PathLike[str], seeds: Sequence[int]
) -> AgentState:
    """The learners with weights of a file: of the same seed where it has it, else of its first.

    Args:
        agent: The agent that goes on learning.
        learners: Its learners, which know nothing.
        path: A policy file of `evenhand train`.
        seeds: The seed of each learner.
    """
    saved = require_start(agent, path)
    of_file = saved.header.get("spec", {}).get("seeds", [])
    places = np.asarray([of_file.index(seed) if seed in of_file else 0 for seed in seeds])
    found = [jnp.asarray(leaf)[places] for leaf in jax.tree.leaves(saved.weights)]
    weights = jax.tree.unflatten(jax.tree.structure(learners.weights), found)
    return agent.started_from(learners, weights)


def require_start(agent: DeepAgent, path: str | os.PathLike[str]) -> Saved:
    """The policies of a file, if the agent can go on from them."""
    saved = load_policies(path)
    own = jax.eval_shape(agent.start, jax.random.key(0)).weights
    shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(saved.weights)]
    if saved.network != agent.network or shapes != [leaf.shape for leaf in jax.tree.leaves(own)]:
        raise BadParameter(
            f"{path} holds policies of another network or of other observations, so that learning "
            "cannot begin with them: train the same problem, or leave start out."
        )
    return saved


def kept_row(
    path: Path,
    settings: Mapping[str, Any],
    make: Callable[[], Row],
    use: Callable[[Row], Any] = lambda _: None,
) -> Row:
    """The row of a file, if it was made with the same settings; otherwise made now and written.

    Args:
        path: Where the row is kept.
        settings: What it depends on.
        make: Makes it.
        use: What is done with it later: a file of whose row that cannot be done is refused.
    """
    if path.exists():
        kept = dict(SavedRecord(read_kept(path), path).values)
        if kept.get("settings") == settings:
            with reading_saved(path, KIND):
                use(kept)
            return kept
    row = {"settings": dict(settings), **make()}
    write_kept(path, row)
    return row


def read_kept(path: Path) -> Any:
    """What a file holds; one that is damaged is refused."""
    return parse_json(read_file(path, MAX_BYTES, f"a {KIND}"), path, KIND)


def write_kept(path: Path, value: Any) -> None:
    """Write what was finished, in a folder that need not be there yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(value, indent=2).encode())
