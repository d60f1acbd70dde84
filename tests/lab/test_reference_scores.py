"""What learning is measured against, where the optimum can be planned and where it cannot."""

from __future__ import annotations

import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import TooLarge
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Utilitarian
from evenhand.lab import reference_scores
from evenhand.lab.reference_scores import ReferenceScores, yardstick


def test_the_optimum_is_of_the_scheme_that_is_asked_for():
    """Each of 3 doughnuts counts at its step and after it: 3 + 2 + 1, whoever gets them."""
    shop = Doughnuts(2, 3, 1.0)
    found = yardstick(shop, anytime(Utilitarian(), Total()))
    assert (found.optimum, found.random) == (pytest.approx(6.0), pytest.approx(6.0))
    assert found.rules == ()


@pytest.mark.system  # takes seconds
def test_without_an_optimum_rules_stand_in_its_place(monkeypatch):
    def too_large(*_, **__):
        raise TooLarge("too large.")

    monkeypatch.setattr(reference_scores, "plan", too_large)
    shop = Doughnuts(2, 3, 1.0, wasted=None)
    found = yardstick.__wrapped__(shop, anytime(Utilitarian(), Total()))
    assert found.optimum is None
    assert dict(found.rules)["least_served"] == pytest.approx(6.0, abs=1e-4)


def test_what_is_worse_than_not_learning_is_said():
    against = ReferenceScores(
        None, random=3.0, rules=(("longest_wait", 4.0), ("least_served", 6.0))
    )
    assert against.warning([6.0, 6.5]) is None
    assert "The rule least_served is better" in against.warning([5.0, 6.5])
    assert against.warning([2.9, 9.0]).startswith("1 of 2 seeds scored below acting at random")
    assert against.warning([2.9]).startswith("It scored below acting at random")
    assert ReferenceScores(10.0, random=3.0).warning([3.0]) is None
