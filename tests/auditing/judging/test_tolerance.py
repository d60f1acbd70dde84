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


@pytest.mark.parametrize("wrong", ["-1", "five", "nan", -3, "5%%"])
def test_bad_tolerances(wrong):
    for name in ("tolerance", "max_unfairness"):
        with pytest.raises(e.BadParameter, match="or a share of the mean such as 5%"):
            audit(LOG, **OPTIONS, **{name: wrong})
