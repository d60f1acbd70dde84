"""The page of learning curves: every method that can be compared has its own line and sign."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.lab.compare_methods import MethodComparison
from evenhand.lab.reference_scores import ReferenceScores
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.runs import Run
from evenhand.report.html.learning_page import METHODS, learning_page, places_of


def comparison(*methods: str) -> MethodComparison:
    spec = RunSpec(Doughnuts(2, 4, 0.8), "fairqcm", (0, 1), steps=200, every=100)
    flat = {"score": np.full((2, 2), 3.0), "kept": np.full((2, 2), 1.0)}
    results = {method: Run(spec.for_method(method), {}, flat, 0.1) for method in methods}
    return MethodComparison(spec, ReferenceScores(4.0, random=2.0), results)


@pytest.mark.parametrize("method", ["untrained", "least_served", "half_life:5"])
def test_rules_and_controls_are_drawn_too(method):
    page = learning_page({"paper": comparison("fairqcm", method)}, "Doughnuts").decode()
    assert f"{method.capitalize()} (paper) ends at 3" in page


def test_others_take_signs_that_nothing_else_on_the_page_has():
    parts = {"paper": comparison("fairqcm", "full", "least_served", "longest_wait")}
    places = places_of(parts)
    assert {method: places[method] for method in METHODS} == {m: k for k, m in enumerate(METHODS)}
    assert (places["least_served"], places["longest_wait"]) == (2, 3)  # min and reset are not there


def test_signs_come_again_once_all_are_taken():
    others = [f"half_life:{k}" for k in range(1, 10)]
    places = places_of({"paper": comparison(*METHODS[1:], *others)})
    assert [places[method] for method in others] == [0, *range(7), 0]
