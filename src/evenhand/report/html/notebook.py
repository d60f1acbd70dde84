"""An answer as a notebook shows it: the first screen of the page, and a small table.

Its style is the page's, for its own element alone, in the colours of the notebook around it.
"""

from __future__ import annotations

from evenhand.auditing.answer import Answer, StakeholderAnswer
from evenhand.auditing.verdict import Direction
from evenhand.report.html.element import (
    Child,
    Markup,
    element,
    figure_of,
    joined,
    name_of,
    percent,
    table,
)
from evenhand.report.html.sections.lead import lead
from evenhand.report.html.sections.verdict import light, tiles
from evenhand.report.html.template import asset

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
