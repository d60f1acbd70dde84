"""How far behind somebody would have to be: thresholds by hand, and logs of known strength."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from chance_cases import Ready
from evenhand import audit
from evenhand.auditing.chance.power import threshold, typical


def test_the_threshold_is_passed_by_at_most_a_twentieth():
    furthest = np.arange(99.0)
    least = threshold(furthest)
    # (1 + hits) / 100 <= 0.05 with 4 hits: 95, 96, 97 and 98.
    assert 94 < least <= 95
    assert threshold(np.arange(18.0)) == np.inf  # 1/19 is more than a twentieth
    assert threshold(np.arange(19.0)) > 18


def test_the_typical_one_is_in_the_middle_by_expected_lots():
    log = pd.DataFrame({"day": [1, 2, 3], "who": ["A", "B", "C"], "got": 1.0})
    assert typical(Ready(log, entitlement={"A": 5, "B": 1, "C": 3}).held) == 2


def lots(number, size=4):
    return pd.DataFrame(
        {"day": range(number), "who": ["ABCDEFGH"[k % size] for k in range(number)]}
    )


def found(log, **options):
    return audit(log, stakeholder="who", time="day", at_end=True, draws=199, **options).chance


def test_a_longer_log_shows_less():
    short, long = (found(lots(number), power=True).power for number in (40, 400))
    assert long.odds > short.odds
    assert long.lots == 100
    share = long.odds / (3 + long.odds)
    assert long.lots_then == pytest.approx(400 * share)
    assert long.certainty >= 0.8


def test_a_log_that_is_too_short_says_so():
    few = found(lots(4), power=True).power
    assert few.odds is None
    assert few.lots_then is None
    assert few.certainty < 0.8
    assert found(lots(4)).noticed_at_worst < 0.5
    assert found(lots(200)).noticed_at_worst == 1.0


def test_of_harms_a_disadvantage_is_to_get_more():
    power = found(lots(400), power=True, lower_is_better=True).power
    assert power.odds > 1
    assert power.lots_then > power.lots
