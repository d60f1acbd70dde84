"""The rules that learning has to beat: all that fit an environment, with known scores."""

from __future__ import annotations

import math

import pytest

from evenhand.envs import Doughnuts, Lending, WaitingList
from evenhand.experiments.ablation import simple_rules as trying
from evenhand.experiments.ablation.simple_rules import rule_scores, simple_rules
from evenhand.problem.problem import Problem

pytestmark = pytest.mark.system  # each trains something


def problem_of(env):
    return Problem(env, env.default_scheme())


def test_rules_that_fit_are_tried():
    shop = set(simple_rules(problem_of(Doughnuts(2, 2, 0.5))))
    assert {"least_served", "half_life:2", "round_robin", "one_step_ahead"} <= shop
    assert set(simple_rules(problem_of(Lending()))) == {"one_step_ahead", "greedy_for_bank"}
    assert "longest_wait_first" in simple_rules(problem_of(WaitingList()))


def test_the_best_of_doughnuts_is_turn_taking_with_its_score_in_closed_form(monkeypatch):
    monkeypatch.setattr(trying, "RULES_TRIED", ("lottery", "least_served"))
    best = rule_scores(problem_of(Doughnuts(2, 2, 0.5)), episodes=2000)[0]
    assert best.name in {"least_served", "one_step_ahead"}
    low, high = best.interval
    assert low - 0.02 <= 27 / 16 * math.log(2) + 3 / 16 * math.log(3) <= high + 0.02
    assert best.score == pytest.approx((low + high) / 2, abs=0.02)
