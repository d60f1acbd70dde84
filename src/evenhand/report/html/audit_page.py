"""The page of an audit, and an answer as a notebook shows it."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from evenhand.auditing.answer import Answer, StakeholderAnswer
from evenhand.auditing.compare_logs import LogComparison
from evenhand.auditing.judge import name_of as welfare_name
from evenhand.auditing.verdict import Direction
from evenhand.report.html import charts, over_time, stakeholders
from evenhand.report.html.about import how_made, how_to_read
from evenhand.report.html.charts import TimeAxis
from evenhand.report.html.element import (
    Child,
    Markup,
    PageSection,
    asset,
    element,
    figure_of,
    joined,
    name_of,
    page,
    percent,
    table,
)
from evenhand.report.html.first_screen import (
    by_chance,
    lead,
    light,
    stakeholder_story,
    tiles,
    verdict,
)
from evenhand.report.html.page_data import compact_answer

# The page of an audit: one log, or two logs compared, as a file that can be sent.

TITLE = "Fairness over time"
QUESTIONS = "Does the verdict depend on the question?"


def report(found: Answer | LogComparison, made: datetime.datetime | None = None) -> bytes:
    """The page of an audit, as the bytes of an HTML file that opens offline.

    Args:
        found: The answer of `audit`, or the comparison of two logs by `compare`.
        made: The time to show as the time at which the page was made. By default no time is shown,
            and the same audit gives the same bytes.

    >>> import pandas as pd
    >>> from evenhand.auditing import audit
    >>> log = pd.DataFrame({"day": [1, 2], "clinic": ["A", "B"], "doses": [5, 5]})
    >>> page = report(audit(log, stakeholder="clinic", time="day", amount="doses"))
    >>> page[:15]
    b'<!doctype html>'
    """
    answers = (found,) if isinstance(found, Answer) else (found.first, found.second)
    logs = [compact_answer(answer) for answer in answers]
    data: dict[str, Any] = {"logs": logs, "from_even": over_time.against_even(answers)}
    if isinstance(found, LogComparison):
        data |= {k: v for k, v in found.to_json().items() if k != "logs"}
    parts = [PageSection("verdict", "The verdict", verdict(found)), *_sections(found, answers)]
    parts += [
        PageSection("notes", "Data notes", _notes(found, answers)),
        PageSection("reading", "How to read this", how_to_read(answers[0])),
        PageSection("made", "How this file was made", how_made(answers, made)),
    ]
    return page(
        title=answers[0].presentation.title
        or f"{TITLE}: {', '.join(answer.label for answer in answers)}",
        head=_head(answers),
        parts=parts,
        data=data,
        charts=audit_charts(answers, logs),
        scripts=("audit.js",),
    )


def _head(answers: Sequence[Answer]) -> Markup:
    first = answers[0]
    names: list[Child] = [name_of(_log_name(first))]
    for answer in answers[1:]:
        names += [" and ", name_of(_log_name(answer))]
    span = f"{first.overall.first} to {first.overall.last}, assessed: {first.question}"
    told = first.presentation
    about = None if told.description is None else element("p", {"class": "about"}, told.description)
    return joined(
        (
            Markup(asset("patterns.svg")),
            element("h1", None, told.title or TITLE),
            about,
            element("p", {"class": "sub"}, names, element("br"), span),
        )
    )


def _log_name(answer: Answer) -> str:
    """A file without its folders, which are among how the page was made."""
    is_file = any(file["path"] == answer.label for file in answer.origin.get("files", ()))
    return PurePath(answer.label).name if is_file else answer.label


def _sections(found: Answer | LogComparison, answers: Sequence[Answer]) -> list[PageSection]:
    if isinstance(found, Answer):
        charts = joined((over_time.welfare_over_time(answers), over_time.spread(found, 0)))
        return [
            PageSection("over-time", "Fairness over time", charts),
            *_stakeholder_sections(found, 0),
            PageSection("questions", QUESTIONS, over_time.question_table(found.questions)),
        ]
    parts = [
        PageSection("over-time", "Fairness over time", over_time.welfare_over_time(answers)),
        PageSection("questions", QUESTIONS, over_time.comparison_table(found)),
    ]
    for log, answer in enumerate(answers):
        own = [
            PageSection(
                "",
                "Verdict on this log",
                joined((element("p", None, answer.verdict), by_chance(answer))),
            ),
            PageSection("", "Fairness over time", over_time.spread(answer, log)),
            *_stakeholder_sections(answer, log),
            PageSection("", QUESTIONS, over_time.question_table(answer.questions)),
        ]
        body = joined((element("h3", None, part.title), part.body) for part in own)
        label = element("p", None, name_of(answer.label))
        parts.append(PageSection(f"log{log + 1}", f"Log {log + 1}", joined((label, body))))
    return parts


def _stakeholder_sections(answer: Answer, log: int) -> list[PageSection]:
    who = f"Who was {answer.terms.direction.worse} the mean, and when"
    return [
        PageSection("heatmap", who, stakeholders.heatmap(answer, log)),
        PageSection(
            "recovered", "Who recovered, who fell behind", stakeholders.recovered(answer, log)
        ),
        PageSection("story", "One stakeholder over time", stakeholder_story(answer, log)),
    ]


def _notes(found: Answer | LogComparison, answers: Sequence[Answer]) -> Markup:
    notes: list[tuple[str | None, str]] = [(None, note) for note in answers[0].notes]
    if isinstance(found, LogComparison):
        notes = [(None, note) for note in found.notes]
        for log, answer in enumerate(answers):
            notes += [(f"Log {log + 1}: ", note) for note in answer.notes]
    if not notes:
        return element("p", None, "Nothing unusual was found in the data.")
    return element("ul", None, (element("li", None, which, note) for which, note in notes))


def audit_charts(answers: Sequence[Answer], logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The specifications of all charts of an audit, by name."""
    axis = TimeAxis.of(
        [time for log in logs for time in log["over_time"]["times"]],
        all(log["axis"]["dates"] for log in logs),
        [x for log in logs for x in log["axis"]["x"]],
    )
    first = answers[0]
    even = over_time.against_even(answers)
    welfare = f"{'compared with even' if even else 'welfare'} ({welfare_name(first.scheme)})"
    drawn = {
        "welfare": charts.welfare_over_time(axis, welfare, even),
        "spread": charts.spread(axis, first.terms.direction),
        "heatmap": charts.heatmap(),
        "recovery": charts.recovery(),
        "story": charts.story(axis),
        "deviation": charts.deviation(axis),
    }
    return {name: charts.as_spec(chart) for name, chart in drawn.items()}


