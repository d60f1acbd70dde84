"""The demo's page: from two logs to a fair policy and its decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.experiments.paper.demo import CUSTOMERS, EpisodeStep, Story
from evenhand.report.html import plots
from evenhand.report.html.charts import as_spec, drawn_rows, short_axis
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, table
from evenhand.report.html.page_data import compact_answer
from evenhand.report.html.pages.audit_page import audit_charts
from evenhand.report.html.pages.learning_page import Curves, best_found, summary_table
from evenhand.report.html.sections import over_time, stakeholders
from evenhand.report.html.sections.stakeholder_story import stakeholder_story
from evenhand.report.html.template import PageSection, asset, page

if TYPE_CHECKING:
    from evenhand.auditing.answer.answer import Answer

TITLE = "Fairness that remembers"
COUNTRIES = (("A", "●", "circle"), ("B", "■", "square"))


def demo_page(story: Story) -> bytes:
    """The page, as the bytes of a file."""
    curves = Curves()
    parts = [
        PageSection("verdict", "Equal at the end, unfair before", _vaccines(story, curves)),
        PageSection("year", "The same question for a year of deliveries", _year(story.year)),
        PageSection("optimum", "How fair could it be at best?", _optimum(story)),
        PageSection("learning", "Learning a fair policy", _learning(story, curves)),
        PageSection("steps", "The learned policy, step by step", _steps(story.episode)),
    ]
    log = compact_answer(story.year)
    sub = (
        "Decisions that look fair at the end can have been unfair all the way. evenhand judges "
        "them over their whole history, computes the fairest policy, and learns a fair policy."
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
        "static": curves.rows,
        "episode": {"names": CUSTOMERS, "steps": [vars(step) for step in story.episode]},
    }
    charts = {**audit_charts((story.year,), (log,)), **curves.specs}
    scripts = ("audit.js", "static_charts.js", "stepper.js")
    return page(TITLE, head, parts, data, charts, scripts)


def _vaccines(story: Story, curves: Curves) -> Markup:
    first = next(iter(story.vaccines.values()))
    b = first.stakeholder("B")
    words = (
        "Two countries receive 40,000 vaccines each. In one plan A is served first; in the other "
        "both are served at the same time. At the end the two plans look the same. But the first "
        f"plan leaves B behind in {b.share_below:.0%} of the months."
    )
    charts = [
        _shipments(f"shipments{k}", process, answer, curves)
        for k, (process, answer) in enumerate(story.vaccines.items())
    ]
    return joined(
        (
            element("p", {"class": "verdict"}, words),
            element("div", {"class": "pair"}, charts),
            over_time.unfairness_by_time(story.vaccines),
        )
    )


def _shipments(name: str, process: str, answer: Answer, curves: Curves) -> Markup:
    """The doses of each country after each month."""
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
    # Where both have the same value, both points stay visible.
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
    return plots.plot(name, "static", None, f"{process}. {ends}.", caption, legend)


def _year(answer: Answer) -> Markup:
    return joined(
        (
            element("p", {"class": "verdict"}, answer.verdict),
            element(
                "p",
                None,
                "Simulated: six clinics, one delivery per week. The nearest clinics are served "
                "first, and by December all have received the same. ",
                element("code", None, "evenhand audit"),
                " makes such a report of any log, with a search for each stakeholder.",
            ),
            over_time.spread(answer, 0),
            stakeholders.heatmap(answer, 0),
            element("h3", None, "One clinic over time"),
            stakeholder_story(answer, 0),
        )
    )


def _optimum(story: Story) -> Markup:
    best = story.best.value
    rows = [
        ("the fairest policy (optimum)", figure_of(round(best, 3)), figure_of(0)),
        (
            "turn taking: of those present, serve the one with least",
            figure_of(round(story.turn_taking, 3)),
            figure_of(round(best - story.turn_taking, 3) + 0.0),
        ),
        (
            "acting at random",
            figure_of(round(story.random, 3)),
            figure_of(round(best - story.random, 3)),
        ),
    ]
    words = (
        "Three customers share twelve doughnuts, one at a time. Each customer is present with "
        "probability 0.8, and a doughnut for an absent customer is wasted. Fairness is assessed "
        "after every doughnut (log-Nash welfare). The problem is small enough to enumerate every "
        "situation: no policy of any kind scores higher than the first line."
    )
    return joined(
        (
            element("p", None, words),
            table("Expected score of twelve doughnuts", ("", "score", "below the optimum"), rows),
        )
    )


def _learning(story: Story, curves: Curves) -> Markup:
    parts = {"best": story.learning}
    ours = story.learning.to_json()["methods"]["fairqcm"]
    left = max(0.0, ours["regret"])
    words = (
        "FairQCM does not know the problem: it decides and observes what happens. After each step "
        "it also computes the value that the step would have had if the customers had received "
        "other amounts before. The other methods learn only from what happened, with the same "
        f"number of steps. After {story.learning.spec.steps:,} steps FairQCM is {left:.2f} "
        "below the exact optimum; the table has all methods."
    )
    assert best_found(parts) <= story.best.value + 1e-3  # nothing beats the optimum
    return joined(
        (
            element("p", None, words),
            curves.figure("learning", parts, "score", "accumulated welfare"),
            summary_table(parts, "After the last step. Regret is the distance to the optimum."),
        )
    )


def _steps(episode: list[EpisodeStep]) -> Markup:
    """Buttons and a drawing that the script fills; without the script, a table of all steps."""
    differs = [step.step for step in episode if not step.as_the_optimum]
    where = "At every step it does the same as an optimal policy."
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
    columns = ("step", "present", "received so far", "goes to", "optimal", "score so far")
    everyone = " / ".join(CUSTOMERS)
    return joined(
        (
            element(
                "p",
                None,
                "One episode of the learned policy. It sees who is present and remembers how many "
                f"doughnuts each has received. {where}",
            ),
            stepper,
            element(
                "details",
                {"class": "paper"},
                element("summary", None, "All steps as a table"),
                table(f"Received so far: {everyone}", columns, rows, kind="words"),
            ),
            element(
                "noscript",
                None,
                element("p", None, "The buttons need this page’s script; the table has all steps."),
            ),
        )
    )


def three_commands() -> list[tuple[str, str]]:
    """What to try next, and what it does."""
    return [
        (
            "evenhand audit LOG.csv --stakeholder WHO --time WHEN --amount HOW_MUCH "
            "--out report.html",
            "audit a log of your own",
        ),
        (
            "evenhand plan doughnuts --stakeholders 3 --horizon 12 --memories",
            "the best score that each kind of memory allows",
        ),
        ("evenhand reproduce all --quick", "the paper on one page, in about ten minutes"),
    ]
