"""Fairness over time: the welfare at each assessment, the spread, corrections and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._util.wording import as_beginning, format_number, pluralise
from evenhand.auditing.answer import Answer
from evenhand.auditing.judge import name_of as welfare_name
from evenhand.auditing.scoring import Ranking
from evenhand.auditing.verdict import Direction
from evenhand.report.html import plots
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
from evenhand.report.html.sections.stakeholders import in_measure, tied_names

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
    return plots.plot("welfare", "welfare", None, alternative, caption, _legend(answers))


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
            (plots.glyph(sign, colour), name_of(answer.label))
            for answer, (sign, colour) in zip(answers, marks, strict=True)
        ]
    else:
        items.append((plots.glyph("●", "first"), "at each assessment" if even else "welfare"))
    items.append((plots.glyph("╌╌"), "over all assessments" if even else "score"))
    if even:
        items.append((plots.glyph("──"), "an even log"))
    if any(answer.over_time.unfinished is not None for answer in answers):
        items.append((plots.glyph("┈○"), "unfinished, not scored"))
    if any(answer.corrections for answer in answers):
        items.append((plots.glyph("▼"), "a correction: an amount was taken back"))
    if any(answer.gaps for answer in answers):
        items.append((plots.swatch("var(--gap)"), "no events"))
    return plots.legend(items)


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
    colours = plots.colours(direction)
    legend = plots.legend(
        (
            (plots.glyph("▲", colours["above"]), "furthest above the mean"),
            (plots.glyph("▼", colours["below"]), "furthest below the mean"),
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
        chart = plots.plot("spread", "spread", log, alternative, caption, legend)
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
