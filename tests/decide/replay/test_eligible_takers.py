"""Supply that nobody could have taken, against the definition of who is eligible."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.decide.replay.eligible_takers import possible_takers
from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.errors import BadLog
from evenhand.log.history import Lots, Roster, TimedAmounts
from evenhand.log.log import Supply
from evenhand.log.options import AuditOptions

COLUMNS = {"stakeholder": "to", "time": "t", "amount": "n"}
ASKED = {**COLUMNS, "asked": "n"}


def replayed(rows, coming=None, **more):
    log = pd.DataFrame(rows, columns=["t", "to", "n"])
    asked = ReplayOptions(["least_served"], coming=coming)
    return replay_with(log, AuditOptions(**more), asked)


def test_supply_before_anybody_asked_is_refused():
    requests = pd.DataFrame({"t": [2, 2], "to": ["A", "B"], "n": [5, 5]})
    with pytest.raises(BadLog, match="by 1 'A' had received 3 and asked for 0"):
        replayed([(1, "A", 3), (2, "B", 1)], **ASKED, requests=requests)


def test_supply_when_nobody_is_there_is_refused():
    roster = pd.DataFrame({"name": ["A", "B"], "until": [1, 1]})
    with pytest.raises(BadLog, match="every row of the log"):
        replayed([(2, "A", 3), (3, "B", 1)], **COLUMNS, roster=roster)


def test_a_supply_to_come_that_nobody_can_take_is_refused():
    """A and B have left by 4; or A, the only one who asked, has, and B is there."""
    rows, coming = [(1, "A", 3), (2, "A", 1)], pd.DataFrame({"t": [3, 4], "n": [1, 2]})
    roster = pd.DataFrame({"name": ["A", "B"], "until": [3, 2]})
    words = "at 4 2 is to come .* nobody can take it: by the roster nobody is there then"
    with pytest.raises(BadLog, match=words):
        replayed(rows, coming, **COLUMNS, roster=roster)
    roster["until"] = [3, None]
    assert replayed(rows, coming, **COLUMNS, roster=roster).plan.left_over == 0
    requests = pd.DataFrame({"t": [1], "to": ["A"], "n": [9]})
    with pytest.raises(BadLog, match=f"{words} who has asked for anything"):
        replayed(rows, coming, **ASKED, roster=roster, requests=requests)


def test_nothing_to_come_needs_nobody():
    roster = pd.DataFrame({"name": ["A", "B"], "until": [2, 2]})
    coming = pd.DataFrame({"t": [3], "n": [0]})
    plan = replayed([(1, "A", 3), (2, "B", 1)], coming, **COLUMNS, roster=roster).plan
    assert plan.shares == ()


stays = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5)).map(sorted), min_size=1, max_size=4
)


@given(stays, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 2))))
def test_takers_are_counted_as_defined(stays, requests):
    """At each time: who is there, and has asked for something by then."""
    names = tuple("ABCD"[: len(stays)])
    requests = sorted(one for one in requests if one[0] < len(stays))
    first = {name: np.float64(one[0]) for name, one in zip(names, stays, strict=True)}
    last = {name: np.float64(one[1]) for name, one in zip(names, stays, strict=True)}
    who, at, amount = (np.array([one[k] for one in requests]) for k in range(3))
    asked = TimedAmounts(at.astype(float), who.astype(int), amount.astype(float), len(names))
    nothing = np.zeros(0, dtype=int)
    supply = Supply(
        names,
        np.arange(6.0),
        Lots(nothing, nothing, np.zeros(0), nothing),
        Roster(names, first, last),
        beside={"asked": asked},
    )
    expected = [
        sum(
            begin <= moment <= end
            and any(k == i and t <= moment and much > 0 for k, t, much in requests)
            for i, (begin, end) in enumerate(stays)
        )
        for moment in range(6)
    ]
    assert possible_takers(supply).tolist() == expected
