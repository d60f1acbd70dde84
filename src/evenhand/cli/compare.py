"""`evenhand compare`: methods side by side, next to the optimum."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.learning_options import (
    Deep,
    EnvironmentArgument,
    Episodes,
    Horizon,
    MemoryOption,
    Presence,
    ProposalOption,
    Ray,
    Recipe,
    SchemeOption,
    Seed,
    Seeds,
    Stakeholders,
    Steps,
    chosen_seeds,
    executor,
    learning_bar,
    length,
    variants,
    world,
)
from evenhand.cli.output import JsonOption, print_json, print_table

if TYPE_CHECKING:
    from evenhand.lab.compare_methods import MethodComparison


def compare_command(
    environment: EnvironmentArgument,
    methods: Annotated[
        str | None, typer.Option(help="Which methods, with commas between them. Default: all.")
    ] = None,
    stakeholders: Stakeholders = None,
    horizon: Horizon = None,
    presence: Presence = None,
    recipe: Recipe = "paper",
    scheme: SchemeOption = None,
    seeds: Seeds = 10,
    seed: Seed = 0,
    steps: Steps = None,
    episodes: Episodes = None,
    deep: Deep = None,
    memory: MemoryOption = None,
    proposal: ProposalOption = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder for the chart, tables and runs; it resumes there.")
    ] = None,
    ray: Ray = None,
    as_json: JsonOption = False,
) -> None:
    """Compare methods with the same number of environment steps, next to the exact optimum.

    Example: evenhand compare doughnuts --stakeholders 3 --horizon 12 --seeds 10 --out results
    """
    from evenhand._util.files import require_folder
    from evenhand.errors import BadParameter
    from evenhand.lab.compare_methods import all_methods

    if out is not None:
        require_folder(out, "out")
    env, networks = world(environment, deep, episodes, stakeholders, horizon, presence)
    total = length(env, networks, steps, episodes)
    chosen_seeds(seed, seeds)
    chosen = [part.strip() for part in (methods or "").split(",") if part.strip()]
    if methods is not None and not chosen:
        raise BadParameter("--methods names none: leave it out for all of them.")
    options = {
        "recipe": recipe,
        "seeds": seeds,
        "seed": seed,
        "steps": total,
        "deep": networks,
        "out": out,
        "executor": executor(ray),
        **variants(memory, proposal, scheme),
    }
    chosen = chosen or list(all_methods(env, networks, recipe))
    comparison = run_comparison(env, chosen, options, as_json)
    if out is not None:
        write_chart({recipe: comparison}, out, f"{environment}, {recipe} recipe")
    if as_json:
        print_json(comparison.to_json())
        return
    print_comparison(
        comparison,
        f"{environment}, {recipe} recipe, {seeds} seeds of {comparison.spec.steps:,} steps",
    )
    if out is not None:
        print(f"\nThe chart is in {out / 'chart.html'}, the numbers are beside it.")


def run_comparison(
    environment: Any, methods: list[str], options: dict[str, Any], quiet: bool
) -> MethodComparison:
    """Compare the methods, with a bar on standard error that shows how far they are."""
    from evenhand.lab.compare_methods import HARD_CODED, compare

    steps = dict.fromkeys((name for name in methods if name not in HARD_CODED), 0)
    with learning_bar(quiet, environment.horizon) as show:

        def progress(method: str, done: int, of: int, score: float) -> None:
            steps[method] = done  # several learn at a time: the bar is their mean
            finished = sum(taken >= of for taken in steps.values())
            which = f"{finished} of {len(steps)} done, {method}"
            show(which, sum(steps.values()) // len(steps), of, score, at=done)

        return compare(environment, methods, **options, progress=progress)


def write_chart(
    comparisons: dict[str, MethodComparison],
    folder: Path,
    title: str,
    drawn: dict[str, MethodComparison] | None = None,
) -> None:
    """Write the page of learning curves; only `drawn` ones are in the chart, where given."""
    from evenhand._util.files import write_whole
    from evenhand.report.html.learning_page import learning_page

    write_whole(folder / "chart.html", learning_page(comparisons, title, drawn))


def print_comparison(comparison: MethodComparison, title: str) -> None:
    """A table of what each method reached, and what that is measured against."""
    from evenhand._util.numbers import interval_title

    summaries = comparison.to_json()["methods"]
    exact = comparison.optimum is not None
    goal = any(one.get("achieved", 1.0) < 1.0 for one in summaries.values())
    rows = [_row(name, one, exact, goal) for name, one in summaries.items()]
    columns = ["", "IQM", interval_title(len(comparison.spec.seeds))]
    columns += ["regret", "seeds at 99%, steps"] if exact else []
    columns += ["reached the margin" if goal else "not wasted", "s"]
    print_table(title, columns, rows)
    best = f"The exact optimum is {comparison.optimum:,.2f}" if exact else "No optimum is known"
    rules = "".join(f"; {name} scores {score:,.2f}" for name, score in comparison.against.rules)
    print(f"\n{best}; acting at random scores {comparison.random:,.2f}{rules}.")


def _row(name: str, result: dict[str, Any], exact: bool, goal: bool) -> list[str]:
    low, high = result["interval"]
    row = [name, f"{result['iqm']:,.2f}", f"{low:,.2f} to {high:,.2f}"]
    if exact:
        steps = [s for s in result["steps_to"]["99%"] if s is not None]
        reached = f"{len(steps)} of {len(result['scores'])}"
        row.append(f"{round(result['regret'], 2) + 0.0:,.2f}")  # never −0.00
        row.append(f"{reached}, by {max(steps):,}" if steps else reached)
    row.append(f"{result['achieved']:.1%}" if goal else f"{result['not_wasted']:.2f}")
    return [*row, f"{result['seconds']:.1f}"]
