"""The stakeholders: a heatmap, a table, and those that recovered or fell behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenhand._util.wording import format_number, pluralise, quoted
from evenhand.auditing.answer import Answer, StakeholderAnswer
from evenhand.auditing.verdict import Direction, Terms
from evenhand.report.html import charts
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
from evenhand.report.html.page_data import class_bounds, kept_assessments
from evenhand.report.text import off_share_column

EXTREMES = 15  # shown at either end if not all can be shown
ALL = 40  # up to this many are all shown
FOLDED = 500  # up to this many are all in a folded table; otherwise the rest is in the data
CHANGED = 12  # in a list of those that changed sign; more are folded
MAX_CHANGED = 200

ORDERS = (
    ("overall", "overall, treated worst first"),
    ("final", "at the end, treated worst first"),
    ("name", "name"),
)


def heatmap(answer: Answer, log: int) -> Markup:
    """A heatmap of stakeholders by time around the mean, and a table of all stakeholders."""
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
    drawing = charts.plot(
        "heatmap",
        "heatmap",
        log,
        _heatmap_text(answer),
        _heatmap_caption(answer),
        charts.heat_legend(class_bounds(answer), answer.terms.direction),
    )
    return joined(((order, drawing) if answer.over_time.times else None, _table(answer, log)))


def _heatmap_text(answer: Answer) -> str:
    worst = [quoted(one.name) for one in answer.by_stakeholder[:3] if one.overall_unfairness < 0]
    best = [quoted(o.name) for o in answer.by_stakeholder[:-4:-1] if o.overall_unfairness > 0]
    worse, better = answer.terms.direction.worse, answer.terms.direction.better
    return (
        f"Heatmap of stakeholders by time: {worse} the mean is hatched orange, {better} it plain "
        f"blue. Treated worst overall: {', '.join(worst) or 'nobody'}. Most favoured: "
        f"{', '.join(best) or 'nobody'}. The table below has the numbers."
    )


def _heatmap_caption(answer: Answer) -> Child:
    worse, better = answer.terms.direction.worse, answer.terms.direction.better
    words = (
        f"Hatched: {worse} the mean, unfair to the stakeholder. Plain: {better} it, in its favour. "
    )
    if len(answer.by_stakeholder) > 80:
        words += (
            f"Of {len(answer.by_stakeholder):,} stakeholders the 30 at either end are drawn; "
            "the search below finds the others. "
        )
    if answer.over_time.unfinished is not None:
        words += "The last column is unfinished, and not scored. "
    held, judged = len(kept_assessments(answer)), answer.overall.assessments
    if held < judged:
        words += f"Of {format_number(judged)} assessments {held:,} are shown. "
    words += "A cell that covers several assessments shows the one furthest from the mean."
    return (words, _click("row"))


def _click(what: str) -> Markup:
    return element(
        "span", {"class": "screen"}, f" Click a {what} to see one stakeholder over time."
    )


def _table(answer: Answer, log: int) -> Markup:
    stakeholders = answer.by_stakeholder
    count, terms = len(stakeholders), answer.terms
    worse = terms.direction.worse
    claims = _claims(answer)
    columns = (
        *("stakeholder", *claims, "status", "at the end"),
        *((off_share_column(terms.direction),) if answer.has_amounts else ()),
        *("overall", worse, "longest spell", "rank at the end", "rank overall", "changed"),
    )
    title = (
        f"Stakeholders, treated worst first. At the end and overall: distance from {terms.mean}"
        f"{in_measure(answer.presentation.measure)}; "
        f"{worse} 0 is unfair to it. {worse.capitalize()}: the share of its assessments {worse} "
        "the mean. Rank 1 is the most favoured."
    )
    if answer.has_amounts:
        title += f" {_amounts_caption(terms)}"
    if answer.runs is not None:
        title += (
            f" All are means over {pluralise(answer.runs, 'run')}, except the spell, which is "
            "the longest in any run, and the ranks, which are by the means."
        )
    known = tuple(claims.values())
    first = count if count <= FOLDED else EXTREMES
    rows = [_row(answer, k, log, known) for k in range(first)]
    if count <= ALL:
        return table(title, columns, rows)
    ends = [*rows[:EXTREMES], (f"… {count - 2 * EXTREMES:,} more", *[""] * (len(columns) - 1))]
    ends += [_row(answer, k, log, known) for k in range(count - EXTREMES, count)]
    short = table(title, columns, ends)
    if count > FOLDED:
        rest = "The search below finds the others; the data for download has all of them."
        return joined((short, element("p", {"class": "soft"}, rest)))
    summary = element("summary", None, f"All {count:,} stakeholders")
    return joined(
        (short, element("details", {"class": "screen"}, summary, table(title, columns, rows)))
    )


def in_measure(measure: str | None) -> str:
    """What numbers are counted in, at the end of a sentence that names them."""
    return "" if measure is None else f", in {measure}"


def _claims(answer: Answer) -> dict[str, str]:
    """What stakeholders may claim, where it is known: the heading, and the field."""
    fields = {
        "entitlement": "entitlement",
        "out of": "chances",
        "asked for": "asked",
        "not met": "unmet",
    }
    return {
        heading: field
        for heading, field in fields.items()
        if any(getattr(one, field) is not None for one in answer.by_stakeholder)
    }


def _amounts_caption(terms: Terms) -> str:
    what = "" if terms.unit is None else f" ({terms.unit})"
    if terms.direction.less_is_better:
        return f"Over its share: the distance at the end in amounts{what}; below 0 it has less."
    return f"Short of share: the distance at the end in amounts{what}; below 0 it has more."


def _row(answer: Answer, place: int, log: int, claims: Sequence[str]) -> tuple[Child, ...]:
    one, direction = answer.by_stakeholder[place], answer.terms.direction
    return (
        stakeholder_link(one, place, log),
        *(figure_of(getattr(one, field)) for field in claims),
        figure_of(direction.as_logged(one.final)),
        figure_of(direction.as_logged(one.final_unfairness), True),
        *((figure_of(one.short_of_share),) if answer.has_amounts else ()),
        figure_of(direction.as_logged(one.overall_unfairness), True),
        percent(one.share_below),
        figure_of(one.longest_spell),
        figure_of(one.rank_final),
        figure_of(one.rank_overall),
        element("span", {"class": "change"}, _change(one)),
    )


def _change(one: StakeholderAnswer) -> str:
    return "▲ recovered" if one.made_good else "▼ fell behind" if one.fell_behind else ""


def stakeholder_link(one: StakeholderAnswer, place: int, log: int) -> Markup:
    """A name that links to the stakeholder over time."""
    if len(one.name) > LONG_NAME:
        return name_of(one.name)
    target = {"class": "who", "href": f"#story{log}", "data-log": log, "data-who": place}
    return element("a", target, name_of(one.name))


def tied_names(tied: Sequence[str]) -> Markup:
    """Names that are tied: up to three, otherwise the first two and the number of others."""
    if not tied:
        return joined(("nobody",))
    shown = tied if len(tied) <= 3 else tied[:2]
    parts: list[Child] = [_in_a_sentence(shown[0])]
    for name in shown[1:]:
        parts += [" and " if name == tied[-1] else ", ", _in_a_sentence(name)]
    if len(shown) < len(tied):
        parts += [" and ", figure_of(len(tied) - len(shown)), " others"]
    return joined(parts)


def _in_a_sentence(name: str) -> Markup:
    """A name among other words: in quotes where it has a comma of its own."""
    return joined(("“", name_of(name), "”")) if quoted(name) != name else name_of(name)


def recovered(answer: Answer, log: int) -> Markup:
    """Final against overall unfairness, and those that recovered or fell behind."""
    places = {one.name: k for k, one in enumerate(answer.by_stakeholder)}
    back = [one for one in answer.by_stakeholder if one.made_good]
    fell = [one for one in answer.by_stakeholder if one.fell_behind]
    fell.sort(key=lambda one: one.final_unfairness)
    alternative = (
        "Scatter chart of final against overall unfairness, one point per stakeholder: "
        f"{pluralise(len(back), 'stakeholder')} recovered, "
        f"{pluralise(len(fell), 'stakeholder')} fell behind. They are listed below."
    )
    direction = answer.terms.direction
    sides = ("Right of", "Above") if direction.less_is_better else ("Left of", "Under")
    caption = (
        f"{sides[0]} the line: behind overall. {sides[1]} the line: behind at the end. "
        "Stakeholders that recovered or fell behind are marked, and listed below.",
        _click("point"),
    )
    legend = charts.legend(
        (
            (charts.glyph("▲", "above"), "recovered: behind overall, not at the end"),
            (charts.glyph("▼", "below"), "fell behind: behind at the end, not overall"),
            (charts.glyph("●", "faint"), "unchanged"),
        )
    )
    return joined(
        (
            charts.plot("recovery", "recovery", log, alternative, caption, legend),
            element(
                "div",
                {"class": "pair"},
                _changed("Recovered by the end", back, places, log, direction),
                _changed("Fell behind by the end", fell, places, log, direction),
            ),
            None if back or fell else element("p", None, "Nobody recovered or fell behind."),
        )
    )


def _changed(
    title: str,
    stakeholders: Iterable[StakeholderAnswer],
    places: dict[str, int],
    log: int,
    direction: Direction,
) -> Markup | None:
    changed = list(stakeholders)
    if not changed:
        return None
    rows: list[tuple[Child, ...]] = [
        (
            stakeholder_link(one, places[one.name], log),
            figure_of(direction.as_logged(one.overall_unfairness), True),
            figure_of(direction.as_logged(one.final_unfairness), True),
        )
        for one in changed[:MAX_CHANGED]
    ]
    columns = ("stakeholder", "overall", "at the end")
    shown = table(f"{title}: {len(changed):,}", columns, rows[:CHANGED])
    rest = rows[CHANGED:]
    if not rest:
        return element("div", None, shown)
    if len(changed) > MAX_CHANGED:
        rest.append((f"… {len(changed) - MAX_CHANGED:,} more, in the data", "", ""))
    summary = element("summary", None, f"{len(changed) - CHANGED:,} more")
    folded = element("details", None, summary, table(f"{title}, continued", columns, rest))
    return element("div", None, shown, folded)
