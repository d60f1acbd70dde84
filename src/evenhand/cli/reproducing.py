"""`evenhand reproduce`: the paper's figures made anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.comparing import print_comparison, run_comparison, write_chart
from evenhand.cli.learning import Seeds
from evenhand.cli.output import JsonOption, print_json
from evenhand.errors import UnknownName


def reproduce_command(
    figure: Annotated[
        str,
        typer.Argument(
            help="Which figure: tabular, doughnuts, lending, lending-gaussian, doughnuts-ablation "
            "or lending-ablation."
        ),
    ],
    seeds: Seeds = 10,
    out: Annotated[Path, typer.Option(help="A folder for the figure; it resumes there.")] = Path(
        "reproduced"
    ),
    as_json: JsonOption = False,
) -> None:
    """Make a figure of the paper anew, with the better recipe and the optimum beside it.

    Example: evenhand reproduce doughnuts --out reproduced
    """
    from evenhand.experiments.figures import FIGURES
    from evenhand.files import write_whole

    if figure not in FIGURES:
        raise UnknownName(f"there is no figure {figure!r}: there are {', '.join(FIGURES)}.")
    asked = FIGURES[figure]
    folder = out / figure
    comparisons = {}
    for name, part in asked.parts.items():
        options = {
            "recipe": part.recipe,
            "seeds": seeds,
            "seed": 0,
            "steps": part.steps,
            "deep": asked.deep,
            "settings": part.settings,
            "out": folder / "".join(c if c.isalnum() else "-" for c in name),
        }
        comparisons[name] = run_comparison(asked.environment, list(part.methods), options, as_json)
    drawn = {name: one for name, one in comparisons.items() if asked.parts[name].drawn}
    write_chart(drawn, folder, asked.title)
    answer = {name: one.to_json() for name, one in comparisons.items()}
    write_whole(folder / "results.json", json.dumps(answer, indent=2).encode())
    if as_json:
        print_json(answer)
        return
    for name, one in comparisons.items():
        print_comparison(one, f"{name}, {seeds} seeds of {one.settings['steps']:,} steps")
        print()
    print(f"The chart is in {folder / 'chart.html'}.")
