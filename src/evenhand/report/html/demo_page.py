"""The demo's page: one log, from the verdict to the next decision."""

from __future__ import annotations

from evenhand._util.wording import join_names
from evenhand.auditing.answer import Answer
from evenhand.decide.replay.answer import Outcome
from evenhand.lab.demo import HUNDREDS, TRUCK, VAN, WEEKS, LearnedRule, Story, best_rule
from evenhand.report.html import over_time, stakeholders
from evenhand.report.html.audit_page import audit_charts
from evenhand.report.html.element import (
    Child,
    Markup,
    PageSection,
    asset,
    element,
    figure_of,
    joined,
    page,
    table,
)
from evenhand.report.html.first_screen import stakeholder_story
from evenhand.report.html.page_data import compact_answer
from evenhand.report.text import chance

TITLE = "Fairness that remembers"


def demo_page(story: Story) -> bytes:
    """The page, as the bytes of a file."""
    parts = [
        PageSection("verdict", "1. Who is behind? Not who it seems", _judged(story)),
        PageSection("chance", "2. Could it be chance?", _chance(story)),
        PageSection("avoidable", "3. What was avoidable", _avoidable(story.judged)),
        PageSection("rules", "4. The last two weeks by other rules", _rules(story)),
        PageSection("learned", "5. A policy learned from the weeks before", _learned(story)),
        PageSection("next", "6. Who is next, and why", _next(story)),
        PageSection("yours", "Your own log", _commands()),
    ]
    sub = (
        "A food bank gives out crates, one delivery each working day, to four districts. Its log "
        f"of {WEEKS} weeks is simulated; every number below was computed from it when this page "
        "was made."
    )
    head = joined(
        (
            Markup(asset("patterns.svg")),
            element("h1", None, TITLE),
            element("p", {"class": "sub"}, sub),
        )
    )
    log = compact_answer(story.judged)
    charts = audit_charts((story.judged,), (log,))
    return page(TITLE, head, parts, {"logs": [log]}, charts, ("audit.js",))


def _judged(story: Story) -> Markup:
    naive, judged = story.naive, story.judged
    rows: list[tuple[Child, ...]] = [
        (
            name,
            f"{100 * size:,}",
            figure_of(naive.stakeholder(name).final),
            figure_of(naive.stakeholder(name).final_unfairness, signed=True),
            figure_of(judged.stakeholder(name).final),
            figure_of(judged.stakeholder(name).short_of_share),
        )
        for name, size in HUNDREDS.items()
    ]
    columns = (
        *("", "households", "crates", "from the mean"),
        *("crates per 100 households", "crates short of its share"),
    )
    wrong, right = worst_of(naive), worst_of(judged)
    words = (
        f"Counted in crates, {wrong} is treated worst. But the districts differ in size: per "
        f"household it is {right}. Whoever judges without sizes helps the wrong one."
    )
    return joined(
        (
            element("p", {"class": "verdict"}, words),
            table("At the end of the log.", columns, rows),
            element("p", None, element("b", None, "In crates: "), naive.verdict),
            element("p", None, element("b", None, "Per household: "), judged.verdict),
            over_time.spread(judged, 0),
            stakeholders.heatmap(judged, 0),
            element("h3", None, "One district over time"),
            stakeholder_story(judged, 0),
        )
    )


def worst_of(answer: Answer) -> str:
    """Who is treated worst overall."""
    lowest = min(one.overall_unfairness for one in answer.by_stakeholder)
    named = [one.name for one in answer.by_stakeholder if one.overall_unfairness == lowest]
    return join_names(named)


def _chance(story: Story) -> Markup:
    words = (
        "In every log somebody is furthest behind. So the same deliveries are drawn by lot, again "
        "and again, with odds by the number of households."
    )
    return joined(
        (element("p", None, words), element("p", {"class": "verdict"}, chance(story.judged)))
    )


def _avoidable(answer: Answer) -> Markup:
    parts, best = answer.gap_parts, answer.best
    if parts is None or best is None:
        return element("p", None, "Nothing to say.")
    rows = [
        ("an even log", figure_of(parts.even)),
        ("the best there was", figure_of(parts.best)),
        ("a fair lottery, in the middle of its draws", figure_of(parts.lottery)),
        ("what was done", figure_of(parts.actual)),
    ]
    words = f"{best.sentence()} {parts.sentence()}"
    return joined(
        (
            element("p", {"class": "verdict"}, words),
            table("Scores of the whole log: the higher, the fairer.", ("", "score"), rows),
        )
    )


