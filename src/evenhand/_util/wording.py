"""Counts, names and numbers as they stand in a sentence, and what a value had to be."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Counts, names and numbers as they stand in a sentence.

ALIKE = 1e-9  # numbers this close, relative to the larger, are written alike
LEAST = 1e-9  # a smaller difference would need more decimals than anybody reads
LEAST_WRITTEN_OUT = 1e-6  # below it a number is written with a power of ten


def nearest(name: Any, known: Iterable[str], least: float = 0.6) -> str | None:
    """The known name that was probably meant; `least` is how alike it must be, from 0 to 1.

    Capitals and spaces at the ends do not count, and a number is what it is written as.

    >>> nearest("rals", ["rawls", "gini"]), nearest("x", ["rawls"]), nearest(101, ["1010"])
    ('rawls', None, '1010')
    """
    plain = {str(one).lower().strip(): str(one) for one in known}
    found = difflib.get_close_matches(str(name).lower().strip(), plain, n=1, cutoff=least)
    return plain[found[0]] if found else None


def as_names(given: Any) -> tuple[str, ...]:
    """Names as texts, whether they were given as texts or numbers, one or several.

    >>> as_names([1, "Ann"]), as_names("Ann"), as_names(7)
    (('1', 'Ann'), ('Ann',), ('7',))
    """
    several = isinstance(given, Iterable) and not isinstance(given, str)
    return tuple(str(name) for name in given) if several else (str(given),)


def pluralise(count: int, one: str, many: str | None = None) -> str:
    """Such as "1 row", "1,204 rows"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def as_beginning(words: str) -> str:
    """Words at the beginning of a sentence; all but the first letter stay as they are.

    >>> as_beginning("nobody is behind Ann"), as_beginning("")
    ('Nobody is behind Ann', '')
    """
    return words[:1].upper() + words[1:]


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Such as "A, B and C", or the first few and how many more.

    >>> join_names(["Paris", "Washington, DC"])
    'Paris and “Washington, DC”'
    """
    names = [quoted(str(name)) for name in names]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def quoted(name: str) -> str:
    """A name in a sentence: in quotes where its own comma would look like the sentence's."""
    is_quoted = name[:1] in ("'", '"', "“") and name[-1:] in ("'", '"', "”")
    return f"“{name}”" if "," in name and not is_quoted else name


def short_repr(value: Any, most: int = 60) -> str:
    """A value as Python writes it, but never longer than fits a sentence.

    >>> short_repr("ab"), short_repr("a" * 100, most=9)
    ("'ab'", "'aaaaaaa…")
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
        return f"a number of {int(math.log10(abs(value))) + 1:,} digits"
    text = repr(value[: most + 1] if isinstance(value, str | bytes | Sequence) else value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def join_tied(names: Sequence[str]) -> str:
    """Those who share a place: "A", "A and B", "A, B and C", "A, B and 2 others".

    >>> join_tied(["A", "B"]), join_tied(["A", "B", "C", "D"]), join_tied([])
    ('A and B', 'A, B and 2 others', 'nobody')
    """
    if len(names) > 3:
        return f"{quoted(names[0])}, {quoted(names[1])} and {len(names) - 2:,} others"
    return join_names(names) or "nobody"


def format_number(value: float, signed: bool = False) -> str:
    """A number with as many digits as a reader can use.

    >>> format_number(1234.5), format_number(-0.25, signed=True), format_number(0.0000144)
    ('1,234', '−0.25', '0.0000144')
    """
    if value != value:
        return "–"
    size, sign = abs(value), "+" if signed else ""
    if size >= 1000 or value == int(value):
        text = f"{value:{sign},.0f}"
    elif size >= 1:
        text = f"{value:{sign}.2f}".rstrip("0").rstrip(".")
    elif size >= LEAST_WRITTEN_OUT:
        digits = 2 - math.floor(math.log10(size))
        text = f"{value:{sign}.{digits}f}".rstrip("0").rstrip(".")
    else:
        text = f"{value:{sign}.3g}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")


def tell_apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers that are read beside each other, with digits enough to differ if they do.

    >>> tell_apart(181.4912, 181.4946), tell_apart(1234567.25, 1234567.4), tell_apart(2.0, 3.0)
    (('181.4912', '181.4946'), ('1,234,567.25', '1,234,567.4'), ('2', '3'))
    """
    texts = format_number(one), format_number(other)
    far = abs(one - other)
    if texts[0] != texts[1] or not far > ALIKE * max(abs(one), abs(other)):
        return texts
    if far < LEAST:
        return f"{one:.12g}".replace("-", "−"), f"{other:.12g}".replace("-", "−")
    digits = max(0, 1 - math.floor(math.log10(far)))  # two digits of the difference
    first, second = (
        f"{value:,.{digits}f}".rstrip("0").rstrip(".").replace("-", "−") for value in (one, other)
    )
    return first, second


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


# What a value had to be, in a sentence: pydantic's findings about options and about requests.

FORMS: Mapping[str, str] = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    "int_parsing_size": "a whole number of fewer digits",
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "a text",
    "list_type": "a list",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "an object of fields"),
    "greater_than": "more than {gt:,}",
    "greater_than_equal": "at least {ge:,}",
    "less_than": "less than {lt:,}",
    "less_than_equal": "at most {le:,}",
    "string_too_short": "{min_length:,} or more characters long",
    "string_too_long": "{max_length:,} or fewer characters long",
    "too_short": "{min_length:,} or more items long",
    "too_long": "{max_length:,} or fewer items long",
    **dict.fromkeys(("literal_error", "enum"), "{expected}"),
}


def expected_form(finding: Mapping[str, Any]) -> str | None:
    """What is to stand after "it must be", of one of `ValidationError.errors()`, where that is
    plain.

    >>> expected_form({"type": "greater_than_equal", "ctx": {"ge": 100}})
    'at least 100'
    """
    form = FORMS.get(finding["type"])
    bounds = {
        name: int(bound) if isinstance(bound, float) and bound.is_integer() else bound
        for name, bound in finding.get("ctx", {}).items()
    }
    return None if form is None else form.format(**bounds)
