"""Tables with and without imagined memories: how many steps each is given."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.experiments.ablation import tabular_study as table_study
from evenhand.experiments.ablation.study import Trained
from evenhand.experiments.ablation.study_table import rows_of_tables
from evenhand.experiments.running.reference_scores import Yardstick

pytestmark = pytest.mark.system  # each trains something

SHOP = {"shop": Doughnuts(2, 2, 0.5)}


def test_who_imagines_nothing_gets_as_many_steps_as_the_other_has_updates(tmp_path, monkeypatch):
    """In two steps of two customers each memory has at most two others, and the first has none."""
    monkeypatch.setattr(table_study, "TABLES", SHOP)
    monkeypatch.setattr(table_study, "STEPS", 600)
    found = table_study.study_tables(tmp_path, "shop", seeds=2)
    steps = {name: int(one.steps[-1]) for name, one in found.items()}
    assert steps[table_study.IMAGINING] == steps[table_study.PLAIN] == 600
    assert 600 < steps[table_study.UPDATES] < 3 * 600
    assert np.all(found[table_study.IMAGINING].final > 1.3)  # of 1.3757
    # What is in the folder is read: it cannot be trained without a problem.
    monkeypatch.setattr(table_study, "TABLES", {})
    again = table_study.study_tables(tmp_path, "shop", seeds=2)
    assert again[table_study.PLAIN].scores.tolist() == found[table_study.PLAIN].scores.tolist()


def test_a_row_by_hand():
    """Both seeds at 96 of 100 from step 20 on."""
    one = Trained(np.arange(3) * 10, np.array([[50, 60], [94, 94], [96, 96.0]]), 1.0)
    (row,) = rows_of_tables({"shop": {"default": one}}, {"shop": Yardstick(100.0, 0.0)})
    assert row == ("shop", "default", "20", "96.0% (96.0% to 96.0%)", "20 (2 of 2)", "— (0 of 2)")
