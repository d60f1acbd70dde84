"""The page of a replay: what other rules would have done with the supply of a log."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.decide.replay.answer import Outcome, ReplayAnswer
from evenhand.decide.replay.next_supply import NextPlan
from evenhand.decide.rules.rule import span_in_words
from evenhand.report.html.element import (
    Child,
    Markup,
    PageSection,
    element,
    figure_of,
    joined,
    name_of,
    page,
    table,
)

TITLE = "Other rules on the same log"
SHOWN = 200  # stakeholders of whom the page says what a rule would have changed


def replay_page(answer: ReplayAnswer) -> bytes:
    """The page of a replay, as the bytes of an HTML file that opens offline.

    Args:
        answer: What `replay` found.
    """
    parts = [
        PageSection("verdict", "The verdict", _verdict(answer)),
        PageSection("rules", "The log and each rule", _rules(answer)),
        *([] if answer.plan is None else [_next(answer.plan)]),
        *(_changed(answer, k, one) for k, one in enumerate(answer.outcomes)),
        PageSection("notes", "Data notes", _sentences(answer.notes)),
    ]
    head = joined(
        (element("h1", None, TITLE), element("p", {"class": "sub"}, name_of(answer.label)))
    )
    return page(title=f"{TITLE}: {answer.label}", head=head, parts=parts, data=answer.to_json())


def _verdict(answer: ReplayAnswer) -> Markup:
    return joined(
        (
            element("p", {"class": "lead"}, answer.verdict),
            [element("p", None, sentence) for sentence in answer.learned],
            [element("p", {"class": "note"}, f"Please check first: {ask}") for ask in answer.asks],
            element("p", None, answer.held_fixed),
            element("p", None, f"Ties are broken {answer.ties}."),
        )
    )


def _rules(answer: ReplayAnswer) -> Markup:
    caption = (
        f"{answer.scheme.describe()} Assessed: {answer.question}. Worst off over the whole time, "
        "and by how much. Moved: what would have gone to somebody else by the end."
    )
    meaning = [
        element("li", None, element("strong", None, one.name), f": next is {one.rule.describe()}.")
        for one in answer.outcomes
        if one.rule is not None
    ]
    return joined((table(caption, answer.columns(), answer.rows()), element("ul", None, meaning)))


def _next(plan: NextPlan) -> PageSection:
    """What to give whom of a supply to come, and why."""
    more = len(plan.shares) - SHOWN
    caption = f"Next is {plan.rule.describe()}."
    if more > 0:
        caption += f" {more:,} more are in the JSON output."
    rows = (
        (one.time, name_of(one.name), figure_of(one.amount), f"it {one.reason}")
        for one in plan.shares[:SHOWN]
    )
    said = [element("p", {"class": "lead"}, plan.verdict)]
    if plan.left_over:
        left = figure_of(plan.left_over)
        said.append(element("p", None, left, " is left over: nobody wants it."))
    body = joined((said, table(caption, ("when", "to", "amount", "why"), rows, "words")))
    return PageSection("next", "What to give whom next", body)


def _changed(answer: ReplayAnswer, place: int, one: Outcome) -> PageSection:
    """What a rule would have changed for whom."""
    sentences = [*([one.promise] if one.promise else []), *answer.changes(one)]
    more = len(one.gains) - SHOWN
    caption = "What each received and would have received, where most changed first."
    if more > 0:
        caption += f" {more:,} more are in the JSON output."
    columns = ("stakeholder", "received", "would have received", "change", "on average")
    body = joined((_sentences(sentences), table(caption, columns, _gain_rows(answer, one))))
    return PageSection(f"rule{place + 1}", f"With {one.name}", body)


def _gain_rows(answer: ReplayAnswer, one: Outcome) -> Iterator[tuple[Child, ...]]:
    for gain in one.gains[:SHOWN]:
        when = ""
        if gain.sooner and gain.shared:
            span = span_in_words(abs(gain.sooner), answer.plain_numbers)
            when = f"{span} {'sooner' if gain.sooner > 0 else 'later'}"
        change = figure_of(gain.after - gain.before, signed=True)
        yield name_of(gain.name), figure_of(gain.before), figure_of(gain.after), change, when


def _sentences(sentences: list[str] | tuple[str, ...]) -> Markup:
    if not sentences:
        return element("p", None, "Nothing to say.")
    return element("ul", None, (element("li", None, sentence) for sentence in sentences))
