"""The first screen of a report: the verdict, what may be quoted, chance, one person's story."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evenhand.auditing.answer import Answer, Limit
from evenhand.auditing.chance.finding import CENTRAL, ChanceFinding
from evenhand.auditing.compare_logs import LogComparison, comparison_summary
from evenhand.auditing.verdict import Called, Quantity, Sentence, average_distance, summary
from evenhand.report.html import charts
from evenhand.report.html.element import (
    Child,
    Markup,
    element,
    figure_of,
    joined,
    name_of,
    told_apart,
)
from evenhand.report.html.stakeholders import in_measure, tied_names
from evenhand.report.text import chance

# Could it be chance, and could it have been fairer? In the verdict, and behind the curves.

BY_CHANCE = f"where chance alone leaves it in {CENTRAL:.0%} of draws, at each time by itself"


def by_chance(answer: Answer) -> Markup:
    """The answer in sentences, and whether alarms were raised, where it was asked."""
    words = chance(answer)
    parts = []
    if words:
        parts.append(element("p", None, element("b", None, "Could it be chance? "), words))
    if answer.best is not None:
        could = element("b", None, "Could it have been fairer? ")
        three = "" if answer.gap_parts is None else f" {answer.gap_parts.sentence()}"
        parts.append(element("p", None, could, answer.best.sentence(), three.rstrip()))
    if answer.alarm is not None:
        watched = answer.alarm.sentence()
        parts.append(element("p", None, element("b", None, "Watched all along: "), watched))
    return joined(parts)


def has_band(answer: Answer) -> bool:
    """Whether it is known between what chance leaves each."""
    return isinstance(answer.chance, ChanceFinding) and answer.chance.band is not None


# The first paragraph of a page: sentences to be quoted, each number a link to where it stands.


def lead(found: Answer | LogComparison, linked: bool = True) -> Markup:
    """The summary as one paragraph.

    Args:
        found: What was found.
        linked: Whether there are sections to link to.
    """
    sentences = summary(found) if isinstance(found, Answer) else comparison_summary(found)
    return element("p", {"class": "verdict"}, _spaced(_sentence(one, linked) for one in sentences))


def _spaced(sentences: Iterable[Markup]) -> Markup:
    return Markup(" ".join(sentences))


def _sentence(sentence: Sentence, linked: bool) -> Markup:
    return joined(_part(part, sentence.source if linked else None) for part in sentence.parts)


def _part(part: str | Quantity | Called, source: str | None) -> Markup | str:
    if isinstance(part, Called):
        return tied_names(part.names)
    if not isinstance(part, Quantity):
        return part
    kind = {"class": "share"} if part.text.endswith("%") else None
    figure = element("data", {"value": repr(part.value), **(kind or {})}, part.text)
    return (
        figure
        if source is None
        else element("a", {"class": "source", "href": f"#{source}"}, figure)
    )


# The verdict: sentences, thresholds, what it means and what it does not mean.

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


# One stakeholder over time, found by click or search and shown by the page's script.


def stakeholder_story(answer: Answer, log: int) -> Markup:
    """Where the page's script shows one stakeholder: sentences and charts."""
    field, found = f"search{log}", f"found{log}"
    search = element(
        "div",
        {"class": "controls"},
        element(
            "div",
            {"class": "search"},
            element("label", {"for": field}, "Search for a name"),
            element(
                "input",
                {
                    "id": field,
                    "type": "text",
                    "role": "combobox",
                    "autocomplete": "off",
                    "spellcheck": "false",
                    "aria-autocomplete": "list",
                    "aria-expanded": "false",
                    "aria-controls": found,
                },
            ),
            element(
                "ul", {"id": found, "role": "listbox", "aria-label": "Names found", "hidden": True}
            ),
        ),
        element("span", {"class": "soft", "role": "status"}),
    )
    shown = element(
        "div",
        {
            "class": "story",
            "id": f"story{log}",
            "data-log": log,
            "data-script": True,
            "hidden": True,
        },
        search,
        element("h3", {"class": "who", "tabindex": "-1"}, "…"),
        element("div", {"class": "words", "aria-live": "polite"}),
        _plots(answer) if answer.over_time.times else None,
    )
    without = element(
        "p",
        None,
        "This section needs the page's script, which is not running. The table of stakeholders "
        "above has the numbers of each. Treated worst overall: ",
        tied_names(answer.treated_worst),
        f" ({answer.terms.direction.signed(answer.questions[0].worst_unfairness)} from the mean, "
        "summed).",
    )
    return joined((element("noscript", None, without), shown))


def _plots(answer: Answer) -> Markup:
    direction, measure = answer.terms.direction, in_measure(answer.presentation.measure)
    worse, better = f"{direction.worse} the mean", f"{direction.better} the mean"
    legend = charts.legend(
        (
            (charts.glyph("●", "first"), "its status"),
            (charts.glyph("╌╌"), "the mean"),
            (charts.swatch("var(--range)"), "the range of all stakeholders"),
            (charts.swatch("url(#below2)"), worse),
        )
    )
    marks = charts.legend(
        (
            (charts.swatch("url(#below2)"), worse),
            (charts.swatch("var(--above)"), better),
            (charts.glyph("▲"), f"compensated: again at or {better}"),
            *(((charts.swatch("var(--range)"), BY_CHANCE),) if has_band(answer) else ()),
        )
    )
    words = "The sentences above describe it."
    return joined(
        (
            charts.plot(
                "story",
                "story",
                None,
                f"Line chart of its status, the mean and the range. {words}",
                f"Its status at each assessment, the mean, and the range of all{measure}.",
                legend,
            ),
            charts.plot(
                "deviation",
                "deviation",
                None,
                f"Chart of its distance from the mean. {words}",
                f"Its distance from the mean at each assessment{measure}.",
                marks,
            ),
        )
    )
