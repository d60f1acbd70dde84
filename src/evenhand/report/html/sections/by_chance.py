"""Could it be chance, and could it have been fairer? In the verdict, and behind the curves."""

from __future__ import annotations

from evenhand.auditing.answer import Answer
from evenhand.auditing.chance.finding import CENTRAL, ChanceFinding
from evenhand.report.html.element import Markup, element, joined
from evenhand.report.text import chance

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
