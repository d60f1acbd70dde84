"""Numbers as people write them: 1,234.5 and 1.234,5 and 1 234, € 12, 45 %, (12), and marks.

Which of two ways a column is written in is decided by all of its texts: where only one reading is
possible it is taken, and where two are the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from evenhand.auditing.hidden_marks import HiddenMark, mark_of
from evenhand.auditing.sources.engines.engine import BLANKS
from evenhand.errors import BadLog, BadParameter, argument

POINT, COMMA = ".", ","
_SPACES = " \u00a0\u2007\u2009\u202f"
_CURRENCY = (
    r"[$€£¥₹₽₩₺₪₴₦฿₫₱]|US\$|A\$|C\$|R\$|EUR|USD|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|"
    r"BRL|ZAR|Fr\.|kr|zł|Kč|Ft"
)


@cache  # compiled by the first who needs it: most columns hold plain numbers
def _dressed() -> re.Pattern[str]:
    return re.compile(
        rf"(?P<open>\()?(?P<sign>[+\-−])?\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[+\-−])?\s*"
        rf"(?P<digits>(?=[^0-9]?[0-9])[0-9.,][0-9.,'’{_SPACES}]*(?:[eE][+-]?[0-9]{{1,3}})?)"
        rf"\s*(?P<after>{_CURRENCY}|%)?(?P<close>\))?",
        re.I,
    )


@dataclass(frozen=True)
class WrittenNumber:
    """A number without what it is dressed in: its sign, its digits, and its unit."""

    negative: bool
    digits: str
    unit: str  # "", "%", or a currency

    @classmethod
    def of(cls, text: str) -> WrittenNumber | None:
        found = _dressed().fullmatch(text.strip())
        if found is None or bool(found["open"]) != bool(found["close"]):
            return None
        if (found["before"] and found["after"]) or (found["sign"] and found["inner"]):
            return None
        negative = bool(found["open"]) != ((found["sign"] or found["inner"] or "+") != "+")
        unit = (found["before"] or found["after"] or "").upper()
        return cls(negative, found["digits"].rstrip(_SPACES), unit)


@dataclass(frozen=True)
class NumberStyle:
    """Which sign stands before the fraction: a point, or a comma."""

    decimal: str

    def __post_init__(self) -> None:
        if self.decimal not in (POINT, COMMA):
            raise BadParameter(
                f"{argument('decimal')} is {self.decimal!r}: it must be '{POINT}' or '{COMMA}', "
                "which stands before the fraction of a number."
            )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        other = re.escape(COMMA if self.decimal == POINT else POINT)
        groups = (
            rf"[1-9][0-9]{{0,2}}(?P<mark>[{other}'’{_SPACES}])[0-9]{{3}}(?:(?P=mark)[0-9]{{3}})*"
        )
        lakhs = rf"[1-9][0-9]?(?:{other}[0-9]{{2}})+{other}[0-9]{{3}}"
        fraction = rf"{re.escape(self.decimal)}(?P<fraction>[0-9]*)"
        whole = rf"(?P<whole>{groups}|{lakhs}|[0-9]*)"
        return re.compile(rf"{whole}(?:{fraction})?(?P<power>[eE][+-]?[0-9]+)?")

    def parts(self, digits: str) -> tuple[str, str, str] | None:
        """The digits before and after the sign, and the power of ten; None if it is not so."""
        found = self._pattern.fullmatch(digits)
        if found is None or not (found["whole"] or found["fraction"]):
            return None
        whole = re.sub(r"[^0-9]", "", found["whole"])
        return whole, found["fraction"] or "", found["power"] or ""

    def value(self, figure: WrittenNumber) -> float | None:
        parts = self.parts(figure.digits)
        if parts is None:
            return None
        whole, fraction, power = parts
        number = float(f"{whole or 0}.{fraction or 0}{power}")
        number = number / 100 if figure.unit == "%" else number
        return -number if figure.negative else number

    def groups_throughout(self, figures: Sequence[WrittenNumber]) -> bool:
        """Whether no whole number of five digits or more is written without groups."""
        return not any(re.match(r"[0-9]{5}", one.digits) for one in figures)


STYLES = (NumberStyle(POINT), NumberStyle(COMMA))


@dataclass(frozen=True)
class NumberColumn:
    """What the texts of a column mean: numbers, marks with what they can hide, or neither."""

    values: dict[str, float]
    hidden: dict[str, HiddenMark]
    style: NumberStyle
    units: tuple[str, ...]

    def note(self, column: str) -> str | None:
        """How the numbers were read, where they could have been written otherwise."""
        said = []
        if self.style.decimal == COMMA:
            said.append("with decimal commas (1.234,5 is 1234.5)")
        if "%" in self.units:
            said.append("as shares (45 % is 0.45)")
        if not said:
            return None
        return f"The numbers of column {column!r} were read {' and '.join(said)}."


def read_number_texts(
    texts: Sequence[str],
    column: str,
    decimal: str | None = None,
    missing: Sequence[HiddenMark] = (),
) -> NumberColumn:
    """What the texts of a column mean.

    Args:
        texts: The texts of the column, each once.
        column: What the column is called.
        decimal: The sign before the fraction, if the user says it.
        missing: Marks that the user names.
    """
    hidden: dict[str, HiddenMark] = {}
    figures: dict[str, WrittenNumber] = {}
    for text in texts:
        if text.strip().casefold() in BLANKS and not any(mark.fits(text) for mark in missing):
            continue
        figure = WrittenNumber.of(text)
        mark = next((one for one in missing if one.fits(text)), None)
        if mark is None and figure is None:
            mark = mark_of(text, ())
        if mark is not None:
            hidden[text] = mark
        elif figure is not None:
            figures[text] = figure
    style = _style(tuple(figures.values()), column, decimal)
    values = {text: style.value(figure) for text, figure in figures.items()}
    known = {text: value for text, value in values.items() if value is not None}
    units = sorted({figures[text].unit for text in known})
    _refuse_mixed(units, column)
    return NumberColumn(known, hidden, style, tuple(units))


def _style(figures: Sequence[WrittenNumber], column: str, decimal: str | None) -> NumberStyle:
    """The only way in which the numbers can be written, or the one that the user says."""
    if decimal is not None:
        return NumberStyle(decimal)
    counts = [sum(style.parts(one.digits) is not None for one in figures) for style in STYLES]
    if counts[0] != counts[1]:
        return STYLES[counts[1] > counts[0]]
    point, comma = STYLES
    for one in figures:
        as_point, as_comma = point.value(one), comma.value(one)
        if as_point is None or as_comma is None or as_point == as_comma:
            continue
        # A point before three digits separates thousands only where all thousands are separated.
        grouped = COMMA if POINT in one.digits else POINT
        if not point.groups_throughout(figures):
            return NumberStyle(POINT if grouped == COMMA else COMMA)
        low, high = sorted((as_point, as_comma))
        raise BadLog(
            f"column {column!r} holds numbers such as {one.digits!r}, which may be {low:g} or "
            f"{high:.0f}, and no other number of it decides: say which sign stands before the "
            f"fraction, with {argument('decimal', POINT)} or {argument('decimal', COMMA)}."
        )
    return point


def _refuse_mixed(units: Sequence[str], column: str) -> None:
    """Refuse per cent beside plain numbers, and two currencies: they cannot be added up."""
    named = [unit for unit in units if unit]
    if "%" in named and len(units) > 1:
        raise BadLog(
            f"column {column!r} holds numbers with and without a per cent sign: write all of them "
            f"in one way, or choose rows with {argument('where')}."
        )
    if len(named) > 1:
        raise BadLog(
            f"column {column!r} holds amounts in {' and '.join(named[:3])}: put them into one "
            f"currency, or choose rows with {argument('where')}."
        )
