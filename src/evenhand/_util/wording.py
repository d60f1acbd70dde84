"""Counts, names and numbers as they stand in a sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def nearest(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """The known name that was probably meant; `least` is how alike it must be, from 0 to 1.

    Capitals and spaces at the ends do not count.

    >>> nearest("rals", ["rawls", "gini"]), nearest("x", ["rawls"])
    ('rawls', None)
    """
    plain = {str(one).lower().strip(): str(one) for one in known}
    found = difflib.get_close_matches(name.lower().strip(), plain, n=1, cutoff=least)
    return plain[found[0]] if found else None


def pluralise(count: int, one: str, many: str | None = None) -> str:
    """Such as "1 row", "1,204 rows"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Such as "A, B and C", or the first few and how many more."""
    names = [str(name) for name in names]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def join_tied(names: Sequence[str]) -> str:
    """Those who share a place: "A", "A and B", "A, B and C", "A, B and 2 others".

    >>> join_tied(["A", "B"]), join_tied(["A", "B", "C", "D"]), join_tied([])
    ('A and B', 'A, B and 2 others', 'nobody')
    """
    if len(names) > 3:
        return f"{names[0]}, {names[1]} and {len(names) - 2:,} others"
    return join_names(names) or "nobody"


def format_number(value: float, signed: bool = False) -> str:
    """A number with as many digits as a reader can use."""
    if value != value:
        return "–"
    size, sign = abs(value), "+" if signed else ""
    if size >= 1000 or value == int(value):
        text = f"{value:{sign},.0f}"
    else:
        text = f"{value:{sign}.2f}".rstrip("0").rstrip(".") if size >= 1 else f"{value:{sign}.3g}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")


def short_number(value: float, signed: bool = False) -> str:
    """A number that fits a narrow column: four digits and k, M, G or T."""
    if value != value:
        return "–"
    scales = (("T", 1e12, 1e12), ("G", 1e9, 1e9), ("M", 1e6, 1e6), ("k", 1e4, 1e3))
    for unit, least, scale in scales:
        if abs(value) >= least:
            scaled = value / scale
            digits = 0 if abs(scaled) >= 1000 else 1 if abs(scaled) >= 100 else 2
            return f"{scaled:{'+' if signed else ''}.{digits}f}{unit}".replace("-", "−")
    return format_number(value, signed)
