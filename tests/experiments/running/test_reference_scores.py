"""What learning is measured against, where the optimum can be planned and where it cannot."""

from __future__ import annotations

import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import TooLarge
from evenhand.experiments.running import reference_scores
from evenhand.experiments.running.reference_scores import yardstick
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Utilitarian


def test_the_optimum_is_of_the_scheme_that_is_asked_for():
    """Each of 3 doughnuts counts at its step and after it: 3 + 2 + 1, whoever gets them."""
    shop = Doughnuts(2, 3, 1.0)
    found = yardstick(shop, anytime(Utilitarian(), Total()))
    assert (found.optimum, found.random) == (pytest.approx(6.0), pytest.approx(6.0))
    assert found.rules == ()


def test_without_an_optimum_rules_stand_in_its_place(monkeypatch):
    def too_large(*_, **__):
        raise TooLarge("too large.")

    monkeypatch.setattr(reference_scores, "plan", too_large)
    shop = Doughnuts(2, 3, 1.0, wasted=None)
    found = yardstick.__wrapped__(shop, anytime(Utilitarian(), Total()))
    assert found.optimum is None
    assert dict(found.rules)["least_served"] == pytest.approx(6.0, abs=1e-4)
