"""Charts as Altair specifications, their time axis, and figures with legend and caption."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from evenhand.auditing.verdict import Direction
from evenhand.report.html.element import Child, Markup, element, figure_of

# Positions of assessments on a time axis: dates by their first moment, numbers unchanged.

PERIOD = re.compile(r"(\d{4,})-(?:W(\d\d)|Q(\d)|(\d\d))")
MOMENT = re.compile(r"\d{4,}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?)?")

TICKS = 60  # up to this many assessments have a tick each
FEW = 12  # ticks if there are more assessments

# Dates on an axis are written as in the audit.
FORMATS = {
    "week": "%G-W%V",
    "quarter": "%Y-Q%q",
    "month": "%Y-%m",
    "day": "%Y-%m-%d",
    "moment": "%Y-%m-%d %H:%M",
}


class TimeAxis(NamedTuple):
    """A time axis: the positions of its ticks, and the format of dates."""

    ticks: tuple[float, ...] = ()
    format: str | None = None

    @classmethod
    def of(cls, labels: Sequence[str], dates: bool, places: Sequence[float]) -> TimeAxis:
        """The axis for assessments with these labels at these positions."""
        ticks = sorted(set(places))
        if len(ticks) > TICKS:
            step = (len(ticks) - 1) / (FEW - 1)
            ticks = [ticks[round(k * step)] for k in range(FEW)]
        return cls(tuple(ticks), _format(labels) if dates else None)


def positions(labels: Sequence[str]) -> tuple[bool, list[float]]:
    """Whether the labels are dates, and the position of each on the axis.

    Dates are milliseconds since 1970 in UTC. Labels that are neither dates nor numbers are counted.

    >>> positions(["2021-01", "2021-Q2", "2021-W05", "2021-03-31 10:30:00"])[0]
    True
    >>> positions(["1", "2.5"]), positions(["soon", "late"])
    ((False, [1.0, 2.5]), (False, [1.0, 2.0]))
    """
    for dates, read in ((True, _moment), (False, _number)):
        found = [read(label) for label in labels]
        known = [place for place in found if place is not None]
        if known and len(known) == len(labels):
            return dates, known
    return False, [float(k + 1) for k in range(len(labels))]


def _format(labels: Sequence[str]) -> str:
    found = {_unit(label) for label in labels}
    return FORMATS[found.pop() if len(found) == 1 else "moment" if "moment" in found else "day"]


def _unit(label: str) -> str:
    match = PERIOD.fullmatch(label)
    if match is None:
        return "moment" if " " in label else "day"
    _, week, quarter, _ = match.groups()
    return "week" if week else "quarter" if quarter else "month"


def _moment(label: str) -> float | None:
    try:
        if MOMENT.fullmatch(label):
            moment = datetime.datetime.fromisoformat(label)
        elif match := PERIOD.fullmatch(label):
            moment = _first_day(match)
        else:
            return None
    except ValueError:  # a year after 9999 can only be a number
        return None
    return moment.replace(tzinfo=datetime.UTC).timestamp() * 1000


def _first_day(match: re.Match[str]) -> datetime.datetime:
    year, week, quarter, month = match.groups()
    if week is not None:
        return datetime.datetime.fromisocalendar(int(year), int(week), 1)
    return datetime.datetime(int(year), int(month) if month else 3 * int(quarter) - 2, 1)


def _number(label: str) -> float | None:
    try:
        return float(label)
    except ValueError:
        return None


# Charts as Altair specifications without data: a page adds the rows.
#
# A page passes the rows of each chart by the names of the data sets below. Colours are the page's
# CSS variables, so that one specification works in light mode, in dark mode and in print.

LINES = ("var(--first)", "var(--second)")
LOG_SHAPES = ("circle", "square")
# From far on the worse side of the mean to far on the better one, which are those below and above
# it where more is better. The worse side is hatched as well as coloured: the fills are patterns
# that the page defines.
CLASSES = (-3, -2, -1, 0, 1, 2, 3)
FILLS = tuple(
    f"url(#below{-k})" if k < 0 else f"var(--above{k})" if k else "var(--even)" for k in CLASSES
)
STORY = 240  # the height of the chart of one stakeholder
CHANGES = ("unchanged", "recovered", "fell behind")


def as_spec(chart: Any) -> dict[str, Any]:
    """A chart as a Vega-Lite specification that fits the width it has on the page."""
    spec: dict[str, Any] = chart.properties(
        autosize={"type": "fit-x", "contains": "padding"}
    ).to_dict()
    spec.pop("config", None)  # the page's own
    return spec


def welfare_over_time(axis: TimeAxis, title: str, from_even: bool) -> Any:
    """Fairness over time: `assessments`, `levels` (scores), `open` (unfinished), `marks`.

    Args:
        axis: The time axis.
        title: Of the other axis.
        from_even: Whether the numbers are distances from the even log, which is then drawn at 0.
    """
    import altair as alt

    x = _time(axis)
    room = alt.Scale(zero=from_even, nice=True, padding=8)
    y = alt.Y("welfare:Q", title=title, scale=room, axis=short_axis())
    colour = alt.Color("log:N", legend=None, scale=alt.Scale(domain=[0, 1], range=list(LINES)))
    shape = alt.Shape("log:N", legend=None, scale=alt.Scale(domain=[0, 1], range=list(LOG_SHAPES)))
    tooltip = [alt.Tooltip("words:N")]
    line = drawn_rows("assessments").mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    points = (
        drawn_rows("assessments")
        .mark_point(filled=True, size=36, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)
    )
    dotted = (
        drawn_rows("open")
        .mark_line(strokeDash=[2, 4], strokeWidth=2)
        .encode(x=x, y=y, color=colour)
    )
    hollow = (
        drawn_rows("open")
        .transform_filter("datum.last")
        .mark_point(filled=False, size=60, strokeWidth=2, opacity=1)
        .encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip)
    )
    score = (
        drawn_rows("levels")
        .mark_rule(strokeDash=[8, 4], strokeWidth=1.5)
        .encode(y="welfare:Q", color=colour, tooltip=tooltip)
    )
    gaps = (
        drawn_rows("marks")
        .transform_filter("datum.kind === 'gap'")
        .mark_rule(strokeWidth=7, color="var(--gap)")
        .encode(x=x, tooltip=tooltip)
    )
    corrections = (
        drawn_rows("marks")
        .transform_filter("datum.kind === 'correction'")
        .mark_point(shape="triangle-down", filled=True, size=70, color="var(--ink)", opacity=1)
        .encode(x=x, y=alt.value(6), tooltip=tooltip)
    )
    even = (_mean(),) if from_even else ()
    drawn = (gaps, *even, score, line, dotted, points, hollow, corrections)
    return alt.layer(*drawn).properties(height=260)


def spread(axis: TimeAxis, direction: Direction) -> Any:
    """The largest distances above and below the mean at each assessment: `spread`."""
    import altair as alt

    x = _time(axis)
    rows = drawn_rows("spread")
    tooltip = [alt.Tooltip("words:N")]
    y = alt.Y("worse:Q", title="distance from the mean", axis=short_axis())
    shapes = {"below": "triangle-down", "above": "triangle-up"}
    band = rows.mark_area(color="var(--range)").encode(x=x, y=y, y2="better:Q")
    worse = rows.mark_line(color="var(--below)", strokeDash=[6, 3], strokeWidth=2).encode(x=x, y=y)
    better = rows.mark_line(color="var(--above)", strokeWidth=2).encode(x=x, y="better:Q")
    worse_points = rows.mark_point(
        shape=shapes[direction.worse], filled=True, size=50, opacity=1, color="var(--below)"
    ).encode(x=x, y="worse:Q", tooltip=tooltip)
    better_points = rows.mark_point(
        shape=shapes[direction.better], filled=True, size=50, opacity=1, color="var(--above)"
    ).encode(x=x, y="better:Q", tooltip=tooltip)
    drawn = (band, _mean(), worse, better, worse_points, better_points)
    return alt.layer(*drawn).properties(height=220)


def heatmap() -> Any:
    """One row for each of `names`, one column per time, `cells` by their distance from the mean."""
    import altair as alt

    y = alt.Y("row:N", sort=None, axis=None)
    fill = alt.Fill(
        "class:O", legend=None, scale=alt.Scale(domain=list(CLASSES), range=list(FILLS))
    )
    times = alt.Axis(
        title=None,
        labelAngle=0,
        labelOverlap="greedy",
        labelSeparation=8,
        ticks=False,
        domain=False,
    )
    cells = (
        drawn_rows("cells")
        .mark_rect(stroke="var(--page)", strokeWidth=0.5, cursor="pointer")
        .encode(
            x=alt.X("column:O", sort=None, axis=times),
            y=y,
            fill=fill,
            tooltip=[alt.Tooltip("words:N")],
        )
    )
    names = (
        drawn_rows("names")
        .mark_text(align="right", baseline="middle", color="var(--ink)", cursor="pointer")
        .encode(x=alt.value(-6), y=y, text="label:N", tooltip=[alt.Tooltip("words:N")])
    )
    return alt.layer(cells, names)


def recovery() -> Any:
    """Final against overall unfairness, one point per stakeholder (`stakeholders`)."""
    import altair as alt

    shape = alt.Shape(
        "change:N",
        legend=None,
        scale=alt.Scale(domain=list(CHANGES), range=["circle", "triangle-up", "triangle-down"]),
    )
    colour = alt.Color(
        "change:N",
        legend=None,
        scale=alt.Scale(
            domain=list(CHANGES), range=["var(--faint)", "var(--above)", "var(--below)"]
        ),
    )
    size = alt.Size(
        "change:O", legend=None, scale=alt.Scale(domain=list(CHANGES), range=[45, 130, 130])
    )
    room = alt.Scale(padding=14)
    x = alt.X(
        "overall:Q",
        title="overall: below ← 0 → above the mean",
        axis=short_axis(),
        scale=room,
    )
    y = alt.Y("final:Q", title="at the end", axis=short_axis(), scale=room)
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
    points = (
        drawn_rows("stakeholders")
        .mark_point(filled=True, opacity=0.85, stroke="var(--page)", strokeWidth=0.5)
        .encode(x=x, y=y, color=colour, shape=shape, size=size, tooltip=[alt.Tooltip("words:N")])
    )
    # Names stay inside the chart, and have a halo, so that points do not overlap them.
    side = {
        "align": {"expr": "datum.left ? 'right' : 'left'"},
        "dx": {"expr": "datum.left ? -9 : 9"},
    }
    label = {"x": x, "y": y, "text": "label:N"}
    named = drawn_rows("stakeholders").transform_filter("datum.label !== ''")
    halo = named.mark_text(
        **side,
        baseline="middle",
        limit=160,
        stroke="var(--page)",
        strokeWidth=4,
        strokeJoin="round",
    ).encode(**label)
    labels = named.mark_text(**side, baseline="middle", limit=160, color="var(--ink)").encode(
        **label
    )
    return alt.layer(
        zero.mark_rule(color="var(--rule)").encode(x="zero:Q"),
        zero.mark_rule(color="var(--rule)").encode(y="zero:Q"),
        points,
        halo,
        labels,
    ).properties(height=340)


def story(axis: TimeAxis) -> Any:
    """One stakeholder with the mean and the range: `story`; `spells` of being worse off a strip."""
    import altair as alt

    x = _time(axis)
    rows = drawn_rows("story")
    tooltip = [alt.Tooltip("words:N")]
    y = alt.Y("status:Q", title="status", axis=short_axis())
    strip = {"y": alt.value(-14), "y2": alt.value(-4)}  # above the chart, where it hides nothing
    spells = (
        drawn_rows("spells")
        .mark_rect(fill="url(#below2)")
        .encode(x=x, x2="until", **strip, tooltip=tooltip)
    )
    band = rows.mark_area(color="var(--range)").encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    mean = rows.mark_line(color="var(--ink)", strokeDash=[6, 4], strokeWidth=1.5).encode(
        x=x, y=alt.Y("mean:Q")
    )
    line = rows.mark_line(color="var(--first)", strokeWidth=2.5).encode(x=x, y=y)
    points = rows.mark_point(color="var(--first)", filled=True, size=40, opacity=1).encode(
        x=x, y=y, tooltip=tooltip
    )
    return alt.layer(band, mean, line, points, spells).properties(height=STORY)


def deviation(axis: TimeAxis) -> Any:
    """One stakeholder's distance from the mean: the worse side hatched; `returns` to the mean.

    Behind it is what chance alone would make of it, where that is known.
    """
    import altair as alt

    x = _time(axis)
    y = alt.Y("deviation:Q", title="distance from the mean", axis=short_axis())
    tooltip = [alt.Tooltip("words:N")]
    bars = (
        drawn_rows("story")
        .mark_rect()
        .encode(
            x=_time(axis, "from"),
            x2="until",
            y=y,
            y2=alt.datum(0),
            fill=alt.Fill(
                "side:N",
                legend=None,
                scale=alt.Scale(domain=["worse", "better"], range=["url(#below2)", "var(--above)"]),
            ),
            tooltip=tooltip,
        )
    )
    returns = (
        drawn_rows("returns")
        .mark_point(shape="triangle-up", filled=True, size=110, color="var(--ink)", opacity=1)
        .encode(x=x, y=y, tooltip=tooltip)
    )
    chance = (
        drawn_rows("story")
        .transform_filter("isValid(datum.chance_low)")
        .mark_area(color="var(--range)")
        .encode(x=x, y=alt.Y("chance_low:Q"), y2="chance_high:Q")
    )
    return alt.layer(chance, _mean(), bars, returns).properties(height=160)


def drawn_rows(name: str) -> Any:
    """A chart of the page's rows of this name."""
    import altair as alt

    return alt.Chart(alt.NamedData(name=name))


