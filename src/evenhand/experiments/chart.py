"""Learning curves as a page that opens offline: mean and spread over seeds, and the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evenhand.experiments.compare import Comparison

# Colours that colour-blind readers can tell apart (Okabe and Ito), in the order of first use.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
WELFARE = "accumulated welfare"


def learning_curves(comparisons: dict[str, Comparison], title: str) -> Any:
    """Accumulated welfare on the left, what else was asked on the right, a line a method.

    `comparisons` by recipe; the band is one standard deviation over seeds to either side. Where no
    optimum is known, the rule is at the best that any seed reached, and says so.
    """
    import altair as alt

    rows = [row for recipe, one in comparisons.items() for row in _rows(recipe, one)]
    names = list(dict.fromkeys(row["method"] for row in rows))
    colour = alt.Color(
        "method:N",
        title="method",
        legend=alt.Legend(symbolOpacity=1.0, symbolType="stroke", symbolStrokeWidth=3),
        scale=alt.Scale(domain=names, range=[COLOURS[k % len(COLOURS)] for k in range(len(names))]),
    )
    dashed = alt.StrokeDash("recipe:N", title="recipe", sort=list(comparisons))
    data = alt.Data(values=rows)
    panels = []
    for measure, label in (("score", WELFARE), _besides(comparisons)):
        base = alt.Chart(data).encode(x=alt.X("steps:Q", title="environment steps"))
        band = base.mark_area(opacity=0.15).encode(
            y=alt.Y(f"{measure}_low:Q", title=label, scale=alt.Scale(zero=False)),
            y2=f"{measure}_high:Q",
            color=colour,
            detail="recipe:N",
        )
        line = base.mark_line().encode(
            y=f"{measure}_mean:Q",
            color=colour,
            strokeDash=dashed,
            tooltip=[
                alt.Tooltip("method:N"),
                alt.Tooltip("recipe:N"),
                alt.Tooltip("steps:Q", format=","),
                alt.Tooltip(f"{measure}_mean:Q", title="mean", format=".2f"),
                alt.Tooltip(f"{measure}_deviation:Q", title="standard deviation", format=".2f"),
            ],
        )
        layers = [band, line]
        if measure == "score":
            layers += _rule(comparisons)
        panels.append(alt.layer(*layers).properties(width=420, height=320))
    return alt.hconcat(*panels, title=title)


def _besides(comparisons: dict[str, Comparison]) -> tuple[str, str]:
    """What the second panel shows: the share of episodes that reach a goal, if there is one."""
    measures = [r.measures for one in comparisons.values() for r in one.methods.values()]
    if any("achieved" in m and np.min(m["achieved"]) < 1.0 for m in measures):
        return "achieved", "share of episodes that reach the profit margin"
    return "kept", "doughnuts not wasted"


def best_found(comparisons: dict[str, Comparison]) -> float:
    """The best last evaluation of any method and seed."""
    results = (result for one in comparisons.values() for result in one.methods.values())
    return max(float(result.scores.max()) for result in results)


def _rule(comparisons: dict[str, Comparison]) -> list[Any]:
    """A horizontal line at the exact optimum, or at the best found."""
    import altair as alt

    optimum = next(iter(comparisons.values())).optimum
    value, words = optimum, "exact optimum"
    if value is None:
        value, words = best_found(comparisons), "best found (no exact optimum)"
    level = alt.Chart(alt.Data(values=[{"optimum": value}]))
    label = level.mark_text(align="right", baseline="top", dx=-4, dy=4, text=words)
    return [
        level.mark_rule(strokeDash=[2, 2]).encode(y="optimum:Q"),
        label.encode(y="optimum:Q", x=alt.value("width")),
    ]


def _rows(recipe: str, comparison: Comparison) -> list[dict[str, Any]]:
    rows = []
    for name, result in comparison.methods.items():
        for k, steps in enumerate(result.steps):
            row: dict[str, Any] = {"method": name, "recipe": recipe, "steps": int(steps)}
            for measure, values in result.measures.items():
                mean, deviation = float(np.mean(values[k])), float(np.std(values[k]))
                row |= {
                    f"{measure}_mean": round(mean, 5),
                    f"{measure}_deviation": round(deviation, 5),
                    f"{measure}_low": round(mean - deviation, 5),
                    f"{measure}_high": round(mean + deviation, 5),
                }
            rows.append(row)
    return rows


def to_page(chart: Any) -> bytes:
    """A chart as one HTML file with its JavaScript inside: it opens offline."""
    return chart.to_html(inline=True).encode()
