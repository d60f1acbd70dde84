"""Alarms of a monitor: lines, the saved state, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from evenhand.auditing.chance.alarm import AT_START, FACTORS, STAKES
from evenhand.auditing.chance.nulls import OddsOverTime
from evenhand.errors import BadFile, BadParameter
from evenhand.fairness.scheme import anytime
from evenhand.fairness.welfare import Rawls
from evenhand.log.history import Roster
from evenhand.log.options import SchemeOptions
from evenhand.monitor.batch import Batch
from evenhand.monitor.chance_alarms import Alarms
from evenhand.monitor.factory import make_monitor
from evenhand.monitor.monitor import Monitor
from evenhand.monitor.state_file import load_state, save_state

NAMES = ("A", "B", "C")


def made(alarm=0.05, **more):
    return make_monitor(SchemeOptions(alarm=alarm), **{"names": NAMES, **more})


def lines(count=300, seed=0):
    rng = np.random.default_rng(seed)
    who = rng.choice(3, count, p=[0.1, 0.45, 0.45])
    return [json.dumps({"time": k, "stakeholder": NAMES[who[k]]}).encode() for k in range(count)]


def test_a_saved_state_goes_on_with_the_same_alarms(tmp_path):
    path, events = tmp_path / "state.json", lines()
    whole, reader = made()
    whole.found(reader.read(events))
    whole.found_at_end()
    first, reader = made()
    first.found(reader.read(events[:20]))
    save_state(first, reader, path)
    second, reader = made()
    assert load_state(second, reader, path)
    second.found(reader.read(events[20:]))
    second.found_at_end()
    assert second.summary()["alarms"] == whole.summary()["alarms"]
    assert second.summary()["evidence"] == pytest.approx(whole.summary()["evidence"])
    (alarm,) = second.new_alarms()
    assert alarm.name == "A"
    assert second.new_alarms() == []


def test_an_alarm_is_raised_once_its_time_is_over():
    """More may happen at a time; at the end it is over."""
    monitor, reader = made(0.05)
    monitor.found(reader.read([b'{"time": 1, "stakeholder": "B"}'] * 60))
    summary = monitor.summary()
    assert summary["needed"] == 20 < summary["evidence"]
    assert monitor.new_alarms() == summary["alarms"] == []
    monitor.found_at_end()
    assert {alarm.name for alarm in monitor.new_alarms()} == {"A", "C"}


def test_days_are_as_good_as_numbers():
    """C is there from the 21st: the same lots, the same odds, the same evidence."""
    import pandas as pd

    found = []
    for first, time in ((21, int), ("1970-01-22", lambda k: f"{np.datetime64(k, 'D')}")):
        people = pd.DataFrame({"name": NAMES, "from": [None, None, first]})
        monitor, reader = made(names=(), roster=people)
        events = [json.loads(line) for line in lines(60)]
        dated = [json.dumps({**one, "time": time(one["time"])}).encode() for one in events]
        monitor.found(reader.read(dated))
        monitor.found_at_end()
        found.append(monitor.summary()["evidence"])
    assert found[0] == pytest.approx(found[1])


def watched(first, last, alpha=0.05):
    """A monitor of A, B and C, who are there from and until these times."""
    roster, fairness = Roster(NAMES, first, last), anytime(Rawls())
    alarms = Alarms(NAMES, alpha, OddsOverTime(NAMES, roster=roster), None, False)
    return Monitor(fairness, NAMES, roster=roster, alarms=alarms)


def test_late_events_of_somebody_who_left_say_nothing_of_who_is_there():
    """A is there alone until 10, C from 11: neither could have got a lot of the other's."""
    monitor = watched({"C": 11, "B": 99}, {"A": 10})
    for time, name in [(0, "A"), (11, "C"), *((k, "A") for k in range(1, 6)), (12, "C")]:
        monitor.push(time, name)
    monitor.finish()
    assert monitor.late == 5
    assert monitor.new_alarms() == []
    assert monitor.summary()["evidence"] == pytest.approx(AT_START)


