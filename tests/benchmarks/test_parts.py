"""What each part is worth: the variants, the rules, the tables by hand, and what is kept."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.studies import parts as studies
from benchmarks.studies.parts import (
    PARTS,
    STUDIED,
    VARIANTS,
    ProblemStudy,
    RuleScore,
    Study,
    Trained,
    first_alike,
    rows_against_rules,
    rows_of_parts,
    rows_of_tables,
    rule_scores,
    simple_rules,
    to_csv,
    to_json,
    to_markdown,
)

from evenhand.envs import Crates, Doughnuts, Jobs, Lending, WaitingList
from evenhand.errors import BadFile
from evenhand.lab.reference_scores import ReferenceScores
from evenhand.problem.problem import Problem

pytestmark = pytest.mark.system  # each trains something

STEPS = 1000


def problem_of(env):
    return Problem(env, env.default_scheme())


@pytest.mark.parametrize(
    ("variant", "parts"),
    [
        ("nothing imagined", {"proposal"}),
        ("no shaping", {"shaping", "scale", "baseline"}),
        ("no equal treatment", {"network"}),
    ],
)
def test_a_variant_differs_in_one_part_and_what_belongs_to_it(variant, parts):
    problem = problem_of(Jobs())
    plain, other = (VARIANTS[name](problem, STEPS) for name in ("default", variant))
    differ = {f.name for f in fields(plain) if getattr(plain, f.name) != getattr(other, f.name)}
    assert differ == parts
    assert first_alike(variant, problem, STEPS) == variant


def test_where_nothing_is_imagined_by_default_nothing_changes():
    """The waits are in the state: there is nothing to imagine."""
    problem = problem_of(WaitingList((0.5, 0.4), 1.0, 2, 6))
    assert first_alike("nothing imagined", problem, STEPS) == "default"


def test_the_other_recipe_is_studied_with_and_without_imagined_memories():
    problem = problem_of(Doughnuts(2, 4))
    best, real = (VARIANTS[name](problem, STEPS) for name in ("best", "best, nothing imagined"))
    assert {f.name for f in fields(best) if getattr(best, f.name) != getattr(real, f.name)} == {
        "proposal"
    }
    assert best.imagines
    assert not real.imagines


@pytest.mark.parametrize("env", [Jobs(), Crates(), WaitingList((0.5, 0.4), 1.0, 2, 6)])
def test_the_other_recipe_is_the_default_where_nothing_better_was_found(env):
    assert first_alike("best", problem_of(env), STEPS) == "default"
    real = first_alike("best, nothing imagined", problem_of(env), STEPS)
    assert real == first_alike("nothing imagined", problem_of(env), STEPS)


def test_rules_that_fit_are_tried():
    shop = set(simple_rules(problem_of(Doughnuts(2, 2, 0.5))))
    assert {"least_served", "half_life:2", "round_robin", "one_step_ahead"} <= shop
    assert set(simple_rules(problem_of(Lending()))) == {"one_step_ahead", "greedy_for_bank"}
    assert "longest_wait_first" in simple_rules(problem_of(WaitingList()))


def test_the_best_of_doughnuts_is_turn_taking_with_its_score_in_closed_form(monkeypatch):
    monkeypatch.setattr(studies, "RULES_TRIED", ("lottery", "least_served"))
    best = rule_scores(problem_of(Doughnuts(2, 2, 0.5)), episodes=2000)[0]
    assert best.name in {"least_served", "one_step_ahead"}
    low, high = best.interval
    assert low - 0.02 <= 27 / 16 * math.log(2) + 3 / 16 * math.log(3) <= high + 0.02
    assert best.score == pytest.approx((low + high) / 2, abs=0.02)


# Of two seeds the first stays at 99 from step 10 on, the second never gets there; it is at 95 from
# step 20 on.
FOUND = Trained(np.arange(4) * 10, np.array([[10, 30], [99, 90], [99, 97], [100, 98.0]]), 1.0)


def study_of(optimum=100.0, rule=90.0, random=0.0):
    return ProblemStudy(
        "jobs",
        STUDIED["jobs"],
        ReferenceScores(optimum, random),
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


SHOP = {"shop": Doughnuts(2, 2, 0.5)}


def test_who_imagines_nothing_gets_as_many_steps_as_the_other_has_updates(tmp_path, monkeypatch):
    """In two steps of two customers each memory has at most two others, and the first has none."""
    monkeypatch.setattr(studies, "TABLES", SHOP)
    monkeypatch.setattr(studies, "STEPS", 600)
    found = studies.study_tables(tmp_path, "shop", seeds=2)
    steps = {name: int(one.steps[-1]) for name, one in found.items()}
    assert steps[studies.IMAGINING] == steps[studies.PLAIN] == 600
    assert 600 < steps[studies.UPDATES] < 3 * 600
    assert np.all(found[studies.IMAGINING].final > 1.3)  # of 1.3757
    # What is in the folder is read: it cannot be trained without a problem.
    monkeypatch.setattr(studies, "TABLES", {})
    again = studies.study_tables(tmp_path, "shop", seeds=2)
    assert again[studies.PLAIN].scores.tolist() == found[studies.PLAIN].scores.tolist()


def test_a_row_by_hand():
    """Both seeds at 96 of 100 from step 20 on."""
    one = Trained(np.arange(3) * 10, np.array([[50, 60], [94, 94], [96, 96.0]]), 1.0)
    (row,) = rows_of_tables({"shop": {"default": one}}, {"shop": ReferenceScores(100.0, 0.0)})
    assert row == ("shop", "default", "20", "96.0% (96.0% to 96.0%)", "20 (2 of 2)", "— (0 of 2)")
