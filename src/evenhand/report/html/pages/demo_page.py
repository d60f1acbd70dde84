"""The demo's page: the whole story, from two logs to a fair policy and what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.experiments.paper.demo import CUSTOMERS, EpisodeStep, Story
from evenhand.report.html import plots
from evenhand.report.html.charts import as_spec, drawn_rows, short_axis
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, table
from evenhand.report.html.page_data import packed
from evenhand.report.html.pages.audit_page import audit_charts
from evenhand.report.html.pages.learning_page import Curves, best_found, summary_table
from evenhand.report.html.sections import over_time, stakeholders
from evenhand.report.html.sections.figure_1 import two_processes
from evenhand.report.html.sections.stakeholder_story import story as one_story
from evenhand.report.html.template import PageSection, asset, page

if TYPE_CHECKING:
    from evenhand.auditing.answer.answer import Answer

TITLE = "Fairness that remembers"
COUNTRIES = (("A", "●", "circle"), ("B", "■", "square"))


def demo_page(told: Story) -> bytes:
    """The page, as the bytes of a file."""
    curves = Curves()
    parts = [
        PageSection("verdict", "Equal at the end, unfair on the way", _vaccines(told, curves)),
        PageSection("year", "The same question for a year of deliveries", _year(told.year)),
        PageSection("optimum", "How fair could it be at best?", _optimum(told)),
        PageSection("learning", "Learning it", _learning(told, curves)),
        PageSection("steps", "What it learned, step by step", _steps(told.episode)),
    ]
    log = packed(told.year)
    sub = (
        "Decisions that look fair at the end can have been unfair all the way. evenhand judges "
        "them over their whole history, finds the fairest policy there is, and learns it."
    )
    head = joined(
        (
            Markup(asset("patterns.svg")),
            element("h1", None, TITLE),
            element("p", {"class": "sub"}, sub),
        )
    )
    data = {
        "logs": [log],
        "given": curves.rows,
        "episode": {"names": CUSTOMERS, "steps": [vars(step) for step in told.episode]},
    }
    charts = {**audit_charts((told.year,), (log,)), **curves.specs}
    scripts = ("audit.js", "static_charts.js", "stepper.js")
    return page(TITLE, head, parts, data, charts, scripts)


def _vaccines(told: Story, curves: Curves) -> Markup:
    first = next(iter(told.vaccines.values()))
    b = first.stakeholder("B")
    words = (
        "Two countries receive 40,000 vaccines each. In one plan A is served first; in the other "
        f"both are served side by side. At the end nobody can tell them apart. Month by month the "
        f"first plan leaves B behind in {b.share_below:.0%} of the months."
    )
    charts = [
        _shipments(f"shipments{k}", process, answer, curves)
        for k, (process, answer) in enumerate(told.vaccines.items())
    ]
    return joined(
        (
            element("p", {"class": "verdict"}, words),
            element("div", {"class": "pair"}, charts),
            two_processes(told.vaccines),
        )
    )


def _shipments(name: str, process: str, answer: Answer, curves: Curves) -> Markup:
    """What each country has after each month."""
    import altair as alt

    over = answer.over_time
    rows = [
        {
            "month": time,
            "country": country,
            "doses": float(over.mean[k] + over.unfairness[k, who]),
            "words": f"{time}: {country} has {over.mean[k] + over.unfairness[k, who]:,.0f}",
        }
        for who, country in enumerate(over.names)
        for k, time in enumerate(over.times)
    ]
    names = [country for country, *_ in COUNTRIES]
    x = alt.X("month:O", title=None, axis=alt.Axis(labelAngle=0))
    y = alt.Y("doses:Q", title="doses so far", axis=short_axis())
    scale = alt.Scale(domain=names, range=["var(--first)", "var(--second)"])
    colour = alt.Color("country:N", legend=None, scale=scale)
    shapes = alt.Scale(domain=names, range=[shape for *_, shape in COUNTRIES])
    shape = alt.Shape("country:N", legend=None, scale=shapes)
    base = drawn_rows("shipments")
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    # Where both have the same, one is seen around the other.
    size = alt.Size("country:N", legend=None, scale=alt.Scale(domain=names, range=[190, 60]))
    points = base.mark_point(filled=True, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, size=size, tooltip=[alt.Tooltip("words:N")]
    )
    curves.specs[name] = as_spec(alt.layer(line, points).properties(height=200))
    curves.rows[name] = {"shipments": rows}
    legend = plots.legend(
        (plots.glyph(sign, colour), country)
        for (country, sign, _), colour in zip(COUNTRIES, ("first", "second"), strict=True)
    )
    ends = ", ".join(str(row["words"]) for row in rows)
    caption = element("b", None, process[0].upper() + process[1:])
    return plots.plot(name, "given", None, f"{process}. {ends}.", caption, legend)


def _year(answer: Answer) -> Markup:
    return joined(
        (
            element("p", {"class": "verdict"}, answer.verdict),
            element(
                "p",
                None,
                "Simulated: six clinics, a delivery each week; the near ones are served first, and "
                "by December all have received the same. This is what ",
                element("code", None, "evenhand audit"),
                " makes of any log, with a search for anyone’s story.",
            ),
            over_time.spread(answer, 0),
            stakeholders.who_when(answer, 0),
            element("h3", None, "One clinic’s story"),
            one_story(answer, 0),
        )
    )


def _optimum(told: Story) -> Markup:
    best = told.best.value
    rows = [
        ("the fairest policy there is", figure_of(round(best, 3)), figure_of(0)),
        (
            "turn taking: whoever had least of those present",
            figure_of(round(told.turn_taking, 3)),
            figure_of(round(best - told.turn_taking, 3) + 0.0),
        ),
        (
            "at random",
            figure_of(round(told.random, 3)),
            figure_of(round(best - told.random, 3)),
        ),
    ]
    words = (
        "Three customers, twelve doughnuts, one at a time; each customer is at the counter four "
        "times out of five, and a doughnut given to somebody who is away is wasted. Fairness is "
        "assessed after every doughnut (Nash welfare). The problem is small enough to look at "
        "every situation that can arise: no policy of any kind scores higher than the first line."
    )
    return joined(
        (
            element("p", None, words),
            table("Expected score of twelve doughnuts", ("", "score", "below the optimum"), rows),
        )
    )


def _learning(told: Story, curves: Curves) -> Markup:
    parts = {"best": told.learning}
    ours = told.learning.to_json()["methods"]["fairqcm"]
    left = max(0.0, ours["regret"])
    words = (
        "FairQCM does not know the problem: it decides, sees what happens, and after each step "
        "also asks what the step would have been worth had the customers received something else "
        "before. Its rivals learn from what happened alone, with the same number of steps. After "
        f"{told.learning.spec.steps:,} steps FairQCM is {left:.2f} below the exact optimum; "
        "the table has the others."
    )
    assert best_found(parts) <= told.best.value + 1e-3  # nothing beats the optimum
    return joined(
        (
            element("p", None, words),
            curves.figure("learning", parts, "score", "accumulated welfare"),
            summary_table(parts, "After the last step; regret is the distance to the optimum."),
        )
    )


def _steps(episode: list[EpisodeStep]) -> Markup:
    """Buttons and a drawing that the script fills; without it, all steps as a table."""
    differs = [step.step for step in episode if not step.as_the_optimum]
    where = "At every step it does what an optimal policy does."
    if differs:
        listed = ", ".join(map(str, differs))
        where = f"It differs from the optimal policy at step {listed}."
    buttons = (
        ("first", "First"),
        ("back", "◀ Back"),
        ("next", "Next ▶"),
        ("play", "Play"),
    )
    stepper = element(
        "div",
        {"class": "stepper", "data-script": True, "hidden": True},
        element(
            "div",
            {"class": "controls"},
            (
                element("button", {"type": "button", "data-step": kind}, label)
                for kind, label in buttons
            ),
        ),
        element("p", {"class": "now", "aria-live": "polite"}),
        element("ol", {"class": "counter"}),
    )
    rows: list[tuple[Child, ...]] = [
        (
            f"{step.step}",
            ", ".join(n for n, here in zip(CUSTOMERS, step.present, strict=True) if here) or "–",
            " / ".join(map(str, step.had)),
            f"{CUSTOMERS[step.choice]}{' (wasted)' if step.wasted else ''}",
            "yes" if step.as_the_optimum else "no",
            figure_of(step.score),
        )
        for step in episode
    ]
    columns = ("step", "present", "had so far", "goes to", "as the optimum", "score so far")
    everyone = " / ".join(CUSTOMERS)
    return joined(
        (
            element(
                "p",
                None,
                "One episode of the policy that was learned. It sees who is present and remembers "
                f"what each has had. {where}",
            ),
            stepper,
            element(
                "details",
                {"class": "paper"},
                element("summary", None, "All steps as a table"),
                table(f"Had so far: {everyone}", columns, rows, kind="words"),
            ),
            element(
                "noscript",
                None,
                element("p", None, "Stepping through needs this page’s script; the table has all."),
            ),
        )
    )


def three_commands() -> list[tuple[str, str]]:
    """What to try next, and what it does."""
    return [
        (
            "evenhand audit LOG.csv --stakeholder WHO --time WHEN --amount HOW_MUCH "
            "--out report.html",
            "judge a log of your own",
        ),
        (
            "evenhand plan doughnuts --stakeholders 3 --horizon 12 --memories",
            "what memory is worth",
        ),
        ("evenhand reproduce all --quick", "the paper on one page, in about ten minutes"),
    ]
