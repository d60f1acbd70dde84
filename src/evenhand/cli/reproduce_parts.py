"""`evenhand reproduce parts`: learning beside simple rules, and what each part of it is worth."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from evenhand.cli.output import print_json, print_table
from evenhand.errors import BadParameter


def reproduce_parts(folder: Path, seeds: int, quick: bool, as_json: bool) -> None:
    """Train what is not in the folder yet, write the two tables there, and print them.

    Args:
        folder: Where each finished part is written.
        seeds: How many learners of each variant.
        quick: A tenth of the steps: to see it work, not to judge.
        as_json: Whether to print all numbers as JSON in place of the tables.
    """
    from evenhand._util.files import write_whole
    from evenhand.experiments.ablation import study_table
    from evenhand.experiments.ablation.study import Study
    from evenhand.experiments.ablation.tabular_study import TABLES, study_tables
    from evenhand.experiments.running.reference_scores import yardstick

    if seeds < 2:
        raise BadParameter("--seeds is 1: a table with intervals needs at least 2.")
    studies = Study(folder, seeds, quick).run(
        lambda name, variant: print(f"{name}: {variant}", file=sys.stderr)
    )
    in_tables = {name: study_tables(folder, name, seeds, quick) for name in TABLES}
    against = {name: yardstick(environment) for name, environment in TABLES.items()}
    tables = {
        "Learning beside simple rules": (
            study_table.heading_against_rules(seeds),
            study_table.rows_against_rules(studies),
        ),
        "What each part is worth": (study_table.PARTS, study_table.rows_of_parts(studies)),
        "What imagining is worth to tables": (
            study_table.TABLES,
            study_table.rows_of_tables(in_tables, against),
        ),
    }
    pages = (f"## {name}\n\n{study_table.to_markdown(*one)}" for name, one in tables.items())
    write_whole(folder / "tables.md", "\n".join(pages).encode())
    write_whole(
        folder / "parts.csv", study_table.to_csv(*tables["What each part is worth"]).encode()
    )
    numbers = study_table.to_json(studies)
    write_whole(folder / "results.json", json.dumps(numbers, indent=2).encode())
    if as_json:
        print_json(numbers)
        return
    for name, (heading, rows) in tables.items():
        print_table(name, heading, rows, numbers=False)
        print()
    print(f"The tables are in {folder / 'tables.md'}, the numbers beside it.")
