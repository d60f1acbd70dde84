"""The demo's story, against its own log added up in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest

from evenhand.lab import demo
from evenhand.lab.demo import HUNDREDS, LearnedRule, best_rule, build_demo, crate_log
from evenhand.report.html.demo_page import demo_page, learned_verdict, worst_of


@pytest.fixture(scope="module")
def story():
    """All of it but the learning, which takes long: as it is where jax is not installed."""
    patch = pytest.MonkeyPatch()
    patch.setattr(demo, "_learn", not_installed)
    yield build_demo()
    patch.undo()


def not_installed(*_):
    raise ModuleNotFoundError("No module named 'jax'", name="jax")


@pytest.mark.system  # takes seconds
def test_the_naive_answer_is_wrong_as_sizes_differ(story):
    crates = Counter()
    for _, name, amount in crate_log():
        crates[name] += amount
    share = sum(crates.values()) / sum(HUNDREDS.values())
    per_household = {name: crates[name] / size for name, size in HUNDREDS.items()}
    assert min(crates, key=crates.get) == worst_of(story.naive)
    assert min(per_household, key=per_household.get) == worst_of(story.judged)
    assert worst_of(story.naive) != worst_of(story.judged)
    for name, size in HUNDREDS.items():
        found = story.judged.stakeholder(name)
        assert found.final == pytest.approx(per_household[name])
        assert found.short_of_share == pytest.approx(share * size - crates[name])


def test_chance_is_ruled_out_for_whom_it_is_about(story):
    assert story.judged.chance.p <= 0.01
    assert story.judged.chance.named == (worst_of(story.judged),)


def test_least_served_is_replayed_as_it_is_written_down(story):
    """The rule and its score (log-Nash after each delivery, weighted) in a few lines."""
    rest = [(day, amount) for day, _, amount in crate_log() if day >= story.since]
    weight = {
        name: len(HUNDREDS) * size / sum(HUNDREDS.values()) for name, size in HUNDREDS.items()
    }
    # Ties go by the order of the stakeholders of the log, which are sorted.
    had, scores = dict.fromkeys(sorted(HUNDREDS), 0), []
    for _, amount in rest:
        had[min(had, key=lambda name: had[name] / HUNDREDS[name])] += amount
        scores.append(sum(weight[n] * math.log(had[n] / HUNDREDS[n] + 1) for n in had))
    by_name = {one.name: one.score for one in story.rules.everything}
    assert by_name["least_served"] == pytest.approx(sum(scores) / len(scores))
    assert best_rule(story.rules).score == max(s for n, s in by_name.items() if n != "as logged")


def test_without_jax_the_page_says_so_and_has_the_rest(story):
    assert "pip install 'evenhand[learn]'" in story.learned
    page = demo_page(story).decode()
    assert "No policy was learned: this needs jax" in page
    for anchor in ("verdict", "chance", "avoidable", "rules", "learned", "next"):
        assert f'<section id="{anchor}"' in page


def test_learning_says_whether_it_was_worth_it(story):
    rule = best_rule(story.rules)
    for more, words in ((0.1, "fairer than every rule"), (-0.1, "Use the rule"), (0.0, "Use the")):
        learned = LearnedRule(120, 10, replace(rule, score=rule.score + more))
        assert words in learned_verdict(story, learned)


def test_who_is_next_is_who_has_least_per_household(story):
    levels = [one.level for one in story.turn.ranking]
    assert levels == sorted(levels)
    assert story.turn.ranking[0].name == worst_of(story.judged)
    assert story.turn.why_not.startswith(story.turn.ranking[-1].name)
