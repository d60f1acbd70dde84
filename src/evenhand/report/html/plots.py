"""Figures of a page: the place of a chart, its text alternative, its legend and its caption."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.report.html.charts import CLASSES, FILLS
from evenhand.report.html.element import Child, Markup, element, figure_of


def plot(
    chart: str, kind: str, log: int | None, alternative: str, caption: Child, legend: Child = None
) -> Markup:
    """Where the page's script draws a chart; a screen reader reads the alternative instead.

    `chart` names the specification, `kind` what fills it and `log` whose rows they are.
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
    # Without the script there is no chart, and its caption would speak of nothing.
    return element("figure", {"data-script": True, "hidden": True}, legend, place, words)


def legend(items: Iterable[tuple[Markup, Child]]) -> Markup:
    """What the marks of a chart mean."""
    entries = (element("li", None, mark, element("span", None, words)) for mark, words in items)
    return element("ul", {"class": "legend"}, entries)


def glyph(sign: str, colour: str = "") -> Markup:
    """A mark in a legend, as a character."""
    return element("span", {"class": f"glyph {colour}".strip(), "aria-hidden": "true"}, sign)


def swatch(fill: str) -> Markup:
    """A patch of a fill of the heatmap."""
    size = {"width": "26", "height": "16"}
    return element("svg", {**size, "aria-hidden": "true"}, element("rect", {**size, "fill": fill}))


def heat_legend(bounds: list[float]) -> Markup:
    """The classes of the heatmap from far below the mean to far above it."""
    if not bounds:
        return legend([(swatch("var(--even)"), "at the mean")])
    near, far = figure_of(bounds[0]), figure_of(bounds[1])
    words: dict[int, Child] = {
        -3: ("unfair to it by ", far, " or more"),
        -2: ("by ", near, " or more"),
        -1: "by less",
        0: "at the mean",
        1: ("in its favour by less than ", near),
        2: "by more",
        3: ("by ", far, " or more"),
    }
    return legend((swatch(fill), words[k]) for k, fill in zip(CLASSES, FILLS, strict=True))
