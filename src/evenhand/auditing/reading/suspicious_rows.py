"""What is probably not meant: a total beside its parts, a name spelt twice, rates added up."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from evenhand._util.wording import format_number, join_names
from evenhand.auditing.notes import Notes
from evenhand.auditing.period_border import bound_name
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.name_spellings import alike
from evenhand.errors import argument

CLOSE = 0.02  # how near the sum of the others counts as equal to it
# Real parts overlap and are reported apart, so a total that towers above the rest may be off by
# more: in the United States' vaccine counts the parts come to 105 % of the whole, and once 116 %.
LOOSE, TOWERS = 0.2, 3.0
FAR_APART = 20  # times
SMALL = 0.1
# Of amounts drawn at random half would fall; running totals fall where they are corrected.
LOOKED_AT, FEWEST_STEPS, MOST_FALLS, LEAST_RISES = 200_000, 8, 0.02, 0.5


def find_aggregate(history: History) -> str | None:
    """The stakeholder with what all others have together, in all and halfway through."""
    size = len(history.names)
    if size < 3:
        return None
    half = np.searchsorted(history.slot, len(history.slots) // 2)
    early = np.bincount(history.who[:half], weights=history.amount[:half], minlength=size)
    totals = history.totals()
    place = int(np.argmax(totals))
    second = np.delete(totals, place).max()
    close = LOOSE if totals[place] >= TOWERS * second else CLOSE
    # Chance makes one number the sum of the others; it seldom does so twice.
    if _is_sum(totals, place, close) and (not early.any() or _is_sum(early, place, close)):
        return history.names[place]
    return None


def _is_sum(amounts: np.ndarray, place: int, close: float) -> bool:
    others = amounts.sum() - amounts[place]
    return bool(amounts[place] > 0 and abs(amounts[place] - others) <= close * amounts[place])


def note_aggregate(history: History, notes: Notes) -> None:
    """Ask about a stakeholder that looks like the sum of the others."""
    name = find_aggregate(history)
    if name is not None:
        notes.ask(
            f"Is {name!r} the sum of the others? Its amounts come to what theirs come to taken "
            "together. If it is not a stakeholder of its own, leave it out: "
            f"{argument('exclude', [name])}."
        )


def note_alike(history: History, notes: Notes) -> None:
    """Point at names that differ only in capitals, spaces and accents."""
    pairs = [" and ".join(repr(name) for name in names) for names in alike(history.names)]
    if pairs:
        notes.ask(
            f"Are these the same? {join_names(pairs, 3)} differ only in capitals, spaces or "
            "accents, and are judged as different stakeholders. If they are one, merge them with "
            f"{argument('merge_names')}."
        )


def ask_about_empty_amounts(history: History, others: Collection[str], notes: Notes) -> None:
    """Ask about those of whom every amount is empty, which may mean unknown and not nothing.

    Args:
        history: All of the log.
        others: Those who need no amount: on a roster, among those who asked, or known to be hidden.
        notes: Where to ask.
    """
    rows = np.bincount(history.who, minlength=len(history.names))
    silent = [history.names[k] for k in np.flatnonzero(rows == 0)]
    silent = [name for name in silent if name not in others]
    if silent:
        one = len(silent) == 1
        notes.ask(
            f"Did {join_names(silent)} receive nothing, or is it not known? "
            f"{'Its amount is' if one else 'Their amounts are'} empty in every row, and "
            f"{'it is' if one else 'they are'} judged as having received nothing. If it is not "
            f"known, leave {'it' if one else 'them'} out with {argument('exclude')}."
        )


def note_only_left_out(
    uncut: History, judged: History, bounds: tuple[Any, Any], notes: Notes
) -> None:
    """Name those all of whose amounts lie outside the part of the log that is judged.

    Args:
        uncut: All of the log.
        judged: The part of it, with the same names.
        bounds: What it was cut by: `since` and `until` as they were given.
        notes: Where to note.
    """
    if len(judged.who) == len(uncut.who):
        return
    before, after = (np.bincount(one.who, minlength=len(one.names)) for one in (uncut, judged))
    gone = [uncut.names[k] for k in np.flatnonzero((before > 0) & (after == 0))]
    if gone:
        one, names = len(gone) == 1, ("since", "until")
        pairs = zip(bounds, names, strict=True)
        given = [bound_name(bound, name) for bound, name in pairs if bound is not None]
        notes.add(
            f"All that {join_names(gone)} received is in the part that was left out "
            f"({' or '.join(map(argument, given))}): {'it is' if one else 'they are'} judged as "
            f"having received nothing. Leave {'it' if one else 'them'} out with "
            f"{argument('exclude')}, or say with {argument('roster')} who is to be judged."
        )


def note_running_totals(history: History, column: str | None, notes: Notes) -> None:
    """Ask about amounts that hardly ever fall, since running totals are not to be added up."""
    if column is None or not looks_cumulative(history):
        return
    notes.ask(
        f"Is {column!r} a running total? Its values hardly ever fall from one time to the next, "
        "and they are added up here, which counts the same amount again and again if they are "
        f"totals. If they are, say so with {argument('cumulative')}."
    )


def looks_cumulative(history: History) -> bool:
    """Whether nearly every amount is at least the one before it of the same stakeholder."""
    who, amount = history.who[:LOOKED_AT], history.amount[:LOOKED_AT]
    order = np.argsort(who, kind="stable")
    same = np.diff(who[order]) == 0
    change = np.diff(amount[order])[same]
    if len(change) < FEWEST_STEPS or (amount < 0).any():
        return False
    return bool((change < 0).mean() <= MOST_FALLS and (change > 0).mean() >= LEAST_RISES)


RATE = re.compile(r"(?<![a-z])(rate|percent|percentage|pct|proportion|share)(?![a-z])|%")


def note_rates(history: History, column: str | None, notes: Notes) -> None:
    """Ask about amounts that look like rates, since rates at several times do not add up."""
    if column is None or not looks_like_rate(history, column):
        return
    times = np.bincount(history.who, minlength=len(history.names))
    if (times > 1).mean() <= 0.5:
        return
    notes.ask(
        f"Is {column!r} a rate? It looks like one, and its values are added up over time, which "
        f"means nothing for a rate. If it is one, give the counts it was made of: with "
        f"{argument('amount')} how many, and with {argument('out_of')} out of how many."
    )


def looks_like_rate(history: History, column: str) -> bool:
    """Whether amounts are called a rate, or are all from 0 to 1 with fractions among them."""
    if RATE.search(column.lower()):
        return True
    fractions = False
    for part in history.parts():
        amount = history.amount[part]
        if ((amount < 0) | (amount > 1)).any():
            return False
        fractions = fractions or bool(((amount > 0) & (amount < 1)).any())
    return fractions


def note_small(final: np.ndarray, offset: float, notes: Notes) -> None:
    """Where statuses are tiny beside what log Nash adds to them, its scores hardly differ.

    Args:
        final: The statuses at the end.
        offset: What is added to each before the logarithm is taken.
        notes: Where to ask.
    """
    largest = float(np.abs(final).max(initial=0.0))
    if 0.0 < largest < SMALL * offset:
        notes.ask(
            f"Are the units right? The largest status is {format_number(largest)}, and log Nash "
            f"adds {offset:g} to each before it takes the logarithm, so that scores hardly tell "
            "even from uneven and depend on the unit. Give entitlements in larger units (thousands "
            "of people, say) or amounts in smaller ones, or ask with "
            f"{argument('welfare', 'rawls')}."
        )


def note_sizes(final: np.ndarray, notes: Notes) -> None:
    """Where statuses lie far apart and no entitlement is known, size may be the reason."""
    positive = final[final > 0]
    if len(positive) > 1 and positive.max() > FAR_APART * positive.min():
        low, high = float(positive.min()), float(positive.max())
        times = "more than a billion" if low < 1e-9 * high else f"{high / low:,.0f}"
        notes.add(
            f"The largest status is {times} times the smallest. If "
            f"stakeholders differ in size or need, compare them with {argument('entitlement')}."
        )
