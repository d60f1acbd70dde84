"""Alarms in words, with the names of times."""

from __future__ import annotations

from evenhand.auditing.chance.alarm import Alarm
from evenhand.auditing.chance.raised_alarm import AlarmFinding, RaisedAlarm

DAY = 86_400e6  # microseconds


def test_times_are_written_as_in_the_log():
    alarm = Alarm(2 * DAY, "A", False, 21.0, DAY)
    assert RaisedAlarm.of(alarm, plain_numbers=False) == RaisedAlarm(
        "1970-01-03", "A", False, 21.0, "1970-01-02"
    )
    number = RaisedAlarm.of(Alarm(7.0, "x", True, 30.0, 2.5), plain_numbers=True)
    assert (number.time, number.since) == ("7", "2.5")
    assert number.sentence == (
        "the group x is behind by more than a fair lottery explains; the evidence begins at 2.5"
    )
    assert number.to_json()["is_group"] is True


def test_what_a_watch_found_in_words():
    quiet = AlarmFinding(0.05, 0.5, ())
    assert quiet.breach is None
    assert quiet.sentence() == (
        "no alarm: at no time point was anybody behind by so much more than a fair lottery "
        "explains (the evidence at the end is 0.5, and an alarm needs 20)."
    )
    raised = AlarmFinding(
        0.05,
        99.0,
        tuple(RaisedAlarm(time, name, False, 20.0, "3") for time, name in (("5", "A"), ("8", "B"))),
    )
    assert raised.sentence() == (
        "alarm at 5: A is behind by more than a fair lottery explains; the evidence begins at 3; "
        "later also B."
    )
    assert raised.to_json()["needed"] == 20.0
    assert [one["name"] for one in raised.to_json()["raised"]] == ["A", "B"]
