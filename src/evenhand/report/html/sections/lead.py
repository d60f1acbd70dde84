"""The first paragraph of a page: sentences to be quoted, each number a link to where it stands."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.auditing.answer import Answer
from evenhand.auditing.compare_logs import LogComparison, comparison_summary
from evenhand.auditing.verdict import Called, Quantity, Sentence, summary
from evenhand.report.html.element import Markup, element, joined
from evenhand.report.html.sections.stakeholders import tied_names


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
