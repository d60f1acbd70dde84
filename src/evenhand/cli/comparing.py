"""`evenhand train`, `evaluate`, `compare` and `reproduce`: learning, next to the optimum."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.output import JsonOption, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from evenhand.experiments.compare import Comparison

EnvironmentArgument = Annotated[str, typer.Argument(help="The environment: doughnuts.")]
Stakeholders = Annotated[int, typer.Option(help="How many stakeholders.", min=1)]
Horizon = Annotated[int, typer.Option(help="How many decisions an episode has.", min=1)]
Presence = Annotated[str, typer.Option(help="The chance to be present: one, or one each: 0.9,0.5.")]
Recipe = Annotated[str, typer.Option(help="paper: the appendix's numbers. best: ours.")]
Seeds = Annotated[int, typer.Option(help="How many runs, side by side.", min=1)]
Seed = Annotated[int, typer.Option(help="The first seed.", min=0)]
Steps = Annotated[int, typer.Option(help="Environment steps of each run.", min=100)]
MemoryOption = Annotated[
    str | None, typer.Option(help="Another memory for FairQCM, such as full or group_full.")
]
ProposalOption = Annotated[
    str | None,
    typer.Option(help="What FairQCM imagines: above, around, all, reachable, visited, none."),
]


def compare_command(
    environment: EnvironmentArgument,
    methods: Annotated[
        str, typer.Option(help="Which methods, with commas between them.")
    ] = "fairqcm,full,min,reset,oracle,random",
    stakeholders: Stakeholders = 3,
    horizon: Horizon = 12,
    presence: Presence = "0.8",
    recipe: Recipe = "paper",
    seeds: Seeds = 10,
    seed: Seed = 0,
    steps: Steps = 100_000,
    memory: MemoryOption = None,
    proposal: ProposalOption = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the chart, tables and runs; it resumes there.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare methods with the same number of environment steps, next to the exact optimum.

    Example: evenhand compare doughnuts --stakeholders 3 --horizon 12 --seeds 10 --out results
    """
    comparison = _compare(
        _world(environment, stakeholders, horizon, presence),
        [part.strip() for part in methods.split(",") if part.strip()],
        {
            "recipe": recipe,
            "seeds": seeds,
            "seed": seed,
            "steps": steps,
            "out": out,
            **_variants(memory, proposal),
        },
        as_json,
    )
    if out is not None:
        _write_chart({recipe: comparison}, out, f"{environment}, {recipe} recipe")
    if as_json:
        print_json(comparison.to_json())
        return
    _print(comparison, f"{environment}, {recipe} recipe, {seeds} seeds of {steps:,} steps")
    if out is not None:
        print(f"\nThe chart is in {out / 'chart.html'}, the numbers are beside it.")


