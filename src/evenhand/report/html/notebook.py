"""An answer as a notebook shows it: the verdict, the main numbers and a small table.

It has no style or script of its own, so it looks like everything else in the notebook.
"""

from __future__ import annotations

from evenhand.auditing.answer.answer import Answer, StakeholderAnswer
from evenhand.auditing.answer.direction import Direction
from evenhand.report.html.element import Child, Markup, element, figure_of, name_of, percent, table

SHOWN = 10  # stakeholders, the worst treated ones


def notebook(answer: Answer) -> Markup:
    """The answer as one element."""
    people = answer.by_stakeholder
    shown = f"To whom: {min(len(people), SHOWN):,} of {len(people):,}, treated worst first"
    overall, direction = answer.overall, answer.terms.direction
    worse = direction.worse
    columns = ("stakeholder", "status", "at the end", "overall", f"assessments {worse}")
    numbers: tuple[Child, ...] = (
        "Score ",
        figure_of(overall.score),
        None
        if overall.even_score is None
        else (" (an even log scores ", figure_of(overall.even_score), ")"),
        f"; somebody was {worse} the mean at ",
        figure_of(overall.unequal_assessments),
        " of ",
        figure_of(overall.assessments),
        f" assessments ({answer.question}), {overall.first} to {overall.last}.",
    )
    return element(
        "div",
        {"class": "evenhand"},
        element("p", None, element("b", None, name_of(answer.label)), ": ", answer.verdict),
        (element("p", None, "Please check first: ", ask) for ask in answer.asks),
        element("p", None, numbers),
        (element("p", None, f"Threshold breached: {breach}.") for breach in answer.breaches),
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
