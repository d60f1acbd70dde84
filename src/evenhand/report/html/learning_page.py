"""Learning curves: mean and standard deviation over seeds, the optimum, and a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.numbers import interval_title
from evenhand._util.wording import format_number
from evenhand.lab.claims import title_of
from evenhand.report.html import charts
from evenhand.report.html.charts import as_spec, drawn_rows, short_axis
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, percent, table

if TYPE_CHECKING:
    from evenhand.lab.compare_methods import MethodComparison
    from evenhand.lab.runs import Run

# Each method has its own colour and sign, the same on every page.
METHODS = ("fairqcm", "full", "min", "reset", "rnn", "oracle", "random")
DASHES = ([1, 0], [7, 4], [2, 3])  # for recipes, in their order

Parts = Mapping[str, "MethodComparison"]  # the comparisons of a figure, by recipe


class Curves:
    """The charts of a page: their specifications and rows, by name."""

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}
        self.rows: dict[str, Any] = {}

    def figure(self, name: str, parts: Parts, measure: str, label: str) -> Markup:
        """A chart of one measure, with its legend, caption and text alternative."""
        recipes, places = list(parts), places_of(parts)
        self.specs[name] = as_spec(curves_chart(places, recipes, label, measure == "score"))
        self.rows[name] = {"curves": _curves(parts, measure), "levels": _levels(parts, measure)}
        methods = dict.fromkeys(method for one in parts.values() for method in one.methods)
        items: list[tuple[Markup, Child]] = [
            (charts.glyph(charts.SIGNS[places[m]], f"line{places[m] + 1}"), title_of(m))
            for m in methods
        ]
        if len(recipes) > 1:
            dashes = ("━━", "╍╍", "┉┉")
            items += [
                (charts.glyph(dash), f"recipe: {recipe}")
                for dash, recipe in zip(dashes, recipes, strict=False)
            ]
        caption = (
            "The mean over seeds, and one standard deviation on either side.",
            f" The dotted line is {_level_words(parts)}." if measure == "score" else None,
        )
        alternative = f"Line chart of {label} by environment steps. {_words(parts, measure)}"
        return charts.plot(name, "static", None, alternative, caption, charts.legend(items))


def places_of(parts: Parts) -> dict[str, int]:
    """The number of each method's colour and sign; rules and others take those left over."""
    shown = dict.fromkeys(method for one in parts.values() for method in one.methods)
    left = [k for k, method in enumerate(METHODS) if method not in shown]
    others = (method for method in shown if method not in METHODS)
    free = itertools.chain(left, itertools.cycle(range(len(METHODS))))
    return {method: k for k, method in enumerate(METHODS)} | dict(zip(others, free, strict=False))


def curves_chart(places: Mapping[str, int], recipes: list[str], label: str, level: bool) -> Any:
    """Rows of `curves` by method and recipe, and a dotted rule at each of `levels`."""
    import altair as alt

    methods = list(places)
    colours = [f"var(--line{k + 1})" for k in places.values()]
    shapes = [charts.SHAPES[k] for k in places.values()]
    scale = alt.Scale(domain=methods, range=colours)
    colour = alt.Color("method:N", legend=None, scale=scale)
    shape = alt.Shape("method:N", legend=None, scale=alt.Scale(domain=methods, range=shapes))
    dash = alt.StrokeDash(
        "recipe:N",
        legend=None,
        scale=alt.Scale(domain=recipes, range=[list(d) for d in DASHES[: len(recipes)]]),
    )
    x = alt.X("steps:Q", title="environment steps", axis=short_axis())
    y = alt.Y("low:Q", title=label, scale=alt.Scale(zero=False))
    rows = drawn_rows("curves")
    band = rows.mark_area(opacity=0.13).encode(
        x=x,
        y=y,
        y2="high:Q",
        fill=alt.Fill("method:N", legend=None, scale=scale),
        detail="recipe:N",
    )
    line = rows.mark_line(strokeWidth=2).encode(x=x, y="mean:Q", color=colour, strokeDash=dash)
    points = (
        rows.transform_filter("datum.marked")
        .mark_point(filled=True, size=55, opacity=1)
        .encode(x=x, y="mean:Q", color=colour, shape=shape, tooltip=[alt.Tooltip("words:N")])
    )
    layers = [band, line, points]
    if level:
        layers.append(
            drawn_rows("levels")
            .mark_rule(strokeDash=[2, 3], strokeWidth=1.5, color="var(--ink)")
            .encode(y="level:Q", tooltip=[alt.Tooltip("words:N")])
        )
    return alt.layer(*layers).properties(height=300)


def second_measure(parts: Parts) -> tuple[str, str]:
    """The measure next to the score: how often a goal was reached, or how little was wasted."""
    measures = [result.measures for one in parts.values() for result in one.methods.values()]
    if any("achieved" in m and np.min(m["achieved"]) < 1.0 for m in measures):
        return "achieved", "share of episodes that reach the profit margin"
    return "kept", "doughnuts not wasted"


