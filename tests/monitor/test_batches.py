"""However events are cut into batches, what a monitor finds is the same: late ones included."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import (
    AfterEach,
    BalancedUnfairness,
    Every,
    FairnessScheme,
    Final,
    Mean,
    Rawls,
    TimepointFirst,
    anytime,
)
from evenhand.auditing.questions import every
from evenhand.errors import BadLog
from evenhand.fairness import stream as stream_module
from evenhand.log.history import Roster
from evenhand.monitor import Monitor
from evenhand.monitor import monitor as monitor_module
from evenhand.monitor.monitor import Batch, text_as_number

NAMES = ("A", "B", "C")
events_of = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 2), st.sampled_from([0.0, 1.0, 2.0, -1.0])),
    max_size=20,
)
cuts_of = st.lists(st.integers(0, 20), max_size=4)
FILTERS = [Every(1), Every(3), AfterEach(4.0), Final()]


def start(filter_, **options) -> Monitor:
    scheme = FairnessScheme(aggregation=TimepointFirst(Rawls(), Mean()), filter=filter_)
    return Monitor(scheme, NAMES, max_unfairness=0.9, min_score=0.2, **options)


def fed(monitor: Monitor, events, cuts, plain_numbers=True):
    found = []
    edges = sorted(min(cut, len(events)) for cut in cuts)
    for first, last in itertools.pairwise([0, *edges, len(events)]):
        found += monitor.take(Batch.of(events[first:last], plain_numbers))
    return found + monitor.finish()


def same(one: Monitor, other: Monitor, found, expected) -> None:
    assert [(f.number, f.time, f.alert, f.alert_begins) for f in found] == [
        (f.number, f.time, f.alert, f.alert_begins) for f in expected
    ]
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.score, mine.welfare) == pytest.approx((theirs.score, theirs.welfare))
        assert mine.unfair_to == pytest.approx(theirs.unfair_to)
    mine, theirs = one.summary(), other.summary()
    for figures, others in zip(mine.pop("stakeholders"), theirs.pop("stakeholders"), strict=True):
        assert figures == pytest.approx(others)  # sums in another order differ in the last digit
    assert mine == pytest.approx(theirs)


@given(st.sampled_from(FILTERS), events_of, cuts_of)
def test_any_cut_into_batches_finds_the_same(filter_, events, cuts):
    one, other = start(filter_), start(filter_)
    expected = fed(other, events, [])
    same(one, other, fed(one, events, cuts), expected)
    latest = np.maximum.accumulate([at for at, *_ in events] or [0])
    assert one.late == sum(at < most for (at, *_), most in zip(events, latest, strict=False))
    assert one.thresholds.alerts == sum(bool(found.alert) for found in expected)
    assert sum(f.alert_begins for f in expected) == len(
        [key for key, _ in itertools.groupby(expected, lambda f: bool(f.alert)) if key]
    )


@given(events_of, cuts_of, st.sampled_from(["day", "week", "month"]))
def test_any_cut_finds_the_same_periods(events, cuts, period):
    """A time is five days; with so few steps at once that gaps are cut too."""
    dated = [(text_as_number("2021-01-04") + at * 5 * 86_400e6, *rest) for at, *rest in events]
    question = every(period)
    with pytest.MonkeyPatch.context() as patch:
        other = start(question.filter, question=question)
        expected = fed(other, dated, [], plain_numbers=False)
        patch.setattr(monitor_module, "STEPS", 2)
        one = start(question.filter, question=question)
        same(one, other, fed(one, dated, cuts, plain_numbers=False), expected)


def test_a_late_event_counts_at_the_time_that_is_open_also_in_another_batch():
    monitor = Monitor(anytime(Rawls()), ("A", "B"))
    assert monitor.take(Batch.of([(5, 0, 1.0)], True)) == []
    assert monitor.take(Batch.of([(3, 1, 1.0)], True)) == []
    assert monitor.late == 1
    assert monitor.take(Batch.of([(5, 1, 1.0)], True)) == []  # the open time is not late
    assert monitor.late == 1
    (found,) = monitor.take(Batch.of([(6, 0, 1.0)], True))
    assert (found.time, found.welfare) == ("5", 1.0)
    assert found.unfair_to == {"A": -0.5}


@given(events_of, cuts_of)
def test_those_who_come_and_go_are_watched_while_they_are_there(events, cuts):
    """B comes at 4, C leaves after 6; A is there throughout. By hand, time by time."""
    roster = Roster(NAMES, first={"B": 4}, last={"C": 6})
    scheme = anytime(Rawls(), Mean())
    monitor = Monitor(scheme, NAMES, roster=roster)
    found = fed(monitor, sorted(events), cuts)
    inside = [
        (at, who, much)
        for at, who, much in sorted(events)
        if not (who == 1 and at < 4) and not (who == 2 and at > 6)
    ]
    assert monitor.outside == len(events) - len(inside)
    assert monitor.summary()["outside_roster_dates"] == monitor.outside
    received, expected = np.zeros(3), []
    for at, group in itertools.groupby(inside, lambda event: event[0]):
        for _, who, much in group:
            received[who] += much
        there = [0, *([1] if at >= 4 else []), *([2] if at <= 6 else [])]
        mean = received[there].mean()
        below = {NAMES[i]: received[i] - mean for i in there if received[i] < mean - 1e-9}
        expected.append((str(at), received[there].min(), below))
    assert [(f.time, f.welfare) for f in found] == [(at, low) for at, low, _ in expected]
    for one, (_, _, below) in zip(found, expected, strict=True):
        assert one.unfair_to == pytest.approx(below)


@given(events_of, st.integers(0, 20), st.sampled_from(FILTERS))
def test_a_snapshot_taken_anywhere_is_gone_on_from(events, cut, filter_):
    whole, first, second = (start(filter_) for _ in range(3))
    expected = fed(whole, events, [])
    found = first.take(Batch.of(events[:cut], True))
    second.resume(first.snapshot())
    assert second.begun == first.begun
    found += second.take(Batch.of(events[cut:], True)) + second.finish()
    same(second, whole, found, expected)


@given(events_of, st.booleans())
def test_lines_of_json_say_what_the_objects_say(events, only_alerts):
    objects, lines = start(Every(1)), start(Every(1))
    expected = [one.to_json() for one in fed(objects, events, [])]
    written = b"".join(
        found.encoded(only_alerts)
        for found in [*lines.found(Batch.of(events, True)), *lines.found_at_end()]
    )
    wanted = [line for line in expected if "alert" in line or not only_alerts]
    assert [json.loads(line) for line in written.splitlines()] == wanted


def test_an_unfinished_period_is_left_open_and_a_finished_one_is_judged():
    question = every("month")
    scheme = replace(anytime(Rawls()), filter=question.filter)
    for day, times in (("2021-02-27", ["2021-01"]), ("2021-02-28", ["2021-01", "2021-02"])):
        monitor = Monitor(scheme, ("A",), question)
        found = monitor.push("2021-01-05", "A") + monitor.push(day, "A") + monitor.finish()
        assert [one.time for one in found] == times


def test_nothing_in_nothing_out():
    monitor = Monitor(anytime(Rawls()), ("A", "B"))
    assert monitor.take(Batch.of([], True)) == monitor.finish() == []
    assert not monitor.begun
    summary = monitor.summary()
    assert summary["score"] is None
    assert summary["assessments"] == 0
    assert summary["stakeholders"][0] == {
        "name": "A",
        "final": 0.0,
        "last_unfairness": None,
        "overall_unfairness": 0.0,
        "share_below": 0.0,
        "longest_spell": 0,
    }


@pytest.mark.parametrize(
    ("amounts", "limit", "alert"),
    [
        *(((4, 2), 1.0, False), ((4, 2), 0.99, True), ((4, 1), 1.0, True)),
        ((1.8, 1.2), 0.3, False),  # in floating point a little further than 0.3
    ],
)
def test_a_limit_is_passed_and_not_only_reached(amounts, limit, alert):
    monitor = Monitor(anytime(Rawls()), ("A", "B"), max_unfairness=limit)
    monitor.push(1, "A", amounts[0])
    monitor.push(1, "B", amounts[1])
    (found,) = monitor.finish()
    assert bool(found.alert) is alert
    at_score = Monitor(anytime(Rawls()), ("A", "B"), min_score=float(amounts[1]))
    at_score.push(1, "A", amounts[0])
    at_score.push(1, "B", amounts[1])
    assert not at_score.finish()[0].alert


@pytest.mark.parametrize(("share", "alert"), [("50%", ()), ("30%", ("0.9",))])
def test_a_limit_may_be_a_share_of_the_mean(share, alert):
    """Of 4 and 2 the mean is 3, and B is 1 below it."""
    monitor = Monitor(anytime(Rawls()), ("A", "B"), max_unfairness=share)
    monitor.take(Batch.of([(1, 0, 4.0), (1, 1, 2.0)], True))
    (found,) = monitor.finish()
    assert found.alert == tuple(f"B is 1 below the mean, more than {most}" for most in alert)


def test_as_many_periods_as_are_allowed_may_go_by(monkeypatch):
    monkeypatch.setattr(monitor_module, "MOST_PERIODS", 3)
    question = every("day")
    scheme = replace(anytime(Rawls()), filter=question.filter)
    monitor = Monitor(scheme, ("A",), question)
    monitor.push("2021-01-01", "A")
    assert len(monitor.push("2021-01-04", "A")) == 3
    with pytest.raises(BadLog, match="2021-01-08 comes 4 days after"):
        monitor.push("2021-01-08", "A")


@given(events_of, st.integers(1, 9), st.sampled_from([Every(1), Every(3)]))
def test_the_size_of_a_block_does_not_matter(events, values, filter_):
    one, other = start(filter_), start(filter_)
    expected = fed(other, sorted(events), [])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "BLOCK_VALUES", values)
        same(one, other, fed(one, sorted(events), []), expected)


@pytest.mark.parametrize(
    ("first", "last", "judged"),
    [
        ({}, {}, [{"B": -0.5}, {"B": -1.0}]),
        ({"B": "2021-02-01"}, {}, [{}, {"B": -1.0}]),
        ({"B": "2021-01-31T23:59:59"}, {}, [{"B": -0.5}, {"B": -1.0}]),
        ({}, {"B": "2021-01-31T23:59:59.999999"}, [{"B": -0.5}, {}]),
        ({}, {"B": "2021-01-31T23:59:59.999998"}, [{}, {}]),
    ],
)
def test_who_is_there_is_asked_at_the_last_moment_of_a_period(first, last, judged):
    question = every("month")
    dates = [{name: np.datetime64(at) for name, at in one.items()} for one in (first, last)]
    roster = Roster(("A", "B"), *dates)
    scheme = replace(anytime(Rawls()), filter=question.filter)
    monitor = Monitor(scheme, ("A", "B"), question, roster)
    found = monitor.push("2021-01-05", "A") + monitor.push("2021-02-28", "A") + monitor.finish()
    assert [one.unfair_to for one in found] == judged


def test_at_the_end_those_who_are_there_are_judged():
    roster = Roster(("A", "B", "C"), last={"C": 1})
    scheme = FairnessScheme(aggregation=TimepointFirst(Rawls(), Mean()), filter=Final())
    monitor = Monitor(scheme, ("A", "B", "C"), roster=roster)
    assert monitor.push(1, "A", 4) == monitor.push(2, "B", 2) == []
    (found,) = monitor.finish()
    assert (found.time, found.welfare, found.unfair_to) == ("2", 2.0, {"B": -1.0})


def test_where_there_is_no_welfare_the_score_stands_in_its_place():
    monitor = Monitor(FairnessScheme(aggregation=BalancedUnfairness()), ("A", "B"))
    found = monitor.push(1, "A", 2) + monitor.push(2, "B", 4) + monitor.finish()
    assert [(one.score, one.welfare) for one in found] == [(-2.0, -2.0), (0.0, 0.0)]


def test_only_the_lines_with_an_alert_are_written_wherever_they_stand():
    """Even at 1 and 3; at 2 and 4 somebody is two below the mean."""
    monitor = Monitor(anytime(Rawls()), ("A", "B"), max_unfairness=1.5)
    events = [(1, 0, 1.0), (1, 1, 1.0), (2, 0, 4.0), (3, 1, 4.0), (4, 1, 4.0), (5, 0, 0.0)]
    (found,) = monitor.found(Batch.of(events, True))
    lines = [json.loads(line) for line in found.encoded(only_alerts=True).splitlines()]
    assert [(line["assessment"], line["time"]) for line in lines] == [(2, "2"), (4, "4")]
    assert [line["unfair_to"] for line in lines] == [{"B": -2.0}, {"A": -2.0}]
    assert len(found.encoded().splitlines()) == 4
