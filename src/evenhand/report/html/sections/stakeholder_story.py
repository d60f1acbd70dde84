"""One stakeholder's story, by click or search: where the page's script tells it."""

from __future__ import annotations

from evenhand._util.wording import format_number
from evenhand.auditing.answer.answer import Answer
from evenhand.report.html import plots
from evenhand.report.html.element import Markup, element, joined
from evenhand.report.html.sections.stakeholders import names_of


def story(answer: Answer, log: int) -> Markup:
    """Where the page's script tells one stakeholder's story."""
    field, found = f"search{log}", f"found{log}"
    search = element(
        "div",
        {"class": "controls"},
        element(
            "div",
            {"class": "search"},
            element("label", {"for": field}, "Search a name"),
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
    told = element(
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
        _plots() if answer.over_time.times else None,
    )
    without = element(
        "p",
        None,
        "Stories are told by this page's script, which does not run here. The table under Who, "
        "when, has the figures of each. Treated worst over all: ",
        names_of(answer.treated_worst),
        f" ({format_number(answer.questions[0].worst_unfairness, True)} from the mean, summed).",
    )
    return joined((element("noscript", None, without), told))


def _plots() -> Markup:
    legend = plots.legend(
        (
            (plots.glyph("●", "first"), "its status"),
            (plots.glyph("╌╌"), "the mean"),
            (plots.swatch("var(--range)"), "the range of all"),
            (plots.swatch("url(#below2)"), "below the mean"),
        )
    )
    marks = plots.legend(
        (
            (plots.swatch("url(#below2)"), "below the mean"),
            (plots.swatch("var(--above)"), "above it"),
            (plots.glyph("▲"), "compensated: back at the mean or above it"),
        )
    )
    words = "The sentences above say what it shows."
    return joined(
        (
            plots.plot(
                "story",
                "story",
                None,
                f"Line chart of its status against the mean and the range. {words}",
                "Its status at each assessment, the mean, and the range of everyone's.",
                legend,
            ),
            plots.plot(
                "apart",
                "apart",
                None,
                f"Chart of its distance from the mean. {words}",
                "How far it was from the mean at each assessment.",
                marks,
            ),
        )
    )
