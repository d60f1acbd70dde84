"""`evenhand benchmark`: methods side by side on worlds with known optima, and leaderboards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.learning_options import Ray, Seed, Seeds, chosen_seeds, executor
from evenhand.cli.output import JsonOption, print_json, print_table, progress_bar
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.lab.leaderboard import Leaderboard, PairRow

DEFAULT_WORLDS = "doughnuts,small_taxi,fish_wood"


def benchmark_command(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Results files to put side by side (--leaderboard).")
    ] = None,
    worlds: Annotated[
        str,
        typer.Option(
            help="Worlds, with commas between them: names, mo/ID of MO-Gymnasium; or one JSON "
            'table such as {"name": "taxi", "horizon": 30}.'
        ),
    ] = DEFAULT_WORLDS,
    schemes: Annotated[
        str, typer.Option(help="When fairness is assessed: long-term, periodic, anytime.")
    ] = "long-term,periodic,anytime",
    methods: Annotated[
        str | None,
        typer.Option(help="Which methods, with commas between them. Default: all built-in ones."),
    ] = None,
    seeds: Seeds = 10,
    seed: Seed = 0,
    steps: Annotated[
        int, typer.Option(help="Decisions that every run may learn from.", min=100)
    ] = 20_000,
    search: Annotated[
        int,
        typer.Option(
            help="Settings tried of each method, 1 to 4; 1 takes the first.", min=1, max=4
        ),
    ] = 4,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for results.json, page.html and one file per method, setting, world and "
            "scheme; it resumes there."
        ),
    ] = None,
    leaderboard: Annotated[
        bool, typer.Option("--leaderboard", help="Run nothing: put the FILES side by side.")
    ] = False,
    ray: Ray = None,
    as_json: JsonOption = False,
) -> None:
    """Run methods on worlds whose optimum is known, with equal budgets, or compare results files.

    Example: evenhand benchmark --worlds doughnuts --steps 5000 --out benchmark

    Example: evenhand benchmark --leaderboard benchmark/results.json own_method.json
    """
    from evenhand._util.files import require_folder
    from evenhand.lab.benchmark_results import merge_results, read_results
    from evenhand.lab.leaderboard import Leaderboard

    if out is not None:
        require_folder(out, "out")
    if files and not leaderboard:
        raise BadParameter(
            f"{files[0]} is a results file: add --leaderboard to put results side by side."
        )
    if leaderboard:
        results = merge_results([(str(path), read_results(path)) for path in files or ()])
    else:
        options = {"seeds": seeds, "seed": seed, "steps": steps, "search": search}
        results = _run(worlds, schemes, methods, options, out, ray, as_json)
    board = Leaderboard(results)
    if out is not None:
        _write(board, out)
    if as_json:
        print_json(board.to_json())
        return
    print_board(board)
    if out is not None:
        print(f"\nThe page is {out / 'page.html'}, the results are in {out / 'results.json'}.")


def _run(
    worlds: str,
    schemes: str,
    methods: str | None,
    options: dict[str, Any],
    out: Path | None,
    ray: str | None,
    quiet: bool,
) -> Any:
    from evenhand.lab.benchmark_methods import every_method
    from evenhand.lab.benchmark_worlds import pairs_of
    from evenhand.lab.run_benchmark import run_benchmark

    chosen_seeds(options["seed"], options["seeds"])
    asked = [worlds] if worlds.lstrip().startswith("{") else _names(worlds, "worlds")
    pairs = pairs_of(asked, _names(schemes, "schemes"))
    names = (
        list(dict.fromkeys(name for pair in pairs for name in every_method(pair)))
        if methods is None
        else _names(methods, "methods")
    )
    with progress_bar("benchmark", hidden=quiet) as bar:
        return run_benchmark(
            pairs,
            names,
            **options,
            out=out,
            executor=executor(ray),
            progress=lambda _, done, of: bar(done, of),
        )


def _names(text: str, option: str) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise BadParameter(f"--{option} names none: leave it out for the default.")
    return names


def _write(board: Leaderboard, out: Path) -> None:
    from evenhand._util.files import write_whole
    from evenhand.report.html.benchmark_page import benchmark_page

    out.mkdir(parents=True, exist_ok=True)
    board.results.write(out / "results.json")
    write_whole(out / "page.html", benchmark_page(board))


def print_board(board: Leaderboard) -> None:
    """Where ours loses first, then all together, then each pair."""
    from evenhand._util.numbers import interval_title
    from evenhand.lab.leaderboard import loss_sentences

    for sentence in loss_sentences(board):
        print(sentence)
    print()
    if board.standings:
        rows = [
            [
                one.method if one.learns else f"{one.method} (does not learn)",
                f"{one.pairs} of {len(board.known)}",
                f"{one.share.value:z.1%}",
                f"{one.share.low:z.1%} to {one.share.high:z.1%}",
                "" if one.ours_better is None else f"{one.ours_better.value:.0%}",
            ]
            for one in board.standings
        ]
        interval = interval_title(board.fewest_seeds(board.known))
        columns = ["", "pairs", "share (IQM)", interval, "fairqcm is better"]
        print_table("All pairs with a known optimum together", columns, rows)
    for name, facts in board.results.pairs.items():
        print()
        interval = interval_title(board.fewest_seeds([name]))
        columns = ["", "IQM", "share", interval, "regret", "steps to 95%", "SER", "s"]
        print_table(name, columns, [_cells(row) for row in board.rows[name]])
        if facts.optimum is None:
            print(f"There is {facts.note or 'no known optimum'}.")
        else:
            print(f"The exact optimum is {facts.optimum:,.6g}; random play: {facts.random:,.6g}.")
    for one in board.results.skipped:
        print(f"Not run: {one['method']} on {one['pair']}: {one['why']}")


def _cells(row: PairRow) -> list[str]:
    low, high = (row.share or row.score)[1:]
    span = f"{low:z.1%} to {high:z.1%}" if row.share else f"{low:,.3g} to {high:,.3g}"
    reached = "" if row.steps_to_level is None else f"{row.steps_to_level:,.0f}"
    return [
        row.method,
        f"{row.score.value:,.4g}",
        "" if row.share is None else f"{row.share.value:z.1%}",
        span,
        "" if row.regret is None else f"{row.regret:,.3g}",
        reached,
        "" if row.welfare_of_means is None else f"{row.welfare_of_means:,.4g}",
        f"{row.seconds:,.0f}",
    ]
