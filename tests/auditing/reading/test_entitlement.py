"""An entitlement that changes: the latest counts, be it higher or lower than before."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.auditing import audit

LOG = {"stakeholder": "who", "time": "at", "amount": "much", "entitlement": "people"}


@pytest.mark.parametrize("people", [(2, 1, 4), (1, 4, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 3, 2, 0)])
def test_the_latest_entitlement_is_used_in_any_order_of_the_rows(people, order):
    rows = [(at, "A", 4, people[at]) for at in range(3)] + [(1, "B", 3, 1)]
    table = pd.DataFrame([rows[k] for k in order], columns=["at", "who", "much", "people"])
    answer = audit(table, **LOG, at_end=True)
    assert answer.stakeholder("A").entitlement == people[-1]
    assert answer.stakeholder("A").final == 12 / people[-1]
    assert answer.stakeholder("B").final == 3
    assert any("the latest is used for the whole log" in note for note in answer.notes)


def test_an_empty_cell_says_nothing_of_the_entitlement():
    rows = [(0, "A", 4, 2.0), (1, "A", 4, None), (1, "B", 3, 1.0)]
    answer = audit(pd.DataFrame(rows, columns=["at", "who", "much", "people"]), **LOG, at_end=True)
    assert answer.stakeholder("A").final == 4
    assert not any("changes over time" in note for note in answer.notes)
