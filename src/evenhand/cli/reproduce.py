"""`evenhand reproduce`: the paper's figures made anew, one by one or all on one page."""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.compare import print_comparison, write_chart
from evenhand.cli.learning_options import Ray, at_most, executor
from evenhand.cli.output import JsonOption, print_json, print_table, progress_bar
from evenhand.errors import BadParameter, UnknownName

if TYPE_CHECKING:
    from evenhand.lab.executors import Executor
    from evenhand.lab.reproduction import Remaining, Reproduction


STUDIES = ("many", "proposals", "recipe", "parts")  # in benchmarks/studies


def reproduce_command(
    figure: Annotated[
        str,
        typer.Argument(
            help="Which figure: tabular, doughnuts, lending, lending-gaussian, doughnuts-ablation "
            "or lending-ablation; all of the paper; or, in a checkout, a table of ours: recipe "
            "(the default on every world), parts (what each part of it is worth), many "
            "(stakeholders) or proposals (which imagined memories pay)."
        ),
    ],
    seeds: Annotated[
        int | None,
        typer.Option(
            help="How many runs of each method. Default: 10 (3 with --quick); of many 5 and of "
            "proposals 10, also with --quick.",
            min=1,
            callback=at_most("--seeds"),
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of the steps: to see it work, not to judge.")
    ] = False,
    out: Annotated[Path, typer.Option(help="A folder for the figure; it resumes there.")] = Path(
        "reproduced"
    ),
    ray: Ray = None,
    as_json: JsonOption = False,
) -> None:
    """Make a figure of the paper anew, with the better recipe and the optimum beside it.

    `all` makes every figure, checks every theorem and every claim, and puts it on one page.

    Example: evenhand reproduce all --quick --out reproduced
    """

    from evenhand._util.files import require_folder
    from evenhand.lab.reproduction import (
        ALL,
        FIGURES,
        QUICK_SEEDS,
        Remaining,
        reproduce_all,
        reproduce_figure,
    )

    if figure not in (*FIGURES, *STUDIES, "all"):
        known = ", ".join((*FIGURES, *STUDIES))
        raise UnknownName(f"there is no figure {figure!r}: there are {known} and all.")
    require_folder(out, "out")
    if ray is not None and figure in STUDIES and figure != "recipe":
        raise BadParameter(
            f"--ray spreads figures of the paper and recipe over a cluster, and {figure} is made "
            "in one process: leave it out."
        )
    folder = out / "quick" if quick else out
    if figure in STUDIES:
        _study(figure, folder / figure, seeds, quick, executor(ray), as_json)
        return
    number = seeds or (QUICK_SEEDS if quick else 10)
    names = ALL if figure == "all" else (figure,)
    spread = executor(ray)
    with _bar(Remaining(names, number, quick), as_json) as (on_progress, on_stage):
        if figure == "all":
            found = reproduce_all(folder, number, quick, on_progress, on_stage, executor=spread)
        else:
            comparisons = reproduce_figure(
                figure, folder, number, quick, on_progress, executor=spread
            )
    if figure == "all":
        _show_all(found, folder, as_json)
        return
    asked = FIGURES[figure]
    drawn = {name: one for name, one in comparisons.items() if asked.parts[name].drawn}
    write_chart(comparisons, folder / figure, asked.title, drawn)
    if as_json:
        print_json({name: one.to_json() for name, one in comparisons.items()})
        return
    for name, one in comparisons.items():
        print_comparison(one, f"{name}, {number} seeds of {one.spec.steps:,} steps")
        print()
    print(f"The chart is in {folder / figure / 'chart.html'}.")


def _study(
    name: str,
    folder: Path,
    seeds: int | None,
    quick: bool,
    spread: Executor | None,
    as_json: bool,
) -> None:
    """A table of ours, made by a script of the checkout."""
    study = _script(name)
    hidden = as_json or study.BAR is None
    with progress_bar(study.BAR or "", hidden=hidden) as progress:
        made = study.make(folder, seeds, quick, progress, spread)
    if as_json:
        print_json(made.numbers)
        return
    for title, (columns, rows) in made.tables.items():
        print_table(title, columns, rows, numbers=made.aligned)
        print()
    print(made.kept)


def _script(name: str) -> ModuleType:
    """The module of a study: it lies beside the package in a checkout, and is not installed."""
    checkout = Path(__file__).parents[3]
    if not (checkout / "benchmarks" / "studies" / f"{name}.py").exists():
        raise BadParameter(
            f"{name} is a study of ours, which comes with the source of evenhand and not with the "
            "installed package: run it in a checkout (make demo sets one up), or make a figure of "
            "the paper."
        )
    sys.path.insert(0, str(checkout))
    try:
        return importlib.import_module(f"benchmarks.studies.{name}")
    finally:
        sys.path.remove(str(checkout))


def _show_all(found: Reproduction, folder: Path, as_json: bool) -> None:
    """Write the page and the numbers, and say what came out."""
    from evenhand._util.files import write_whole
    from evenhand.report.html.reproduction_page import reproduction_page, to_markdown

    write_whole(folder / "all.json", json.dumps(found.to_json(), indent=2).encode())
    write_whole(folder / "all.md", to_markdown(found).encode())
    write_whole(folder / "index.html", reproduction_page(found))
    if as_json:
        print_json(found.to_json())
        return
    rows = [(claim.where, claim.says, finding.word) for _, claim, finding in found.claims]
    rows += [(one.where, one.says, finding.word) for one, finding in found.theorems]
    quick = ", after a tenth of the steps: to see it work, not to judge"
    title = f"The paper's claims{quick if found.about['quick'] else ''}"
    print_table(title, ("where", "it says", ""), rows, numbers=False)
    print(f"\nThe page is {folder / 'index.html'}; the numbers are beside it.")


@contextlib.contextmanager
def _bar(
    remaining: Remaining, hidden: bool
) -> Iterator[tuple[Callable[..., None], Callable[[str], None]]]:
    """A bar over everything asked for, with what is being done and how long is left."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(), TextColumn("{task.fields[left]}"), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), disable=hidden, transient=True) as bar:
        task = bar.add_task("beginning", total=1.0, left="")

        def on_progress(
            name: str, part: str, method: str, done: int, of: int, score: float
        ) -> None:
            remaining.moved(name, part, method, done / of)
            words = f"{name}, {part}: {method}, {done / of:.0%}, score {score:,.1f}"
            bar.update(task, completed=remaining.share, description=escape(words))
            bar.update(task, left=_left(remaining.seconds))

        def on_stage(words: str) -> None:
            bar.update(task, description=escape(words), left=_left(remaining.seconds))

        yield on_progress, on_stage


def _left(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute left"
    return f"about {minutes} min left" if minutes < 90 else f"about {minutes / 60:.1f} h left"