def summary_table(parts: Parts, caption: str) -> Markup:
    """The last evaluation of every method, with its interval and its distance to the optimum."""
    first = next(iter(parts.values()))
    exact = first.optimum is not None
    measure, _ = second_measure(parts)
    columns = ["", "score (IQM)", interval_title(len(first.spec.seeds))]
    columns += ["regret", "seeds at 99%"] if exact else []
    columns += ["reach the margin" if measure == "achieved" else "not wasted", "seconds"]
    rows: list[list[Child]] = []
    for recipe, one in parts.items():
        for method, found in one.to_json()["methods"].items():
            low, high = found["interval"]
            row: list[Child] = [f"{title_of(method)}, {recipe}", figure_of(round(found["iqm"], 2))]
            row.append((figure_of(round(low, 2)), " to ", figure_of(round(high, 2))))
            if exact:
                there = sum(steps is not None for steps in found["steps_to"]["99%"])
                row += [
                    figure_of(round(found["regret"], 2) + 0.0),
                    f"{there} of {len(found['scores'])}",
                ]
            last = found["achieved"] if measure == "achieved" else found["not_wasted"]
            row.append(percent(last) if measure == "achieved" else figure_of(round(last, 2)))
            rows.append([*row, figure_of(round(found["seconds"] + found["compile_seconds"], 1))])
    return table(caption, columns, rows)


def both_figures(curves: Curves, name: str, parts: Parts, drawn: Parts | None = None) -> Markup:
    """The score and the second measure, side by side if there is room."""
    shown = drawn or parts
    measure, label = second_measure(shown)
    return element(
        "div",
        {"class": "pair"},
        curves.figure(f"{name}-score", shown, "score", "accumulated welfare"),
        curves.figure(f"{name}-{measure}", shown, measure, label),
    )


def _curves(parts: Parts, measure: str) -> list[dict[str, Any]]:
    rows, places = [], places_of(parts)
    for recipe, one in parts.items():
        for method, result in one.methods.items():
            if measure not in result.measures:
                continue
            values = result.measures[measure]
            every = max(1, len(values) // charts.MARKED)
            # Each method has an offset of its own, so that signs do not overlap.
            offset = every // 2 + places[method] % max(1, every)
            for k, steps in enumerate(result.steps):
                mean, deviation = float(np.mean(values[k])), float(np.std(values[k]))
                marked = (k + 1) % every == offset % every
                row = {
                    "method": method,
                    "recipe": recipe,
                    "steps": int(steps),
                    "mean": round(mean, 4),
                    "low": round(mean - deviation, 4),
                    "high": round(mean + deviation, 4),
                    "marked": marked,
                }
                if marked:
                    row["words"] = (
                        f"{title_of(method)}, {recipe}\n{int(steps):,} steps: "
                        f"{format_number(mean)} ± {format_number(deviation)}"
                    )
                rows.append(row)
    return rows


def best_found(parts: Parts) -> float:
    """The best last evaluation of any method and seed."""
    results = (result for one in parts.values() for result in one.methods.values())
    return max(float(result.final.max()) for result in results)


def _level(parts: Parts) -> float:
    optimum = next(iter(parts.values())).optimum
    return best_found(parts) if optimum is None else optimum


def _level_words(parts: Parts) -> str:
    exact = next(iter(parts.values())).optimum is not None
    what = "the exact optimum" if exact else "the best score of any seed (no optimum is known)"
    return f"{what}, {format_number(_level(parts))}"


def _levels(parts: Parts, measure: str) -> list[dict[str, Any]]:
    if measure != "score":
        return []
    return [{"level": _level(parts), "words": _level_words(parts)}]


def _words(parts: Parts, measure: str) -> str:
    def last(result: Run) -> float:
        return float(result.measures[measure][-1].mean())

    ends = [
        f"{title_of(method)} ({recipe}) ends at {format_number(last(result))}"
        for recipe, one in parts.items()
        for method, result in one.methods.items()
        if measure in result.measures
    ]
    return f"{'; '.join(ends)}. The table below has the numbers."


def learning_page(parts: Parts, title: str, drawn: Parts | None = None) -> bytes:
    """One figure as a page of its own."""
    from evenhand.report.html.element import PageSection, page

    curves = Curves()
    body = joined((both_figures(curves, "figure", parts, drawn), summary_table(parts, title)))
    first = next(iter(parts.values()))
    seeds = len(first.spec.seeds)
    head = joined(
        (
            element("h1", None, title),
            element("p", {"class": "sub"}, f"{seeds} seeds of {first.spec.steps:,} steps"),
        )
    )
    return page(
        title,
        head,
        [PageSection("verdict", "Learning curves", body)],
        {"static": curves.rows},
        curves.specs,
        ("static_charts.js",),
    )
