"""The verdict of each question and each welfare, and where it turns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import (
    FairnessScheme,
    GiniWelfare,
    LogNash,
    Rawls,
    TimepointFirst,
    Total,
    Utilitarian,
    anytime,
)
from evenhand.auditing.judging import sensitivity
from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.questions import AT_END
from evenhand.auditing.judging.ranking import Ranking
from evenhand.auditing.judging.scorer import Scorer, Sides
from evenhand.auditing.judging.sensitivity import (
    QuestionRow,
    WelfareReading,
    _reading,
    judge_welfares,
    name_of,
)
from evenhand.auditing.reading.history import History
from evenhand.errors import NegativeStatus, NothingAssessed
from evenhand.fairness.filters import Always
from evenhand.fairness.stream import Stream
from evenhand.fairness.trace import Standing
from logs import audit_alone as audit

BILLION = 1e9


def reading(welfare, *statuses) -> WelfareReading:
    scorer = Scorer(anytime(welfare, Total()))
    rows = np.array(statuses, dtype=float)
    scorer.take(Sides.of(rows, rows.mean(axis=1), Standing()))
    return _reading(scorer)


@pytest.mark.parametrize(
    ("statuses", "even"),
    [
        ([1.0, 1.0], True),
        ([1.0, 3.0], False),
        ([BILLION, BILLION + 1.0], True),  # half a billionth of the even score below it
        ([BILLION, BILLION + 4.0], False),
        ([1e-12, 3e-12], False),  # a small difference, but not beside the score
        ([0.0, 0.0], True),
        ([-BILLION, -BILLION - 1.0], True),
        ([-1e-12, -3e-12], False),
    ],
)
def test_even_is_meant_relative_to_the_score(statuses, even):
    assert reading(Rawls(), statuses).even is even


@given(
    st.lists(st.sampled_from([1.0, 2.0, 2.0 + 1e-11]), min_size=2, max_size=4),
    st.sampled_from([1e-15, 1e-3, 1.0, 1e12]),
    st.sampled_from([Rawls(), GiniWelfare()]),
)
def test_the_unit_of_the_amounts_does_not_decide_what_is_even(statuses, unit, welfare):
    assert reading(welfare, np.array(statuses) * unit).even == reading(welfare, statuses).even


def test_the_even_score_is_that_of_everyone_at_the_mean():
    found = reading(Rawls(), [0.0, 4.0], [6.0, 4.0])
    assert (found.score, found.even_score, found.even) == (4.0, 7.0, False)
    assert reading(Utilitarian(), [0.0, 4.0]).even is True


def test_nothing_is_said_where_the_welfare_is_undefined():
    found = reading(LogNash(), [-1.0, 2.0])
    assert found == WelfareReading("log_nash", None, None, None)


def row(deviation, *even, asked=False) -> QuestionRow:
    readings = tuple(WelfareReading("rawls", 1.0, 1.0, one) for one in even)
    ranking = Ranking(np.array(deviation), 1e-9)
    return QuestionRow("a question", asked, 1, 1, ("A", "B", "C"), ranking, readings)


@pytest.mark.parametrize(
    ("deviation", "turns"),
    [
        ([-2.0, 1.0, 1.0], False),
        ([-1.0, 0.5, 0.5], False),  # the same, nearer
        ([1.0, -2.0, 1.0], True),
        ([-1.0, -1.0, 2.0], True),  # another beside it
        ([0.0, 0.0, 0.0], True),  # nobody
    ],
)
def test_a_verdict_turns_with_who_was_treated_worst(deviation, turns):
    asked = row([-3.0, 2.0, 1.0], False, asked=True)
    assert row(deviation, False).against(asked).turns is turns


@pytest.mark.parametrize(
    ("asked", "other", "turns"),
    [
        (True, True, False),
        (True, False, True),
        (False, True, True),
        (False, False, False),
        (None, True, False),
        (True, None, False),
        (None, None, False),
    ],
)
def test_a_reading_turns_where_even_and_uneven_differ(asked, other, turns):
    against = row([0.0, 0.0, 0.0], other).against(row([0.0, 0.0, 0.0], asked))
    assert against.readings[0].turns is turns
    assert not against.turns


def test_a_row_in_words():
    told = row([-2.0, 3.0, -1.0], True, False, None, asked=True).to_json()
    assert told["treated_worst"] == "A"
    assert told["all_treated_worst"] == ["A"]
    assert told["overall_unfairness"] == -2.0
    assert told["asked"] is True
    even = row([0.0, 0.0, 0.0], True)
    assert even.worst is None
    assert even.worst_unfairness == 0.0


def history(*slots) -> History:
    size = len(slots)
    return History(("A", "B"), np.array(slots), np.arange(size), np.arange(size) % 2, np.ones(size))


def test_the_other_welfares_are_judged_beside_the_one_asked_for(monkeypatch):
    case, scheme = Case(history(1.0, 2.0)), anytime(GiniWelfare(), Total())
    found = judge_welfares(case, AT_END, scheme, Total())
    assert [name_of(one.scheme) for one in found.scorers] == [
        *("gini", "log_nash", "rawls", "utilitarian"),
    ]
    monkeypatch.setattr(sensitivity, "STEP_VALUES", 1)
    few = judge_welfares(case, AT_END, scheme, Total())
    assert [name_of(one.scheme) for one in few.scorers] == ["gini", "rawls", "utilitarian"]
    monkeypatch.setattr(sensitivity, "STEP_VALUES", 2)  # one step of two names
    assert len(judge_welfares(case, AT_END, scheme, Total()).scorers) == 4


def test_the_table_of_questions_says_which_turn():
    """A is ahead at the end and was behind, or level, all the way before."""
    log = pd.DataFrame({"at": range(8), "who": list("BABBBAAA"), "much": [1, 1, 1, 1, 1, 1, 1, 2]})
    answer = audit(log, stakeholder="who", time="at", amount="much", at_end=True, welfare="rawls")
    table = {row.question: row for row in answer.questions}
    assert list(table) == ["at the end", "every 2 time points", "each event"]
    assert [row.asked for row in table.values()] == [True, False, False]
    assert table["at the end"].all_worst == ("B",)
    assert table["each event"].all_worst == ("A",)
    assert [row.turns for row in table.values()] == [False, True, True]
    assert table["each event"].assessments == 8
    assert table["each event"].unequal == 7


def test_schemes_by_name():
    assert name_of(FairnessScheme(aggregation=TimepointFirst(Rawls()))) == "rawls"
    assert Always() == anytime().filter


def test_where_the_default_welfare_is_undefined_rawls_stands_in():
    log = pd.DataFrame({"at": [1, 2, 3], "who": list("ABA"), "much": [1, 1, -3]})
    answer = audit(log, stakeholder="who", time="at", amount="much")
    assert name_of(answer.scheme) == "rawls"
    assert answer.score == (0 + 1 - 2) / 3
    with pytest.raises(NegativeStatus, match="'A' at 3 is -2"):
        audit(log, stakeholder="who", time="at", amount="much", welfare="log_nash")


def test_where_nothing_was_assessed_it_is_said_between_which_days():
    log = pd.DataFrame({"day": ["2026-01-03", "2026-01-20"], "who": list("AB")})
    with pytest.raises(NothingAssessed, match="between 2026-01-03 and 2026-01-20"):
        audit(log, stakeholder="who", time="day", every="month")


def left_and_came(**more):
    """A and B leave on 10 March, C and D come on the 20th: nobody is there for a week's end."""
    log = pd.DataFrame(
        {
            "day": ["2021-01-05", "2021-01-20", "2021-02-28", "2021-03-25", "2021-04-25"],
            "who": list("ABBCD"),
            "amt": [10, 4, 4, 4, 8],
        }
    )
    roster = pd.DataFrame(
        {
            "name": list("ABCD"),
            "from": ["2021-01-01"] * 2 + ["2021-03-20"] * 2,
            "until": ["2021-03-10"] * 2 + [None] * 2,
        }
    )
    return audit(log, stakeholder="who", time="day", amount="amt", roster=roster, **more)


