"""Fairness over time, and whether the verdict depends on when one looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._util.wording import as_beginning, format_number, pluralise
from evenhand.auditing.answer import Answer
from evenhand.auditing.compare_logs import LogComparison, Match
from evenhand.auditing.judge import QuestionRow, WelfareReading
from evenhand.auditing.judge import name_of as welfare_name
from evenhand.auditing.scoring import Ranking
from evenhand.auditing.verdict import Direction
from evenhand.report.html import charts
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
from evenhand.report.html.page_data import evenly_chosen
from evenhand.report.html.stakeholders import in_measure, tied_names

# Fairness over time: the welfare at each assessment, the spread, corrections and gaps.

SHOWN = 12  # assessments in the table; a longer table is folded
PRINTED = 60  # up to this many are unfolded in print
MAX_ROWS = 100


def welfare_over_time(answers: Sequence[Answer]) -> Markup:
    """The welfare of one log, or of two logs in one chart."""
    drawn = [answer for answer in answers if answer.over_time.welfare is not None]
    if not all(answer.over_time.times for answer in answers):
        words = "No chart: there is no time at which every run was assessed."
        return element("p", None, words)
    if not drawn:
        return element("p", None, "This scheme has no welfare at each assessment.")
    caption = [_caption(drawn)]
    if any(answer.over_time.unfinished is not None for answer in drawn):
        caption.append(" The last period is unfinished: it is shown, but not scored.")
    if any(answer.over_time.every > 1 for answer in drawn):
        caption.append(" Not all assessments are drawn; all are scored.")
    alternative = "Line chart of fairness over time. " + " ".join(map(_welfare_text, drawn))
    return charts.plot("welfare", "welfare", None, alternative, caption, _legend(answers))


def against_even(answers: Sequence[Answer]) -> bool:
    """Whether the welfare can be drawn against that of the even log, which shows what is fair.

    Welfare alone rises with all that is given out, however it is shared.
    """
    return all(
        answer.over_time.even_welfare is not None and answer.overall.even_score is not None
        for answer in answers
    )


def _caption(drawn: Sequence[Answer]) -> str:
    welfare = welfare_name(drawn[0].scheme)
    if against_even(drawn):
        return (
            f"How far the welfare ({welfare}) at each assessment was from that of an even log, in "
            "which everyone has the mean, and the same for the score over all assessments. "
            "At 0 it is as fair as the even log; lower is less fair."
        )
    return (
        f"The welfare ({welfare}) at each assessment, and the score over all assessments. Higher "
        "is fairer; it also rises with what is given out."
    )


def _legend(answers: Sequence[Answer]) -> Markup:
    even = against_even([answer for answer in answers if answer.over_time.welfare is not None])
    items: list[tuple[Markup, Child]] = []
    if len(answers) > 1:
        marks = (("●", "first"), ("■", "second"))
        items += [
            (charts.glyph(sign, colour), name_of(answer.label))
            for answer, (sign, colour) in zip(answers, marks, strict=True)
        ]
    else:
        items.append((charts.glyph("●", "first"), "at each assessment" if even else "welfare"))
    items.append((charts.glyph("╌╌"), "over all assessments" if even else "score"))
    if even:
        items.append((charts.glyph("──"), "an even log"))
    if any(answer.over_time.unfinished is not None for answer in answers):
        items.append((charts.glyph("┈○"), "unfinished, not scored"))
    if any(answer.corrections for answer in answers):
        items.append((charts.glyph("▼"), "a correction: an amount was taken back"))
    if any(answer.gaps for answer in answers):
        items.append((charts.swatch("var(--gap)"), "no events"))
    return charts.legend(items)


def _welfare_text(answer: Answer) -> str:
    over = answer.over_time
    assert over.welfare is not None
    if not len(over.welfare):
        return ""
    drawn, score = over.welfare, answer.overall.score
    if against_even([answer]):
        drawn, score = over.welfare - over.even_welfare, score - (answer.overall.even_score or 0.0)
    low = int(np.argmin(drawn))
    return (
        f"{answer.label}: from {format_number(float(drawn[0]))} at {over.times[0]} to "
        f"{format_number(float(drawn[-1]))} at {over.times[-1]}; lowest "
        f"{format_number(float(drawn[low]))} at {over.times[low]}; over all assessments "
        f"{format_number(score)}. The table below has the numbers."
    )


def spread(answer: Answer, log: int) -> Markup:
    """The largest distances from the mean, as a chart and as a table."""
    direction = answer.terms.direction
    colours = charts.colours(direction)
    legend = charts.legend(
        (
            (charts.glyph("▲", colours["above"]), "furthest above the mean"),
            (charts.glyph("▼", colours["below"]), "furthest below the mean"),
        )
    )
    measure = in_measure(answer.presentation.measure)
    caption = f"The largest distances above and below the mean at each assessment{measure}."
    alternative = (
        "Chart of the largest distances above and below the mean at each assessment. Furthest "
        f"{direction.worse} at any assessment: {direction.signed(answer.overall.worst_unfairness)}."
        " The table below has the numbers."
    )
    chart = None
    if len(answer.over_time.times) > 1:
        chart = charts.plot("spread", "spread", log, alternative, caption, legend)
    rows = _assessments(answer) if answer.over_time.times else None
    return joined((chart, rows, _events(answer)))


def _assessments(answer: Answer) -> Markup:
    over, direction = answer.over_time, answer.terms.direction
    rows = [
        _moment(
            over.times[k],
            _welfares(over.welfare, over.even_welfare, k),
            over.ranking(k),
            over.names,
            direction,
        )
        for k in evenly_chosen(len(over.times), MAX_ROWS)
    ]
    if over.unfinished is not None:
        last = over.unfinished
        label = (last.time, element("br"), element("small", None, "unfinished, not scored"))
        welfares = last.welfare, last.even_welfare
        rows.append(_moment(label, welfares, answer.at_end, over.names, direction))
    worse, better = f"furthest {direction.worse}", f"furthest {direction.better}"
    columns = ("when", "welfare", "of an even log", worse, "by", better, "by")
    caption = "The assessments"
    if len(over.times) < answer.overall.assessments or len(over.times) > MAX_ROWS:
        caption = f"{len(rows):,} of {format_number(answer.overall.assessments)} assessments"
        caption += ", evenly chosen" if answer.runs is None else ""
    whole = table(caption, columns, rows, "words")
    if len(rows) <= SHOWN:
        return whole
    summary = f"{pluralise(len(rows), 'assessment')} in a table"
    kind = {"class": "paper" if len(rows) <= PRINTED else "screen"}
    return element("details", kind, element("summary", None, summary), whole)


def _welfares(
    actual: np.ndarray | None, even: np.ndarray | None, row: int
) -> tuple[float | None, float | None]:
    first, second = (None if part is None else float(part[row]) for part in (actual, even))
    return first, second


def _moment(
    when: Child,
    welfares: tuple[float | None, float | None],
    ranking: Ranking,
    names: Sequence[str],
    direction: Direction,
) -> tuple[Child, ...]:
    actual, even = welfares
    if actual is None or even is None:
        cells: list[Child] = [when, figure_of(actual), figure_of(even)]
    else:
        cells = [when, *told_apart(actual, even)]
    for places in (ranking.lowest, ranking.highest):
        far: Child = ""
        if places:
            far = figure_of(direction.as_logged(float(ranking.deviation[places[0]])), True)
        cells += [tied_names([names[place] for place in places]), far]
    return tuple(cells)


def _events(answer: Answer) -> Markup:
    parts: list[Child] = []
    if answer.gaps:
        gaps = ", ".join(answer.gaps)
        parts.append(element("p", None, f"No events in {gaps}; assessed all the same."))
    if answer.corrections:
        count, listed = answer.corrections_in_all, len(answer.corrections)
        rows = ((time, name_of(who), figure_of(amount)) for time, who, amount in answer.corrections)
        caption = "Amounts that were taken back, as recorded in the log"
        caption += f": the first {listed:,} of {count:,}" if listed < count else ""
        parts.append(
            element(
                "details",
                {"class": "paper" if count <= PRINTED else "screen"},
                element("summary", None, pluralise(count, "correction")),
                table(caption, ("when", "from", "amount"), rows),
            )
        )
    return joined(parts)


def unfairness_by_time(found: Mapping[str, Answer]) -> Markup:
    """Several short logs: their verdicts, and each distance from the mean at each assessment."""
    first = next(iter(found.values())).over_time
    rows = [
        (
            f"{log}: {stakeholder}",
            *(figure_of(float(x), signed=True) for x in answer.over_time.unfairness[:, k]),
            figure_of(answer.stakeholder(stakeholder).overall_unfairness, signed=True),
        )
        for log, answer in found.items()
        for k, stakeholder in enumerate(answer.over_time.names)
    ]
    verdicts = (
        element("p", None, element("b", None, f"{as_beginning(log)}. "), answer.verdict)
        for log, answer in found.items()
    )
    caption = "Distance from the mean at each assessment, and overall, which is their sum."
    return joined((verdicts, table(caption, ("", *first.times, "overall"), rows)))


# Does the verdict depend on the question? Questions by welfare functions, changes marked.

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
