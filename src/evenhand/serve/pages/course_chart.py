"""What each had received by then, as lines that are drawn without a script."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.report.html.charts import positions
from evenhand.report.html.element import Child, Markup, element, figure_of, name_of, table
from evenhand.serve.pages.entry_words import moment_shown

WIDTH, HEIGHT = 1000.0, 400.0
COLOURS = 6  # and then the same again, dashed
TICKS = 4


def course_chart(course: Mapping[str, Any], people: int) -> Markup:
    """The figure of `over-time` as the API answers it.

    Args:
        course: Times, the mean, and what each of some had received by then.
        people: How many there are in all.
    """
    times, lines = course["times"], course["stakeholders"]
    top = nice_top(max((max(one["received"]) for one in lines), default=0.0), *course["mean"])
    places = _places(times)
    drawn = [
        element("path", {"class": f"line {_kind(k)}", "d": _path(places, one["received"], top)})
        for k, one in enumerate(lines)
    ]
    mean = element("path", {"class": "line mean", "d": _path(places, course["mean"], top)})
    grid = (
        element("path", {"class": "grid", "d": f"M0 {HEIGHT * k / TICKS:g}H{WIDTH:g}"})
        for k in range(TICKS + 1)
    )
    label = f"Lines of what each of {len(lines)} had received over time; the table below has them."
    attributes = {
        "viewbox": f"0 -4 {WIDTH:g} {HEIGHT + 8:g}",
        "preserveaspectratio": "none",
        "role": "img",
        "aria-label": label,
    }
    scale = (element("span", None, figure_of(top * k / TICKS)) for k in range(TICKS, -1, -1))
    return element(
        "figure",
        {"class": "course", "id": "course"},
        element(
            "div",
            {"class": "plotted"},
            element("div", {"class": "scale", "aria-hidden": "true"}, scale),
            element("svg", attributes, grid, mean, drawn),
        ),
        element("div", {"class": "ends"}, moment_shown(times[0]), moment_shown(times[-1])),
        _legend(lines),
        element("figcaption", None, _caption(len(lines), people)),
        _table(course),
    )


def _caption(shown: int, people: int) -> str:
    words = "What each had received by then; the dotted line is the mean of all who were there."
    if shown < people:
        words += (
            f" Of {people:,} people it shows {shown}: those who are next, and those who are last."
        )
    return words


def _legend(lines: Sequence[Mapping[str, Any]]) -> Markup:
    items = []
    for k, one in enumerate(lines):
        key = element(
            "svg",
            {"viewbox": "0 0 28 8", "width": "28", "height": "8", "aria-hidden": "true"},
            element("path", {"class": f"line {_kind(k)}", "d": "M0 4H28"}),
        )
        last: list[Child] = [" ", figure_of(one["received"][-1])]
        items.append(element("li", None, key, element("span", None, name_of(one["name"]), last)))
    return element("ul", {"class": "legend"}, items)


def _table(course: Mapping[str, Any]) -> Markup:
    lines = course["stakeholders"]
    few = sorted({round(k * (len(course["times"]) - 1) / 9) for k in range(10)})
    rows = (
        (
            moment_shown(course["times"][k]),
            *(figure_of(one["received"][k]) for one in lines),
            figure_of(course["mean"][k]),
        )
        for k in few
    )
    columns = ("By", *(name_of(one["name"]) for one in lines), "mean")
    shown = table("Received by then", columns, rows)
    return element("details", {"class": "more"}, element("summary", None, "As a table"), shown)


def _kind(number: int) -> str:
    again = " dashed" if number // COLOURS % 2 else ""
    return f"line{number % COLOURS + 1}{again}"


def _places(times: Sequence[Any]) -> list[float]:
    """Where each moment lies, from 0 to the width."""
    _, found = positions([_label(at) for at in times])
    first, span = found[0], found[-1] - found[0]
    return [WIDTH * (place - first) / span if span else WIDTH for place in found]


def _label(at: Any) -> str:
    return at[:19].replace("T", " ") if isinstance(at, str) else repr(float(at))


def _path(places: Sequence[float], values: Sequence[float], top: float) -> str:
    """Steps: what was received stays until more is."""
    d = ""
    for place, value in zip(places, values, strict=True):
        height = HEIGHT * (1 - value / top)
        d += f"H{place:.1f}V{height:.1f}" if d else f"M{place:.1f} {height:.1f}"
    return d


def nice_top(*values: float) -> float:
    """A round number at or above all values, which four steps reach.

    >>> nice_top(3.0), nice_top(7.0, 9.0), nice_top(0.0), nice_top(130.0)
    (4.0, 10.0, 4.0, 200.0)
    """
    most = max(values, default=0.0)
    if most <= 4:
        return 4.0 if most > 0.4 or most <= 0 else 4 * 10 ** math.ceil(math.log10(most / 4))
    step = 10.0 ** math.floor(math.log10(most / TICKS))
    factor = next(one for one in (1, 2, 2.5, 5, 10) if one * step * TICKS >= most)
    return factor * step * TICKS
