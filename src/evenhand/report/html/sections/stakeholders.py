"""To whom: the heatmap, the figures of each, and those that changed sign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenhand._util.wording import format_number, pluralise
from evenhand.auditing.answer.answer import Answer, StakeholderAnswer
from evenhand.report.html import plots
from evenhand.report.html.element import (
    LONG_NAME,
    Child,
    Markup,
    element,
    figure_of,
    joined,
    name_of,
    percent,
    table,
)
from evenhand.report.html.page_data import chosen, classes

EXTREMES = 15  # at either end, where not everyone can be shown
ALL = 40  # stakeholders that a page shows outright
FOLDED = 500  # that it shows in a folded table; of more, the rest is in the data
CHANGED = 12  # that changed sign, in a list; more are folded
MAX_CHANGED = 200

ORDERS = (
    ("overall", "over all, treated worst first"),
    ("final", "at the end, treated worst first"),
    ("name", "name"),
)


def who_when(answer: Answer, log: int) -> Markup:
    """A heatmap of stakeholder by time around the mean, and the figures of each."""
    label = f"order{log}"
    order = element(
        "div",
        {"class": "controls", "data-script": True, "hidden": True},
        element("label", {"for": label}, "Order"),
        element(
            "select",
            {"id": label, "data-log": log},
            (element("option", {"value": value}, words) for value, words in ORDERS),
        ),
    )
    heatmap = plots.plot(
        "heatmap",
        "heatmap",
        log,
        _heat_words(answer),
        _heat_caption(answer),
        plots.heat_legend(classes(answer)),
    )
    return joined(((order, heatmap) if answer.over_time.times else None, _figures(answer, log)))


def _heat_words(answer: Answer) -> str:
    worst = [one.name for one in answer.by_stakeholder[:3] if one.overall_unfairness < 0]
    best = [one.name for one in answer.by_stakeholder[:-4:-1] if one.overall_unfairness > 0]
    return (
        "Heatmap of stakeholders by time: below the mean is hatched orange, above it plain blue. "
        f"Treated worst over all: {', '.join(worst) or 'nobody'}. Most favoured: "
        f"{', '.join(best) or 'nobody'}. The table below has the figures."
    )


def _heat_caption(answer: Answer) -> Child:
    words = "Hatched is unfair to the stakeholder, plain is in its favour. "
    if len(answer.by_stakeholder) > 80:
        words += (
            f"Of {len(answer.by_stakeholder):,} stakeholders the 30 at either end are drawn; "
            "the search below finds the others. "
        )
    if answer.over_time.unfinished is not None:
        words += "The last column is not over, and not scored. "
    held, judged = len(chosen(answer)), answer.overall.assessments
    if held < judged:
        words += f"Of {format_number(judged)} assessments {held:,} are here. "
    words += "Where a cell stands for several assessments, it shows the one furthest from the mean."
    return (words, _click("row"))


def _click(what: str) -> Markup:
    return element("span", {"class": "screen"}, f" A click on a {what} tells its story.")


def _figures(answer: Answer, log: int) -> Markup:
    people = answer.by_stakeholder
    count = len(people)
    columns = (
        *("stakeholder", "status", "at the end", "over all", "below", "longest spell"),
        *("rank at end", "rank over all", "changed"),
    )
    title = (
        "To whom, treated worst first. At the end and over all: from the mean, below 0 is unfair "
        "to it. Below: the share of its assessments. Rank 1 is the most favoured."
    )
    if answer.runs is not None:
        title += (
            f" All are means over {pluralise(answer.runs, 'run')}, but the spell, which is the "
            "longest in any run, and the ranks, which are by the means."
        )
    rows = [_person(one, k, log) for k, one in enumerate(people[:FOLDED])]
    if count <= ALL:
        return table(title, columns, rows)
    ends = [*rows[:EXTREMES], (f"… {count - 2 * EXTREMES:,} more", *[""] * 8)]
    ends += [_person(people[k], k, log) for k in range(count - EXTREMES, count)]
    short = table(title, columns, ends)
    if count > FOLDED:
        rest = "The others are found by the search below, and are in the data for download."
        return joined((short, element("p", {"class": "soft"}, rest)))
    summary = element("summary", None, f"All {count:,} in a table")
    return joined(
        (short, element("details", {"class": "screen"}, summary, table(title, columns, rows)))
    )


def _person(one: StakeholderAnswer, place: int, log: int) -> tuple[Child, ...]:
    return (
        person(one, place, log),
        figure_of(one.final),
        figure_of(one.final_unfairness, True),
        figure_of(one.overall_unfairness, True),
        percent(one.share_below),
        figure_of(one.longest_spell),
        figure_of(one.rank_final),
        figure_of(one.rank_overall),
        element("span", {"class": "change"}, _change(one)),
    )


def _change(one: StakeholderAnswer) -> str:
    return "▲ made good" if one.made_good else "▼ fell behind" if one.fell_behind else ""


def person(one: StakeholderAnswer, place: int, log: int) -> Markup:
    """A name that leads to its story."""
    if len(one.name) > LONG_NAME:
        return name_of(one.name)
    target = {"class": "who", "href": f"#story{log}", "data-log": log, "data-who": place}
    return element("a", target, name_of(one.name))


def names_of(equals: Sequence[str]) -> Markup:
    """Those who share a place: all of up to three, else the first two and how many others."""
    if not equals:
        return joined(("nobody",))
    shown = equals if len(equals) <= 3 else equals[:2]
    parts: list[Child] = [name_of(shown[0])]
    for name in shown[1:]:
        parts += [" and " if name == equals[-1] else ", ", name_of(name)]
    if len(shown) < len(equals):
        parts += [" and ", figure_of(len(equals) - len(shown)), " others"]
    return joined(parts)


def made_good(answer: Answer, log: int) -> Markup:
    """Final against overall unfairness, and the lists of those whose sign changed."""
    places = {one.name: k for k, one in enumerate(answer.by_stakeholder)}
    good = [one for one in answer.by_stakeholder if one.made_good]
    fell = [one for one in answer.by_stakeholder if one.fell_behind]
    fell.sort(key=lambda one: one.final_unfairness)
    alternative = (
        "Scatter chart of unfairness at the end against unfairness over all, a point a "
        f"stakeholder: {pluralise(len(good), 'stakeholder')} made good, "
        f"{pluralise(len(fell), 'stakeholder')} fell behind. They are listed below."
    )
    caption = (
        "Left of the line: behind over all. Under the line: behind at the end. Those whose sign "
        "changed are marked, and listed below.",
        _click("point"),
    )
    legend = plots.legend(
        (
            (plots.glyph("▲", "above"), "made good: behind over all, not at the end"),
            (plots.glyph("▼", "below"), "fell behind: the reverse"),
            (plots.glyph("●", "faint"), "the same at the end as over all"),
        )
    )
    return joined(
        (
            plots.plot("standing", "standing", log, alternative, caption, legend),
            element(
                "div",
                {"class": "pair"},
                _changed("Made good by the end", good, places, log),
                _changed("Fell behind by the end", fell, places, log),
            ),
            None if good or fell else element("p", None, "Nobody's sign changed."),
        )
    )


def _changed(
    title: str, people: Iterable[StakeholderAnswer], places: dict[str, int], log: int
) -> Markup | None:
    people = list(people)
    if not people:
        return None
    rows: list[tuple[Child, ...]] = [
        (
            person(one, places[one.name], log),
            figure_of(one.overall_unfairness, True),
            figure_of(one.final_unfairness, True),
        )
        for one in people[:MAX_CHANGED]
    ]
    columns = ("stakeholder", "over all", "at the end")
    shown = table(f"{title}: {len(people):,}", columns, rows[:CHANGED])
    rest = rows[CHANGED:]
    if not rest:
        return element("div", None, shown)
    if len(people) > MAX_CHANGED:
        rest.append((f"… {len(people) - MAX_CHANGED:,} more, in the data", "", ""))
    summary = element("summary", None, f"{len(people) - CHANGED:,} more")
    folded = element("details", None, summary, table(f"{title}, continued", columns, rest))
    return element("div", None, shown, folded)
