"""The tables, from scores made up by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.errors import BadFile
from evenhand.experiments.ablation import study as studies
from evenhand.experiments.ablation.simple_rules import RuleScore
from evenhand.experiments.ablation.studied_problems import STUDIED
from evenhand.experiments.ablation.study import ProblemStudy, Study, Trained
from evenhand.experiments.ablation.study_table import (
    PARTS,
    rows_against_rules,
    rows_of_parts,
    to_csv,
    to_json,
    to_markdown,
)
from evenhand.experiments.running.reference_scores import Yardstick

pytestmark = pytest.mark.system  # each trains something

# Of two seeds the first stays at 99 from step 10 on, the second never gets there; it is at 95 from
# step 20 on.
FOUND = Trained(np.arange(4) * 10, np.array([[10, 30], [99, 90], [99, 97], [100, 98.0]]), 1.0)


def study_of(optimum=100.0, rule=90.0, random=0.0):
    return ProblemStudy(
        "jobs",
        STUDIED["jobs"],
        Yardstick(optimum, random),
        [RuleScore("least_served", rule, (rule - 1, rule + 1))],
        {"default": FOUND, "no shaping": "default"},
        None,
    )


def test_learning_beside_rules():
    (row,) = rows_against_rules([study_of()])
    assert row[0] == "jobs"
    assert row[3] == "least_served 90.000 (89.000 to 91.000)"
    assert row[4] == "90.0%"
    assert row[5] == "30"
    assert row[6].startswith("99.000 (98.000 to 100.000)")
    assert row[7:] == ("99.0%", "yes", "yes")


def test_beside_rules_the_default_stands_with_its_own_length():
    longer = Trained(np.arange(4) * 50, FOUND.scores + 1.0, 1.0)
    (row,) = rows_against_rules([replace(study_of(), whole=longer)])
    assert row[5:7] == ("150", "100.000 (99.000 to 101.000)")


@pytest.mark.parametrize(("rule", "says"), [(98.0, "intervals overlap"), (102.0, "no")])
def test_a_rule_that_is_as_good_is_not_beaten(rule, says):
    assert rows_against_rules([study_of(rule=rule)])[0][-1] == says


def test_parts_with_the_untrained_network_and_the_steps_from_which_on_it_stays():
    untrained, default, same = rows_of_parts([study_of()])
    assert untrained[:4] == ("jobs", "untrained network", "20.000", "20.0%")
    assert default[4:] == ("10 (2 of 2)", "10 (1 of 2)")  # the lower of two is the median
    assert same[2] == "the same as “default”"


def test_negative_scores_are_shares_of_the_way():
    row = rows_against_rules([study_of(optimum=-1.0, random=199.0, rule=0.0)])[0]
    assert row[4] == "99.5% of the way"


def test_as_markdown_csv_and_json():
    rows = rows_of_parts([study_of()])
    assert to_markdown(PARTS, rows).splitlines()[1] == "| --- | --- | --- | --- | --- | --- |"
    assert to_csv(PARTS, rows).splitlines()[0].startswith("problem,variant")
    assert to_json([study_of()])["jobs"]["variants"]["no shaping"] == "default"


def test_what_is_in_the_folder_is_not_trained_again(tmp_path: Path, monkeypatch):
    trained = []

    def train(name, variant, seeds, steps):
        trained.append((name, variant, seeds, steps))
        return FOUND

    monkeypatch.setattr(studies, "train", train)
    monkeypatch.setattr(
        studies, "first_alike", lambda variant, *_: {"no shaping": "default"}.get(variant, variant)
    )
    study = Study(tmp_path, seeds=2, quick=True, names=("jobs",))
    for _ in range(2):
        assert study.trained("jobs", "default").scores.tolist() == FOUND.scores.tolist()
        assert study.trained("jobs", "no shaping") == "default"
    assert trained == [("jobs", "default", 2, 600)]
    # Another number of seeds is another study.
    Study(tmp_path, seeds=3, quick=True).trained("jobs", "default")
    assert trained[1:] == [("jobs", "default", 3, 600)]


def test_where_looking_ahead_pays_the_default_is_trained_for_its_own_length(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(studies, "train", lambda *asked: trained.append(asked) or FOUND)
    study = Study(tmp_path, seeds=2)
    assert study.whole("jobs").scores.tolist() == FOUND.scores.tolist()
    assert study.whole("doughnuts") is None
    assert trained == [("jobs", "default", 2, STUDIED["jobs"].default_steps)]


@pytest.mark.parametrize("kept", ["junk", "[]", '{"settings": SETTINGS, "found": {}}'])
def test_a_damaged_file_is_refused(tmp_path, kept):
    settings = {"seeds": 2, "steps": 600, "episodes": studies.episodes_of("jobs")}
    (tmp_path / "jobs.default.json").write_text(kept.replace("SETTINGS", json.dumps(settings)))
    (tmp_path / "jobs.rules.json").write_text(kept)
    study = Study(tmp_path, seeds=2, quick=True, names=("jobs",))
    with pytest.raises(BadFile, match=r"jobs\.default\.json"):
        study.trained("jobs", "default")
    if kept != "[]":
        with pytest.raises(BadFile, match=r"jobs\.rules\.json"):
            study.rules("jobs")
