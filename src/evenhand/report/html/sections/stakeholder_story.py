"""One stakeholder over time, found by click or search and shown by the page's script."""

from __future__ import annotations

from evenhand.auditing.answer import Answer
from evenhand.report.html import plots
from evenhand.report.html.element import Markup, element, joined
from evenhand.report.html.sections.by_chance import BY_CHANCE, has_band
from evenhand.report.html.sections.stakeholders import in_measure, tied_names


def stakeholder_story(answer: Answer, log: int) -> Markup:
    """Where the page's script shows one stakeholder: sentences and charts."""
    field, found = f"search{log}", f"found{log}"
    search = element(
        "div",
        {"class": "controls"},
        element(
            "div",
            {"class": "search"},
            element("label", {"for": field}, "Search for a name"),
            element(
                "input",
                {
                    "id": field,
                    "type": "text",
                    "role": "combobox",
                    "autocomplete": "off",
                    "spellcheck": "false",
                    "aria-autocomplete": "list",
                    "aria-expanded": "false",
                    "aria-controls": found,
                },
            ),
            element(
                "ul", {"id": found, "role": "listbox", "aria-label": "Names found", "hidden": True}
            ),
        ),
        element("span", {"class": "soft", "role": "status"}),
    )
    shown = element(
        "div",
        {
            "class": "story",
            "id": f"story{log}",
            "data-log": log,
            "data-script": True,
            "hidden": True,
        },
        search,
        element("h3", {"class": "who", "tabindex": "-1"}, "…"),
        element("div", {"class": "words", "aria-live": "polite"}),
        _plots(answer) if answer.over_time.times else None,
    )
    without = element(
        "p",
        None,
        "This section needs the page's script, which is not running. The table of stakeholders "
        "above has the numbers of each. Treated worst overall: ",
        tied_names(answer.treated_worst),
        f" ({answer.terms.direction.signed(answer.questions[0].worst_unfairness)} from the mean, "
        "summed).",
    )
    return joined((element("noscript", None, without), shown))


def _plots(answer: Answer) -> Markup:
    direction, measure = answer.terms.direction, in_measure(answer.presentation.measure)
    worse, better = f"{direction.worse} the mean", f"{direction.better} the mean"
    legend = plots.legend(
        (
            (plots.glyph("●", "first"), "its status"),
            (plots.glyph("╌╌"), "the mean"),
            (plots.swatch("var(--range)"), "the range of all stakeholders"),
            (plots.swatch("url(#below2)"), worse),
        )
    )
    marks = plots.legend(
        (
            (plots.swatch("url(#below2)"), worse),
            (plots.swatch("var(--above)"), better),
            (plots.glyph("▲"), f"compensated: again at or {better}"),
            *(((plots.swatch("var(--range)"), BY_CHANCE),) if has_band(answer) else ()),
        )
    )
    words = "The sentences above describe it."
    return joined(
        (
            plots.plot(
                "story",
                "story",
                None,
                f"Line chart of its status, the mean and the range. {words}",
                f"Its status at each assessment, the mean, and the range of all{measure}.",
                legend,
            ),
            plots.plot(
                "deviation",
                "deviation",
                None,
                f"Chart of its distance from the mean. {words}",
                f"Its distance from the mean at each assessment{measure}.",
                marks,
            ),
        )
    )
