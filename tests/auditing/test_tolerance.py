"""What is within a tolerance is not below, and rounding to whole units is not unequal."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand import errors as e
from logs import audit_alone as audit

LOG = pd.DataFrame(
    {
        "day": [1, 1, 2, 2],
        "who": ["A", "B", "A", "B"],
        "got": [100.0, 108.0, 100.0, 132.0],
    }
)  # distances from the mean: 4 of 104, then 20 of 220
OPTIONS = {"stakeholder": "who", "time": "day", "amount": "got"}


@pytest.mark.parametrize(
    ("tolerance", "unequal", "behind"),
    [(None, 2, True), (4, 1, True), ("4%", 1, True), ("10%", 0, False), (19.9, 1, True)],
)
def test_what_is_within_it_is_not_below(tolerance, unequal, behind):
    answer = audit(LOG, **OPTIONS, tolerance=tolerance)
    assert answer.overall.unequal_assessments == unequal
    assert answer.stakeholder("A").share_below == unequal / 2
    assert answer.worst_at_end == (("A",) if behind else ())
    assert answer.verdict.startswith("Unequal at the end" if behind else "Equal at the end")
    # The distances themselves, and the score, are what they are.
    assert answer.stakeholder("A").final_unfairness == -20
    assert answer.score == audit(LOG, **OPTIONS).score


def test_nobody_is_treated_worst_whose_distances_were_all_let_pass():
    assert audit(LOG, **OPTIONS, tolerance="10%").treated_worst == ()
    # 4 + 20 behind, and twice 12 let pass: not behind overall.
    assert audit(LOG, **OPTIONS, tolerance=12).treated_worst == ()
    assert audit(LOG, **OPTIONS, tolerance=11.9).treated_worst == ("A",)


def test_a_limit_can_be_a_share_of_the_mean():
    far = 20 / 220
    kept = audit(LOG, **OPTIONS, max_unfairness=f"{100 * far + 0.1}%")
    assert kept.breaches == ()
    broken = audit(LOG, **OPTIONS, max_unfairness="9%")
    assert broken.limits[0].found == pytest.approx(far)
    assert "of the mean below it" in broken.breaches[0]
    assert "9%" in broken.breaches[0]


def test_whoever_is_just_at_a_tolerance_or_a_limit_is_within_it():
    """Of 1.2 and 1.8 the first is 0.3 below the mean: in floating point, a little more."""
    log = pd.DataFrame({"day": [1, 1], "who": ["A", "B"], "got": [1.2, 1.8]})
    answer = audit(log, **OPTIONS, tolerance=0.3, max_unfairness=0.3)
    assert answer.stakeholder("A").final_unfairness < -0.3
    assert (answer.overall.unequal_assessments, answer.treated_worst, answer.breaches) == (
        0,
        (),
        (),
    )
    assert answer.verdict.startswith("Equal at the end, and equal")
    beyond = audit(log, **OPTIONS, tolerance=0.2999, max_unfairness=0.2999)
    assert (beyond.overall.unequal_assessments, beyond.treated_worst) == (1, ("A",))
    assert beyond.breaches == (
        "somebody was 0.3 below the mean at an assessment, more than `max_unfairness` 0.2999",
    )


def test_a_distance_by_rounding_alone_breaks_no_limit_of_nothing():
    log = pd.DataFrame(
        {"day": [1, 2, 3, 3], "who": ["A", "A", "A", "B"], "got": [0.1, 0.2, 0, 0.3]}
    )
    answer = audit(log, **OPTIONS, at_end=True, max_unfairness=0)
    assert answer.overall.unequal_assessments == 0
    assert answer.breaches == ()


def test_what_is_let_pass_adds_up_only_while_somebody_is_there():
    """C is there on the last of three days alone, 2 below the mean, of which 0.9 is let pass."""
    log = pd.DataFrame(
        [(day, who, 3.0) for day in (1, 2, 3) for who in "AB"] + [(3, "C", 6.0)],
        columns=["day", "who", "got"],
    )
    roster = pd.DataFrame({"who": list("ABC"), "from": [None, None, 3]})
    answer = audit(log, **OPTIONS, roster=roster, newcomers="zero", tolerance=0.9)
    assert answer.stakeholder("C").overall_unfairness == -2
    assert answer.treated_worst == ("C",)
    assert "Treated worst overall was C" in answer.verdict
    assert audit(log, **OPTIONS, roster=roster, newcomers="zero", tolerance=2).treated_worst == ()


def test_what_is_let_pass_of_whoever_has_left_is_by_the_mean_of_its_time():
    """When B leaves it is 2 below a mean of 10, more than a tenth; later the mean is 100."""
    log = pd.DataFrame(
        {"day": [1, 1, 1, 2, 2], "who": list("ABCAC"), "got": [11.0, 8.0, 11.0, 89.0, 89.0]}
    )
    roster = pd.DataFrame({"who": list("ABC"), "until": [None, 1, None]})
    answer = audit(log, **OPTIONS, roster=roster, tolerance="10%")
    assert answer.verdict.startswith("Unequal at the end")
    assert answer.worst_at_end == ("B",)
    assert "Treated worst overall was B" in answer.verdict
    assert "and also at the end (−2)" in answer.verdict


def test_a_plan_in_whole_units_is_as_even_as_they_allow():
    people = {"A": 5.0, "B": 2.0, "C": 1.0}
    shares = pd.DataFrame(
        [
            (week, name, round(10 * week * size / 8) - round(10 * (week - 1) * size / 8))
            for week in range(1, 9)
            for name, size in people.items()
        ],
        columns=["week", "to", "doses"],
    )
    answer = audit(shares, stakeholder="to", time="week", amount="doses", entitlement=people)
    assert answer.overall.unequal_assessments > 0
    assert answer.verdict.startswith("As even as whole units allow")
    moved = shares.assign(doses=shares["doses"] + np.array([2, -2] + [0] * 22))
    unequal = audit(moved, stakeholder="to", time="week", amount="doses", entitlement=people)
    assert unequal.verdict.startswith("Unequal at the end")


def test_as_even_as_whole_units_allow_is_said_of_an_unfinished_end_too():
    """January is as even as three units allow; in February, which is not over, A gets 100."""
    log = pd.DataFrame(
        {"day": ["2021-01-05", "2021-01-06", "2021-02-03"], "who": list("ABA"), "got": [1, 2, 100]}
    )
    assert audit(log[:2], **OPTIONS, every="month", until="2021-01-31").as_even_as_whole_units
    answer = audit(log, **OPTIONS, every="month")
    assert not answer.as_even_as_whole_units
    assert answer.verdict.startswith("Unequal at the end, and unequal month by month")
    assert "at the end it is B (−49.5)" in answer.verdict


@pytest.mark.parametrize("wrong", ["-1", "five", "nan", -3, "5%%"])
def test_bad_tolerances(wrong):
    for name in ("tolerance", "max_unfairness"):
        with pytest.raises(e.BadParameter, match="or a share of the mean such as 5%"):
            audit(LOG, **OPTIONS, **{name: wrong})
