"""The verdict in plain words."""

from __future__ import annotations

from evenhand.audit.answer import StakeholderAnswer
from evenhand.audit.judging import Judged
from evenhand.audit.notes import listed, several
from evenhand.audit.question import AtEnd


def number(value: float, signed: bool = False) -> str:
    """A number with as many digits as a reader can use."""
    if value != value:
        return "–"
    size, sign = abs(value), "+" if signed else ""
    if size >= 1000 or value == int(value):
        text = f"{value:{sign},.0f}"
    else:
        text = f"{value:{sign}.2f}".rstrip("0").rstrip(".") if size >= 1 else f"{value:{sign}.3g}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")


def short(value: float, signed: bool = False) -> str:
    """A number that fits a narrow column: four digits and k, M, G or T."""
    if value != value:
        return "–"
    scales = (("T", 1e12, 1e12), ("G", 1e9, 1e9), ("M", 1e6, 1e6), ("k", 1e4, 1e3))
    for unit, least, scale in scales:
        if abs(value) >= least:
            scaled = value / scale
            digits = 0 if abs(scaled) >= 1000 else 1 if abs(scaled) >= 100 else 2
            return f"{scaled:{'+' if signed else ''}.{digits}f}{unit}".replace("-", "−")
    return number(value, signed)


def verdict(judged: Judged, stakeholders: tuple[StakeholderAnswer, ...]) -> str:
    """Two to four sentences: at the end, on the way, to whom it was unfair, and what changed."""
    tally = judged.tally
    equal_at_end = not judged.final_below.any()
    end = "Equal at the end" if equal_at_end else "Unequal at the end"
    sentences = []
    if isinstance(judged.question, AtEnd):
        sentences.append(f"{end}.")
    elif tally.unequal == 0:
        sentences.append(
            f"{end}, and equal {judged.question.adverb()}: at none of "
            f"{several(tally.assessments, 'assessment')} was anybody below the mean."
        )
    else:
        joint = "but unequal" if equal_at_end else "and unequal"
        sentences.append(
            f"{end}, {joint} {judged.question.adverb()}: at {tally.unequal:,} of "
            f"{several(tally.assessments, 'assessment')} somebody was below the mean."
        )
    if tally.unequal:
        sentences.append(_worst(stakeholders, equal_at_end))
    changed = _changes(stakeholders)
    return " ".join([*sentences, *changed])


def _worst(stakeholders: tuple[StakeholderAnswer, ...], equal_at_end: bool) -> str:
    least = min(stakeholders, key=lambda one: one.overall_unfairness)
    words = (
        f"Treated worst over all was {least.name}, below the mean at "
        f"{least.share_below:.0%} of the assessments "
        f"({number(least.overall_unfairness / max(least.assessments, 1), signed=True)} from the "
        "mean on average)"
    )
    there = [one for one in stakeholders if one.final_unfairness == one.final_unfairness]
    if equal_at_end or not there:
        return f"{words}."
    last = min(there, key=lambda one: one.final_unfairness)
    if last.name == least.name:
        return f"{words}, and also at the end ({number(last.final_unfairness, signed=True)})."
    return f"{words}; at the end it is {last.name} ({number(last.final_unfairness, signed=True)})."


def _changes(stakeholders: tuple[StakeholderAnswer, ...]) -> list[str]:
    made_good = [one.name for one in stakeholders if one.made_good]
    fell = [one.name for one in stakeholders if one.fell_behind]
    words = []
    if made_good:
        words.append(f"Behind over all, but made good by the end: {listed(made_good)}.")
    if fell:
        words.append(f"Not behind over all, but behind at the end: {listed(fell)}.")
    return words