def train_command(
    environment: EnvironmentArgument,
    method: Annotated[str, typer.Option(help="fairqcm, full, min or reset.")] = "fairqcm",
    stakeholders: Stakeholders = 3,
    horizon: Horizon = 12,
    presence: Presence = "0.8",
    recipe: Recipe = "best",
    seeds: Seeds = 1,
    seed: Seed = 0,
    steps: Steps = 10_000,
    memory: MemoryOption = None,
    proposal: ProposalOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the run to this file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Train one method; with --out it saves as it goes and, run again, goes on from there.

    Example: evenhand train doughnuts --method fairqcm --steps 10000 --out fair.run
    """
    from evenhand.envs.names import ENVIRONMENTS
    from evenhand.experiments.compare import EVALUATIONS
    from evenhand.experiments.runs import train
    from evenhand.experiments.tabular import tabular_learner
    from evenhand.plan import plan
    from evenhand.scheme_file import to_table

    world = _world(environment, stakeholders, horizon, presence)
    learner = tabular_learner(world, method, recipe, **_variants(memory, proposal))
    every = steps // EVALUATIONS
    config = {
        "environment": to_table(world, ENVIRONMENTS),
        "method": method,
        "recipe": recipe,
        "memory": memory,
        "proposal": proposal,
        "seeds": list(range(seed, seed + seeds)),
        "steps": every * EVALUATIONS,
        "every": every,
    }
    with progress_bar("training", hidden=as_json) as progress:
        run = train(learner, config, out, lambda done, of, score: progress(done, of))
    best = plan(learner.problem.with_full_memory()).value
    answer = {
        "final_scores": run.scores[-1].tolist(),
        "optimum": best,
        "curve": {"steps": run.steps.tolist(), "scores": run.scores.tolist()},
        "seconds": round(run.seconds, 3),
        "compile_seconds": round(run.compile_seconds, 3),
        "config": config,
    }
    if as_json:
        print_json(answer)
        return
    rows = [
        (f"seed {name}", f"{score:.3f}", f"{best - score:.3f}")
        for name, score in zip(config["seeds"], run.scores[-1], strict=True)
    ]
    print_table(f"{method}, {recipe} recipe", ("", "score", "regret"), rows)
    print(f"\nThe exact optimum is {best:.3f}. Scores are exact values of the greedy policy.")
    if out is not None:
        print(f"The run is in {out}: score it with `evenhand evaluate {out}`.")


def evaluate_command(
    file: Annotated[Path, typer.Argument(help="A run that `evenhand train` or `compare` wrote.")],
    as_json: JsonOption = False,
) -> None:
    """Score what a run has learned, exactly, and how far that is from the optimum.

    Example: evenhand evaluate fair.run
    """
    import jax
    import numpy as np

    from evenhand.envs.names import ENVIRONMENTS
    from evenhand.experiments.runs import load_run
    from evenhand.experiments.tabular import tabular_learner
    from evenhand.plan import plan, regret
    from evenhand.scheme_file import from_table

    run = load_run(file)
    config = run.config
    world = from_table(config["environment"], ENVIRONMENTS, "environment")
    variants = _variants(config["memory"], config["proposal"])
    learner = tabular_learner(world, config["method"], config["recipe"], **variants)
    scores = np.asarray(jax.device_get(learner.evaluate(run.learners).score), dtype=float)
    found = plan(learner.problem.with_full_memory())
    random = found.random_value()
    answer: dict[str, Any] = {
        "method": config["method"],
        "recipe": config["recipe"],
        "steps": len(run.scores) * config["every"],
        "scores": scores.tolist(),
        "optimum": found.value,
        "random": random,
        "regret": [regret(score, found.value, random)[0] for score in scores],
        "share_of_the_way": [regret(score, found.value, random)[1] for score in scores],
    }
    if as_json:
        print_json(answer)
        return
    rows = [
        (f"seed {name}", f"{score:.3f}", f"{lost:.3f}", f"{share:.1%}")
        for name, score, lost, share in zip(
            config["seeds"], scores, answer["regret"], answer["share_of_the_way"], strict=True
        )
    ]
    title = f"{config['method']}, {config['recipe']} recipe, after {answer['steps']:,} steps"
    print_table(title, ("", "score", "regret", "share of the way"), rows)
    print(f"\nOptimum {found.value:.3f}, acting at random {random:.3f}.")


def reproduce_command(
    figure: Annotated[str, typer.Argument(help="Which figure of the paper: tabular.")],
    seeds: Seeds = 10,
    out: Annotated[Path, typer.Option(help="A folder for the figure; it resumes there.")] = Path(
        "reproduced"
    ),
    as_json: JsonOption = False,
) -> None:
    """Make a figure of the paper anew, with the better recipe and the optimum beside it.

    Example: evenhand reproduce tabular --out reproduced
    """
    from evenhand.envs import Doughnuts
    from evenhand.errors import BadParameter

    if figure != "tabular":
        raise BadParameter(f"there is no figure {figure!r} yet: there is tabular.")
    world = Doughnuts(num_stakeholders=3, horizon=12, presence=0.8)
    learned = ["fairqcm", "full", "min", "reset"]
    folder = out / figure
    # Imagined memories buy updates, 9 a step for FairQCM; Full needs 9 times the steps for as many.
    parts: dict[str, tuple[str, list[str], int]] = {
        "paper": ("paper", [*learned, "oracle", "random"], 100_000),
        "best": ("best", ["fairqcm", "full"], 100_000),
        "as many updates": ("paper", ["full"], 900_000),
    }
    comparisons = {}
    for name, (recipe, methods, steps) in parts.items():
        options = {"recipe": recipe, "seeds": seeds, "seed": 0, "steps": steps}
        options["out"] = folder / name.replace(" ", "-")
        comparisons[name] = _compare(world, methods, options, as_json)
    drawn = {name: one for name, one in comparisons.items() if name != "as many updates"}
    _write_chart(drawn, folder, "Tabular Q-learning for resource allocation")
    if as_json:
        print_json({name: one.to_json() for name, one in comparisons.items()})
        return
    for name, one in comparisons.items():
        _print(one, f"{name}, {seeds} seeds of {one.settings['steps']:,} steps")
        print()
    print(f"The chart is in {folder / 'chart.html'}.")


def _world(name: str, stakeholders: int, horizon: int, presence: str) -> Any:
    from evenhand.cli.planning import parse_chances
    from evenhand.envs import Doughnuts
    from evenhand.envs.names import ENVIRONMENTS
    from evenhand.errors import BadParameter

    if ENVIRONMENTS.get(name) is not Doughnuts:
        raise BadParameter(f"tabular methods are for doughnuts; {name} is not learned yet.")
    return Doughnuts(stakeholders, horizon, parse_chances(presence))


def _variants(memory: str | None, proposal: str | None) -> dict[str, Any]:
    """Another memory and proposal, by name, with their default parameters."""
    from evenhand.experiments.tabular import PROPOSALS
    from evenhand.memory import MEMORIES
    from evenhand.scheme_file import from_table

    return {
        "memory": None if memory is None else from_table(memory, MEMORIES, "memory"),
        "proposal": None if proposal is None else from_table(proposal, PROPOSALS, "proposal"),
    }


def _compare(world: Any, methods: list[str], options: dict[str, Any], quiet: bool) -> Comparison:
    from evenhand.experiments.compare import compare

    with progress_bar("learning", hidden=quiet) as progress:
        learned = [name for name in methods if name not in ("oracle", "random")]

        def show(method: str, done: int, of: int, score: float) -> None:
            progress(learned.index(method) * of + done, len(learned) * of)

        return compare(world, methods, **options, progress=show)


def _write_chart(comparisons: dict[str, Comparison], folder: Path, title: str) -> None:
    from evenhand.experiments.chart import learning_curves, to_page
    from evenhand.files import write_whole

    write_whole(folder / "chart.html", to_page(learning_curves(comparisons, title)))


def _print(comparison: Comparison, title: str) -> None:
    rows = []
    for name, result in comparison.to_json()["methods"].items():
        low, high = result["interval"]
        steps = [s for s in result["steps_to"]["99%"] if s is not None]
        reached = f"{len(steps)} of {len(result['scores'])}"
        rows.append(
            (
                name,
                f"{result['iqm']:.2f}",
                f"{low:.2f} to {high:.2f}",
                f"{round(result['regret'], 2) + 0.0:.2f}",  # never −0.00
                f"{result['not_wasted']:.2f}",
                f"{reached}, by {max(steps):,}" if steps else reached,
                f"{result['seconds']:.1f}",
            )
        )
    columns = ("", "IQM", "95% interval", "regret", "not wasted", "seeds at 99%, steps", "s")
    print_table(title, columns, rows)
    optimum, random = comparison.optimum, comparison.random
    print(f"\nThe exact optimum is {optimum:.2f}; acting at random scores {random:.2f}.")
