"""The benchmark on one page: where FairQCM loses, all methods together, and every pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand._util.numbers import FEWEST_RUNS, interval_title
from evenhand._util.wording import format_number
from evenhand.report.html import charts
from evenhand.report.html.charts import as_spec, drawn_rows
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, percent, table

if TYPE_CHECKING:
    from evenhand.lab.leaderboard import Estimate, Leaderboard, PairRow


def benchmark_page(board: Leaderboard, title: str = "Benchmark") -> bytes:
    """Results as one page that opens offline."""
    from evenhand.report.html.element import PageSection, page

    drawn = [one.method for one in board.standings if one.learns][: len(charts.SIGNS)]
    specs: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    sections = [PageSection("verdict", "Where FairQCM stands", _verdict(board))]
    if board.standings:
        body = joined((_standings(board), _profile(board, drawn, specs, rows)))
        sections.append(PageSection("together", "All pairs together", body))
    sections.append(PageSection("pairs", "Each world and scheme", _pairs(board)))
    sections.append(PageSection("how", "How it was measured", _how(board)))
    seeds = max((row.seeds for some in board.rows.values() for row in some), default=0)
    words = f"{len(board.rows)} pairs of world and scheme, {seeds} seeds of "
    words += f"{board.results.steps:,} steps, {len(board.methods)} methods"
    head = joined((element("h1", None, title), element("p", {"class": "sub"}, words)))
    return page(title, head, sections, {"static": rows}, specs, ("static_charts.js",))


def _verdict(board: Leaderboard) -> Markup:
    """What is lost comes first."""
    from evenhand.lab.leaderboard import loss_sentences

    first, *rest = loss_sentences(board) or ["The default FairQCM has no peer here to lose to."]
    lost = element("ul", None, [element("li", None, one.strip()) for one in rest]) if rest else None
    return joined((element("p", None, first), lost))


def _estimate(found: Estimate) -> tuple[Child, Child]:
    return percent(found.value), (percent(found.low), " to ", percent(found.high))


def _standings(board: Leaderboard) -> Markup:
    rows: list[list[Child]] = []
    for one in board.standings:
        better: Child = ""
        if one.ours_better is not None:
            value, span = _estimate(one.ours_better)
            better = (value, " (", span, ")")
        name = one.method if one.learns else f"{one.method} (does not learn)"
        row = [name, f"{one.pairs} of {len(board.known)}", *_estimate(one.share), better]
        rows.append(row)
    interval = interval_title(board.fewest_seeds(board.known))
    columns = ["", "pairs", "share of the way (IQM)", interval, "a run of fairqcm is better"]
    return table("All runs on pairs with a known optimum", columns, rows)


def _profile(
    board: Leaderboard, drawn: list[str], specs: dict[str, Any], rows: dict[str, Any]
) -> Markup:
    from evenhand.lab.leaderboard import PROFILE

    name = "profile"
    specs[name] = as_spec(profile_chart(drawn))
    points = []
    for number, method in enumerate(drawn):
        reached = board.profile(method)
        for k, (level, share) in enumerate(zip(PROFILE, reached, strict=True)):
            points.append(
                {
                    "method": method,
                    "level": round(float(level), 4),
                    "share": round(float(share), 4),
                    "marked": k % charts.MARKED == number % charts.MARKED,
                    "words": f"{method}: {share:.0%} of runs reach {level:.0%} of the way",
                }
            )
    rows[name] = {"curves": points}
    items: list[tuple[Markup, Child]] = [
        (charts.glyph(charts.SIGNS[k], f"line{k + 1}"), method) for k, method in enumerate(drawn)
    ]
    half = [f"{method} {board.profile(method)[90]:.0%}" for method in drawn]
    alternative = f"Line chart of performance profiles. At 90% of the way: {', '.join(half)}."
    caption = "Performance profiles: the share of runs that come so far on the way or farther."
    return charts.plot(name, "static", None, alternative, caption, charts.legend(items))


def profile_chart(methods: list[str]) -> Any:
    """Rows of `curves` by method: how many runs come how far."""
    import altair as alt

    colours = [f"var(--line{k + 1})" for k in range(len(methods))]
    colour = alt.Color("method:N", legend=None, scale=alt.Scale(domain=methods, range=colours))
    shapes = alt.Scale(domain=methods, range=list(charts.SHAPES[: len(methods)]))
    x = alt.X("level:Q", title="share of the way from random to the optimum")
    y = alt.Y("share:Q", title="share of runs", scale=alt.Scale(domain=[0, 1]))
    rows = drawn_rows("curves")
    line = rows.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    points = (
        rows.transform_filter("datum.marked")
        .mark_point(filled=True, size=55, opacity=1)
        .encode(
            x=x,
            y=y,
            color=colour,
            shape=alt.Shape("method:N", legend=None, scale=shapes),
            tooltip=[alt.Tooltip("words:N")],
        )
    )
    return alt.layer(line, points).properties(height=300)


def _pairs(board: Leaderboard) -> Markup:
    parts: list[Child] = []
    for name, facts in board.results.pairs.items():
        if facts.optimum is None:
            against = f"There is {facts.note or 'no known optimum'}. Random play scores "
            against += f"{format_number(facts.random)}."
        else:
            against = f"The exact optimum is {format_number(facts.optimum)}; random play scores "
            against += f"{format_number(facts.random)}."
        known = facts.optimum is not None
        rows = [_cells(row, known) for row in board.rows[name]]
        interval = interval_title(board.fewest_seeds([name]))
        columns = ["", "score (IQM)", "share of the way", interval, "regret"]
        columns += ["steps to 95%", "seeds there", "SER", "seconds"]
        parts += [
            element("h3", None, name),
            element("p", None, facts.judged, " ", against),
            table(name, columns, rows),
        ]
    return joined(parts)


def _cells(row: PairRow, known: bool) -> list[Child]:
    score: Child = figure_of(row.score.value)
    span: Child = (figure_of(row.score.low), " to ", figure_of(row.score.high))
    share: Child = "no known optimum"
    if row.share is not None:
        share, span = _estimate(row.share)
    return [
        row.method,
        score,
        share,
        span,
        "" if row.regret is None else figure_of(row.regret),
        "" if row.steps_to_level is None else f"{row.steps_to_level:,.0f}",
        f"{row.reached} of {row.seeds}" if known else "",
        "" if row.welfare_of_means is None else figure_of(row.welfare_of_means),
        figure_of(round(row.seconds, 1)),
    ]


def _how(board: Leaderboard) -> Markup:
    lines = [
        "The score is the expected welfare of a run (ESR): what the scheme gives an episode, in "
        "the mean over episodes. SER is the welfare of the mean returns at the end, which part of "
        "the literature reports; it is shown for long-term schemes, and no optimum of it is known.",
        "The share of the way is (score − random) / (optimum − random). The optimum is exact.",
        "IQM is the mean of the middle half of the runs; intervals are 95%, by bootstrap, "
        "stratified by pair where several pairs are together; of fewer than "
        f"{FEWEST_RUNS} runs they are too narrow.",
        "Steps to 95% are those from which on every evaluation is at 95% of the way, in the median "
        "over seeds. Seconds are of all seeds of a method together, compiling included.",
        f"Search: {board.results.search}." if board.results.search else "",
    ]
    lines += [f"{name}: {about.get('line', '')}" for name, about in board.results.methods.items()]
    lines += [
        f"Not run: {one['method']} on {one['pair']}: {one['why']}" for one in board.results.skipped
    ]
    return element("ul", None, [element("li", None, line) for line in lines if line])
