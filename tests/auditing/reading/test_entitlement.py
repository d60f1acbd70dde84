"""An entitlement that changes counts as of each moment, be it higher or lower than before."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.errors import BadRoster
from logs import audit_alone as audit

LOG = {"stakeholder": "who", "time": "at", "amount": "much", "entitlement": "people"}


@pytest.mark.parametrize("people", [(2, 1, 4), (1, 4, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 3, 2, 0)])
def test_an_entitlement_counts_as_of_each_moment_in_any_order_of_the_rows(people, order):
    rows = [(at, "A", 4, people[at]) for at in range(3)] + [(1, "B", 3, 1)]
    table = pd.DataFrame([rows[k] for k in order], columns=["at", "who", "much", "people"])
    answer = audit(table, **LOG)
    for at, mean in enumerate(answer.over_time.mean):
        given = 4 * (at + 1) + 3 * (at >= 1)
        assert mean == pytest.approx(given / (people[at] + 1))
        assert answer.over_time.unfairness[at, 0] == pytest.approx(4 * (at + 1) / people[at] - mean)
    assert answer.stakeholder("A").entitlement == people[-1]
    assert answer.stakeholder("A").final == 12 / people[-1]
    assert answer.stakeholder("B").final == 3
    assert any("each counts as it was at each moment" in note for note in answer.notes)


def test_an_empty_cell_says_nothing_of_the_entitlement():
    rows = [(0, "A", 4, 2.0), (1, "A", 4, None), (1, "B", 3, 1.0)]
    answer = audit(pd.DataFrame(rows, columns=["at", "who", "much", "people"]), **LOG, at_end=True)
    assert answer.stakeholder("A").final == 4
    assert not any("changes over time" in note for note in answer.notes)


@pytest.mark.parametrize("later", [2, 4])  # the same at all times, or changing
def test_whoever_has_only_empty_amounts_is_entitled_as_its_rows_say(later):
    log = pd.DataFrame(
        {
            "day": [1, 1, 2, 2],
            "who": ["A", "B", "A", "B"],
            "got": [4.0, None, 4.0, None],
            "size": [2, 6, later, 6],
        }
    )
    answer = audit(log, stakeholder="who", time="day", amount="got", entitlement="size")
    assert answer.stakeholder("B").received == 0
    assert answer.stakeholder("B").final_unfairness == pytest.approx(-8 / (later + 6))


@pytest.mark.parametrize("value", ["x", None, [1], 10**400])
def test_an_entitlement_that_is_no_number_is_named(value):
    log = pd.DataFrame({"day": [1, 2], "who": ["A", "B"], "got": [1.0, 2.0]})
    with pytest.raises(BadRoster, match="the entitlement of 'A' is"):
        audit(log, stakeholder="who", time="day", amount="got", entitlement={"A": value, "B": 1})
