"""The verdict: sentences, thresholds, what it means and what it does not mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evenhand.auditing.answer import Answer, Limit
from evenhand.auditing.compare_logs import LogComparison
from evenhand.auditing.verdict import average_distance
from evenhand.report.html.element import (
    Child,
    Markup,
    element,
    figure_of,
    joined,
    name_of,
    told_apart,
)
from evenhand.report.html.sections.by_chance import by_chance
from evenhand.report.html.sections.lead import lead
from evenhand.report.html.sections.stakeholders import tied_names

CLOSE = 0.1  # a threshold met by less than this share of it is amber


def verdict(found: Answer | LogComparison) -> Markup:
    """The first section of a page."""
    answers = (found,) if isinstance(found, Answer) else (found.first, found.second)
    several = len(answers) > 1
    asks = dict.fromkeys(ask for answer in answers for ask in answer.asks)
    lights = (
        light(limit, answer.label if several else None)
        for answer in answers
        for limit in answer.limits
    )
    return joined(
        (
            lead(found),
            lights,
            (
                element("p", {"class": "ask"}, element("b", None, "Please check first: "), ask)
                for ask in asks
            ),
            None if several else tiles(answers[0]),
            by_chance(found) if isinstance(found, Answer) else None,
            element(
                "div",
                {"class": "pair"},
                _listed("What it means", _means(answers)),
                _listed("What it does not mean", _means_not(found, answers)),
            ),
            element("p", {"class": "soft"}, "In the words of the audit: ", found.verdict),
        )
    )


def light(limit: Limit, label: str | None) -> Markup:
    """Green, amber or red: only where a threshold was set, and never by colour alone."""
    colour, word, more = "green", "Met", ""
    if limit.breach is not None:
        colour, word = "red", "Breached"
    elif limit.unfinished:
        colour, word = "amber", "Met so far"
        more = ", but the unfinished last period would breach it"
    elif abs(limit.limit - limit.found) < CLOSE * abs(limit.limit):
        colour, word, more = "amber", "Just met", ", by less than a tenth"
    where = None if label is None else (name_of(label), ": ")
    return element(
        "p",
        {"class": f"light {colour}"},
        element("b", None, f"{word}. "),
        where,
        "The threshold ",
        element("code", None, limit.option),
        " is ",
        figure_of(limit.limit),
        "; the value found is ",
        figure_of(limit.found),
        more,
        ".",
    )


def tiles(answer: Answer) -> Markup:
    """The main numbers."""
    overall, direction = answer.overall, answer.terms.direction
    recovered = sum(one.made_good for one in answer.by_stakeholder)
    fell_behind = sum(one.fell_behind for one in answer.by_stakeholder)
    score, even = figure_of(overall.score), None
    if overall.even_score is not None:
        score, other = told_apart(overall.score, overall.even_score)
        even = ("an even log scores ", other)
    found: list[tuple[str, Child, Child]] = [
        ("Score", score, even),
        (
            f"Somebody was {direction.worse} the mean at",
            (figure_of(overall.unequal_assessments), " of ", figure_of(overall.assessments)),
            "assessments",
        ),
    ]
    if overall.unequal_assessments:
        words: Child = (
            f"those {direction.worse} the mean at some times were as far {direction.better} it at "
            "others"
        )
        if answer.treated_worst:
            worst = answer.stakeholder(answer.treated_worst[0])
            far = direction.as_logged(worst.overall_unfairness)
            average = direction.as_logged(-average_distance(worst))
            measure = answer.presentation.measure
            unit = "" if measure is None else f" {measure}"
            words = (
                *(figure_of(average, True), f"{unit} from the mean on average; "),
                *(figure_of(far, True), " summed"),
            )
        found.append(("Treated worst overall", tied_names(answer.treated_worst), words))
    found.append(
        (
            "Recovered by the end",
            figure_of(recovered),
            (figure_of(fell_behind), " fell behind, of ", figure_of(len(answer.by_stakeholder))),
        )
    )
    return element(
        "dl",
        {"class": "tiles"},
        (
            element(
                "div",
                None,
                element("dt", None, title),
                element("dd", None, value),
                None if more is None else element("dd", {"class": "more"}, more),
            )
            for title, value, more in found
        ),
    )


def _means(answers: tuple[Answer, ...]) -> Iterator[Child]:
    first = answers[0]
    yield first.scheme.describe()
    direction, mean = first.terms.direction, first.terms.mean
    begins = "Less is better: at" if direction.less_is_better else "At"
    yield (
        f"{begins} an assessment, a stakeholder {direction.worse} {mean} is treated unfairly, and "
        f"one {direction.better} it is favoured. Overall is the sum of these distances over the "
        "assessments."
    )
    if first.scheme.status.weighs:
        rate = any(one.chances is not None for one in first.by_stakeholder)
        who = "had more chances" if rate else "is entitled to more"
        yield f"Whoever {who} counts for more in the mean, the welfare and the score."
    for answer in answers:
        overall = answer.overall
        which = (name_of(answer.label), ": ") if len(answers) > 1 else None
        if overall.even_score is not None:
            score, even = told_apart(overall.score, overall.even_score)
            yield (
                which,
                "The score is ",
                score,
                "; the same amounts, shared evenly at each of the ",
                figure_of(overall.assessments),
                " assessments, would score ",
                even,
                ".",
            )


def _means_not(found: Answer | LogComparison, answers: tuple[Answer, ...]) -> Iterator[Child]:
    worse = answers[0].terms.direction.worse
    yield f"It does not say why a stakeholder was {worse} the mean, or whether that was justified."
    if all(
        one.entitlement is None and one.chances is None
        for answer in answers
        for one in answer.by_stakeholder
    ):
        yield (
            "It does not consider size or need: everyone is compared with the same mean, because "
            "no entitlement was given."
        )
    rows = [row for row in found.questions if not row.asked]
    changed = sum(row.turns for row in rows)
    if changed:
        yield (
            "It is not the answer to every question: ",
            figure_of(changed),
            " of ",
            figure_of(len(rows)),
            " others have another answer. See the table of questions.",
        )
    if any("No roster was given" in note for answer in answers for note in answer.notes):
        yield "It says nothing about stakeholders that are not in the log: no roster was given."


def _listed(title: str, items: Iterable[Child]) -> Markup:
    return element(
        "div",
        None,
        element("h3", None, title),
        element("ul", None, (element("li", None, item) for item in items)),
    )
