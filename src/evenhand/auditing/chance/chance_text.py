"""What was found beside chance, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand._util.wording import format_number, join_names, pluralise
from evenhand.auditing.chance.naming import LEVEL

if TYPE_CHECKING:
    from evenhand.auditing.chance.finding import ChanceFinding
    from evenhand.auditing.chance.power import PowerFinding

CANNOT_TELL = (
    "It does not say why, nor whether anybody meant it, and it says nothing if those taken as "
    "eligible were not."
)
TOO_SHORT = 0.5  # a log that notices the most extreme disadvantage less often shows nothing


def how_often(p: float, draws: int) -> str:
    """A p-value as a share of cases; the least that so many draws can tell is said as such.

    >>> how_often(0.41, 999), how_often(0.001, 999)
    ('41% of cases', 'at most 1 in 1,000 cases (none of 999 draws)')
    """
    if p <= 1 / (1 + draws):
        return f"at most 1 in {1 + draws:,} cases (none of {pluralise(draws, 'draw')})"
    return f"{p:.2%} of cases" if p < 0.01 else f"{_percent(p)} of cases"


def _percent(p: float) -> str:
    text = f"{p:.1%}" if p < 0.1 else f"{p:.0%}"
    return text.replace(".0%", "%")


def sentences(found: ChanceFinding) -> list[str]:
    """The answer, what else it found, and what the log can show at all."""
    words = [_headline(found)]
    if found.named:
        verb = "is" if len(found.named) == 1 else "are"
        words.append(f"Further behind than chance explains {verb} {join_names(found.named)}.")
    even = found.measure("score")
    if found.p > LEVEL and even is not None and even.p_other_side <= LEVEL:
        often = how_often(even.p_other_side, found.draws)
        words.append(f"It is more even than chance would make it: chance does as well in {often}.")
    gap = found.measure("gap_between_groups")
    if gap is not None and found.people:
        often = how_often(gap.p, found.draws)
        words.append(f"The gap between the groups at the end is as large in {often}.")
    if found.power is not None:
        words.append(_power(found.power, found.less_is_better))
    elif found.noticed_at_worst is not None and found.noticed_at_worst < TOO_SHORT:
        words.append(_too_short(found.noticed_at_worst, found.less_is_better))
    return words


def _headline(found: ChanceFinding) -> str:
    what = "somebody is this far behind" if found.people else "they are this far apart at the end"
    if found.p > LEVEL:
        end = "this log gives no reason to think otherwise"
    else:
        end = "chance alone hardly explains it"
    return f"{found.null.under} {what} in {how_often(found.p, found.draws)}: {end}."


def _too_short(share: float, less_is_better: bool) -> str:
    who = (
        "somebody with twenty times the odds of everybody else"
        if less_is_better
        else "somebody who never got anything"
    )
    how_many = "fewer than 1%" if share < 0.01 else f"only {share:.0%}"
    return (
        f"This log is too short to show anything: even {who} would be noticed in {how_many} of "
        "such logs."
    )


def _power(power: PowerFinding, less_is_better: bool) -> str:
    if power.odds is None or power.lots_then is None:
        return _too_short(power.certainty, less_is_better)
    change = (
        f"multiplied by {power.odds:.2g} or more"
        if less_is_better
        else f"cut by {1 - power.odds:.0%} or more"
    )
    then, fair = (format_number(round(lots, 1)) for lots in (power.lots_then, power.lots))
    if power.odds < 0.005:
        return (
            "Such a log shows, 4 times in 5, somebody who gets nothing at all: for "
            f"{power.name} that is none in place of about {fair} lots. Less than that it can miss."
        )
    return (
        f"Such a log shows, 4 times in 5, somebody whose odds of each lot are {change}: for "
        f"{power.name} that is about {then} lots in place of {fair}. Less than that it can miss."
    )
