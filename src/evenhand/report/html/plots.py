"""Figures of a page: a chart with its text alternative, legend and caption."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.auditing.verdict import Direction
from evenhand.report.html.charts import CLASSES, FILLS
from evenhand.report.html.element import Child, Markup, element, figure_of

# The signs of curves, in a legend and in a chart; the page has as many colours for them.
SIGNS = ("●", "■", "▲", "◆", "▼", "✚", "▶")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right")
MARKED = 10  # points with a sign per curve


def plot(
    chart: str, kind: str, log: int | None, alternative: str, caption: Child, legend: Child = None
) -> Markup:
    """Where the page's script draws a chart; a screen reader reads the alternative instead.

    `chart` names the specification, `kind` the function that makes its rows, `log` the log.
    """
    place = element(
        "div",
        {
            "class": "plot",
            "role": "img",
            "aria-label": alternative,
            "data-chart": chart,
            "data-kind": kind,
            "data-log": log,
        },
    )
    words = element("figcaption", None, caption)
    # Without the script there is no chart, so its caption is hidden too.
    return element("figure", {"data-script": True, "hidden": True}, legend, place, words)


def legend(items: Iterable[tuple[Markup, Child]]) -> Markup:
    """The meaning of the marks of a chart."""
    entries = (element("li", None, mark, element("span", None, words)) for mark, words in items)
    return element("ul", {"class": "legend"}, entries)


def glyph(sign: str, colour: str = "") -> Markup:
    """A character as a mark in a legend."""
    return element("span", {"class": f"glyph {colour}".strip(), "aria-hidden": "true"}, sign)


def swatch(fill: str) -> Markup:
    """A sample of a fill of the heatmap."""
    size = {"width": "26", "height": "16"}
    return element("svg", {**size, "aria-hidden": "true"}, element("rect", {**size, "fill": fill}))


def colours(direction: Direction) -> dict[str, str]:
    """The colour of each side of the mean; it says which side is the worse one."""
    return {direction.worse: "below", direction.better: "above"}


def heat_legend(bounds: list[float], direction: Direction) -> Markup:
    """The classes of the heatmap from far on the worse side of the mean to far on the better."""
    if not bounds:
        return legend([(swatch("var(--even)"), "at the mean")])
    near, far = figure_of(bounds[0]), figure_of(bounds[1])
    words: dict[int, Child] = {
        -3: (f"{direction.worse} the mean by ", far, " or more"),
        -2: ("by ", near, " or more"),
        -1: "by less",
        0: "at the mean",
        1: (f"{direction.better} the mean by less than ", near),
        2: "by more",
        3: ("by ", far, " or more"),
    }
    return legend((swatch(fill), words[k]) for k, fill in zip(CLASSES, FILLS, strict=True))
