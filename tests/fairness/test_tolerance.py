"""A distance from the mean that is let pass."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import BadParameter
from evenhand.fairness.tolerance import NONE, Tolerance


@pytest.mark.parametrize(
    ("given", "let_pass", "words"),
    [
        (3, [3.0, 3.0, 3.0], "3"),
        ("0.5", [0.5, 0.5, 0.5], "0.5"),
        ("5%", [10.0, 5.0, 0.0], "5%"),
        (" 150% ", [300.0, 150.0, 0.0], "150%"),
        (0, [0.0, 0.0, 0.0], "0"),
    ],
)
def test_an_amount_or_a_share_of_the_mean_whatever_its_sign(given, let_pass, words):
    found = Tolerance.read(given, "tolerance")
    assert found.around(np.array([200.0, -100.0, 0.0])).tolist() == pytest.approx(let_pass)
    assert str(found) == words


def test_without_one_nothing_is_let_pass():
    assert NONE.around(np.array([200.0])).tolist() == [0.0]


@pytest.mark.parametrize("given", [-1, "-5%", "nan", "inf%", "much", "5%%", ""])
def test_what_is_no_distance_is_refused(given):
    with pytest.raises(BadParameter, match="an amount of at least 0, or a share of the mean"):
        Tolerance.read(given, "tolerance")
