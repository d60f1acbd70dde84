"""The numbers of an answer as they are embedded in a page, in compact form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.wording import format_number
from evenhand.auditing.answer import Answer
from evenhand.auditing.chance.finding import ChanceFinding
from evenhand.report.html.charts import positions

if TYPE_CHECKING:
    from jaxtyping import Float


# Whole numbers as text that a page's script reads at once, without waiting for anything.
#
# Each number is written in base 32, the lowest digit first, one letter for each digit: the letter
# says which digit it is, and whether another follows. 0 stands for a number that is not known; the
# sign is the lowest bit of the others. Differences between neighbours are small, and so short.

BITS = 5
MORE = 1 << BITS  # set where another digit follows
LETTERS = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", dtype=np.uint8
)


def packed(rows: Float[np.ndarray, "row column"]) -> str:
    """Rows of whole numbers, NaN where one is not known, each row from its own beginning.

    >>> packed(np.array([[1.0, 2.0, np.nan, 1.0]]))
    'DDAC'
    """
    codes = _codes(_differences(rows)).ravel()
    width = int(np.ceil(max(1, int(codes.max(initial=0)).bit_length()) / BITS))
    places = BITS * np.arange(width)
    rest = codes[:, None] >> places
    follows = rest >> BITS > 0
    digits = (rest & (MORE - 1)) + MORE * follows
    written = np.concatenate((np.ones((len(codes), 1), bool), rest[:, 1:] > 0), axis=1)
    return LETTERS[digits[written]].tobytes().decode("ascii")


def _differences(rows: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "row column"]:
    """From the last number of the row that is known."""
    known = ~np.isnan(rows)
    column = np.where(known, np.arange(rows.shape[1]), -1)
    before = np.maximum.accumulate(column, axis=1)
    before = np.concatenate((np.full((len(rows), 1), -1), before[:, :-1]), axis=1)
    last = np.take_along_axis(rows, np.maximum(before, 0), axis=1)
    return rows - np.where(before >= 0, last, 0.0)


def _codes(values: Float[np.ndarray, "row column"]) -> np.ndarray:
    known = ~np.isnan(values)
    whole = np.where(known, values, 0.0).astype(np.int64)
    return np.where(known, np.where(whole < 0, -2 * whole, 2 * whole + 1), 0)


# The numbers of an answer as they are embedded in a page, in compact form.
#
# The structure is that of `--json`, which the page's script restores for download. Stakeholders are
# rows under one list of columns. Unfairness over time has every digit if there are few values; a
# large table is rounded to seven digits relative to its largest number and packed, and with more
# than `MAX_VALUES` values only some assessments are kept, evenly chosen, including the last.

PLAIN = 20_000  # values that are written with every digit
MAX_VALUES = 250_000
DIGITS = 7


def compact_answer(answer: Answer) -> dict[str, Any]:
    """An answer for a page's script."""
    kept = kept_assessments(answer)
    whole = answer.to_compact_json()
    over, table = whole["over_time"], answer.over_time
    for name in ("times", "welfare", "even_welfare", "mean"):
        if over[name] is not None:
            over[name] = [over[name][k] for k in kept]
    over["unfairness"] = {"names": list(table.names), **_matrix(table.unfairness[kept].T)}
    found = answer.chance
    if isinstance(found, ChanceFinding) and found.band is not None:
        ends = {"low": found.band.low, "high": found.band.high}
        whole["chance"]["band"] |= {name: _matrix(end[kept].T) for name, end in ends.items()}
    whole["axis"] = _axis(answer, over)
    terms = answer.terms
    whole["terms"] = {**vars(terms.direction), "units": terms.units}
    return whole


def kept_assessments(answer: Answer) -> list[int]:
    """The assessments that are in the page: all, or evenly chosen ones of very many."""
    steps, size = answer.over_time.unfairness.shape
    return evenly_chosen(steps, max(12, MAX_VALUES // max(size, 1)))


def evenly_chosen(count: int, most: int) -> list[int]:
    """So many of the places 0, 1, …, the first and the last among them; all if there are few.

    >>> evenly_chosen(3, 5), evenly_chosen(9, 3)
    ([0, 1, 2], [0, 4, 8])
    """
    if count <= most:
        return list(range(count))
    return np.unique(np.linspace(0, count - 1, most).round().astype(int)).tolist()


def is_rounded(answer: Answer) -> bool:
    """Whether unfairness over time has fewer digits in the page than in `--json`."""
    return len(kept_assessments(answer)) * len(answer.over_time.names) > PLAIN


def _matrix(rows: np.ndarray) -> dict[str, Any]:
    """Rows of numbers, NaN as null; packed if there are many."""
    if rows.size <= PLAIN:
        return {"rows": _with_null(rows)}
    largest = float(np.nanmax(np.abs(rows), initial=0.0))
    power = math.floor(math.log10(largest)) - DIGITS + 1 if largest else 0
    per, unit = (10**-power, 1) if power < 0 else (1, 10**power)
    text = packed(np.round(rows * per / unit))
    return {"per": per, "unit": unit, "columns": rows.shape[1], "packed": text}


def _with_null(rows: np.ndarray) -> list[list[float | None]]:
    return [[None if x != x else x for x in row] for row in rows.tolist()]


def _axis(answer: Answer, over: Mapping[str, Any]) -> dict[str, Any]:
    """Positions on the time axis, and the class bounds of the heatmap."""
    times = list(over["times"])
    last = [] if over["unfinished"] is None else [over["unfinished"]["time"]]
    taken = _corrections(answer)
    dates, places = positions([*times, *last, *answer.gaps, *taken])
    rest = places[len(times) + len(last) :]
    marks = [
        {"kind": "gap", "x": x, "words": f"{label}: no events"}
        for label, x in zip(answer.gaps, rest, strict=False)
    ]
    marks += [
        {"kind": "correction", "x": x, "words": f"{label}: {words}"}
        for (label, words), x in zip(taken.items(), rest[len(answer.gaps) :], strict=True)
    ]
    return {
        "dates": dates,
        "x": places[: len(times)],
        "open": places[len(times)] if last else None,
        "marks": marks,
        "classes": class_bounds(answer),
    }


def _corrections(answer: Answer) -> dict[str, str]:
    """Corrections by time, in words."""
    by_time: dict[str, list[str]] = {}
    for time, who, amount in answer.corrections:
        by_time.setdefault(time, []).append(f"{who} {format_number(amount)}")
    return {
        time: "correction\n" + "\n".join([*words[:6], *(["…"] if len(words) > 6 else [])])
        for time, words in by_time.items()
    }


def class_bounds(answer: Answer) -> list[float]:
    """Two bounds that divide the distances from the mean into near, middle and far thirds.

    They are rounded to two digits, to be easy to remember.
    """
    deviation = np.abs(answer.over_time.unfairness)
    deviation = deviation[deviation > 0]
    if not deviation.size:
        return []  # everyone is always at the mean
    low, high = (_two_digits(float(x)) for x in np.quantile(deviation, (1 / 3, 2 / 3)))
    return [low, high if high > low else low * 2]


def _two_digits(value: float) -> float:
    return float(f"{value:.1e}")
