"""The checks of the theorems that `reproduce all` runs: they count, and they can fail."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.lab import theorems
from evenhand.lab.theorems import THEOREMS


@pytest.mark.system
@pytest.mark.parametrize("theorem", THEOREMS, ids=[one.where for one in THEOREMS])
def test_each_comes_out(theorem):
    learned = (theorems.fairqcm_converges, theorems.drawing_few_converges)
    few = 1 if theorem.checked in learned else 5
    finding = theorem.checked(few)
    assert finding.held is True, finding.measured


def test_a_memory_that_forgets_is_found_out(monkeypatch):
    from evenhand.memory.automata import TableMemory

    right = TableMemory.after
    monkeypatch.setattr(TableMemory, "after", lambda self, labels: right(self, labels[:-1]))
    assert theorems.value_regular_statuses_get_a_memory(20).held is False


def test_a_planner_that_is_wrong_is_found_out(monkeypatch):
    from evenhand.planning.planner import Plan

    monkeypatch.setattr(Plan, "value", property(lambda self: float(self.values[0][0]) - 0.01))
    finding = theorems.augmented_optimum_is_the_best_score(2)
    assert finding.held is False
    assert "0 of 2" in finding.measured
    assert np.isclose(float(finding.measured.rsplit(" ", 1)[1]), 0.01)
