"""What of very many assessments is kept, and who counts among those who come and go."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import BalancedUnfairness, FairnessScheme, Rawls, Total, anytime
from evenhand.auditing import judge as judge_module
from evenhand.auditing.case import Case
from evenhand.auditing.judge import judge
from evenhand.auditing.questions import AT_END, EACH_EVENT
from evenhand.fairness import stream as stream_module
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import GroupTotals
from evenhand.log.history import History, Roster

SCHEME = anytime(Rawls(), Total())


def turns(points: int, names=("A", "B")) -> History:
    """One to each in turn, at times 0, 1, …"""
    cells = np.arange(points)
    return History(names, cells.astype(float), cells, cells % len(names), np.ones(points))


@pytest.mark.parametrize("block", [2, 6, 1000])
@pytest.mark.parametrize(
    ("limit", "kept"),
    [(20, range(10)), (19, range(0, 10, 2)), (10, range(0, 10, 2)), (6, (0, 4, 8)), (1, (0,))],
)
def test_every_kth_assessment_is_kept_whatever_the_blocks(monkeypatch, block, limit, kept):
    """Ten assessments of two are twenty values; no more than `limit` of them are kept."""
    monkeypatch.setattr(judge_module, "KEPT_VALUES", limit)
    monkeypatch.setattr(stream_module, "BLOCK_VALUES", block)
    judged = judge(Case(turns(10)), EACH_EVENT, [SCHEME])
    assert judged.kept.tolist() == list(kept)
    statuses = np.array([[(k + 2) // 2, (k + 1) // 2] for k in kept])
    assert judged.mean.tolist() == statuses.mean(axis=1).tolist()
    means = statuses.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(judged.unfairness, statuses - means)
    assert judged.assessed.tolist() == list(range(10))
    assert judged.welfare.tolist() == [(k + 1) // 2 for k in range(10)]
    assert judged.score == sum((k + 1) // 2 for k in range(10))


def test_a_scheme_without_a_welfare_has_none_over_time():
    scheme = FairnessScheme(aggregation=BalancedUnfairness())
    judged = judge(Case(turns(4)), EACH_EVENT, [scheme])
    assert judged.welfare is None
    assert judged.score == -2.0  # half a unit ahead, at the first and at the third


def test_those_who_have_left_are_told_as_of_when_they_were_last_there():
    """B leaves after time 2, one ahead of C; A and C are judged at the end."""
    history = History(
        ("A", "B", "C"),
        np.arange(4.0),
        np.arange(4),
        np.array([0, 1, 1, 0]),
        np.array([1.0, 1.0, 1.0, 3.0]),
    )
    roster = Roster(history.names, last={"B": 2})
    judged = judge(Case(history, roster=roster), EACH_EVENT, [SCHEME])
    assert judged.final.tolist() == [4, 2, 0]
    assert judged.final_unfairness.tolist() == [2, 1, -2]
    assert judged.final_below.tolist() == [False, False, True]
    assert judged.totals.judged.tolist() == [4, 3, 4]
    assert judged.mean.tolist() == pytest.approx([1 / 3, 2 / 3, 1, 2])
    np.testing.assert_allclose(judged.unfairness[-1], [2, np.nan, -2])


def test_at_the_end_those_who_are_there_are_judged():
    roster = Roster(("A", "B"), last={"B": 5})
    judged = judge(Case(turns(10), roster=roster), AT_END, [SCHEME])
    assert judged.final_unfairness[0] == 0.0
    assert judged.score == 5.0
    assert judged.unfinished is None


def test_a_group_is_there_while_anybody_in_it_is():
    names = ("a1", "a2", "b1")
    groups = Groups.of({"A": [0, 1], "B": [2]})
    roster = Roster(names, first={"a1": 1, "b1": 2}, last={"a2": 0})
    case = Case(turns(4, names), GroupTotals(groups), roster, groups)
    assert case.present(np.arange(4.0)).tolist() == [
        *([True, False], [True, False], [True, True], [True, True])
    ]
    assert case.names == ("A", "B")
    assert Case(turns(4)).present(np.arange(4.0)) is None