def test_a_late_event_is_bet_on_with_the_odds_of_its_own_time():
    """A leaves after 1 and C comes at 2, so that every lot is between two of equal odds.

    With d = 1 − ½ + ½ρ each lot multiplies by ρ/d the bet on whoever gets it, by 1/d the bet on the
    other, and by 1 the bet on who is not there: ρ/d² for A and C, ρ²/d⁴ for B.
    """
    d = (1 + FACTORS) / 2
    by_hand = AT_START / 3 * STAKES @ (2 * FACTORS / d**2 + FACTORS**2 / d**4)
    for events in ("0A 1B 2C 3B", "0A 2C 1B 3B", "3B 0A 1B 2C"):
        monitor = watched({"C": 2}, {"A": 1})
        for time, name in events.split():
            monitor.push(int(time), name)
        monitor.finish()
        assert monitor.summary()["evidence"] == pytest.approx(by_hand)


def test_false_alarms_are_as_rare_as_promised_in_whatever_order_events_come():
    """A fair lottery among those there; each event comes up to 20 time points late."""
    alpha, streams, size = 0.1, 300, 60
    first, last = {"C": 30}, {"A": 29}
    there = [[0, 1] if k < 30 else [1, 2] for k in range(size)]
    rng, false = np.random.default_rng(0), 0
    for _ in range(streams):
        who = np.array([rng.choice(some) for some in there])
        order = np.argsort(np.arange(size) + rng.uniform(0, 20, size))
        monitor = watched(first, last, alpha)
        monitor.found(Batch(order.astype(float), who[order], np.ones(size)))
        monitor.found_at_end()
        false += monitor.alarms.raised
    assert false / streams <= alpha


def test_an_alarm_that_was_reported_is_not_reported_again_after_a_stop(tmp_path):
    path = tmp_path / "state.json"
    first, reader = made()
    first.found(reader.read(lines()))
    assert len(first.new_alarms()) == 1
    save_state(first, reader, path)
    second, reader = made()
    load_state(second, reader, path)
    assert second.new_alarms() == []
    assert len(second.summary()["alarms"]) == 1


@pytest.mark.parametrize(("before", "now"), [(0.05, 0.01), (0.05, None), (None, 0.05)])
def test_a_state_of_another_alarm_is_refused(before, now, tmp_path):
    path = tmp_path / "state.json"
    first, reader = made(before)
    first.found(reader.read(lines()))
    save_state(first, reader, path)
    with pytest.raises(BadFile, match="start with a new file") as refused:
        load_state(*made(now), path)
    words = [f"alarm at {alpha:g}" if alpha else "no alarm" for alpha in (before, now)]
    assert all(one in str(refused.value) for one in words)


def test_a_state_without_alarms_goes_on_without(tmp_path):
    path = tmp_path / "state.json"
    first, reader = made(None)
    first.found(reader.read(lines()))
    save_state(first, reader, path)
    second, reader = made(None)
    assert load_state(second, reader, path)
    assert "alarms" not in second.summary()


def test_groups_need_a_column_that_says_everyones():
    import pandas as pd

    people = pd.DataFrame({"name": NAMES, "town": ["x", "x", "y"]})
    monitor, reader = made(names=(), roster=people, group="town")
    monitor.found(reader.read(lines()))
    assert monitor.alarms.groups == ["x", "x", "y"]
    with pytest.raises(BadParameter, match="of everyone"):
        made(names=(), roster=people.assign(town=["x", None, "y"]), group="town")
    with pytest.raises(BadParameter, match="is for alarms"):
        made(None, names=(), roster=people, group="town")


def test_memory_of_alarms_does_not_grow(tmp_path):
    sizes = []
    for count in (2_000, 8_000):
        monitor, reader = made()
        monitor.found(reader.read(lines(count)))
        save_state(monitor, reader, tmp_path / "state.json")
        state = json.loads((tmp_path / "state.json").read_text())
        sizes.append(len(json.dumps(state["monitor"]["watch"])))
    assert abs(sizes[1] - sizes[0]) < 100