def test_a_question_nobody_asked_is_judged_where_somebody_is_there():
    """Weeks 1 to 16 are over by 30 April, and at the end of week 10 nobody is there."""
    answer = left_and_came(every="month", until="2021-04-30")
    rows = {row.question: row.assessments for row in answer.questions}
    assert rows == {
        "every month": 4,
        "at the end": 1,
        "every week": 15,
        "every day": (31 - 4) + 28 + 10 + (31 - 19) + 30,
        "each event": 5,
    }
    assert not any("nobody was there" in note for note in answer.notes)


def test_a_moment_with_nobody_there_is_left_out_and_counted():
    answer = left_and_came(every="week", until="2021-05-02")
    assert len(answer.over_time.times) == answer.overall.assessments == 16
    assert "2021-W10" not in answer.over_time.times + answer.gaps
    assert (
        "At 1 of 17 moments to be assessed nobody was there, by the roster's dates (2021-W10): "
        "nobody is judged then." in answer.notes
    )


def test_a_gap_that_is_not_finished_is_not_said_to_be_assessed():
    answer = left_and_came(every="month", until="2021-06-10")
    assert answer.gaps == ("2021-05",)
    assert answer.overall.unfinished == "2021-06"


@pytest.mark.filterwarnings("error")
def test_where_all_have_left_by_the_end_no_period_is_waiting():
    log = pd.DataFrame({"day": ["2021-01-05", "2021-01-06"], "who": list("AB"), "n": [2, 4]})
    roster = pd.DataFrame({"name": list("AB"), "until": ["2021-02-10"] * 2})
    how = {"stakeholder": "who", "time": "day", "amount": "n", "roster": roster}
    answer = audit(log, **how, every="month", until="2021-03-15", tolerance="5%", welfare="rawls")
    assert (answer.score, answer.overall.assessments) == (2.0, 1)
    assert answer.overall.unfinished is None
    assert answer.stakeholder("A").final_unfairness == -1.0
    gone = roster.assign(until=["2021-01-20"] * 2)
    with pytest.raises(NothingAssessed, match=r"nobody is there then.*\(2021-01 and 2021-02\)"):
        audit(log, **(how | {"roster": gone}), every="month", until="2021-02-28")


@pytest.mark.parametrize("chance", [False, True])
def test_statuses_are_worked_out_once_for_each_way_of_looking(chance, monkeypatch):
    """Two months are over: the log is looked at month by month, by week, by day, each time and at
    the end. All welfares of one way of looking are taken of the statuses of one stream."""
    made = []
    begin = Stream.__init__

    def counted(self, *args):
        made.append(self)
        begin(self, *args)

    monkeypatch.setattr(Stream, "__init__", counted)
    days = ["2021-01-31", "2021-01-31", "2021-02-28", "2021-03-31", "2021-04-30", "2021-05-02"]
    log = pd.DataFrame({"at": days, "who": list("ABABAB"), "much": range(1, 7)})
    mapped = {"stakeholder": "who", "time": "at", "amount": "much"}
    answer = audit(log, **mapped, every="month", chance=chance)
    assert len(made) == len(answer.questions) == 5
    assert all(len(row.readings) == 4 for row in answer.questions)