def _time(axis: TimeAxis, field: str = "x") -> Any:
    import altair as alt

    # Dates are numbers on a plain axis: without `eval` a page cannot parse dates in a scale.
    how: dict[str, Any] = {"format": "~f"}
    if axis.format is not None:
        how = {"labelExpr": f"utcFormat(datum.value, '{axis.format}')"}
    ticks = alt.Axis(
        title=None,
        values=list(axis.ticks),
        labelOverlap="parity",  # every second label is left out, or every fourth: regular steps
        labelSeparation=8,
        labelFlush=30,
        grid=False,
        **how,
    )
    return alt.X(f"{field}:Q", scale=alt.Scale(zero=False, nice=False), axis=ticks)


def short_axis() -> Any:
    """Numbers as people write them: 0.05, 1,500, 1.5M and 2bn; the tooltip has all digits."""
    import altair as alt

    labels = "datum.value === 0 ? '0'"
    for least, unit in ((1e12, "tn"), (1e9, "bn"), (1e6, "M"), (1e4, "k")):
        scale = 1e3 if unit == "k" else least
        labels += f" : abs(datum.value) >= {least:.0f}"
        labels += f" ? format(datum.value / {scale:.0f}, ',~r') + '{unit}'"
    labels += " : abs(datum.value) < 1 ? format(datum.value, '~g') : format(datum.value, ',~r')"
    return alt.Axis(tickCount=5, labelExpr=labels)


def _mean() -> Any:
    import altair as alt

    rule = alt.Chart(alt.InlineData(values=[{"zero": 0}]))
    return rule.mark_rule(color="var(--ink)", strokeWidth=1).encode(y="zero:Q")


# Figures of a page: a chart with its text alternative, legend and caption.

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
