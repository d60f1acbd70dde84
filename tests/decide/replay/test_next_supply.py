"""What to give whom next: by hand, and what is refused."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.errors import BadLog, EvenhandError
from evenhand.log.options import AuditOptions

COLUMNS = {"stakeholder": "to", "time": "month", "amount": "doses"}
LOG = pd.DataFrame({"month": [1, 2, 3], "to": ["A", "A", "B"], "doses": [20, 20, 10]})


def plan(coming, *rules, log=LOG, **more):
    table = pd.DataFrame(coming, columns=["month", "doses"])
    asked = ReplayOptions(rules, coming=table)
    return replay_with(log, AuditOptions(**COLUMNS, **more), asked).plan


def given(found):
    return [(one.time, one.name, one.amount) for one in found.shares]


def test_who_is_behind_comes_first_until_all_are_even():
    """B is 30 behind: the first 15 are its own, and of the next 20 it gets 15 and then half."""
    found = plan([(4, 15), (5, 20)])
    assert given(found) == [("4", "B", 15.0), ("5", "A", 2.0), ("5", "B", 18.0)]
    assert found.gap_before == 30.0
    assert found.gaps == (15.0, 1.0)  # 42 and 43: whole units cannot be more even
    assert found.verdict == "All are even from 5 on."
    assert found.shares[0].reason == "has received 10"


def test_what_is_not_enough_is_said():
    found = plan([(4, 5)])
    assert found.even_from is None
    assert found.verdict == (
        "This supply does not make all even by 4: B is lowest, 25 below the highest, and at the "
        "end of the log it is 30."
    )


def test_entitlements_count():
    """Per unit A has 40 / 4 = 10 and B 10: the supply is shared 4 to 1."""
    found = plan([(4, 25)], entitlement={"A": 4.0, "B": 1.0})
    assert given(found) == [("4", "A", 20.0), ("4", "B", 5.0)]


def test_a_rule_by_lots():
    found = plan([(4, 15), (4, 2), (5, 20)], "least_served")
    # A row is a lot, the largest of a time first: B has 10, 25 and 27 before each, and A 40.
    assert given(found) == [("4", "B", 15.0), ("4", "B", 2.0), ("5", "B", 20.0)]
    assert [one.reason for one in found.shares] == [
        *("has received 10", "has received 25", "has received 27")
    ]


def test_rows_of_one_time_go_to_different_stakeholders():
    """40 and 10: the 31 bring B to 41, so that of the two of 5 A gets the first, and B the next."""
    found = plan([(4, 5), (4, 31), (4, 5)], "least_served")
    assert given(found) == [("4", "B", 31.0), ("4", "A", 5.0), ("4", "B", 5.0)]


def test_rows_of_one_time_are_shared_together_by_a_rule_that_divides():
    assert given(plan([(4, 15), (4, 2), (5, 0)])) == [("4", "B", 17.0)]


def test_corrections_of_the_log_count():
    log = pd.concat([LOG, pd.DataFrame({"month": [3], "to": ["A"], "doses": [-30]})])
    found = plan([(4, 10)], log=log)
    assert given(found) == [("4", "A", 5.0), ("4", "B", 5.0)]


def test_whoever_has_left_by_then_gets_nothing():
    roster = pd.DataFrame(
        {"name": ["A", "B", "C"], "until": [None, 3, None], "from": [None, None, 4]}
    )
    found = plan([(4, 10)], roster=roster)
    # C joins at 4 at the mean of those there then, A alone with 40, so both are level.
    assert given(found) == [("4", "A", 5.0), ("4", "C", 5.0)]


@pytest.mark.parametrize(
    ("coming", "said"),
    [
        ([(3, 5)], "begins at 3, and the log goes on until 3"),
        ([(4, -5)], "an amount below 0"),
        ([(4, "5"), (5, "*")], "hides an amount"),
        ([("2021-01-01", 5)], "not of the kind"),
        ([], "row"),
    ],
)
def test_what_cannot_come_is_refused(coming, said):
    with pytest.raises(EvenhandError, match=said):
        plan(coming)


def test_a_table_without_the_columns_is_refused():
    with pytest.raises(EvenhandError, match="month"):
        replay_with(
            LOG,
            AuditOptions(**COLUMNS),
            ReplayOptions(coming=pd.DataFrame({"x": [1], "doses": [2]})),
        )


def test_a_column_of_our_own_is_refused():
    table = pd.DataFrame({"month": [4], "doses": [2], "anybody": ["x"]})
    with pytest.raises(BadLog, match="give it another name"):
        replay_with(LOG, AuditOptions(**COLUMNS), ReplayOptions(coming=table))


def test_numbers_and_times_are_read_as_those_of_the_log(tmp_path):
    """With a decimal comma 1.234 is a thousand and more; of years the question makes dates."""
    path = tmp_path / "next.csv"
    path.write_text("month;doses\n2023;1.234\n2024;2.000\n")
    log = LOG.assign(month=[2020, 2021, 2022])
    options = AuditOptions(**COLUMNS, decimal=",", every="year")
    found = replay_with(log, options, ReplayOptions(("least_served",), coming=path)).plan
    assert given(found) == [("2023-12-31", "B", 1234.0), ("2024-12-31", "A", 2000.0)]


def test_numbers_are_written_as_in_the_log(tmp_path):
    """1.250 is a thousand and more where the log says that the comma is the decimal sign."""
    path = tmp_path / "coming.csv"
    path.write_text("month,doses\n4,1.250\n5,\n")
    options = AuditOptions(**COLUMNS, decimal=",")
    answer = replay_with(LOG, options, ReplayOptions(coming=path))
    assert sum(one.amount for one in answer.plan.shares) == 1250.0
    assert any("next" in note and "empty amount" in note for note in answer.notes)
