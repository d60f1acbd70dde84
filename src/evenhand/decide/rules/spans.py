"""Stretches of time in words, of dates (in microseconds) or of plain numbers."""

from __future__ import annotations

from evenhand._util.moments import DAY
from evenhand._util.wording import format_number

UNITS = (("week", 7 * DAY), ("day", DAY), ("hour", 3_600e6), ("minute", 60e6))


def span_in_words(span: float, plain_numbers: bool) -> str:
    """A stretch of time in the largest unit of which it is at least two, or in its own numbers.

    >>> span_in_words(3 * 86_400e6, False), span_in_words(2.5, True), span_in_words(0, False)
    ('3 days', '2.5', '0 seconds')
    """
    if plain_numbers:
        return format_number(span)
    name, unit = next((pair for pair in UNITS if span >= 2 * pair[1]), ("second", 1e6))
    count = format_number(round(span / unit, 1))
    return f"{count} {name}{'' if count == '1' else 's'}"
