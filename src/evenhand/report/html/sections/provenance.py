"""How a page was made, so that it can be made again; and its numbers for download."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from evenhand.auditing.answer import Answer
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, labelled_list
from evenhand.report.html.page_data import is_rounded, kept_assessments

SHEETS = (
    ("stakeholders", "Stakeholders (CSV)"),
    ("over_time", "Over time (CSV)"),
    ("questions", "Questions (CSV)"),
)


def how_made(answers: Sequence[Answer], made: datetime.datetime | None) -> Markup:
    """Command, version, time, and the fingerprints of the input and of what was judged."""
    first = answers[0].origin
    rows: list[tuple[Child, Child]] = []
    if "command" in first:
        rows.append(("Command", element("code", None, first["command"])))
    rows.append(("Version", f"evenhand {first.get('version', '')}"))
    if made is not None:
        moment = made.astimezone(datetime.UTC)
        rows.append(("Time", f"{moment:%Y-%m-%d %H:%M:%S} UTC"))
    for answer in answers:
        rows += _input(answer)
    columns = answers[0].presentation.columns
    if columns:
        words = (f"{role}: {name}" for role, name in columns)
        rows.append(("Columns of the log", joined(element("div", None, one) for one in words)))
    return joined((labelled_list(rows), downloads(answers)))


def _input(answer: Answer) -> list[tuple[Child, Child]]:
    origin = answer.origin
    rows: list[tuple[Child, Child]] = []
    for file in origin.get("files", ()):
        digest = element("code", None, file["sha256"] or "not computed: a large file")
        words = (element("code", None, file["path"]), ", ", figure_of(file["bytes"]), " bytes")
        rows.append(("Input", words))
        rows.append(("Its SHA-256", digest))
    if "rows" in origin:
        rows.append(
            (
                "Read",
                (figure_of(origin["rows"]), " rows, ", figure_of(origin["events"]), " events"),
            )
        )
    if "fingerprint" in origin:
        digest = element("code", None, origin["fingerprint"])
        rows.append(("Fingerprint of what was judged", digest))
    return rows


def downloads(answers: Sequence[Answer]) -> Markup:
    """The numbers in the page, as files."""
    buttons = [_button("json", "All numbers (JSON)", None)]
    for log in range(len(answers)):
        which = f", log {log + 1}" if len(answers) > 1 else ""
        buttons += [_button(kind, f"{label}{which}", log) for kind, label in SHEETS]
    less = [
        f"Unfairness over time is included for {len(kept_assessments(answer)):,} assessments, with "
        "seven digits relative to the largest value; evenhand audit --json has all."
        for answer in answers
        if is_rounded(answer)
    ]
    return joined(
        (
            element("h3", None, "The numbers"),
            element("p", None, "They are in this file and can be saved from it. ", *less[:1]),
            element("div", {"class": "controls saves"}, buttons),
            element(
                "noscript",
                None,
                element(
                    "p",
                    None,
                    "Saving needs this page's script, which is not running; --json and --csv "
                    "write the same numbers.",
                ),
            ),
        )
    )


def _button(kind: str, label: str, log: int | None) -> Markup:
    attributes = {"type": "button", "data-save": kind, "data-log": log, "disabled": True}
    return element("button", attributes, label)
