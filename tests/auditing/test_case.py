"""Tests of auditing.case."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from evenhand import Rawls, WaitingTime, anytime
from evenhand import errors as e
from evenhand.auditing.case import Case
from evenhand.auditing.judge import judge
from evenhand.auditing.questions import AT_END, EACH_EVENT
from evenhand.errors import BadParameter
from evenhand.log.history import History, Roster
from evenhand.log.options import SchemeOptions
from evenhand.monitor.json_reader import Keys
from evenhand.monitor.state_file import make_monitor
from logs import audit_alone as audit

# What is judged: who is there when, where newcomers begin, and whether units are whole.

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
    monkeypatch.setattr("evenhand.log.history.BLOCK_VALUES", values)
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


# Whoever joins later starts neither ahead nor behind: against plain Python.

KEYS = Keys(stakeholder="who")

LOG = pd.DataFrame(
    {
        "day": [1, 1, 2, 3, 3, 4, 5, 5, 6],
        "who": ["A", "B", "A", "B", "C", "D", "C", "A", "D"],
        "got": [4.0, 1.0, 2.0, 3.0, 1.0, 2.0, 2.0, 1.0, 5.0],
    }
)
ROSTER = pd.DataFrame(
    {
        "who": ["A", "B", "C", "D"],
        "from": [None, 1, 3, 3],  # C and D join at the same time: neither counts for the other
        "until": [None, 5, None, None],
    }
)
PEOPLE = {"A": 1.0, "B": 2.0, "C": 4.0, "D": 3.0}
FIRST, LAST = {"A": -math.inf, "B": 1, "C": 3, "D": 3}, {"A": 9, "B": 5, "C": 9, "D": 9}


def received(who, day, strictly=False):
    return sum(
        row.got
        for row in LOG.itertuples()
        if row.who == who and (row.day < day if strictly else row.day <= day)
    )


def by_hand(rule, size):
    """The status of each who is there on each day."""
    credit = dict.fromkeys("ABCD", 0.0)
    for day in (1, 3):
        there = [n for n in "ABCD" if FIRST[n] < day <= LAST[n]]
        for name in [n for n in "ABCD" if FIRST[n] == day]:
            before = {n: received(n, day, strictly=True) / size[n] + credit[n] for n in there}
            if rule == "mean" and there:
                total = sum(size[n] for n in there)
                credit[name] = sum(size[n] * before[n] for n in there) / total
            if rule == "least" and there:
                credit[name] = min(before.values())
    rows = []
    for day in range(1, 7):
        there = [n for n in "ABCD" if FIRST[n] <= day <= LAST[n]]
        status = {n: received(n, day) / size[n] + credit[n] for n in there}
        if rule == "by-time":
            since = {n: sum(1 for d in range(1, day + 1) if FIRST[n] <= d) for n in there}
            status = {n: received(n, day) / size[n] / since[n] for n in there}
        rows.append(status)
    return rows


@pytest.mark.parametrize("rule", ["mean", "zero", "least", "by-time"])
@pytest.mark.parametrize("sizes", [None, PEOPLE], ids=["alike", "by size"])
def test_where_newcomers_begin(rule, sizes):
    answer = audit(
        LOG,
        stakeholder="who",
        time="day",
        amount="got",
        roster=ROSTER,
        newcomers=rule,
        entitlement=sizes,
    )
    size = sizes or dict.fromkeys("ABCD", 1.0)
    scores = []
    for k, status in enumerate(by_hand(rule, size)):
        total = sum(size[n] for n in status)
        mean = sum(size[n] * status[n] for n in status) / total
        for place, name in enumerate("ABCD"):
            found = answer.over_time.unfairness[k, place]
            if name in status:
                assert found == pytest.approx(status[name] - mean, abs=1e-12)
            else:
                assert math.isnan(found)
        scores.append(
            sum(len(status) * size[n] / total * math.log(1 + u) for n, u in status.items())
        )
    assert answer.score == pytest.approx(sum(scores) / 6, abs=1e-9)


def test_whoever_is_there_before_the_log_begins_starts_at_nothing():
    """Entitlements that change are not known yet then, and nobody has received anything."""
    log = pd.DataFrame(
        {"day": [5, 6, 6], "who": list("AAB"), "got": [10.0, 10, 5], "size": [100.0, 200, 50]}
    )
    roster = pd.DataFrame({"who": ["A", "B"], "from": [2, 3]})
    answer = audit(
        log,
        stakeholder="who",
        time="day",
        amount="got",
        entitlement="size",
        roster=roster,
    )
    assert answer.over_time.mean.tolist() == pytest.approx([10 / 150, 25 / 250])
    assert answer.over_time.unfairness[1].tolist() == pytest.approx([0, 0], abs=1e-12)


def test_a_note_names_who_was_judged_from_when():
    keywords = {"stakeholder": "who", "time": "day", "amount": "got", "roster": ROSTER}
    assert any(
        note
        == "Judged from when they joined: C from 3 and D from 3. They began at the mean of those "
        "who were there."
        for note in audit(LOG, **keywords).notes
    )
    zero = audit(LOG, **keywords, newcomers="zero")
    assert any(note.endswith("They began at zero.") for note in zero.notes)


def test_the_mean_is_the_default():
    keywords = {"stakeholder": "who", "time": "day", "amount": "got", "roster": ROSTER}
    assert audit(LOG, **keywords).score == audit(LOG, **keywords, newcomers="mean").score
    assert audit(LOG, **keywords).score != audit(LOG, **keywords, newcomers="zero").score


@pytest.mark.parametrize("rule", [None, "mean", "least", "zero"])
@pytest.mark.parametrize("cut", [0, 1, 4, 9])
def test_a_monitor_lets_them_begin_there_too(rule, cut):
    """However the events come, and over a stop and a start."""
    answer = audit(
        LOG,
        stakeholder="who",
        time="day",
        amount="got",
        roster=ROSTER,
        newcomers=rule,
        entitlement=PEOPLE,
    )
    monitors = [
        make_monitor(SchemeOptions(newcomers=rule), roster=ROSTER, entitlement=PEOPLE, keys=KEYS)[0]
        for _ in range(2)
    ]
    found, events = [], sorted(LOG.itertuples(index=False))
    for k, event in enumerate(events):
        if k == cut:
            monitors[1].resume(monitors[0].snapshot())
        found += monitors[k >= cut].push(*event)
    found += monitors[len(events) > cut].finish()
    assert [one.score for one in found][-1] == pytest.approx(answer.score, abs=1e-12)
    for one, row in zip(found, answer.over_time.unfairness, strict=True):
        for name, far in one.unfair_to.items():
            assert far == pytest.approx(row["ABCD".index(name)], abs=1e-12)


@pytest.mark.parametrize("period", ["day", "week", "month"])
def test_a_monitor_and_an_audit_leave_out_the_same_moments_with_nobody_there(period):
    """A and B leave on 10 March, C comes on the 20th."""
    log = pd.DataFrame(
        {
            "day": ["2021-02-20", "2021-02-28", "2021-03-25", "2021-03-31"],
            "who": list("ABCC"),
            "got": [10.0, 4.0, 4.0, 2.0],
        }
    )
    dates = {"from": [None, None, "2021-03-20"], "until": ["2021-03-10", "2021-03-10", None]}
    roster = pd.DataFrame({"who": list("ABC"), **dates})
    answer = audit(log, stakeholder="who", time="day", amount="got", roster=roster, every=period)
    monitor, _ = make_monitor(SchemeOptions(every=period), roster=roster, keys=KEYS)
    found = [one for event in log.itertuples(index=False) for one in monitor.push(*event)]
    found += monitor.finish()
    assert [one.time for one in found] == list(answer.over_time.times)
    assert found[-1].score == pytest.approx(answer.score, abs=1e-12)


def test_what_newcomers_cannot_mean_is_refused():
    keywords = {"stakeholder": "who", "time": "day", "amount": "got"}
    with pytest.raises(e.BadParameter, match="it must be one of mean, zero, least, by-time"):
        audit(LOG, **keywords, newcomers="last")
    with pytest.raises(e.BadParameter, match="needs no beginning"):
        audit(LOG.assign(n=5), **keywords, newcomers="mean", out_of="n")
