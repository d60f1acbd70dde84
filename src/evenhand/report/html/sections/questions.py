"""Where the verdict turns: questions by welfare functions, with reversals marked."""

from __future__ import annotations

from evenhand.auditing.compare_logs import LogComparison, Match
from evenhand.auditing.judging.sensitivity import QuestionRow, WelfareReading
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, name_of, table
from evenhand.report.html.sections.stakeholders import names_of

EVEN = {True: "even", False: "uneven", None: ""}


def turns(rows: tuple[QuestionRow, ...]) -> Markup:
    """One log: who is treated worst under each question, and what each welfare function says."""
    names = list(dict.fromkeys(reading.welfare for row in rows for reading in row.readings))
    caption = (
        "Each question, whom it finds treated worst, and the score by each welfare function with "
        "whether it is that of an even log. ≠ marks an answer that is not as in the question asked."
    )
    body = []
    for row in rows:
        by_welfare = {reading.welfare: reading for reading in row.readings}
        body.append(
            (
                _asked(row.question, row.asked),
                (figure_of(row.unequal), " of ", figure_of(row.assessments)),
                (_turned(row.turns), names_of(row.all_worst)),
                *(_reading(by_welfare[name]) if name in by_welfare else "" for name in names),
            )
        )
    return table(caption, ("question", "unequal", "treated worst", *names), body)


def _reading(reading: WelfareReading) -> Child:
    if reading.score is None:
        return "undefined"
    word = element("small", None, EVEN[reading.even])
    return (_turned(reading.turns), figure_of(reading.score), element("br"), word)


def side_by_side(found: LogComparison) -> Markup:
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
        "log 2. ≠ marks an answer that is not as in the question asked."
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
    scores = element("small", None, figure_of(match.scores[0]), " : ", figure_of(match.scores[1]))
    return (_turned(match.turns), fairer, element("br"), scores)


def _asked(question: str, asked: bool) -> Child:
    if not asked:
        return question
    return (element("b", None, question), element("br"), element("small", None, "as asked"))


def _turned(turned: bool) -> Markup | None:
    if not turned:
        return None
    return element("span", {"class": "turn", "title": "not as in the question asked"}, "≠ ")
