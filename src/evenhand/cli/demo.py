"""`evenhand demo`: the whole story on one page."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli.output import JsonOption, print_json, print_table


def demo(
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path(
        "evenhand-demo.html"
    ),
    as_json: JsonOption = False,
) -> None:
    """Two logs judged, the fairest policy found, and learned: on one page, in a minute or two.

    Example: evenhand demo --out demo.html
    """
    from evenhand._util.files import require_place, write_whole

    require_place(out, "out")
    from evenhand.experiments.paper.demo import build_demo
    from evenhand.report.html.pages.demo_page import demo_page, three_commands

    started = time.perf_counter()
    with _steps(as_json) as (on_stage, progress):
        story = build_demo(on_stage, progress)
        on_stage("The page")
    write_whole(out, demo_page(story))
    methods = story.learning.to_json()["methods"]
    if as_json:
        figures: dict[str, Any] = {
            "page": str(out),
            "seconds": round(time.perf_counter() - started, 1),
            "vaccines": {name: answer.score for name, answer in story.vaccines.items()},
            "year": story.year.verdict,
            "optimum": story.best.value,
            "random": story.random,
            "turn_taking": story.turn_taking,
            "learned": {name: one["scores"] for name, one in methods.items()},
        }
        print_json(figures)
        return
    first, second = story.vaccines
    print(f"{first}: {story.vaccines[first].verdict}\n")
    print(f"{second}: {story.vaccines[second].verdict}\n")
    rows = [("exact optimum", f"{story.best.value:.2f}", "")]
    rows += [(name, f"{one['iqm']:.2f}", f"{one['regret']:.2f}") for name, one in methods.items()]
    rows.append(("at random", f"{story.random:.2f}", f"{story.best.value - story.random:.2f}"))
    print_table("Twelve doughnuts for three customers", ("", "score", "below the optimum"), rows)
    print(f"\nThe whole story is in {out} ({time.perf_counter() - started:.0f} s). Try next:\n")
    for command, what in three_commands():
        print(f"  {command}\n      {what}")


@contextlib.contextmanager
def _steps(hidden: bool) -> Iterator[tuple[Callable[[str], None], Callable[..., None]]]:
    """Each step as it begins, and how long it took: on standard error, for a person."""
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True, quiet=hidden)
    began, doing = time.perf_counter(), ""

    def done() -> None:
        if doing:
            console.print(Text(f"  ✓ {doing} ({time.perf_counter() - began:.0f} s)"))

    with console.status("") as status:

        def on_stage(words: str) -> None:
            nonlocal began, doing
            done()
            began, doing = time.perf_counter(), words
            status.update(Text(f"{words} …"))

        def progress(method: str, steps: int, of: int, score: float) -> None:
            status.update(Text(f"{doing} … {method}, {steps / of:.0%}, score {score:,.2f}"))

        yield on_stage, progress
    done()
