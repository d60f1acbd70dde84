"""The distance to an even log in three parts that add up, by hand and on a log."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from evenhand import audit
from evenhand.auditing.answer.gap_parts import GapParts
from evenhand.auditing.options import AuditOptions
from evenhand.decide.hindsight.best_of_log import with_best
from evenhand.report import report


def test_the_parts_add_up_and_say_so():
    parts = GapParts(even=10.0, best=9.5, lottery=8.0, actual=6.0)
    assert (parts.out_of_reach, parts.by_chance, parts.rest) == (0.5, 1.5, 2.0)
    assert parts.out_of_reach + parts.by_chance + parts.rest == parts.gap == 4.0
    assert parts.sentence() == (
        "Of the 4 by which the score lies below that of an even log, 0.5 was out of reach for any "
        "decision, and 1.5 is what a fair lottery leaves in the middle of its draws; the rest, 2, "
        "neither explains."
    )


def test_better_than_a_lottery():
    parts = GapParts(even=10.0, best=9.5, lottery=8.0, actual=9.0)
    assert parts.rest == -1.0
    assert parts.sentence().endswith("; what happened was better than that by 1.")


def test_no_gap_needs_no_words():
    assert GapParts(even=10.0, best=10.0, lottery=8.0, actual=10.0).sentence() == ""


@pytest.fixture(scope="module")
def answer():
    rng = random.Random(3)
    log = pd.DataFrame({"day": range(40), "who": [rng.choice("AABBC") for _ in range(40)]})
    options = AuditOptions(stakeholder="who", time="day", every=10)
    return with_best(audit(log, stakeholder="who", time="day", every=10), log, options)


def test_an_answer_with_the_best_and_a_lottery_has_the_parts(answer):
    parts, score = answer.gap_parts, answer.chance.measure("score")
    assert parts.gap == pytest.approx(answer.overall.even_score - answer.score)
    assert parts.by_chance == answer.best.score - score.middle
    assert answer.to_json()["gap_parts"]["words"] == parts.sentence()
    page = report(answer).decode()
    assert f"Could it have been fairer? </b>{answer.best.sentence()}" in page
    assert parts.sentence() in page


def test_without_the_best_there_are_none():
    log = pd.DataFrame({"day": [1, 2], "who": ["A", "B"]})
    assert audit(log, stakeholder="who", time="day").gap_parts is None
