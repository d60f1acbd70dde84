"""Does the verdict depend on the question? Questions by welfare functions, changes marked."""

from __future__ import annotations

from evenhand.auditing.compare_logs import LogComparison, Match
from evenhand.auditing.judge import QuestionRow, WelfareReading
from evenhand.report.html.element import (
    Child,
    Markup,
    element,
    figure_of,
    joined,
    name_of,
    table,
    told_apart,
)
from evenhand.report.html.sections.stakeholders import tied_names

EVEN = {True: "even", False: "", None: ""}


def question_table(rows: tuple[QuestionRow, ...]) -> Markup:
    """One log: who is treated worst under each question, and the score by each welfare."""
    names = list(dict.fromkeys(reading.welfare for row in rows for reading in row.readings))
    caption = (
        "For each question: who is treated worst, and the score by each welfare function, with "
        "that of an even log under it, or “even” where it is the same. ≠ marks a result that "
        "differs from that of your question."
    )
    body = []
    for row in rows:
        by_welfare = {reading.welfare: reading for reading in row.readings}
        body.append(
            (
                _asked(row.question, row.asked),
                (figure_of(row.unequal), " of ", figure_of(row.assessments)),
                (_changed(row.turns), tied_names(row.all_worst)),
                *(_reading(by_welfare[name]) if name in by_welfare else "" for name in names),
            )
        )
    return table(caption, ("question", "unequal", "treated worst", *names), body)


def _reading(reading: WelfareReading) -> Child:
    if reading.score is None:
        return "undefined"
    score: Child = figure_of(reading.score)
    word: Child = EVEN[reading.even]
    if reading.even_score is not None and not reading.even:
        score, even = told_apart(reading.score, reading.even_score)
        word = ("even: ", even)
    return (_changed(reading.turns), score, element("br"), element("small", None, word))


def comparison_table(found: LogComparison) -> Markup:
    """Two logs: which has the higher score under each question and welfare function."""
    labels = {found.first.label: "log 1", found.second.label: "log 2"}
    names = list(dict.fromkeys(match.welfare for match in found.questions))
    rows: dict[str, dict[str, Match]] = {}
    for match in found.questions:
        rows.setdefault(match.question, {})[match.welfare] = match
    body = []
    for question, by_welfare in rows.items():
        asked = any(match.asked for match in by_welfare.values())
        cells = (_match(by_welfare[name], labels) if name in by_welfare else "" for name in names)
        body.append((_asked(question, asked), *cells))
    caption = (
        "Which log is fairer under each question and welfare function, and the scores of log 1 and "
        "log 2. ≠ marks a result that differs from that of your question."
    )
    return joined(
        (
            element(
                "p",
                None,
                "Log 1 is ",
                name_of(found.first.label),
                ", log 2 is ",
                name_of(found.second.label),
                ".",
            ),
            table(caption, ("question", *names), body),
        )
    )


def _match(match: Match, labels: dict[str, str]) -> Child:
    fairer = "equal" if match.fairer is None else labels[match.fairer]
    if None in match.scores:
        return "undefined"
    one, other = told_apart(*(0.0 if score is None else score for score in match.scores))
    scores = element("small", None, one, " : ", other)
    return (_changed(match.turns), fairer, element("br"), scores)


def _asked(question: str, asked: bool) -> Child:
    if not asked:
        return question
    return (element("b", None, question), element("br"), element("small", None, "your question"))


def _changed(changed: bool) -> Markup | None:
    if not changed:
        return None
    title = "differs from the result of your question"
    return element("span", {"class": "changed", "title": title}, "≠ ")