# An answer as a notebook shows it: the first screen of the page, and a small table.
#
# Its style is the page's, for its own element alone, in the colours of the notebook around it.

SHOWN = 10  # stakeholders, the worst treated ones


def notebook(answer: Answer) -> Markup:
    """The answer as one element."""
    people, told, overall = answer.by_stakeholder, answer.presentation, answer.overall
    shown = f"To whom: {min(len(people), SHOWN):,} of {len(people):,}, treated worst first"
    direction = answer.terms.direction
    columns = ("stakeholder", "status", "at the end", "overall", f"assessments {direction.worse}")
    span = f"{overall.first} to {overall.last}, assessed: {answer.question}"
    about = None if told.description is None else element("p", None, told.description)
    return element(
        "div",
        {"class": "evenhand"},
        joined((Markup("<style>"), Markup(asset("notebook.css")), Markup("</style>"))),
        element("h2", None, told.title or "Fairness over time"),
        about,
        element("p", {"class": "sub"}, name_of(answer.label), element("br"), span),
        lead(answer, linked=False),
        (light(limit, None) for limit in answer.limits),
        (
            element("p", {"class": "ask"}, element("b", None, "Please check first: "), ask)
            for ask in answer.asks
        ),
        tiles(answer),
        table(shown, (*columns, "rank overall"), (_row(one, direction) for one in people[:SHOWN])),
    )


def _row(one: StakeholderAnswer, direction: Direction) -> tuple[Child, ...]:
    return (
        name_of(one.name),
        figure_of(direction.as_logged(one.final)),
        figure_of(direction.as_logged(one.final_unfairness), True),
        figure_of(direction.as_logged(one.overall_unfairness), True),
        percent(one.share_below),
        figure_of(one.rank_overall),
    )
