"""Learning curves as a page that opens offline: mean and spread over seeds, and the optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evenhand.experiments.compare import Comparison

# Colours that colour-blind readers can tell apart (Okabe and Ito), in the order of first use.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")


def learning_curves(comparisons: dict[str, Comparison], title: str) -> Any:
    """Accumulated welfare on the left, doughnuts not wasted on the right, a line a method.

    `comparisons` by recipe; the band is one standard deviation over seeds to either side.
    """
    import altair as alt

    rows = [row for recipe, one in comparisons.items() for row in _rows(recipe, one)]
    first = next(iter(comparisons.values()))
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
    for measure, label in (("score", "accumulated welfare"), ("kept", "doughnuts not wasted")):
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
            level = alt.Chart(alt.Data(values=[{"optimum": first.optimum}]))
            layers.append(level.mark_rule(strokeDash=[2, 2]).encode(y="optimum:Q"))
            label = level.mark_text(
                align="right", baseline="top", dx=-4, dy=4, text="exact optimum"
            )
            layers.append(label.encode(y="optimum:Q", x=alt.value("width")))
        panels.append(alt.layer(*layers).properties(width=420, height=320))
    return alt.hconcat(*panels, title=title)


def _rows(recipe: str, comparison: Comparison) -> list[dict[str, Any]]:
    rows = []
    for name, result in comparison.methods.items():
        measures = {"score": result.curve, "kept": result.kept}
        for k, steps in enumerate(result.steps):
            row: dict[str, Any] = {"method": name, "recipe": recipe, "steps": int(steps)}
            for measure, values in measures.items():
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
