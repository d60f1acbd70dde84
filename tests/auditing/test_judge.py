"""Tests of auditing.judge."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import (
    AfterEach,
    Always,
    Every,
    FairnessScheme,
    Final,
    GiniWelfare,
    LogNash,
    Mean,
    Parity,
    PerEntitlement,
    Rawls,
    Returns,
    TimepointFirst,
    Total,
    Trace,
    Utilitarian,
    Window,
    Worst,
    anytime,
)
from evenhand.auditing import judge
from evenhand.auditing.case import Case
from evenhand.auditing.judge import QuestionRow, WelfareReading, _reading, judge_welfares, name_of
from evenhand.auditing.questions import AT_END, every
from evenhand.auditing.scoring import Ranking, Scorer, Sides
from evenhand.errors import NegativeStatus, NothingAssessed
from evenhand.fairness.stream import Stream
from evenhand.fairness.trace import Standing
from evenhand.fairness.unfairness import overall_unfairness, unfair_to, unfairness
from evenhand.log.history import History
from evenhand.monitor import Monitor
from evenhand.monitor.monitor import Batch, text_as_number
from logs import audit_alone as audit

# Every number of an audit is the scheme's, scored on the trace; and the monitor's, event by event.
#
# The trace is built here from the raw rows in plain Python, and shares no code with the audit.

NAMES = ("A", "B", "C")
START = datetime.date(2020, 12, 20)
rows = st.tuples(
    st.integers(0, 100),
    st.sampled_from(NAMES),
    st.one_of(st.none(), st.integers(0, 1000), st.floats(0, 1e6).map(lambda x: round(x, 3))),
)
logs = st.lists(rows, min_size=1, max_size=40).filter(
    lambda log: any(a is not None for *_, a in log)
)
welfares = st.sampled_from((LogNash(), Rawls(), GiniWelfare(), Parity()))
temporals = st.sampled_from((Mean(), Total(), Worst()))


def table(log, dates):
    return pd.DataFrame(
        {
            "day": [START + datetime.timedelta(days=d) if dates else d for d, *_ in log],
            "who": [who for _, who, _ in log],
            "much": [amount for *_, amount in log],
        }
    ).astype({"much": float})


def time_points(log):
    """The rewards at each day on which there was an event, by stakeholder who appears."""
    names = sorted({who for _, who, _ in log})
    events = [row for row in log if row[2] is not None]
    days = sorted({day for day, *_ in events})
    rewards = [
        [math.fsum(a for d, w, a in events if (d, w) == (day, who)) for who in names]
        for day in days
    ]
    return names, days, rewards


def months(log):
    """The rewards in each month, the empty ones included, and whether the last one is finished."""
    names, days, rewards = time_points(log)
    dates = [START + datetime.timedelta(days=d) for d in days]
    keys = [date.year * 12 + date.month for date in dates]
    steps = [
        [
            math.fsum(r[i] for k, r in zip(keys, rewards, strict=True) if k == key)
            for i in range(len(names))
        ]
        for key in range(keys[0], keys[-1] + 1)
    ]
    finished = (dates[-1] + datetime.timedelta(days=1)).day == 1
    return names, steps, finished


def check(answer, scheme, rewards, names, end=None):
    """All that an answer says, against `scheme.assess` on the trace."""
    trace = Trace(rewards=rewards, stakeholders=tuple(names))
    whole = Trace(rewards=rewards if end is None else end, stakeholders=tuple(names))
    found = scheme.assess(trace)
    assert answer.score == pytest.approx(found.score, rel=1e-9, abs=1e-9)
    assert answer.overall.assessments == len(found.times)
    assert answer.over_time.welfare == pytest.approx(found.welfare, rel=1e-9, abs=1e-9)
    assessed = found.statuses[found.assessed]
    fixed = scheme.status.fixed_weights
    weights = None if fixed is None else len(fixed) * fixed / fixed.sum()
    assert answer.over_time.names == found.names
    assert answer.over_time.unfairness == pytest.approx(
        unfairness(assessed, weights), rel=1e-9, abs=1e-6
    )
    final = scheme.assess(whole).statuses[-1]
    for i, name in enumerate(found.names):
        one = answer.stakeholder(name)
        below = unfair_to(assessed, weights)[:, i].tolist()
        assert one.final == pytest.approx(final[i], rel=1e-9, abs=1e-9)
        assert one.final_unfairness == pytest.approx(
            unfairness(final, weights)[i], rel=1e-9, abs=1e-6
        )
        assert one.overall_unfairness == pytest.approx(
            overall_unfairness(assessed, weights)[i], rel=1e-9, abs=1e-6
        )
        assert one.share_below == pytest.approx(sum(below) / len(below))
        spells = "".join("x" if b else " " for b in below).split()
        assert one.longest_spell == max(map(len, spells), default=0)


@given(logs, welfares, temporals, st.data())
def test_time_points(log, welfare, temporal, data):
    names, days, rewards = time_points(log)
    filters = {
        "each_event": (True, Always()),
        "every": ((n := data.draw(st.integers(1, len(days)))), Every(n)),
        "at_end": (True, Final()),
    }
    total = math.fsum(map(math.fsum, rewards))
    if total > 0:
        amount = total / data.draw(st.integers(1, 5)) * 0.999
        filters["after_each"] = (amount, AfterEach(amount))
    option = data.draw(st.sampled_from(sorted(filters)))
    value, fires = filters[option]
    dates = data.draw(st.booleans())
    answer = audit(
        table(log, dates),
        **{option: value},
        stakeholder="who",
        time="day",
        amount="much",
        welfare=welfare,
        temporal=temporal,
    )
    scheme = FairnessScheme(Returns(), TimepointFirst(welfare, temporal), fires)
    check(answer, scheme, rewards, names)
    row = next(row for row in answer.questions if row.question == "at the end")
    at_end = FairnessScheme(Returns(), TimepointFirst(welfare, temporal), Final())
    assert row.readings[0].score == pytest.approx(
        at_end.score(Trace(rewards=rewards)), rel=1e-9, abs=1e-9
    )


@settings(max_examples=25)
@given(logs, welfares, temporals)
def test_months(log, welfare, temporal):
    names, steps, finished = months(log)
    scored = steps if finished else steps[:-1]
    options = {
        "stakeholder": "who",
        "time": "day",
        "amount": "much",
        "welfare": welfare,
        "temporal": temporal,
    }
    scheme = FairnessScheme(Returns(), TimepointFirst(welfare, temporal))
    if not scored:
        with pytest.raises(ValueError, match="nothing was assessed"):
            audit(table(log, True), every="month", **options)
        return
    answer = audit(table(log, True), every="month", **options)
    check(answer, scheme, scored, names, end=steps)
    assert (answer.overall.unfinished is None) == finished


@settings(max_examples=20)
@given(logs, st.data())
def test_entitlements_and_a_scheme_whose_status_needs_every_step(log, data):
    names, _, rewards = time_points(log)
    shares = {name: data.draw(st.floats(0.1, 100)) for name in names}
    answer = audit(
        table(log, False), stakeholder="who", time="day", amount="much", entitlement=shares
    )
    status = PerEntitlement(tuple(shares[name] for name in names))
    check(answer, FairnessScheme(status), rewards, names)
    window = FairnessScheme(Window(2), TimepointFirst(Rawls()), Every(1))
    answer = audit(table(log, False), stakeholder="who", time="day", amount="much", scheme=window)
    check(answer, window, rewards, names)


@settings(max_examples=25)
@given(logs, welfares, st.sampled_from(("1", "3", "day", "week", "month")), st.data())
def test_the_monitor_agrees_on_the_same_events(log, welfare, period, data):
    log = sorted(log, key=lambda row: row[0])
    names = tuple(sorted({who for _, who, _ in log}))
    question = every(period)
    options = {"stakeholder": "who", "time": "day", "amount": "much", "welfare": welfare}
    try:
        answer = audit(table(log, True), every=period, **options)
    except ValueError:
        return  # nothing was finished
    scheme = FairnessScheme(Returns(), TimepointFirst(welfare, Mean()), question.filter)
    monitor = Monitor(scheme, names, question)
    events = [
        (text_as_number(str(START + datetime.timedelta(days=d))), names.index(who), a)
        for d, who, a in log
        if a is not None
    ]
    lines, cut = [], data.draw(st.integers(0, len(events)))
    for part in (events[:cut], events[cut:]):
        columns = np.array(part, dtype=float).reshape(-1, 3).T
        lines += monitor.take(
            Batch(columns[0], columns[1].astype(int), columns[2], plain_numbers=False)
        )
    lines += monitor.finish()
    assert len(lines) == answer.overall.assessments
    assert [line.time for line in lines] == list(answer.over_time.times)
    assert [line.welfare for line in lines] == pytest.approx(answer.over_time.welfare)
    assert lines[-1].score == pytest.approx(answer.score)
    for line, deviation in zip(lines, answer.over_time.unfairness, strict=True):
        for name, value in line.unfair_to.items():
            assert value == pytest.approx(deviation[names.index(name)])
    for one in monitor.summary()["stakeholders"]:
        theirs = answer.stakeholder(one["name"])
        assert one["overall_unfairness"] == pytest.approx(theirs.overall_unfairness, abs=1e-6)
        assert one["share_below"] == theirs.share_below
        assert one["longest_spell"] == theirs.longest_spell
        if question.period is None:
            assert one["final"] == pytest.approx(theirs.final)


# The verdict of each question and each welfare, and where it turns.

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
    monkeypatch.setattr(judge, "STEP_VALUES", 1)
    few = judge_welfares(case, AT_END, scheme, Total())
    assert [name_of(one.scheme) for one in few.scorers] == ["gini", "rawls", "utilitarian"]
    monkeypatch.setattr(judge, "STEP_VALUES", 2)  # one step of two names
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
