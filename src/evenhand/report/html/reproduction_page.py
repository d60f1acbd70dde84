"""The paper reproduced on one page: each claim, the measurement, and whether it held."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from evenhand._util.numbers import FEWEST_RUNS, interval_title
from evenhand.lab.claims import Finding
from evenhand.lab.reproduction import FIGURES, folder_of
from evenhand.report.html.element import (
    Child,
    Markup,
    PageSection,
    element,
    figure_of,
    joined,
    labelled_list,
    page,
    table,
)
from evenhand.report.html.learning_page import Curves, both_figures, summary_table
from evenhand.report.html.over_time import unfairness_by_time

if TYPE_CHECKING:
    from evenhand.lab.reproduction import Reproduction

TITLE = "Remembering to Be Fair, reproduced"
SIGNS = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "amber")}


def reproduction_page(found: Reproduction) -> bytes:
    """The whole page, as the bytes of a file; it links to the folders next to it."""
    curves = Curves()
    parts = [
        PageSection("verdict", "What held, and what did not", _verdict(found)),
        PageSection("theorems", "The theorems", _theorems(found)),
        PageSection(
            "figure-1", "Figure 1: two ways to ship vaccines", unfairness_by_time(found.audits)
        ),
    ]
    parts += [
        PageSection(name, FIGURES[name].title, _figure(found, name, curves))
        for name in found.figures
    ]
    parts.append(PageSection("made", "How this page was made", _made(found)))
    sub = (
        "Every figure, claim and theorem of the paper (ICML 2024), reproduced by evenhand, with a "
        "better recipe and the exact optimum for comparison."
    )
    head = joined((element("h1", None, TITLE), element("p", {"class": "sub"}, sub)))
    return page(TITLE, head, parts, {"static": curves.rows}, curves.specs, ("static_charts.js",))


def _verdict(found: Reproduction) -> Markup:
    claims = found.claims
    counts = Counter(finding.held for *_, finding in claims)
    proved = sum(finding.held is True for _, finding in found.theorems)
    few = f" (at least {FEWEST_RUNS} are needed)"
    words = (
        f"Of {len(claims)} claims about the experiments {counts[True]} held, {counts[False]} did "
        f"not, and {counts[None]} cannot be decided with {found.about['seeds']} seeds"
        f"{few if found.about['seeds'] < FEWEST_RUNS else ''}. "
        f"{proved} of {len(found.theorems)} checks of the theorems passed."
    )
    rows = [
        (
            element("a", {"href": f"#{name}"}, claim.where),
            held(finding),
            f"“{claim.says}”",
            finding.measured,
            interval_of(finding),
        )
        for name, claim, finding in claims
    ]
    quick = element(
        "p",
        {"class": "light amber"},
        element("b", None, "A quick run. "),
        "With a tenth of the steps this page shows that everything works, but it does not judge "
        "claims about the experiments: run it without --quick for that.",
    )
    return joined(
        (
            quick if found.about["quick"] else None,
            element("p", {"class": "verdict"}, words),
            table(
                "Each claim with the paper's own recipe. A difference is decided if its 95% "
                "bootstrap interval excludes zero.",
                ("where", "", "the paper says", "measured", interval_title(found.about["seeds"])),
                rows,
                kind="words claims",
            ),
        )
    )


def held(finding: Finding) -> Markup:
    """A verdict in one word, never by colour alone."""
    sign, colour = SIGNS[finding.held]
    return element("b", {"class": f"held {colour}"}, f"{sign} {finding.word}")


def interval_of(finding: Finding) -> str:
    """The interval of what was found, as people write it; a dash where there is none."""
    if finding.interval is None:
        return "–"
    low, high = finding.interval
    words = f"{low:.3g} to {high:.3g}" if abs(high) < 2 else f"{low:,.1f} to {high:,.1f}"
    return words.replace("-", "−")


def _theorems(found: Reproduction) -> Markup:
    rows = [
        (one.where, held(finding), one.says, finding.measured) for one, finding in found.theorems
    ]
    return table(
        "The theorems, checked on random problems.",
        ("", "", "claim", "measured"),
        rows,
        kind="words claims",
    )


def _figure(found: Reproduction, name: str, curves: Curves) -> Markup:
    parts = found.figures[name]
    drawn = {part: one for part, one in parts.items() if FIGURES[name].parts[part].drawn}
    best = parts["best"].to_json()["methods"]["fairqcm"]
    low, high = best["interval"]
    about: list[Child] = [
        "With the better recipe FairQCM scores ",
        figure_of(round(best["iqm"], 2)),
        f" ({low:,.2f} to {high:,.2f})".replace("-", "−"),
    ]
    if "regret" in best:
        about += [", ", figure_of(round(max(best["regret"], 0.0), 2)), " below the exact optimum"]
    findings = [
        element("li", None, held(finding), f" “{claim.says}” {finding.measured}.")
        for figure, claim, finding in found.claims
        if figure == name
    ]
    links = [
        (element("a", {"href": f"{name}/{folder_of(part)}/{file}"}, f"{part}: {file}"), " ")
        for part in parts
        for file in ("curves.csv", "table.csv", "results.json")
    ]
    return joined(
        (
            element("p", None, about, "."),
            element("ul", None, findings),
            both_figures(curves, name, parts, drawn),
            summary_table(parts, "The last evaluation: the mean of the middle half of the seeds."),
            element("p", {"class": "soft"}, "Every number: ", links),
        )
    )


def _made(found: Reproduction) -> Markup:
    about = found.about
    quick = " --quick" if about["quick"] else ""
    rows: list[tuple[Child, Child]] = [
        (
            "Command",
            element("code", None, f"evenhand reproduce all --seeds {about['seeds']}{quick}"),
        ),
        ("Time", about["made"]),
        ("Machine", about["machine"]),
        ("Versions", ", ".join(f"{k} {v}" for k, v in about["versions"].items())),
        ("Seeds", f"0 to {about['seeds'] - 1}"),
        (
            "Seconds",
            (
                figure_of(about["training_seconds"]),
                " of training, over all sessions; ",
                figure_of(about["seconds"]),
                " for this run",
            ),
        ),
        ("All numbers", element("a", {"href": "all.json"}, "all.json")),
    ]
    return labelled_list(rows)


def to_markdown(found: Reproduction) -> str:
    """The tables of the page as Markdown."""
    claims = [
        (claim.where, f"“{claim.says}”", finding.measured, interval_of(finding), finding.word)
        for _, claim, finding in found.claims
    ]
    lines = ["With a tenth of the steps (--quick): no claim is judged.", ""]
    lines = lines if found.about["quick"] else []
    interval = interval_title(found.about["seeds"])
    lines += _rows(("where", "the paper says", "measured", interval, ""), claims)
    theorems = [(o.where, o.says, finding.measured, finding.word) for o, finding in found.theorems]
    lines += ["", *_rows(("", "claim", "measured", ""), theorems)]
    for name, parts in found.figures.items():
        lines += ["", f"### {FIGURES[name].title}", ""]
        rows = []
        for part, one in parts.items():
            for method, summary in one.to_json()["methods"].items():
                low, high = summary["interval"]
                regret = summary.get("regret")
                took = summary["seconds"] + summary["compile_seconds"]
                rows.append(
                    (
                        part,
                        method,
                        f"{summary['iqm']:,.2f}",
                        f"{low:,.2f} to {high:,.2f}",
                        "–" if regret is None else f"{round(regret, 2) + 0.0:,.2f}",
                        f"{took:,.0f}",
                    )
                )
        heading = ("recipe", "method", "score (IQM)", interval, "regret", "seconds")
        lines += _rows(heading, rows)
    return re.sub(r"(?<![\w|-])-(?=\d)", "−", "\n".join(lines)) + "\n"


def _rows(heading: tuple[str, ...], rows: list[Any]) -> list[str]:
    return [
        f"| {' | '.join(heading)} |",
        "|---" * len(heading) + "|",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
    ]
