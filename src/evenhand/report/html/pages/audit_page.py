"""An audit's page: one answer, or two side by side, as a file that an auditor can send on."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from evenhand.auditing.answer.answer import Answer
from evenhand.auditing.compare_logs import LogComparison
from evenhand.auditing.judging.sensitivity import name_of as welfare_name
from evenhand.report.html import charts
from evenhand.report.html.element import Child, Markup, element, joined, name_of
from evenhand.report.html.page_data import packed
from evenhand.report.html.sections import over_time, questions, stakeholders
from evenhand.report.html.sections.how_to_read import how_to_read
from evenhand.report.html.sections.provenance import how_made
from evenhand.report.html.sections.stakeholder_story import story
from evenhand.report.html.sections.verdict import verdict
from evenhand.report.html.template import PageSection, asset, page
from evenhand.report.html.time_axis import TimeAxis

TITLE = "Fairness over time"


def report(found: Answer | LogComparison, made: datetime.datetime | None = None) -> bytes:
    """The page of an audit, as the bytes of a file; `made` is when it was made."""
    answers = (found,) if isinstance(found, Answer) else (found.first, found.second)
    logs = [packed(answer) for answer in answers]
    data: dict[str, Any] = {"logs": logs}
    if isinstance(found, LogComparison):
        data |= {k: v for k, v in found.to_json().items() if k != "logs"}
    parts = [PageSection("verdict", "The verdict", verdict(found)), *_parts(found, answers)]
    parts += [
        PageSection("notes", "Data notes", _notes(found, answers)),
        PageSection("reading", "How to read this", how_to_read(answers[0])),
        PageSection("made", "How this file was made", how_made(answers, made)),
    ]
    return page(
        title=f"{TITLE}: {', '.join(answer.label for answer in answers)}",
        head=_head(answers),
        parts=parts,
        data=data,
        charts=audit_charts(answers, logs),
        scripts=("audit.js",),
    )


def _head(answers: Sequence[Answer]) -> Markup:
    first = answers[0]
    names: list[Child] = [name_of(first.label)]
    for answer in answers[1:]:
        names += [" and ", name_of(answer.label)]
    span = f"{first.overall.first} to {first.overall.last}, assessed: {first.question}"
    return joined(
        (
            Markup(asset("patterns.svg")),
            element("h1", None, TITLE),
            element("p", {"class": "sub"}, names, element("br"), span),
        )
    )


def _parts(found: Answer | LogComparison, answers: Sequence[Answer]) -> list[PageSection]:
    if isinstance(found, Answer):
        course = joined((over_time.course(answers), over_time.spread(found, 0)))
        return [
            PageSection("over-time", "Fairness over time", course),
            *_whom(found, 0),
            PageSection("turns", "Where the verdict turns", questions.turns(found.questions)),
        ]
    parts = [
        PageSection("over-time", "Fairness over time", over_time.course(answers)),
        PageSection("turns", "Where the verdict turns", questions.side_by_side(found)),
    ]
    for log, answer in enumerate(answers):
        own = [
            PageSection("", "Verdict on this log", element("p", None, answer.verdict)),
            PageSection("", "Fairness over time", over_time.spread(answer, log)),
            *_whom(answer, log),
            PageSection(
                "", "Where the verdict on this log turns", questions.turns(answer.questions)
            ),
        ]
        body = joined((element("h3", None, part.title), part.body) for part in own)
        label = element("p", None, name_of(answer.label))
        parts.append(PageSection(f"log{log + 1}", f"Log {log + 1}", joined((label, body))))
    return parts


def _whom(answer: Answer, log: int) -> list[PageSection]:
    return [
        PageSection("who-when", "Who, when", stakeholders.who_when(answer, log)),
        PageSection("made-good", "Made good, or not", stakeholders.made_good(answer, log)),
        PageSection("story", "One stakeholder’s story", story(answer, log)),
    ]


def _notes(found: Answer | LogComparison, answers: Sequence[Answer]) -> Markup:
    notes: list[tuple[str | None, str]] = [(None, note) for note in answers[0].notes]
    if isinstance(found, LogComparison):
        notes = [(None, note) for note in found.notes]
        for log, answer in enumerate(answers):
            notes += [(f"Log {log + 1}: ", note) for note in answer.notes]
    if not notes:
        return element("p", None, "Nothing odd was met in the data.")
    return element("ul", None, (element("li", None, which, note) for which, note in notes))


def audit_charts(answers: Sequence[Answer], logs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The specifications of all charts of an audit, by name."""
    axis = TimeAxis.of(
        [time for log in logs for time in log["over_time"]["times"]],
        all(log["axis"]["dates"] for log in logs),
        [x for log in logs for x in log["axis"]["x"]],
    )
    drawn = {
        "course": charts.course(axis, f"welfare ({welfare_name(answers[0].scheme)})"),
        "spread": charts.spread(axis),
        "heatmap": charts.heatmap(),
        "standing": charts.standing(),
        "story": charts.story(axis),
        "apart": charts.deviation(axis),
    }
    return {name: charts.as_spec(chart) for name, chart in drawn.items()}
