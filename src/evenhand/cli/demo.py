"""`evenhand demo`: the whole story on one page."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.output import JsonOption, print_json, print_table

if TYPE_CHECKING:
    from evenhand.lab.demo import Story


def demo(
    out: Annotated[Path, typer.Option(help="Where the page is written.")] = Path(
        "evenhand-demo.html"
    ),
    as_json: JsonOption = False,
) -> None:
    """One log: judged, chance ruled out, decided anew by rules and by a policy that is learned.

    Example: evenhand demo --out demo.html
    """
    from evenhand._util.files import require_place, write_whole

    require_place(out, "out")
    from evenhand.lab.demo import build_demo
    from evenhand.report.html.demo_page import demo_page

    started = time.perf_counter()
    with _steps(as_json) as on_stage:
        story = build_demo(on_stage)
        on_stage("The page")
        write_whole(out, demo_page(story))
    seconds = time.perf_counter() - started
    if as_json:
        print_json({"page": str(out), "seconds": round(seconds, 1), **_figures(story)})
    else:
        _tell(story, out, seconds)


def _figures(story: Story) -> dict[str, Any]:
    """What was found, as numbers."""
    judged, learned = story.judged, story.learned
    return {
        "naive": story.naive.verdict,
        "verdict": judged.verdict,
        "chance": None if judged.chance is None else judged.chance.to_json(),
        "best": None if judged.best is None else judged.best.to_json(),
        "since": story.since,
        "rules": {one.name: one.score for one in story.rules.everything},
        "learned": None if isinstance(learned, str) else learned.outcome.score,
        "not_learned": learned if isinstance(learned, str) else None,
        "next": [one.to_json() for one in story.turn.ranking],
    }


def _tell(story: Story, out: Path, seconds: float) -> None:
    from evenhand.report.html.demo_page import learned_verdict, next_commands, worst_of
    from evenhand.report.text import chance

    judged = story.judged
    print(f"In crates, {worst_of(story.naive)} is treated worst; per household it is another:\n")
    print(f"{judged.verdict}\n\nCould it be chance? {chance(judged)}\n")
    outcomes = list(story.rules.everything)
    if isinstance(story.learned, str):
        said = f"No policy was learned: {story.learned}"
    else:
        outcomes.append(story.learned.outcome)
        said = learned_verdict(story, story.learned)
    rows = [(one.name, f"{one.score:.3f}") for one in sorted(outcomes, key=lambda one: -one.score)]
    print_table(f"From {story.since} on, by rules and by a policy", ("", "score"), rows)
    first = story.turn.ranking[0]
    print(f"\n{said}\n\nNext, on {story.turn.when}: {first.name}, who {first.reason}.")
    print(f"\nThe whole story is in {out} ({seconds:.0f} s). Try next:\n")
    for command, what in next_commands():
        print(f"  {command}\n      {what}")


@contextlib.contextmanager
def _steps(hidden: bool) -> Iterator[Callable[[str], None]]:
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

        yield on_stage
    done()
