"""The verdict in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenhand._util.wording import join_names, join_tied, pluralise
from evenhand.auditing.answer.terms import PLAIN_MEAN, Terms
from evenhand.auditing.judging.judge import Judged
from evenhand.auditing.judging.questions import AT_END
from evenhand.auditing.judging.ranking import EQUAL
from evenhand.auditing.judging.sensitivity import QuestionRow

if TYPE_CHECKING:
    from evenhand.auditing.answer.answer import StakeholderAnswer


def verdict(
    judged: Judged, stakeholders: tuple[StakeholderAnswer, ...], asked: QuestionRow, terms: Terms
) -> str:
    """A few sentences: at the end, on the way, to whom it was unfair, and what changed."""
    totals = judged.totals
    equal_at_end = not judged.final_below.any()
    end = "Equal at the end" if equal_at_end else "Unequal at the end"
    worse = f"{terms.direction.worse} {terms.mean}"
    sentences = []
    if judged.question == AT_END:
        compared = "" if terms.mean == PLAIN_MEAN else f", compared with {terms.mean}"
        sentences.append(f"{end}{compared}.")
    elif totals.unequal and judged.as_even_as_whole_units:
        return (
            f"As even as whole units allow, at the end and {judged.question.adverb}: at none of "
            f"{pluralise(totals.assessments, 'assessment')} was anybody a whole unit from its "
            "share."
        )
    elif totals.unequal == 0:
        sentences.append(
            f"{end}, and equal {judged.question.adverb}: at none of "
            f"{pluralise(totals.assessments, 'assessment')} was anybody {worse}."
        )
    else:
        joint = "but unequal" if equal_at_end else "and unequal"
        sentences.append(
            f"{end}, {joint} {judged.question.adverb}: at {totals.unequal:,} of "
            f"{pluralise(totals.assessments, 'assessment')} somebody was {worse}."
        )
    if totals.unequal:
        people = {one.name: one for one in stakeholders}
        worst = [people[name] for name in asked.all_worst]
        last = [] if equal_at_end else judged.final_ranking.lowest
        lowest = [people[asked.names[place]] for place in last]
        sentences.append(treated_worst(worst, lowest, terms))
    if not equal_at_end:
        sentences += off_share(stakeholders, terms)
    return " ".join([*sentences, *changes(stakeholders)])


def _nobody(terms: Terms) -> str:
    worse, better = terms.direction.worse, terms.direction.better
    return (
        f"Over all nobody was behind: what each was {worse} the mean at some times it was {better} "
        "it at others"
    )


def treated_worst(
    worst: Sequence[StakeholderAnswer],
    last: Sequence[StakeholderAnswer],
    terms: Terms,
    nobody: str | None = None,
) -> str:
    """Who was treated worst overall, and who is worst off at the end; of equals, all of them."""
    names, worse = [one.name for one in worst], terms.direction.worse
    if not worst:
        words = _nobody(terms) if nobody is None else nobody
    elif len(worst) == 1:
        one, share = join_tied(names), _share(worst, terms)
        words = f"Treated worst overall was {one}, {worse} the mean at {share}"
    else:
        everyone, share = join_tied(names), _share(worst, terms)
        words = f"Treated worst overall were {everyone}, each {worse} the mean at {share}"
    if not last:
        return f"{words}."
    deviation = terms.direction.signed(last[0].final_unfairness)
    lowest = [one.name for one in last]
    if lowest == names:
        return f"{words}, and also at the end ({deviation})."
    if not worst:
        verb = "is" if len(last) == 1 else "are"
        return (
            f"{words}; at the end {join_tied(lowest)} {verb} furthest {worse} the mean "
            f"({deviation})."
        )
    verb = "it is" if len(last) == 1 else "they are"
    return f"{words}; at the end {verb} {join_tied(lowest)} ({deviation})."


def _share(worst: Sequence[StakeholderAnswer], terms: Terms) -> str:
    """How often they were on the worse side of the mean, and how far from it on average."""
    shares = sorted(one.share_below for one in worst)
    deviation = sorted(one.overall_unfairness / max(one.assessments, 1) for one in worst)
    share = _range([f"{shares[0]:.0%}", f"{shares[-1]:.0%}"])
    distance = _range([terms.direction.signed(one) for one in (deviation[-1], deviation[0])])
    return f"{share} of the assessments ({distance} from the mean on average)"


def _range(ends: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys(ends))


def off_share(stakeholders: Sequence[StakeholderAnswer], terms: Terms) -> list[str]:
    """Who is furthest off its share in amounts at the end: not always the worst off per unit."""
    names, most = most_off_share(stakeholders)
    if not names:
        return []
    several = len(names) > 1
    others = "" if several else ", the most of all"
    return [f"At the end {join_tied(names)} {terms.off_share(most, several)}{others}."]


def most_off_share(stakeholders: Sequence[StakeholderAnswer]) -> tuple[list[str], float]:
    """Those furthest off their share in amounts at the end, and by how much."""
    known = [
        (one.name, one.short_of_share)
        for one in stakeholders
        if one.short_of_share is not None and one.short_of_share > 0
    ]
    most = max((amount for _, amount in known), default=0.0)
    return sorted(name for name, amount in known if amount >= most * (1 - EQUAL)), most


def changes(stakeholders: tuple[StakeholderAnswer, ...]) -> list[str]:
    """Those whose sign changed between over all and the end."""
    made_good = [one.name for one in stakeholders if one.made_good]
    fell = [one.name for one in stakeholders if one.fell_behind]
    words = []
    if made_good:
        words.append(f"Behind overall, but recovered by the end: {join_names(made_good)}.")
    if fell:
        words.append(f"Not behind overall, but behind at the end: {join_names(fell)}.")
    return words
