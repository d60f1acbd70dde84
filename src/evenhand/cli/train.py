"""`evenhand train`: a fair policy for an environment, a log or a Gymnasium world."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.audit import audit_command
from evenhand.cli.learning_options import (
    Deep,
    Episodes,
    Horizon,
    MemoryOption,
    Presence,
    ProposalOption,
    Recipe,
    SchemeOption,
    Seed,
    Seeds,
    Stakeholders,
    Steps,
    chosen_seeds,
    learning_bar,
    length,
    variants,
    world,
)
from evenhand.cli.log_options import (
    LEARNING,
    borrow_options,
    is_log,
    learned_world,
    print_world,
    refuse_reading,
    world_summary,
)
from evenhand.cli.output import JsonOption, print_json, print_table
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.decide.world_from_log import WorldOfLog
    from evenhand.envs import Environment
    from evenhand.interop.gymnasium.learner import HostTraining
    from evenhand.lab.reference_scores import ReferenceScores
    from evenhand.lab.run_spec import RunSpec
    from evenhand.lab.runs import Run


# `evenhand train` and `evaluate` where the environment is a Gymnasium class of one's own.


def is_host_class(environment: str) -> bool:
    """Whether `module:Class` names a Gymnasium environment; the module is imported."""
    if ":" not in environment:
        return False
    from evenhand.envs.own_environment import load_class

    kind = load_class(environment)
    gymnasium = sys.modules.get("gymnasium")  # not loaded: then the class cannot be of it
    return gymnasium is not None and issubclass(kind, gymnasium.Env)


def refuse_unused(options: Mapping[str, Any]) -> None:
    """Refuse options that were given and that a Gymnasium environment has no use for."""
    for option, value in options.items():
        if value is not None:
            raise BadParameter(
                f"{option} is not for Gymnasium environments: leave it out, or use "
                "evenhand.interop.gymnasium_learner from Python."
            )


def train_on_host(
    training: HostTraining, out: Path | None, track: Sequence[str], as_json: bool
) -> None:
    """Train, with a bar on standard error, save on the way, and say what was reached."""
    from evenhand.interop.gymnasium.learner import SCORED_EPISODES
    from evenhand.interop.trackers import open_sink

    started = time.perf_counter()
    loop = training.learner(out)
    before = None if loop.kept is not None else training.scores(loop, SCORED_EPISODES, 1)
    with contextlib.ExitStack() as opened:
        sinks = [opened.enter_context(open_sink(where)) for where in track]
        show = opened.enter_context(learning_bar(as_json, loop.world.horizon))
        training.train(
            loop, out, sinks, lambda done, score: show("fairqcm", done, training.steps, score)
        )
    scores = training.scores(loop, SCORED_EPISODES, 1)
    if as_json:
        print_json(
            _to_json(training, loop.steps, scores, SCORED_EPISODES)
            | {
                "before": None if before is None else before.tolist(),
                "wall_seconds": round(time.perf_counter() - started, 3),
            }
        )
        return
    _print_host(training, loop.steps, scores, before)
    print(f"\nScores are means of {SCORED_EPISODES} greedy episodes; no optimum is known.")
    if out is not None:
        print(f"The learner is in {out}: score it with `evenhand evaluate {out}`.")


def evaluate_on_host(path: Path, episodes: int, seed: int, as_json: bool) -> None:
    """Score a saved learner again, in the environment that its file names."""
    from evenhand.interop.gymnasium.learner import saved_training

    training = saved_training(path)
    loop = training.learner(path)
    scores = training.scores(loop, episodes, seed)
    if as_json:
        print_json(_to_json(training, loop.steps, scores, episodes))
        return
    _print_host(training, loop.steps, scores)
    print(f"\nScores are means of {episodes:,} greedy episodes; no optimum is known.")


def _to_json(training: HostTraining, steps: int, scores: Any, episodes: int) -> dict[str, Any]:
    return {
        "environment": training.name,
        "steps": steps,
        "seeds": list(training.seeds),
        "scores": scores.tolist(),
        "episodes": episodes,
    }


def _print_host(training: HostTraining, steps: int, scores: Any, before: Any = None) -> None:
    columns = {"score": [f"{score:,.3f}" for score in scores]}
    if before is not None:
        columns["before it learned"] = [f"{score:,.3f}" for score in before]
    names = [f"seed {seed}" for seed in training.seeds]
    title = f"fairqcm in {training.name}, after {steps:,} steps"
    print_table(title, ("", *columns), zip(names, *columns.values(), strict=True))


# `evenhand train`: one method, its score as it learns, and its policy as a file.


@borrow_options(audit_command, LEARNING, into="reading")
def train_command(
    environment: Annotated[
        str,
        typer.Argument(
            help="The environment: doughnuts, lending, another one, or one of your own (evenhand's "
            "or Gymnasium's) as module:Class; or the file of a log."
        ),
    ],
    reading: dict[str, Any],
    method: Annotated[str, typer.Option(help="fairqcm, full, min, reset or rnn.")] = "fairqcm",
    stakeholders: Stakeholders = None,
    horizon: Horizon = None,
    presence: Presence = None,
    recipe: Recipe = "default",
    scheme: SchemeOption = None,
    seeds: Seeds = 1,
    seed: Seed = 0,
    steps: Steps = None,
    episodes: Episodes = None,
    deep: Deep = None,
    memory: MemoryOption = None,
    proposal: ProposalOption = None,
    block: Annotated[
        str | None,
        typer.Option(
            help="Of a log: length of the blocks of days that episodes are resampled from. "
            "Default: 7d."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the policy to this file; it resumes there.")
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(help="Begin with the policies of this file, to go on from them (deep)."),
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

    In place of an environment it may be the file of a log: evenhand train shipments.csv
    --stakeholder country --time date --amount doses --until 2023-12-31 --out fair.policy learns
    from the part up to that date, and evenhand replay shipments.csv … --since 2024-01-01 --rule
    fair.policy says what came of it.
    """
    started = time.perf_counter()
    from evenhand._util.files import require_place
    from evenhand.lab.compare_methods import EVALUATIONS
    from evenhand.lab.reference_scores import yardstick
    from evenhand.lab.run_spec import RunSpec
    from evenhand.lab.training import save_trained, summary

    if out is not None:
        require_place(out, "out")
    if not is_log(environment) and is_host_class(environment):
        from evenhand.interop.gymnasium.learner import STEPS, HostTraining

        refuse_reading(environment, {**reading, "block": block})
        refuse_unused(
            {
                "--method": None if method == "fairqcm" else method,
                "--recipe": None if recipe == "default" else recipe,
                "--stakeholders": stakeholders,
                "--horizon": horizon,
                "--presence": presence,
                "--episodes": episodes,
                "--tabular": None if deep is not False else deep,
                "--memory": memory,
                "--proposal": proposal,
                "--start": start,
            }
        )
        fair = variants(None, None, scheme)["scheme"]
        chosen = chosen_seeds(seed, seeds)
        train_on_host(
            HostTraining(environment, fair, steps or STEPS, chosen), out, track or (), as_json
        )
        return
    made: WorldOfLog | None = None
    env: Environment
    networks = True
    if is_log(environment):
        if deep is False:
            raise BadParameter("a world from a log is learned with networks: leave --tabular out.")
        reading = {**reading, "scheme": scheme}
        unused = {"stakeholders": stakeholders, "presence": presence}
        made = learned_world(environment, reading, as_json, block, horizon, **unused)
        env, scheme = made.world, None
        steps = made.default_steps if steps is None and episodes is None else steps
    else:
        refuse_reading(environment, {**reading, "block": block})
        env, networks = world(environment, deep, episodes, stakeholders, horizon, presence)
    total = length(env, networks, steps, episodes)
    checkpoints = min(EVALUATIONS, max(1, total // env.horizon) if networks else EVALUATIONS)
    spec = RunSpec(
        env,
        method,
        chosen_seeds(seed, seeds),
        steps=total // checkpoints * checkpoints,
        every=total // checkpoints,
        recipe=recipe,
        deep=networks,
        start=None if start is None else str(start.resolve()),
        **variants(memory, proposal, scheme),
    )
    run = _trained(spec, out, as_json, track or ())
    against = yardstick(env, spec.scheme)
    if out is not None and networks and run.finished:
        save_trained(out, run, against)
    about = None if made is None else world_summary(made)
    if as_json:
        took = round(time.perf_counter() - started, 3)
        print_json({**summary(run, against), "world": about, "wall_seconds": took})
    else:
        _print_learned(run, against, out)
        if about is not None:
            print_world(about, out)
    if not run.finished:
        raise typer.Exit(130)


def _trained(spec: RunSpec, out: Path | None, quiet: bool, track: Sequence[str]) -> Run:
    """Train, with a bar on standard error and the curve in every sink."""
    from evenhand.interop.trackers import open_sink
    from evenhand.lab.reference_scores import yardstick
    from evenhand.lab.training import prepare

    training = prepare(spec, out)  # before a sink is opened, which empties its file
    known: dict[str, float | None] = {}
    with contextlib.ExitStack() as opened:
        sinks = [opened.enter_context(open_sink(where)) for where in track]
        show = opened.enter_context(learning_bar(quiet, spec.environment.horizon))

        def on_point(step: int, score: float) -> None:
            for sink in sinks:
                sink.log(step, {"score": score})

        def progress(done: int, steps: int, score: float) -> None:
            best = known.get("optimum")
            show(spec.method, done, steps, score, None if best is None else best - score)

        def meanwhile() -> None:
            known["optimum"] = yardstick(spec.environment, spec.scheme).optimum

        return training.train(progress, on_point, meanwhile)


def _print_learned(run: Run, against: ReferenceScores, out: Path | None) -> None:
    from evenhand.lab.runs import FINAL_EPISODES
    from evenhand.learn.deep.agent import EPISODES

    best = against.optimum
    rows = [
        (f"seed {name}", f"{score:,.3f}", "" if best is None else f"{best - score:,.3f}")
        for name, score in zip(run.spec.seeds, run.scores[-1], strict=True)
    ]
    title = f"{run.spec.describe()}, after {int(run.steps[-1]):,} steps"
    print_table(title, ("", "score", "regret"), rows)
    episodes = FINAL_EPISODES if run.finished else EPISODES
    how = f"means of {episodes:,} greedy episodes"
    how = how if run.spec.deep else "exact values of the greedy policy"
    known = f"The exact optimum is {best:,.3f}; acting" if best is not None else "Acting"
    rules = "".join(f", the rule {name} {score:,.3f}" for name, score in against.rules)
    print(f"\n{known} at random scores {against.random:,.3f}{rules}. Scores are {how}.")
    warning = against.warning(run.scores[-1].tolist())
    if warning is not None and run.finished:
        print(warning)
    if not run.finished:
        print("Stopped before the end." + (" Run it again to continue." if out else ""))
    elif out is not None:
        print(f"The policy is in {out}: score it with `evenhand evaluate {out}`.")
