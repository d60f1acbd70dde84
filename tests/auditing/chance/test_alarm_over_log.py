"""A log watched as by a monitor: the same alarms, and what the command line does with them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from evenhand import audit
from evenhand.auditing.scheme_options import SchemeOptions
from evenhand.errors import BadParameter
from evenhand.monitor.factory import make_monitor

NAMES = ["A", "B", "C", "D"]
SIZES = {"A": 2.0, "B": 1.0, "C": 1.0, "D": 1.5}
STAYS = pd.DataFrame({"name": NAMES, "from": [0, 0, 0, 20], "until": [400, 400, 300, 400]})
GROUPED = STAYS.assign(town=["x", "x", "y", "y"])


def events(seed=0, lots=500, passed_over=0.15):
    """Two or so at each time, some of them corrections; A is passed over from 100 on."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, 300, lots))
    odds = np.array([passed_over, 1, 1, 0])
    who = [rng.choice(4, p=odds / odds.sum()) if t >= 100 else rng.integers(0, 3) for t in at]
    got = rng.choice([1.0, 2.0, 3.0, -1.0], lots, p=[0.4, 0.3, 0.25, 0.05])
    return pd.DataFrame({"time": at, "stakeholder": np.array(NAMES)[who], "got": got})


def watched(log, people, **more):
    names = tuple(NAMES) if people is None else ()
    monitor, _ = make_monitor(
        SchemeOptions(alarm=0.05, lower_is_better=more.pop("lower_is_better", False)),
        names=names,
        roster=people,
        **more,
    )
    for row in log.itertuples():
        monitor.push(row.time, row.stakeholder, row.got)
    monitor.finish()
    return monitor


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("people", [None, STAYS], ids=["always", "stays"])
@pytest.mark.parametrize("sizes", [None, SIZES], ids=["alike", "sizes"])
@pytest.mark.parametrize("harms", [False, True], ids=["goods", "harms"])
def test_an_audit_and_a_monitor_raise_the_same_alarms(people, sizes, harms):
    log = events()
    roster = NAMES if people is None else people
    asked = {"stakeholder": "stakeholder", "time": "time", "amount": "got", "roster": roster}
    answer = audit(log, alarm=0.05, entitlement=sizes, lower_is_better=harms, chance=False, **asked)
    monitor = watched(log, people, entitlement=sizes, lower_is_better=harms)
    summary = monitor.summary()
    assert answer.alarm.evidence == pytest.approx(summary["evidence"], rel=1e-9)
    found = [one.to_json() for one in answer.alarm.alarms]
    assert len(found) == len(summary["alarms"]) > 0
    for one, other in zip(found, summary["alarms"], strict=True):
        assert {**one, "evidence": 0} == {**other, "evidence": 0}
        assert one["evidence"] == pytest.approx(other["evidence"])


def test_groups_are_watched_too_and_calendar_questions_change_nothing():
    log = events().assign(
        town=lambda t: t["stakeholder"].map(dict(zip(NAMES, "xxyy", strict=True)))
    )
    asked = {"stakeholder": "stakeholder", "time": "time", "amount": "got", "alarm": 0.05}
    answer = audit(log, roster=GROUPED, group="town", chance=False, **asked)
    monitor = watched(log, GROUPED, group="town")
    assert answer.alarm.evidence == pytest.approx(monitor.summary()["evidence"], rel=1e-9)
    dates = log.assign(time=pd.Timestamp("2021-01-01") + pd.to_timedelta(log["time"], unit="h"))
    asked["roster"] = NAMES
    each, monthly = (audit(dates, chance=False, every=e, **asked).alarm for e in (None, "day"))
    assert each == monthly


def test_an_alarm_is_a_limit_that_was_broken(run, tmp_path):
    path = tmp_path / "log.csv"
    events().to_csv(path, index=False)
    asked = (str(path), "--stakeholder", "stakeholder", "--time", "time", "--amount", "got")
    code, out, _ = run(*asked, "--alarm", "0.05", "--no-chance")
    assert code == 1
    assert "Watched all along: alarm at " in out
    assert "Threshold breached: alarm at" in out
    code, out, _ = run(*asked, "--alarm", "0.05", "--json")
    found = json.loads(out)
    assert found["alarm"]["raised"][0]["name"] == "A"
    assert found["limits"][0]["option"] == "--alarm"
    code, out, _ = run(*asked, "--alarm", "1e-60", "--no-chance")
    assert code == 0
    assert "Watched all along: no alarm" in out
    for alpha in ("0", "1", "nan"):
        code, _, error = run(*asked, "--alarm", alpha)
        assert code == 2
        assert "between 0 and 1" in error


def test_what_has_no_lots_cannot_be_watched():
    log = events().assign(chances=9.0)
    asked = {"stakeholder": "stakeholder", "time": "time", "amount": "got", "alarm": 0.05}
    for more in (
        {"cumulative": True},
        {"stock": True},
        {"out_of": "chances"},
        {"asked": "chances"},
    ):
        with pytest.raises(BadParameter, match="leave one out"):
            audit(log, **asked, **more)