def _rules(story: Story) -> Markup:
    answer = story.rules
    words = (
        f"Deliveries stay as they were: {TRUCK} crates on a Monday, {VAN} on other days, whole. "
        f"From {story.since} on, rules decide who gets them. {answer.verdict}"
    )
    meaning = (
        element("li", None, element("b", None, one.name), f": next is {one.rule.describe()}.")
        for one in answer.outcomes
        if one.rule is not None
    )
    return joined(
        (
            element("p", {"class": "verdict"}, words),
            table("The higher the score, the fairer.", *_compared(answer.everything)),
            element("ul", None, meaning),
        )
    )


def _compared(
    outcomes: tuple[Outcome, ...],
) -> tuple[tuple[str, ...], list[tuple[Child, ...]]]:
    """The columns and rows that say how ways to decide compare."""
    rows: list[tuple[Child, ...]] = [
        (
            one.name,
            figure_of(one.score),
            join_names(one.worst) or "nobody",
            figure_of(one.worst_unfairness, signed=True),
        )
        for one in sorted(outcomes, key=lambda one: -one.score)
    ]
    return ("", "score", "worst off", "by"), rows


def _learned(story: Story) -> Markup:
    found = story.learned
    if not isinstance(found, LearnedRule):
        return element("p", None, f"No policy was learned: {found}")
    words = (
        f"From the {found.decisions} deliveries before {story.since} a world is made: their weeks, "
        f"drawn again and again. A policy learns in it to decide {found.horizon} deliveries, and "
        "then decides those that it has never seen. The log and the settings of the learner were "
        "chosen so that this can be shown in seconds: it illustrates, and is no evidence that "
        "learning beats rules."
    )
    return joined(
        (
            element("p", None, words),
            element("p", {"class": "verdict"}, learned_verdict(story, found)),
            table(
                "On the deliveries that were not learned from.",
                *_compared((*story.rules.everything, found.outcome)),
            ),
        )
    )


def learned_verdict(story: Story, found: LearnedRule) -> str:
    """Whether learning was worth it, in a sentence."""
    rule = best_rule(story.rules)
    scores = f"{found.outcome.score:.3g} against {rule.score:.3g}"
    if found.beats(story.rules):
        return (
            f"It is fairer than every rule here: {scores} for {rule.name}, the best of them. "
            "Unlike them it looks at how large a delivery is."
        )
    return f"It is not fairer than {rule.name}: {scores}. Use the rule, which is simpler."


def _next(story: Story) -> Markup:
    turn = story.turn
    first = turn.ranking[0]
    rows = [(one.name, f"{one.rank}", figure_of(one.level), one.reason) for one in turn.ranking]
    words = f"On {turn.when} the next delivery goes to {first.name}, who {first.reason}."
    return joined(
        (
            element("p", {"class": "verdict"}, words),
            table(
                "By least_served, with the whole log as its memory.",
                ("", "rank", "crates per 100 households", "why"),
                rows,
                "words",
            ),
            element("p", None, f"“Why not us?” {turn.why_not}"),
            element(
                "p",
                None,
                element("code", None, "evenhand serve"),
                " answers the same over HTTP and on a page, keeps what was decided in a log that "
                "cannot quietly be changed, and lets a learned policy decide, too.",
            ),
        )
    )


def _commands() -> Markup:
    items = (
        element("li", None, element("code", None, command), f": {what}.")
        for command, what in next_commands()
    )
    return element("ul", {"class": "commands"}, items)


def next_commands() -> list[tuple[str, str]]:
    """What to try next, and what it does."""
    log = "LOG.csv --stakeholder WHO --time WHEN --amount HOW_MUCH"
    return [
        (f"evenhand audit {log} --best --out report.html", "audit a log of your own"),
        (f"evenhand replay {log}", "decide it anew by other rules"),
        ("evenhand serve --store decisions.db", "say who is next, from now on"),
    ]
