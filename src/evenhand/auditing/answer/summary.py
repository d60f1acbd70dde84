"""An answer as a few sentences that can be quoted as they stand, and where each comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from evenhand._util.wording import format_number, join_tied
from evenhand.auditing.answer.verdict_text import most_off_share
from evenhand.auditing.time_texts import MONTHS

if TYPE_CHECKING:
    from evenhand.auditing.answer.answer import Answer, StakeholderAnswer

DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?: .*)?")


class Quantity(NamedTuple):
    """A number of the answer, and how it is written."""

    value: float
    text: str

    @classmethod
    def of(cls, value: float) -> Quantity:
        return cls(value, format_number(value))

    @classmethod
    def share(cls, value: float) -> Quantity:
        return cls(value, f"{value:.0%}")


class Called(NamedTuple):
    """Stakeholders that share a place, by their names."""

    names: tuple[str, ...]


class Sentence(NamedTuple):
    """Words, numbers and names; `source` is the section of the page that has the numbers."""

    parts: tuple[str | Quantity | Called, ...]
    source: str

    @property
    def text(self) -> str:
        return "".join(map(_as_text, self.parts))


def _as_text(part: str | Quantity | Called) -> str:
    if isinstance(part, Quantity):
        return part.text
    return join_tied(part.names) if isinstance(part, Called) else part


def summary(answer: Answer) -> tuple[Sentence, ...]:
    """How even it was, to whom it was not, how it ended, and what changed."""
    return (how_even(answer), *_unfair(answer))


def _unfair(answer: Answer) -> Iterator[Sentence]:
    if not answer.overall.unequal_assessments or answer.as_even_as_whole_units:
        return
    yield _worst(answer)
    yield from _end(answer)
    yield from _changes(answer)


def how_even(answer: Answer) -> Sentence:
    """What was judged, from when until when, and at how many assessments it was uneven."""
    overall, direction = answer.overall, answer.terms.direction
    judged = answer.presentation
    begins = (
        f"{_span(overall.first, overall.last)}, {judged.subject} among ",
        Quantity.of(len(answer.by_stakeholder)),
        f" {judged.judged} was ",
    )
    runs = () if answer.runs is None else (" (on average over ", Quantity.of(answer.runs), " runs)")
    times = Quantity.of(overall.assessments)
    many = "assessment" if overall.assessments == 1 else "assessments"
    looked = f" {many} ({answer.question})"
    if answer.as_even_as_whole_units:
        found: tuple[str | Quantity, ...] = (
            *("as even as whole units allow: at none of ", times, looked, *runs),
            " was anybody a whole unit from its share.",
        )
    elif not overall.unequal_assessments:
        found = (
            *("even: at none of ", times, looked, *runs),
            f" was anybody {direction.worse} {answer.terms.mean}.",
        )
    else:
        found = (
            *("uneven: at ", Quantity.of(overall.unequal_assessments), " of ", times, looked),
            *(*runs, f" somebody was {direction.worse} {answer.terms.mean}."),
        )
    return Sentence((*begins, *found), "over-time")


def _worst(answer: Answer) -> Sentence:
    direction = answer.terms.direction
    worst = [answer.stakeholder(name) for name in answer.treated_worst]
    if not worst:
        words = (
            f"Over all assessments nobody was behind: whoever was {direction.worse} the mean at "
            f"some times was as far {direction.better} it at others."
        )
        return Sentence((words,), "heatmap")
    called = Called(tuple(one.name for one in worst))
    far = average_distance(worst[0])
    if len(worst) > 1:
        begins: tuple[str | Quantity | Called, ...] = ("Treated worst, all alike, were ", called)
        each = "each " if len({one.assessments for one in worst}) == 1 else "up to "
        far = max(map(average_distance, worst))
    else:
        begins, each = ("Treated worst was ", called), ""
    parts = (
        *(*begins, f": on average {each}", Quantity.of(far), _measured(answer)),
        f" {direction.worse} the mean",
    )
    if len(worst) == 1:
        share = Quantity.share(worst[0].share_below)
        parts = (*parts, f", and {direction.worse} it at ", share, " of its assessments")
    return Sentence((*parts, "."), "heatmap")


def average_distance(one: StakeholderAnswer) -> float:
    """How far on the worse side of the mean somebody was, on average over its assessments."""
    return -one.overall_unfairness / max(one.assessments, 1)


def _end(answer: Answer) -> Iterator[Sentence]:
    worse, last = answer.terms.direction.worse, answer.worst_at_end
    if not last:
        yield Sentence((f"At the end nobody was {worse} the mean.",), "heatmap")
        return
    far = Quantity.of(-answer.stakeholder(last[0]).final_unfairness)
    if last == answer.treated_worst:
        who = "it was" if len(last) == 1 else "they were"
        begins: tuple[str | Called, ...] = (f"At the end too {who} furthest {worse}, by ",)
    else:
        verb = "was" if len(last) == 1 else "were"
        begins = (f"At the end the furthest {worse} the mean {verb} ", Called(last), ", by ")
    yield Sentence((*begins, far, f"{_measured(answer)}."), "heatmap")
    yield from _short(answer)


def _short(answer: Answer) -> Iterator[Sentence]:
    """Who lacks most of its share in amounts, or of harms has most more than that."""
    names, most = most_off_share(answer.by_stakeholder)
    if not names:
        return
    behind_number, behind_share = answer.terms.units
    several = len(names) > 1
    share = f"{'their' if several else 'its'} share{behind_share}"
    if answer.terms.direction.less_is_better:
        verb, off = "each had " if several else "had ", f"{behind_number} more than {share}"
    else:
        verb, off = "were each " if several else "was ", f"{behind_number} short of {share}"
    end = "." if several else ", the most of all."
    parts = ("At the end ", Called(tuple(names)), f" {verb}", Quantity.of(most), f"{off}{end}")
    yield Sentence(parts, "heatmap")


def _changes(answer: Answer) -> Iterator[Sentence]:
    recovered = sum(one.made_good for one in answer.by_stakeholder)
    fell = sum(one.fell_behind for one in answer.by_stakeholder)
    if not recovered and not fell:
        return
    everyone = (Quantity.of(len(answer.by_stakeholder)), f" {answer.presentation.judged}")
    parts: tuple[str | Quantity, ...] = ()
    if recovered:
        verb = "was" if recovered == 1 else "were"
        end = f" {verb} behind overall but had recovered by the end"
        parts = (Quantity.of(recovered), " of the ", *everyone, end)
    if fell:
        verb = "was" if fell == 1 else "were"
        joint = (", and ", Quantity.of(fell)) if recovered else (Quantity.of(fell), " of the ")
        parts = (*parts, *joint, *(() if recovered else everyone))
        parts = (*parts, f" {verb} not behind overall but {verb} at the end")
    yield Sentence((*parts, "."), "recovered")


def _measured(answer: Answer) -> str:
    """What stands behind a number to say what it is of."""
    measure = answer.presentation.measure
    return "" if measure is None else f" {measure}"


def _span(first: str, last: str) -> str:
    """From when until when, with dates in words.

    >>> _span("2021-01-12", "2021-05-08"), _span("1", "4"), _span("2021-03-31", "2021-03-31")
    ('From 12 January 2021 to 8 May 2021', 'From time 1 to time 4', 'On 31 March 2021')
    """
    dates = DATE.fullmatch(first) is not None and DATE.fullmatch(last) is not None
    if first == last:
        return f"On {_day(first)}" if dates else f"At time {first}"
    if dates:
        return f"From {_day(first)} to {_day(last)}"
    return f"From time {first} to time {last}"


def _day(label: str) -> str:
    match = DATE.fullmatch(label)
    if match is None:
        return label
    year, month, day = map(int, match.groups())
    return f"{day} {MONTHS[month - 1].capitalize()} {year}"
