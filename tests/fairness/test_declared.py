"""What the built-in parts say of themselves: others rely on it, and look no further.

Who plans merges stakeholders that are alike, who asks for the best division needs statuses that are
linear, who learns needs to know below which status a welfare is undefined. Whether what is said is
true, the laws of each part test; here stands who says what.
"""

from __future__ import annotations

import math

import pytest

from built_ins import BESIDE, FILTER, STATUS, TEMPORAL, WELFARE
from evenhand.fairness.status.beside import Beside
from evenhand.fairness.status.derived import Derived

PROPERTIES = {
    "linear": "is_linear",
    "sum": "is_sum",
    "amount": "is_amount",
    "each": "per_stakeholder",
    "in amounts": "in_amounts",
    "history": "keeps_history",
    "negated": "negated",
    "weighs": "weighs",
    "weights change": "weights_change",
    "per step": "per_step",
    "symmetric": "symmetric",
}
SAID = [
    "linear, sum, amount, each, in amounts, symmetric",  # Returns
    "amount, each, symmetric",  # Returns
    "amount, each, symmetric",  # Decayed
    "amount, each, symmetric",  # Window
    "each, symmetric",  # WaitingTime
    "linear, sum, amount, each, in amounts, weighs",  # PerEntitlement
    "linear, sum, amount, each",  # PerEntitlement
    "sum, each, weighs, symmetric",  # EnvyOfBest
    "amount, each, weighs",  # PerEntitlement
    "sum, each, symmetric",  # EnvyOfBest
    "amount, each, symmetric",  # Modulo
    "amount, each, symmetric",  # Capped
    "amount, each, symmetric",  # Capped
    "sum, each, symmetric",  # PairwiseEnvy
    "each, symmetric",  # PairwiseEnvy
    "amount",  # GroupTotals
    "linear, sum, amount, each, in amounts, negated, symmetric",  # LowerIsBetter
    "sum, amount, each, in amounts, weighs, weights change, symmetric",  # Rate
    "amount, each, in amounts, weighs, weights change, per step, symmetric",  # RateWithinPeriod
    "sum, amount, each, weighs, weights change, symmetric",  # MeanWait
    "sum, amount, each, weighs, weights change, symmetric",  # ShareInTime
    "linear, sum, amount, each, in amounts, weighs, weights change, symmetric",  # PerCurrent…
    "linear, sum, amount, each, weights change, symmetric",  # PerCurrent…
    "linear, sum, amount, each, symmetric",  # PerTimePresent
    "linear, sum, amount, each, weighs, symmetric",  # PerTimePresent
    "sum, amount, each, weights change, symmetric",  # Level
    "linear, sum, amount, each, in amounts, symmetric",  # WithCredit
    "linear, sum, amount, each, in amounts, weighs, symmetric",  # WithCredit
    "linear, sum, amount, each, in amounts, weighs, weights change, symmetric",  # ShareMet
    "linear, sum, amount, each, weights change, symmetric",  # Shortfall
    "amount, each, weights change, symmetric",  # WhileWaiting
    "amount, each, weighs, weights change, symmetric",  # WhileWaiting
]
WELFARES = [
    (True, -math.inf, False, True),  # Utilitarian
    (False, -math.inf, False, True),  # Average
    (False, -math.inf, False, True),  # Rawls
    (False, 0.0, False, True),  # Nash
    (False, -math.inf, False, True),  # GeometricMean
    (True, 0.0, False, True),  # LogNash
    (True, 0.0, True, True),  # LogNash
    (False, -math.inf, False, True),  # GiniWelfare
    (False, -math.inf, False, True),  # GeneralisedGini
    (True, 0.0, False, True),  # AlphaFair
    (True, 0.0, False, True),  # AlphaFair
    (True, 0.0, False, True),  # AlphaFair
    (True, 0.0, True, True),  # AlphaFair
    (False, 0.0, False, True),  # Jain
    (False, -math.inf, False, True),  # Equality
    (False, -math.inf, False, True),  # Equality
    (False, -math.inf, False, False),  # Parity
    (False, -math.inf, False, False),  # Parity
    (False, -math.inf, False, True),  # NegativeVariance
]


@pytest.mark.parametrize(
    ("status", "said"), list(zip([*STATUS, *BESIDE], SAID, strict=True)), ids=repr
)
def test_what_a_status_says_of_itself(status, said):
    found = [word for word, name in PROPERTIES.items() if getattr(status, name)]
    assert ", ".join(found) == said


@pytest.mark.parametrize(("welfare", "said"), list(zip(WELFARE, WELFARES, strict=True)), ids=repr)
def test_what_a_welfare_says_of_itself(welfare, said):
    found = (welfare.additive, welfare.least_status, welfare.least_excluded, welfare.symmetric)
    assert found == said


# What of one assessment, and of four, their sum is worth; the discount; whether all are kept.
TEMPORALS = [
    (1.0, None, None, False),  # Last
    (1.0, 0.25, None, False),  # Mean
    (None, None, 1.0, False),  # Total
    (None, None, 0.9, False),  # Discounted
    (None, None, None, False),  # Worst
    (None, None, None, False),  # OverTime(LogNash)
    (None, None, None, True),  # OverTime(GiniWelfare)
    (None, None, None, True),  # OverTime(Nash)
    (None, None, None, True),  # OverTime(Jain)
]


@pytest.mark.parametrize(("temporal", "said"), list(zip(TEMPORAL, TEMPORALS, strict=True)))
def test_what_an_aggregation_over_time_says_of_itself(temporal, said):
    shares = temporal.share_of_sum(1), temporal.share_of_sum(4)
    assert (*shares, temporal.sum_discount, temporal.keeps_history) == said


def test_what_filters_say_of_themselves():
    assert [one.always for one in FILTER] == [True, True, False, False, False]
    assert [one.assesses_end for one in FILTER] == [False, False, False, True, False]
    for one in FILTER:
        assert (one.ignores_who, one.symmetric, one.keeps_history) == (True, True, False)


def test_a_status_of_ones_own_is_not_taken_for_linear():
    assert not Derived.keeps_linear
    assert not Beside.keeps_linear
