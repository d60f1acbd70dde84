"""Whoever joins later starts neither ahead nor behind: against plain Python."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from evenhand import errors as e
from evenhand.auditing.scheme_options import SchemeOptions
from evenhand.monitor.factory import make_monitor
from evenhand.monitor.json_reader import Keys
from logs import audit_alone as audit

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
