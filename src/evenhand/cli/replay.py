"""`evenhand replay`: what other rules would have done with the supply of a log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.audit import audit_command
from evenhand.cli.log_options import OUT, READING, borrow_options, files_read, read_options
from evenhand.cli.output import JsonOption, print_json, print_table, print_written, working
from evenhand.errors import visible

if TYPE_CHECKING:
    from evenhand.decide.replay.answer import ReplayAnswer
    from evenhand.decide.replay.next_supply import NextPlan

SHOWN_SHARES = 60  # of a plan; all are in the JSON output
RULES_PANEL = "Who is next"


@borrow_options(audit_command, READING, into="reading")
def replay_command(
    log: Annotated[
        str,
        typer.Argument(
            help="The log: a .csv, .parquet or .jsonl file, a glob in quotes, or a database, as "
            "for `evenhand audit`."
        ),
    ],
    reading: dict[str, Any],
    rule: Annotated[
        list[str] | None,
        typer.Option(
            help="A rule (may be repeated): least_served, even_out, proportional, half_life:7d, "
            "virtual_time, longest_wait, deadline:10, round_robin, lottery, weighted_lottery, "
            "first_come; or the file of a policy (evenhand train --out) or a plan (evenhand plan "
            "--save). Default: the usual ones.",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Break ties by a draw with this seed, which lotteries use too. Default: ties go "
            "by who joined first, then by the order of the stakeholders.",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None,
    coming: Annotated[
        str | None,
        typer.Option(
            "--next",
            help="A file of the supply expected next, with the columns of time and amount: what "
            "to give whom, so that all are even as soon as can be (by --rule, default even_out).",
            rich_help_panel=RULES_PANEL,
        ),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the log as the rule would have made it (.csv or .parquet; name one rule), "
            "or a page with the table (.html). May be repeated.",
            rich_help_panel=OUT,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Decide the supply of a log anew by other rules: how fair would that have been, and to whom?

    Example: evenhand replay shipments.csv --stakeholder country --time date --amount doses
    --rule least_served --rule half_life:4w

    A row of the log is a lot, which goes to one stakeholder whole; rules that divide (even_out,
    proportional) share what was given out at a time. Supply, requests and who was there stay as
    they were.
    """
    # The products here are small: threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from evenhand.decide.replay.answer import write_replayed
    from evenhand.decide.replay.replay_log import replay_with
    from evenhand.log.layout import shown

    options = read_options("replay", [log], reading, as_json)
    asked = _asked(rule, seed, coming)
    pages, logs = _places(log, {**reading, "next": coming}, out or [], rule or [])
    with working(f"replaying {shown(log)}", hidden=as_json):
        answer = replay_with(log, options, asked)
    for path in logs:
        write_replayed(path, answer, answer.outcomes[0], options)
    if pages:
        _write_pages(answer, pages)
    if as_json:
        print_json(answer.to_json())
    else:
        _print(answer)
        print_written(out or [])


def _asked(rules: list[str] | None, seed: int | None, coming: str | None) -> Any:
    """The rules; a seed breaks ties, and is that of lotteries that name none."""
    from evenhand.decide.replay.replay_log import ReplayOptions
    from evenhand.decide.rules.rule import ByDraw, InOrder

    ties = InOrder() if seed is None else ByDraw(seed)
    return ReplayOptions(rules or (), ties, seed, coming)


def _places(
    log: str, reading: dict[str, Any], out: list[Path], rules: list[str]
) -> tuple[list[Path], list[Path]]:
    """Where pages and logs are to be written; refused if that cannot be."""
    from evenhand._util.files import require_apart, require_place
    from evenhand._util.wording import pluralise
    from evenhand.decide.replay.answer import require_writable
    from evenhand.errors import BadParameter

    pages = [path for path in out if path.suffix.lower() in (".html", ".htm")]
    logs = [path for path in out if path not in pages]
    for path in logs:
        require_writable(path)
    if logs and len(rules) != 1:
        raise BadParameter(
            f"--out writes the log of one rule, and {pluralise(len(rules), 'rule')} "
            f"{'was' if len(rules) == 1 else 'were'} named: name one with --rule."
        )
    named = ("requests", "entitlement", "roster", "scheme", "next")
    require_apart(out, files_read([log], [reading[name] for name in named]))
    for path in out:
        require_place(path, "out")
    return pages, logs


def _write_pages(answer: ReplayAnswer, pages: list[Path]) -> None:
    from evenhand._util.files import write_whole
    from evenhand.report.html.replay_page import replay_page

    for path in pages:
        write_whole(path, replay_page(answer))


def _print(answer: ReplayAnswer) -> None:
    print(visible(answer.verdict))
    for sentence in answer.learned:
        print(f"\n{visible(sentence)}")
    for ask in answer.asks:
        print(f"\nPlease check first: {visible(ask)}")
    print()
    print_table(
        f"{answer.scheme.describe()} Assessed: {answer.question}. Worst off over the whole time, "
        "and by how much; moved: what would have gone to somebody else by the end.",
        answer.columns(),
        answer.rows(),
    )
    for one in answer.outcomes:
        sentences = [one.promise] if one.promise else []
        sentences += answer.changes(one)
        print(f"\n{visible(one.name)}: next is {one.rule.describe() if one.rule else ''}.")
        for sentence in sentences:
            print(f"- {visible(sentence)}")
    if answer.plan is not None:
        _print_plan(answer.plan)
    print(f"\n{answer.held_fixed} Ties are broken {answer.ties}.")
    print("\nNotes on the data")
    for note in answer.notes:
        if note not in answer.asks:
            print(f"- {visible(note)}")


def _print_plan(plan: NextPlan) -> None:
    """What to give whom next."""
    from evenhand._util.wording import format_number

    print(f"\nWhat to give whom next: {visible(plan.verdict)}\n")
    rows = [
        (one.time, one.name, format_number(one.amount), f"it {one.reason}")
        for one in plan.shares[:SHOWN_SHARES]
    ]
    if len(plan.shares) > SHOWN_SHARES:
        rows.append((f"… {len(plan.shares) - SHOWN_SHARES:,} more", "", "", ""))
    columns = ("when", "to", "amount", "why")
    print_table(f"Next is {plan.rule.describe()}.", columns, rows, numbers=False)
    if plan.left_over:
        print(f"{format_number(plan.left_over)} is left over: nobody wants it.")
