"""`evenhand train` and `evenhand evaluate`: one method, its policy as a file, and its score."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand._util.files import require_apart
from evenhand.cli.learning_options import (
    Deep,
    EnvironmentArgument,
    Episodes,
    Horizon,
    MemoryOption,
    Presence,
    ProposalOption,
    Recipe,
    Seed,
    Seeds,
    Stakeholders,
    Steps,
    learning_bar,
    length,
    variants,
    world,
)
from evenhand.cli.output import JsonOption, print_json, print_table
from evenhand.errors import BadFile, BadParameter

if TYPE_CHECKING:
    from evenhand.experiments.running.reference_scores import Yardstick
    from evenhand.experiments.running.runs import Run

LOGGED = 100  # episodes of a log


def train_command(
    environment: EnvironmentArgument,
    method: Annotated[str, typer.Option(help="fairqcm, full, min, reset or rnn.")] = "fairqcm",
    stakeholders: Stakeholders = None,
    horizon: Horizon = None,
    presence: Presence = None,
    recipe: Recipe = "best",
    seeds: Seeds = 1,
    seed: Seed = 0,
    steps: Steps = None,
    episodes: Episodes = None,
    deep: Deep = None,
    memory: MemoryOption = None,
    proposal: ProposalOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the policy to this file; it resumes there.")
    ] = None,
    track: Annotated[
        list[str] | None,
        typer.Option(
            help="Where the scores go while it trains: a .csv or .jsonl file, tensorboard:FOLDER, "
            "mlflow or mlflow:RUN_NAME (may be repeated)."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Train one method; with --out it saves as it goes and, run again, goes on from there.

    Example: evenhand train doughnuts --method fairqcm --episodes 100 --out fair.policy
    """
    started = time.perf_counter()
    from evenhand.envs import ENVIRONMENTS
    from evenhand.experiments.running.compare_methods import EVALUATIONS
    from evenhand.experiments.running.reference_scores import yardstick
    from evenhand.fairness.scheme_file import to_table
    from evenhand.learn.proposals import PROPOSALS
    from evenhand.memory.memory_file import memory_to_table

    env, networks = world(environment, deep, episodes, stakeholders, horizon, presence)
    total = length(env, networks, steps, episodes, 10_000)
    checkpoints = min(EVALUATIONS, max(1, total // env.horizon) if networks else EVALUATIONS)
    varied = variants(memory, proposal)
    config: dict[str, Any] = {
        "environment": to_table(env, ENVIRONMENTS),
        "method": method,
        "recipe": recipe,
        "deep": networks,
        "memory": None if memory is None else memory_to_table(varied["memory"]),
        "proposal": None if proposal is None else to_table(varied["proposal"], PROPOSALS),
        "seeds": list(range(seed, seed + seeds)),
        "steps": total // checkpoints * checkpoints,
        "every": total // checkpoints,
    }
    run = _trained(config, out, as_json, lambda: yardstick(env), env.horizon, track or ())
    against = yardstick(env)
    answer = _answer(run, against, env.horizon)
    answer["wall_seconds"] = round(time.perf_counter() - started, 3)
    if out is not None and networks and run.finished:
        _save(out, run, answer)
    if as_json:
        print_json(answer)
    else:
        _print(run, against, answer, out)
    if not run.finished:
        raise typer.Exit(130)


def _trained(
    config: dict[str, Any],
    out: Path | None,
    quiet: bool,
    measure: Any,
    of: int,
    track: Sequence[str],
) -> Run:
    """The run, as far as it came; a policy that was finished before is not trained again."""
    from evenhand.experiments.running.blocks import build, train_in_blocks
    from evenhand.experiments.running.runs import saved_run, train
    from evenhand.interop.trackers import open_sink

    agent = build(config)  # what is wrong is found here, not in another process
    deep, before = config["deep"], None
    if out is not None and os.path.exists(out):
        before = (_finished if deep else saved_run)(config, out)
    known: dict[str, float | None] = {}
    with contextlib.ExitStack() as opened, learning_bar(quiet, of) as show:
        sinks = [opened.enter_context(open_sink(where)) for where in track]

        def point(step: int, score: float) -> None:
            for sink in sinks:
                sink.log(step, {"score": score})

        def progress(done: int, steps: int, score: float) -> None:
            best = known.get("optimum")
            show(config["method"], done, steps, score, None if best is None else best - score)

        if before is not None:  # a sink has the whole curve, also of what was learned before
            for step, scores in zip(before.steps, before.scores, strict=True):
                point(int(step), float(scores.mean()))
        if deep and before is not None:
            return before
        if deep:
            later = lambda: known.update(optimum=measure().optimum)  # noqa: E731
            return train_in_blocks(config, out, progress, later, point=point)

        def progress_and_point(done: int, steps: int, score: float) -> None:
            progress(done, steps, score)
            point(done, score)

        return train(agent, config, out, progress_and_point)


def _finished(config: dict[str, Any], path: Path) -> Run:
    """The run that a policy file came from."""
    import json

    import numpy as np

    from evenhand.experiments.running.runs import Run
    from evenhand.learn.policies.policy_files import load_policies

    about = load_policies(path).header
    if about.get("config") != json.loads(json.dumps(config)):
        raise BadFile(
            f"{path} holds a policy with other settings: choose another --out, or remove the file."
        )
    measures = {name: np.asarray(rows) for name, rows in about["measures"].items()}
    times = about["seconds"], about["compile_seconds"], about["versions"]
    return Run(config, None, measures, *times)


def _save(out: Path, run: Run, answer: dict[str, Any]) -> None:
    """The policies as a file, in place of the parts that were saved on the way."""
    from evenhand.experiments.running.blocks import block_files, build
    from evenhand.experiments.running.runs import restore
    from evenhand.learn.policies.policy_files import save_policies

    if run.learners is None:  # it was there already
        return
    agent = build(run.config)
    weights = agent.acting(restore(agent, run).learners)
    about = {
        "config": run.config,
        "measures": {name: rows.tolist() for name, rows in run.measures.items()},
        "optimum": answer["optimum"],
        "seconds": run.seconds,
        "compile_seconds": run.compile_seconds,
        "versions": run.versions,
    }
    save_policies(out, agent, weights, about)
    for file in block_files(out):
        file.unlink()


def _answer(run: Run, against: Yardstick, horizon: int) -> dict[str, Any]:
    scores = run.scores[-1]
    best = against.optimum
    return {
        "final_scores": scores.tolist(),
        "optimum": best,
        "random": against.random,
        "regret": None if best is None else (best - scores).tolist(),
        "final": {name: rows[-1].tolist() for name, rows in run.measures.items()},
        "curve": {
            "steps": run.steps.tolist(),
            "episodes": (run.steps / horizon).tolist(),
            "scores": run.scores.tolist(),
        },
        "finished": run.finished,
        "seconds": round(run.seconds, 3),
        "compile_seconds": round(run.compile_seconds, 3),
        "config": run.config,
        "versions": run.versions,
    }


def _print(run: Run, against: Yardstick, answer: dict[str, Any], out: Path | None) -> None:
    from evenhand.experiments.running.runs import FINAL_EPISODES
    from evenhand.learn.deep.agent import EPISODES

    config, best = run.config, against.optimum
    rows = [
        (f"seed {name}", f"{score:,.3f}", "" if best is None else f"{best - score:,.3f}")
        for name, score in zip(config["seeds"], run.scores[-1], strict=True)
    ]
    title = f"{_named(config)}, after {int(run.steps[-1]):,} steps"
    print_table(title, ("", "score", "regret"), rows)
    episodes = FINAL_EPISODES if run.finished else EPISODES
    how = f"means of {episodes:,} greedy episodes"
    how = how if config["deep"] else "exact values of the greedy policy"
    known = f"The exact optimum is {best:,.3f}; acting" if best is not None else "Acting"
    print(f"\n{known} at random scores {against.random:,.3f}. Scores are {how}.")
    if not run.finished:
        print("Stopped before the end." + (" Run it again to go on." if out else ""))
    elif out is not None:
        print(f"The policy is in {out}: score it with `evenhand evaluate {out}`.")


def evaluate_command(
    file: Annotated[
        Path, typer.Argument(help="A policy or run that `evenhand train` or `compare` wrote.")
    ],
    episodes: Annotated[
        int, typer.Option(help="Greedy episodes that a score is the mean of (deep).", min=1)
    ] = 1000,
    seed: Seed = 0,
    log: Annotated[
        Path | None,
        typer.Option(help="Write 100 greedy episodes to this Parquet log, for `evenhand audit`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Score what was learned, and how far that is from the optimum.

    Example: evenhand evaluate fair.policy --log fair.parquet
    """
    from evenhand._util.tensor_files import kind_of
    from evenhand.planning import regret

    deep = kind_of(file) == "policy"
    if log is not None:
        require_apart([log], [file])
        if log.suffix != ".parquet":
            raise BadParameter(
                f"--log is {log}: it writes Parquet, so let the name end in .parquet."
            )
        _write_log(file, log, seed, deep)
    scored = _score_policy if deep else _score_run
    answer, against = scored(file, seed, episodes)
    best = against.optimum
    answer |= {"optimum": best, "random": against.random}
    if best is not None:
        pairs = [regret(score, best, against.random) for score in answer["scores"]]
        answer |= {"regret": [p[0] for p in pairs], "share_of_the_way": [p[1] for p in pairs]}
    if as_json:
        print_json(answer)
        return
    columns = {"score": [f"{s:,.3f}" for s in answer["scores"]]}
    if best is not None:
        columns["regret"] = [f"{lost:,.3f}" for lost in answer["regret"]]
        columns["share of the way"] = [f"{share:.1%}" for share in answer["share_of_the_way"]]
    if min(answer.get("achieved", (1.0,))) < 1.0:  # where there is a goal that can be missed
        columns["reached its goal"] = [f"{share:.1%}" for share in answer["achieved"]]
    names = [f"seed {name}" for name in answer["seeds"]]
    title = f"{_named(answer)}, after {answer['steps']:,} steps"
    print_table(title, ("", *columns), zip(names, *columns.values(), strict=True))
    known = "No exact optimum is known" if best is None else f"Optimum {best:,.3f}"
    print(f"\n{known}, acting at random {against.random:,.3f}.")


def _write_log(file: Path, log: Path, seed: int, deep: bool) -> None:
    """Greedy episodes of the first policy in a file, as a log to be audited run by run."""
    if not deep:
        raise BadFile(
            f"{file} holds tables, of which no log is written: train with --deep for one, or score "
            "it without --log."
        )
    from evenhand.interop.logs import policy_traces, write_log
    from evenhand.learn.policies.policy_files import load_policies

    write_log(log, policy_traces(load_policies(file).policy(), LOGGED, seed))


def _score_policy(file: Path, seed: int, episodes: int) -> tuple[dict[str, Any], Yardstick]:
    import jax

    from evenhand.experiments.running.reference_scores import yardstick
    from evenhand.learn.policies.policy_files import load_policies

    saved = load_policies(file)
    config = saved.header["config"]
    found = jax.device_get(saved.evaluate(seed, episodes))
    answer = _about(config, config["steps"])
    answer |= {"scores": found.score.tolist(), "episodes": episodes, "kept": found.kept.tolist()}
    answer["achieved"] = found.achieved.tolist()
    return answer, yardstick(saved.problem.environment)  # type: ignore[arg-type]


def _score_run(file: Path, seed: int, episodes: int) -> tuple[dict[str, Any], Yardstick]:
    import jax
    import numpy as np

    from evenhand.experiments.running.blocks import build
    from evenhand.experiments.running.reference_scores import yardstick
    from evenhand.experiments.running.runs import load_run, restore

    run = load_run(file)
    agent = build(run.config)
    more = {"episodes": episodes} if run.config["deep"] else {}
    learners = restore(agent, run).learners
    if run.config["deep"]:
        keys = jax.random.split(jax.random.key(seed), len(run.config["seeds"]))
        learners = learners._replace(key=keys)
    found = jax.device_get(agent.evaluate(learners, **more))
    answer = _about(run.config, len(run.scores) * run.config["every"])
    answer["scores"] = np.asarray(found.score, dtype=float).tolist()
    return answer, yardstick(agent.problem.environment)


def _about(config: dict[str, Any], steps: int) -> dict[str, Any]:
    known = ("method", "recipe", "seeds", "memory", "proposal")
    return {**{name: config.get(name) for name in known}, "steps": steps}


def _named(config: dict[str, Any]) -> str:
    """The method, and what of it was chosen otherwise."""
    words = f"{config['method']}, {config['recipe']} recipe"
    for part in ("memory", "proposal"):
        if config[part] is not None:
            several = config[part] if isinstance(config[part], list) else [config[part]]
            names = [one if isinstance(one, str) else one["name"] for one in several]
            words += f", {part} {' and '.join(names)}"
    return words
