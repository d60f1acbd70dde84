"""What is judged: who is there when, where newcomers begin, and whether units are whole."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evenhand import Rawls, WaitingTime, anytime
from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.judge import judge
from evenhand.auditing.judging.questions import AT_END, EACH_EVENT
from evenhand.auditing.reading.history import History
from evenhand.auditing.reading.roster import Roster
from evenhand.errors import BadParameter
from logs import audit_alone as audit

COLUMNS = {"stakeholder": "who", "time": "at", "amount": "got"}
TURNS = pd.DataFrame({"at": [1, 2, 3, 4], "who": list("ABAB"), "got": [1, 1, 1, 1]})


@pytest.mark.parametrize(
    ("log", "options", "whole"),
    [
        (TURNS, {}, True),
        # Entitled to half of the other's: at most two thirds of a unit from it.
        (TURNS, {"entitlement": {"A": 2, "B": 1}}, True),
        (TURNS, {"entitlement": {"A": 2, "B": 1}, "unweighted": True}, False),
        # Two thirds above the mean per unit of entitlement, of which it has two: 4/3 units.
        (TURNS.assign(got=2), {"entitlement": {"A": 4, "B": 2}}, False),
        (TURNS.assign(got=[1, 1, 0.5, 1]), {}, False),
        (TURNS.assign(got=0.5), {}, False),
        (TURNS.assign(got=2), {}, False),  # one ahead of its share
        (TURNS, {"scheme": anytime(Rawls())}, False),
        (TURNS.assign(asked=1), {"asked": "asked"}, False),
        (TURNS.assign(out=1), {"out_of": "out"}, False),
    ],
)
def test_whole_units_are_whole_amounts_that_nothing_else_is_set_against(log, options, whole):
    assert audit(log, **COLUMNS, **options).overall.as_even_as_whole_units is whole


def test_waits_are_no_units():
    log = pd.DataFrame({"asked": [1, 1, 3, 3], "got": [2, 2, 4, 4], "who": list("ABAB")})
    found = audit(log, stakeholder="who", wait_from="asked", wait_to="got")
    assert not found.overall.as_even_as_whole_units


LATE = pd.DataFrame({"who": list("AB"), "from": [1, 2], "until": [4, 4]})


def test_by_time_a_status_is_no_number_of_units():
    assert audit(TURNS, **COLUMNS, roster=LATE).overall.as_even_as_whole_units
    found = audit(TURNS, **COLUMNS, roster=LATE, newcomers="by-time")
    assert not found.overall.as_even_as_whole_units


def test_a_status_that_is_no_sum_begins_at_zero():
    options = {**COLUMNS, "roster": LATE, "scheme": anytime(Rawls(), status=WaitingTime())}
    assert audit(TURNS, **options).score == audit(TURNS, **options, newcomers="zero").score
    with pytest.raises(BadParameter, match="needs a status that is a sum"):
        audit(TURNS, **options, newcomers="mean")


def test_newcomers_need_a_roster_that_says_from_when():
    with pytest.raises(BadParameter, match="says of nobody from when it is there"):
        audit(TURNS, **COLUMNS, roster=LATE.drop(columns="from"), newcomers="zero")


def test_a_rate_needs_no_beginning_and_the_note_says_none():
    log = TURNS.assign(out=2)
    found = audit(log, **COLUMNS, out_of="out", roster=LATE)
    assert "Judged from when they joined: B from 2." in found.notes
    assert found.by_stakeholder[0].final == pytest.approx(0.5)


def test_a_group_is_there_until_its_last_member_leaves():
    """A leaves after 2 and B stays, so that the group of C begins at what A and B had: 3 and 1."""
    log = pd.DataFrame(
        {"at": [1, 2, 3, 4], "who": list("ABCB"), "got": [3.0, 1.0, 1.0, 2.0], "of": list("XXYX")}
    )
    roster = pd.DataFrame({"who": list("ABC"), "from": [None, None, 3], "until": [2, None, None]})
    found = audit(log, **COLUMNS, roster=roster, group="of", by="group")
    # X has 4 and Y 4 + 1 at 3; then X has 6.
    assert found.over_time.unfairness[2:].tolist() == [[-0.5, 0.5], [0.5, -0.5]]
    assert math.isnan(found.over_time.unfairness[1, 1])


def of_four_steps():
    amounts = np.array([4.0, 1.0, 2.0, 3.0])
    return History(("A", "B"), np.arange(4.0), np.arange(4), np.arange(4) % 2, amounts)


@pytest.mark.parametrize("values", [2, 4, 6])
def test_blocks_of_some_steps_are_those_of_all(values, monkeypatch):
    """With what each has at each moment in place of what it received, and one who leaves."""
    history = of_four_steps()
    case = Case(
        history, amounts=history.received().totals, roster=Roster(history.names, last={"B": 2})
    )

    def steps():
        parts = list(case.steps(case.timeline(EACH_EVENT)))
        rewards = np.concatenate([trace.rewards for trace, _ in parts])
        present = np.concatenate([here for _, here in parts])
        return rewards.tolist(), present.tolist(), len(parts)

    whole, there, _ = steps()
    assert whole == [[4.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]
    assert there == [[True, True]] * 3 + [[True, False]]
    monkeypatch.setattr("evenhand.auditing.reading.history.BLOCK_VALUES", values)
    assert steps() == (whole, there, math.ceil(8 / values))


def test_whoever_has_left_has_no_weight_at_the_end():
    case = Case(of_four_steps(), roster=Roster(("A", "B"), last={"B": 2}))
    found = judge(case, AT_END, [anytime(Rawls())])
    assert found.final_weights.tolist() == [1.0, 0.0]
    assert found.final_mean == 6.0


def test_names_are_shown_in_place_of_codes():
    history = History(("a", "b"), np.arange(2.0), np.arange(2), np.arange(2), np.ones(2))
    assert Case(history).names == ("a", "b")
    case = Case(history, shown={"a": "Anna"})
    assert case.names == case.members == ("Anna", "b")
