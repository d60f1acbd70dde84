"""Tests of monitor.monitor."""

from __future__ import annotations

import datetime
import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import evenhand
from evenhand import Decayed, GiniWelfare, LogNash, Mean, WaitingTime, Window, over_time, periodic
from evenhand import anytime as anytime_monitor
from evenhand.auditing import audit
from evenhand.auditing.chance.alarm import AT_START, FACTORS, STAKES
from evenhand.auditing.chance.nulls import OddsOverTime
from evenhand.auditing.questions import every
from evenhand.errors import (
    BadFile,
    BadLog,
    BadParameter,
    CannotStream,
    EvenhandError,
    UnknownStakeholder,
    WelfareOverflow,
)
from evenhand.fairness.scheme import anytime
from evenhand.fairness.status import WithCredit
from evenhand.fairness.welfare import Rawls
from evenhand.log.history import Roster
from evenhand.log.options import SchemeOptions
from evenhand.monitor.json_reader import REMEMBERED_IDS, Keys, Reader
from evenhand.monitor.monitor import Alarms, Batch, Monitor, text_as_number
from evenhand.monitor.state_file import load_state, make_monitor, save_state
from waiting import HANG

# Alarms of a monitor: lines, the saved state, and what is refused.

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


# The monitor: events in, a line for each assessment out; it stops, goes on, agrees with audit.

NAMES_MONITOR = ("--name", "A", "--name", "B")


def lines_of(events, keys=("time", "stakeholder", "amount")):
    return "".join(json.dumps(dict(zip(keys, event, strict=True))) + "\n" for event in events)


def run(text, *arguments, code=0):
    """`evenhand monitor` as the shell runs it: its lines, its summary, and what it says."""
    done = evenhand("monitor", *arguments, stdin=text)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return found[:-1], found[-1] if found else None, done.stderr


EVENTS = [
    ("2021-01-10", "A", 3),
    ("2021-01-31", "B", 1),
    ("2021-03-01", "B", 4),
    ("2021-03-31", "A", 1),
]


def test_a_line_for_each_assessment_and_a_summary():
    lines, summary, _ = run(
        lines_of(EVENTS), *NAMES_MONITOR, "--amount", "amount", "--welfare", "rawls"
    )
    assert [line["time"] for line in lines] == [event[0] for event in EVENTS]
    assert [line["welfare"] for line in lines] == [0, 1, 3, 4]
    assert [line["score"] for line in lines] == [0, 0.5, 4 / 3, 2]
    assert lines[0]["unfair_to"] == {"B": -1.5}
    assert lines[2]["unfair_to"] == {"A": -1.0}
    assert summary["events"] == 4
    assert summary["score"] == 2


def test_months_with_an_empty_one_agree_with_audit(tmp_path):
    lines, summary, _ = run(
        lines_of(EVENTS), *NAMES_MONITOR, "--amount", "amount", "--every", "month"
    )
    frame = pd.DataFrame(EVENTS, columns=["time", "stakeholder", "amount"])
    answer = audit(frame, stakeholder="stakeholder", time="time", amount="amount", every="month")
    assert [line["time"] for line in lines] == ["2021-01", "2021-02", "2021-03"]
    assert lines[-1]["score"] == pytest.approx(answer.score)
    for one in summary["stakeholders"]:
        theirs = answer.stakeholder(one["name"])
        assert one["overall_unfairness"] == pytest.approx(theirs.overall_unfairness)
        assert one["final"] == theirs.final


@pytest.mark.parametrize("more", [{}, {"lower_is_better": True}, {"unweighted": True}])
@pytest.mark.parametrize("when", [{}, {"every": "month"}])
def test_sizes_and_harms_are_judged_as_by_audit(more, when):
    people = {"A": 7.0, "B": 2.0}
    frame = pd.DataFrame(EVENTS, columns=["time", "stakeholder", "amount"])
    mapped = {"stakeholder": "stakeholder", "time": "time", "amount": "amount"}
    answer = audit(frame, **mapped, **when, **more, entitlement=people, welfare="gini")
    options = SchemeOptions(**when, **more, welfare="gini")
    watcher, _ = make_monitor(options, names=("A", "B"), entitlement=people)
    found = [one for event in EVENTS for one in watcher.push(*event)] + watcher.finish()
    assert found[-1].score == pytest.approx(answer.score, rel=1e-12)
    assert [one.welfare for one in found] == pytest.approx(answer.over_time.welfare.tolist())
    for one in watcher.summary()["stakeholders"]:
        theirs = answer.stakeholder(one["name"])
        assert one["last_unfairness"] == pytest.approx(theirs.last_unfairness, rel=1e-12)
        assert one["overall_unfairness"] == pytest.approx(theirs.overall_unfairness, rel=1e-12)
        assert one["share_below"] == theirs.share_below


def test_of_harms_an_alert_is_above_the_mean():
    lines, _, said = run(
        *(lines_of(EVENTS), *NAMES_MONITOR, "--amount", "amount", "--lower-is-better"),
        *("--max-unfairness", "1.2"),
        code=1,
    )
    assert lines[0]["unfair_to"] == {"A": -1.5}
    assert lines[0]["alert"] == ["A is 1.5 above the mean, more than 1.2"]
    assert "A is 1.5 above the mean" in said


def test_what_a_monitor_does_not_know_is_refused(tmp_path):
    rate = tmp_path / "rate.toml"
    rate.write_text('status = "rate"\n')
    _, _, said = run("", *NAMES_MONITOR, "--scheme", str(rate), code=2)
    assert "needs how many chances each has had so far, which a monitor does not know" in said
    _, _, said = run("", *NAMES_MONITOR, "--unweighted", code=2)
    assert "give --entitlement, or leave it out" in said


def test_an_unfinished_period_is_not_assessed():
    lines, summary, _ = run(lines_of(EVENTS[:3]), *NAMES_MONITOR, "--every", "month")
    assert [line["time"] for line in lines] == ["2021-01", "2021-02"]
    assert summary["assessments"] == 2


def test_alerts_and_the_exit_code():
    options = (*NAMES_MONITOR, "--amount", "amount", "--max-unfairness", "1")
    lines, summary, said = run(lines_of(EVENTS), *options, code=1)
    assert lines[0]["alert"] == ["B is 1.5 below the mean, more than 1"]
    assert lines[0]["alert_begins"]
    assert "alert" not in lines[1]
    assert summary["alerts"] == 1
    assert said == "evenhand: alert at 2021-01-10: B is 1.5 below the mean, more than 1.\n"
    only, _, _ = run(lines_of(EVENTS), *options, "--alerts-only", code=1)
    assert only == lines[:1]
    run(lines_of(EVENTS), *NAMES_MONITOR, "--welfare", "rawls", "--min-score", "9", code=1)
    run(lines_of(EVENTS), *NAMES_MONITOR, "--welfare", "rawls", "--min-score", "-9")


def test_a_late_event_counts_now_and_is_counted():
    events = [(1, "A", 1), (3, "A", 1), (2, "B", 5), (4, "B", 1)]
    lines, summary, _ = run(
        lines_of(events), *NAMES_MONITOR, "--amount", "amount", "--welfare", "rawls"
    )
    assert [(line["time"], line["welfare"]) for line in lines] == [("1", 0), ("3", 2), ("4", 2)]
    assert summary["late"] == 1
    assert summary["stakeholders"][1]["final"] == 6


def test_repeated_events_are_known_by_their_id():
    events = [(1, "A", 1, "x"), (1, "A", 1, "y"), (2, "A", 1, "x"), (2, "B", 1, "z")]
    text = lines_of(events, ("time", "stakeholder", "amount", "key"))
    _, summary, _ = run(text, *NAMES_MONITOR, "--id", "key")
    assert (summary["repeated"], summary["events"]) == (1, 3)
    _, summary, _ = run(text, *NAMES_MONITOR)
    assert summary["events"] == 4


def test_bad_lines_are_counted_and_named():
    bad = [
        "{",
        "[1]",
        '"x"',
        '{"time": 1, "amount": 1}',
        '{"stakeholder": "A", "amount": 1}',
        '{"time": "2021-01-01", "stakeholder": "A", "amount": 1}',
        '{"time": 1, "stakeholder": "Z", "amount": 1}',
        '{"time": 1, "stakeholder": ["A"], "amount": 1}',
        '{"time": 1, "stakeholder": "A", "amount": "many"}',
        '{"time": 1, "stakeholder": "A", "amount": true}',
        '{"time": 1, "stakeholder": "A"}',
    ]
    good = '{"time": 1, "stakeholder": "A", "amount": 2}'
    empty = '{"time": 1, "stakeholder": "A", "amount": null}'
    text = "\n".join([good, *bad, empty, "", good])
    _, summary, said = run(text, *NAMES_MONITOR, "--amount", "amount")
    assert (summary["bad"], summary["events"], summary["empty"]) == (len(bad), 2, 1)
    assert "line 2 was left out: it is not a JSON object." in said
    assert "line 5 was left out: 'stakeholder' is missing." in said
    assert "line 8 was left out: 'Z' is not among the stakeholders watched." in said
    assert said.count("\n") == 10  # the first ten are named, all are counted
    done = run(text, *NAMES_MONITOR, "--amount", "amount", "--strict", code=2)
    assert done[2] == "evenhand: line 2 cannot be taken: it is not a JSON object.\n"


def refused(text, *arguments):
    """The last sentence of a monitor that took nothing, and printed nothing."""
    found, summary, said = run(text, *arguments, code=2)
    assert (found, summary) == ([], None)
    return said.splitlines()[-1]


def test_a_key_that_no_line_has_is_a_mistake_in_the_options():
    text = lines_of(EVENTS, ("time", "stakeholder", "doses"))
    for options, words in (
        (("--amount", "dozes"), "has a key 'dozes' (--amount): did you mean 'doses'?"),
        (("--time", "zzz"), "'zzz' (--time): the keys are 'time', 'stakeholder', 'doses'."),
        (("--stakeholder", "who"), "(--stakeholder)"),
        (("--id", "key"), "'key' (--id)"),
    ):
        assert words in refused(text, *NAMES_MONITOR, *options)
    # Whoever is not watched does not matter, and one line that fits says that the options do.
    assert "(--amount)" in refused(text, *NAMES_MONITOR[:2], "--amount", "dozes")
    one = lines_of([("2021-04-01", "A", 1)], ("time", "stakeholder", "dozes"))
    assert run(text + one, *NAMES_MONITOR, "--amount", "dozes")[1]["bad"] == len(EVENTS)
    assert "did you mean 'doses'?" in refused(text + "{\n", *NAMES_MONITOR, "--amount", "dozes")


def test_a_name_that_no_line_has_is_a_mistake_in_the_options():
    text = lines_of([("2021-01-10", "North", 3), ("2021-01-31", "East", 1)])
    said = refused(text, "--name", "Nort", "--name", "South")
    assert "the first is about 'North', and watched is 'Nort'; check the spelling" in said
    assert run(text, "--name", "North", "--name", "South")[1]["bad"] == 1


def test_a_place_where_no_state_can_be_saved_is_refused_first(tmp_path):
    where = tmp_path / "no" / "dir" / "x"
    said = refused(lines_of(EVENTS), *NAMES_MONITOR, "--state", str(where))
    assert "(--state) cannot be written (No such file or directory): choose a folder that" in said
    assert "is a folder" in refused(lines_of(EVENTS), *NAMES_MONITOR, "--state", str(tmp_path))


def test_a_scheme_file_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "s.toml"
    for content, words in (
        (b'welfare = "rawls"\n# caf\xe9\n', "line 2 is not UTF-8 text"),
        (b'welfare = "rawlz"\n', "rawlz"),
        (b"welfare = \n", "not valid TOML"),
    ):
        path.write_bytes(content)
        said = refused(lines_of(EVENTS), *NAMES_MONITOR, "--scheme", str(path))
        assert said.startswith(f"evenhand: {path}")
        assert words in said


def test_an_alert_does_not_move_the_terminal():
    events = [(1, "A", 3), (2, "B", 1)]
    options = ("--name", "A", "--name", "\x1b[31mred", "--name", "B", "--max-unfairness", "0.1")
    _, _, said = run(lines_of(events), *options, code=1)
    assert "\x1b" not in said
    assert "\\x1b[31mred" in said


def test_whom_to_watch_must_be_said(tmp_path):
    assert "say who is to be watched, with --name or with --roster (not both)" in run("", code=2)[2]
    (tmp_path / "roster.csv").write_text("name,from\nA,\nB,2021-02-10\n")
    text = lines_of([("2021-01-05", "A", 2), ("2021-03-01", "B", 2), ("2021-03-31", "A", 2)])
    options = ("--roster", str(tmp_path / "roster.csv"), "--amount", "amount", "--every", "month")
    lines, _, _ = run(text, *options, "--welfare", "average")
    # B joins in February, when A has 2, and so begins at 2.
    assert [line["welfare"] for line in lines] == [2, 2, 4]
    answer = audit(
        pd.DataFrame([json.loads(line) for line in text.splitlines()]),
        stakeholder="stakeholder",
        time="time",
        amount="amount",
        every="month",
        welfare="average",
        roster=str(tmp_path / "roster.csv"),
    )
    assert answer.over_time.welfare.tolist() == [2, 2, 4]
    lines, _, _ = run(text, *options, "--welfare", "average", "--newcomers", "zero")
    assert [line["welfare"] for line in lines] == [2, 1, 3]


def test_it_stops_and_goes_on(tmp_path):
    state = str(tmp_path / "state.json")
    whole, summary, _ = run(lines_of(EVENTS), *NAMES_MONITOR, "--amount", "amount")
    found = []
    for part in (EVENTS[:1], EVENTS[1:3], EVENTS[3:]):
        over = ("--over",) if part[-1] == EVENTS[-1] else ()
        lines, last, _ = run(
            lines_of(part), *NAMES_MONITOR, "--amount", "amount", "--state", state, *over
        )
        found += lines
    assert found == whole
    assert last == summary


def test_a_signal_saves_the_state_first(tmp_path):
    state = tmp_path / "state.json"
    command = [sys.executable, "-m", "evenhand", "monitor", *NAMES_MONITOR, "--state", str(state)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdin.write(lines_of([(1, "A", 1), (2, "B", 1)]))
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["time"] == "1"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=HANG)  # its input is still open
    assert process.returncode == 0
    assert json.loads(out)["events"] == 2
    assert json.loads(state.read_text())["reader"]["counts"]["lines"] == 2


SCHEMES = (
    anytime_monitor(),
    periodic(3, Rawls(), Mean(), Window(2)),
    anytime_monitor(Rawls(), Mean(), Decayed(3.0)),
    anytime_monitor(Rawls(), Mean(), WaitingTime()),
)
events = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), st.integers(0, 5)), max_size=30)


@given(events, st.sampled_from(SCHEMES), st.data())
def test_any_scheme_goes_on_from_any_place(tmp_path_factory, log, scheme, data):
    path = tmp_path_factory.mktemp("state") / "state.json"
    log = [{"time": t, "stakeholder": "abc"[w], "amount": a} for t, w, a in sorted(log)]
    lines = [json.dumps(event).encode() for event in log]
    keys = Keys(amount="amount")

    def start():
        return Monitor(scheme, ("a", "b", "c"), None, None, 1.5, 0.25), Reader(keys, "abc")

    whole, reader = start()
    written = b"".join(found.encoded() for found in whole.found(reader.read(lines)))
    written += b"".join(found.encoded() for found in whole.found_at_end())
    whole, reader = start()
    expected = [one.to_json() for one in whole.take(reader.read(lines)) + whole.finish()]
    assert [json.loads(line) for line in written.splitlines()] == expected
    cut = data.draw(st.integers(0, len(lines)))
    first, reader = start()
    found = first.take(reader.read(lines[:cut]))
    save_state(first, reader, path)
    second, reader = start()
    assert load_state(second, reader, path)
    found += second.take(reader.read(lines[cut:])) + second.finish()
    found = [one.to_json() for one in found]
    assert len(found) == len(expected)
    for line, other in zip(found, expected, strict=True):
        assert line.pop("unfair_to") == pytest.approx(other.pop("unfair_to"))
        assert line.pop("alert", None) == other.pop("alert", None)
        assert line == pytest.approx(other)
    mine, theirs = second.summary(), whole.summary()
    for one, other in zip(mine.pop("stakeholders"), theirs.pop("stakeholders"), strict=True):
        assert one == pytest.approx(other)  # sums in another order differ in the last digit
    assert mine == pytest.approx(theirs)
    assert reader.counts.lines == len(lines)


def test_a_state_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "state.json"
    monitor, reader = Monitor(anytime_monitor(), ("A", "B")), Reader(Keys(), ("A", "B"))
    save_state(monitor, reader, path)
    with pytest.raises(BadFile, match="watched something else"):
        load_state(Monitor(anytime_monitor(Rawls()), ("A", "B")), reader, path)
    with pytest.raises(BadFile, match="watched something else"):
        load_state(Monitor(anytime_monitor(), ("A", "C")), reader, path)
    path.write_text("{}")
    with pytest.raises(BadFile, match="not the saved state"):
        load_state(monitor, reader, path)
    assert not load_state(monitor, reader, tmp_path / "none.json")


@pytest.mark.system
def test_memory_does_not_grow():
    """Ids are remembered up to a number; all else has a fixed size."""
    reader = Reader(Keys(id="id"), ("A", "B"))
    monitor = Monitor(anytime_monitor(), ("A", "B"))
    for start in range(0, 3 * REMEMBERED_IDS, 50_000):
        numbers = range(start, start + 50_000)
        lines = [b'{"time": %d, "stakeholder": "A", "id": %d}' % (k, k) for k in numbers]
        monitor.take(reader.read(lines))
    assert len(reader.ids) == REMEMBERED_IDS
    state = monitor.stream.snapshot()
    assert sum(np.asarray(part).size for part in state[1]) == 3


def test_what_cannot_be_watched_is_refused():
    with pytest.raises(CannotStream):
        Monitor(anytime_monitor(Rawls(), over_time(GiniWelfare())), ("A", "B"))
    watched = {"names": ("A", "B"), "keys": Keys("s", "t")}
    monitor, reader = make_monitor(SchemeOptions(every="month"), **watched)
    with pytest.raises(BadParameter, match="plain numbers"):
        monitor.take(reader.read([b'{"s": "A", "t": 1}']))
    with pytest.raises(BadParameter, match="ask different questions"):
        make_monitor(SchemeOptions(every="month", at_end=True), **watched)


def test_moments():
    assert text_as_number("1970-01-02") == 86_400e6
    assert text_as_number("1970-01-01T02:00:00+02:00") == 0
    with pytest.raises(ValueError, match="not an ISO date"):
        text_as_number("soon")
    reader = Reader(Keys(), ("A",), strict=True)
    with pytest.raises(BadLog, match="line 1 cannot be taken: the time 'soon'"):
        reader.read([b'{"time": "soon", "stakeholder": "A"}'])


def test_one_event_at_a_time_finds_what_many_find():
    """EVENTS: 3 to A in January, 1 to B, none in February, 4 to B and 1 to A in March."""
    scheme, question = anytime_monitor(Rawls()), every("month")
    scheme = replace(scheme, filter=question.filter)
    one, many = (Monitor(scheme, ("A", "B"), question, max_unfairness=0.9) for _ in range(2))
    found = [one.push(when, who, amount) for when, who, amount in EVENTS]
    assert [[f.time for f in part] for part in found] == [[], [], ["2021-01", "2021-02"], []]
    january, february = found[2]
    assert january.unfair_to == {"B": -1.0}
    assert january.alert == ("B is 1 below the mean, more than 0.9",)
    assert january.alert_begins
    assert not february.alert_begins
    (march,) = one.finish()
    assert (march.number, march.time, march.welfare) == (3, "2021-03", 4)
    assert march.score == pytest.approx((1 + 1 + 4) / 3)
    batch = Batch.of([(text_as_number(t), "AB".index(w), a) for t, w, a in EVENTS], False)
    assert many.take(batch) + many.finish() == [january, february, march]
    assert one.summary() == many.summary()


@pytest.mark.parametrize(
    "times",
    [
        (datetime.date(2021, 1, 1), datetime.date(2021, 1, 2)),
        (datetime.datetime(2021, 1, 1), datetime.datetime(2021, 1, 2)),
        (np.datetime64("2021-01-01"), np.datetime64("2021-01-02", "us")),
        ("2021-01-01", "2021-01-02T00:00:00Z"),
    ],
)
def test_times_of_many_kinds_are_pushed(times):
    monitor = Monitor(anytime_monitor(Rawls()), ("A", "B"))
    assert monitor.push(times[0], "A", 2) == []
    (found,) = monitor.push(times[1], "B")
    assert (found.time, found.unfair_to) == ("2021-01-01", {"B": -1.0})
    assert [one.time for one in monitor.finish()] == ["2021-01-02"]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"names": "Ann"}, "`names` is 'Ann': it must be a list of names, such as ('Ann', 'Ben')."),
        ({"names": 3}, "`names` is 3: it must be a list of names, such as ('Ann', 'Ben')."),
        ({"names": ()}, "`names` is empty: name everyone who is to be watched."),
        ({"names": ("A", "B", "A")}, "`names` has 'A' twice: name everyone once."),
        ({"names": (1, "1")}, "`names` has '1' twice: name everyone once."),
        ({"newcomers": "zzz"}, "`newcomers` is 'zzz': it must be one of zero, mean, least."),
        (
            {"newcomers": "by-time"},
            "`newcomers` is 'by-time': it must be one of zero, mean, least.",
        ),
        ({"min_score": "x"}, "`min_score` is 'x': a limit must be a number."),
        ({"min_score": float("nan")}, "`min_score` is nan: a limit must be a number."),
        ({"scheme": Rawls()}, "scheme is Rawls(): it must be a FairnessScheme, such as anytime("),
        ({"roster": ["A"]}, "roster is ['A']: it must be a Roster, such as Roster(('A', 'B'))."),
    ],
)
def test_what_a_monitor_cannot_watch_is_a_sentence(given, sentence):
    with pytest.raises(BadParameter) as refused:
        Monitor(**{"scheme": anytime_monitor(Rawls()), "names": ("A", "B"), **given})
    assert str(refused.value).startswith(sentence)


def test_names_may_be_numbers_and_any_list():
    for names in ([1, 2], np.array([1, 2]), ("1", "2")):
        monitor = Monitor(anytime_monitor(Rawls()), names)
        assert monitor.names == ("1", "2")
        monitor.push(1, 1)
        assert monitor.finish()[0].unfair_to == {"2": -0.5}


def test_an_event_that_is_refused_leaves_nothing_behind():
    monitor = Monitor(anytime_monitor(Rawls()), ("North", "South"))
    monitor.push(1, "North", 2)
    for error, words, event in (
        (UnknownStakeholder, "did you mean 'South'", (2, "Suoth")),
        (BadParameter, "the time 'soon' is not an ISO date", ("soon", "North")),
        (BadParameter, "not a date, a timestamp or a number", (None, "North")),
        (BadParameter, "not a date, a timestamp or a number", (True, "North")),
        (BadParameter, "`amount` is nan", (2, "North", float("nan"))),
        (BadParameter, "^`amount` is 'x': it must be a finite number", (2, "North", "x")),
        (BadParameter, "^`amount` is None: it must be a finite number", (2, "North", None)),
        (BadParameter, "`time` is inf", (float("inf"), "North")),
        (UnknownStakeholder, "there is no stakeholder '7'", (2, 7)),
        (BadLog, "so far are plain numbers, and these are dates", ("2021-01-01", "North")),
    ):
        with pytest.raises(error, match=words):
            monitor.push(*event)
    (found,) = monitor.finish()
    assert found.unfair_to == {"South": -1.0}
    dated = Monitor(anytime_monitor(Rawls()), ("A",), every("month"))
    with pytest.raises(BadParameter, match="`every='month'` needs dates") as caught:
        dated.push(1, "A")
    assert "--" not in str(caught.value)


def days(*events):
    """A batch of (day of January, who, amount)."""
    rows = [(text_as_number(f"2021-01-{day:02}"), "AB".index(who), n) for day, who, n in events]
    return Batch.of(rows, False)


@pytest.mark.parametrize("watched", ["alone", "with an alarm", "by a roster"])
@pytest.mark.parametrize("question", [None, every("day")])
def test_a_batch_that_is_refused_and_corrected_counts_once(question, watched):
    """A takes back more than it had: log-Nash is undefined from the 3rd on, after two good days."""

    def monitor():
        scheme = anytime_monitor(LogNash())
        if question is not None:
            scheme = replace(scheme, filter=question.filter)
        names, more = ("A", "B"), {}
        if watched == "by a roster":
            more["roster"] = Roster(names, first={"B": np.datetime64("2021-01-02")})
            scheme = replace(scheme, status=WithCredit(of=scheme.status))
            more["newcomers"] = "mean"
        if watched == "with an alarm":
            more["alarms"] = Alarms(names, 0.05, OddsOverTime(names), None, False)
        return Monitor(scheme, names, question, max_unfairness=0.1, **more)

    refused, fresh = monitor(), monitor()
    good, rest = days((1, "A", 1)), [(2, "B", 2), (1, "A", 1), (4, "B", 1), (5, "A", 1)]
    for one in (refused, fresh):
        one.take(good)
    before = refused.snapshot()
    with pytest.raises(EvenhandError):
        refused.take(days(*rest[:2], (3, "A", -9), *rest[2:]))
    np.testing.assert_equal(refused.snapshot(), before)
    found = [one.take(days(*rest)) + one.finish() for one in (refused, fresh)]
    assert found[0] == found[1]
    assert refused.summary() == fresh.summary()
    np.testing.assert_equal(refused.snapshot(), fresh.snapshot())


def test_an_end_that_is_refused_can_be_asked_for_again():
    monitor = Monitor(anytime_monitor(LogNash()), ("A", "B"))
    monitor.push(1, "A", -3)
    before = monitor.snapshot()
    with pytest.raises(EvenhandError):
        monitor.finish()
    np.testing.assert_equal(monitor.snapshot(), before)
    monitor.push(1, "A", 3)
    (found,) = monitor.finish()
    assert found.score == 0.0  # ln 1 for each


def test_a_state_of_another_version_is_refused_in_a_sentence(tmp_path):
    """What evenhand 0.1.0 saved had other names in it."""
    path = tmp_path / "state.json"
    monitor, reader = Monitor(anytime_monitor(), ("A", "B")), Reader(Keys(), ("A", "B"))
    save_state(monitor, reader, path)
    saved = json.loads(path.read_text())
    assert not any(name.startswith("_") for name in saved["monitor"])
    assert not any(name.startswith("_") for name in saved["monitor"]["totals"])
    old = {"format": 1, "watches": saved["watches"], "tally": {}, "counts": {}, "ids": []}
    path.write_text(json.dumps(old))
    with pytest.raises(BadFile, match=r"saved by another version of evenhand .* start with a new"):
        load_state(monitor, reader, path)


def test_dates_go_on_as_dates(tmp_path):
    path = tmp_path / "state.json"
    first, second = (Monitor(anytime_monitor(Rawls()), ("A", "B")) for _ in range(2))
    first.push("2021-01-01", "A")
    save_state(first, Reader(Keys(), ("A", "B")), path)
    assert load_state(second, Reader(Keys(), ("A", "B")), path)
    (found,) = second.push("2021-01-02", "B")
    assert found.time == "2021-01-01"
    with pytest.raises(BadLog, match="so far are dates, and these are plain numbers"):
        second.push(3, "B")


def test_a_monitor_loads_no_reading_of_logs():
    """What a monitor needs of an audit is how to judge, not how to read tables."""
    code = (
        "import sys, evenhand.monitor\n"
        "for heavy in ('jax', 'duckdb', 'narwhals', 'pandas'):\n"
        "    assert heavy not in sys.modules, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


ODD_TIMES = [
    *("infinity", "20210-01-01", "0000-01-01", "9999-12-31T23:59:59-12:00"),
    *("0001-01-01T00:00:00+14:00", "2021-01-02 10:00 EST"),
]


@pytest.mark.parametrize("odd", ODD_TIMES)
def test_a_time_outside_the_calendar_is_a_bad_line(odd):
    reader = Reader(Keys(), "AB")
    text = lines_of([("2021-01-01", "A"), (odd, "B"), ("2021-01-02", "B")], ("time", "stakeholder"))
    assert len(reader.read(text.encode().splitlines()).at) == 2
    assert reader.counts.first_bad == [
        f"line 2 was left out: the time {odd!r} is not an ISO date or timestamp."
    ]


@pytest.mark.parametrize("literal", ["1e400", "Infinity", "NaN", "9" * 400])
def test_a_number_that_is_none_is_a_bad_line(literal):
    reader = Reader(Keys(), "AB")
    lines = [b'{"stakeholder":"A","time":1}', f'{{"stakeholder":"A","time":{literal}}}'.encode()]
    assert np.isfinite(reader.read(lines).at).all()
    assert reader.counts.bad == 1


def test_one_date_far_away_is_not_followed_by_all_days_until_then():
    """With whole days watched, the event is left out and counted; from Python it is refused."""
    monitor, reader = make_monitor(SchemeOptions(every="day"), names=("A", "B"))
    times = ["2021-01-01", "9999-12-31", "2021-01-02", "2021-01-03"]
    lines = lines_of([(at, "A") for at in times], ("time", "stakeholder"))
    assert len(monitor.take(reader.read(lines.encode().splitlines()))) == 2
    assert "'9999-12-31' is more than 100,000 days after the latest" in reader.counts.first_bad[0]
    with pytest.raises(BadLog, match=r"in 9999-12-31 comes 2,914,266 days after .* in 2021-01-03"):
        monitor.push("9999-12-31", "B")
    far = [text_as_number(f"9999-12-{day}") for day in (29, 30)]
    with pytest.raises(BadLog, match="in 9999-12-29 comes"):
        monitor.take(Batch.of([(at, 0, 1.0) for at in far], False))
    assert len(monitor.push("2021-01-04", "B")) == 1  # and it goes on from where it was


def test_one_date_far_away_does_not_end_a_monitor_that_went_on(tmp_path):
    path = tmp_path / "state.json"
    for times, bad in ((["2021-01-01"], 0), (["9999-12-31", "2021-01-02"], 1)):
        monitor, reader = make_monitor(SchemeOptions(every="day"), names=("A", "B"))
        load_state(monitor, reader, path)
        lines = lines_of([(at, "A") for at in times], ("time", "stakeholder"))
        found = monitor.take(reader.read(lines.encode().splitlines()))
        save_state(monitor, reader, path)
        assert (len(found), reader.counts.bad) == (bad, bad)


@pytest.mark.parametrize(("odd", "taken"), [("", 2), ("T00:00:00.05", 1)])
def test_a_leap_of_just_so_many_days_is_taken(odd, taken):
    """2294-10-17 is 100,000 days after 2021-01-01."""
    _, reader = make_monitor(SchemeOptions(every="day"), names=("A", "B"))
    lines = lines_of([("2021-01-01", "A"), (f"2294-10-17{odd}", "B")], ("time", "stakeholder"))
    assert len(reader.read(lines.encode().splitlines()).at) == taken


def test_far_away_is_measured_in_the_periods_that_are_watched():
    _, reader = make_monitor(SchemeOptions(every="year"), names=("A", "B"))
    lines = lines_of([("0001-01-01", "A"), ("9999-12-31", "B")], ("time", "stakeholder"))
    assert len(reader.read(lines.encode().splitlines()).at) == 2


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (np.datetime64("NaT"), "the time NaT is not a date within the years 1 to 9999"),
        (np.datetime64(10**18, "D"), "is not a date within the years 1 to 9999"),
        (10**400, "the time a number of 401 digits is too large"),
    ],
)
def test_a_time_from_python_that_is_none_is_refused(time, words):
    """NumPy's NaT was a moment long before any calendar, to which nothing else is late."""
    monitor = Monitor(anytime_monitor(Rawls()), ("A", "B"))
    with pytest.raises(BadParameter, match=words):
        monitor.push(time, "A")
    assert not monitor.begun


def test_one_key_has_one_role():
    assert Keys(id="time")
    with pytest.raises(BadParameter, match="`stakeholder` and `amount` both name the key 'who'"):
        Keys(stakeholder="who", amount="who")


def test_an_end_is_judged_once_until_something_happens():
    """Killed after its last save, a monitor that is told again that all is over adds nothing."""
    monitor = Monitor(anytime_monitor(), ("A", "B"))
    monitor.push(1, "A")
    assert len(monitor.finish()) == 1
    other = Monitor(anytime_monitor(), ("A", "B"))
    other.resume(monitor.snapshot())
    assert other.finish() == []
    assert other.summary() == monitor.summary()
    assert other.push(2, "B") == []
    assert len(other.finish()) == 1


def test_what_was_judged_at_the_end_is_not_judged_again():
    monitor = Monitor(anytime_monitor(Rawls()), ("A", "B"))
    monitor.push(1, "A", 2)
    assert [one.time for one in monitor.finish()] == ["1"]
    assert [one.time for one in monitor.push(3, "B", 2)] == []
    found = monitor.push(4, "B") + monitor.finish()
    assert [(one.number, one.time, one.welfare) for one in found] == [(2, "3", 2.0), (3, "4", 2.0)]
    late = monitor.push(4, "A") + monitor.finish()  # there is no other time at which it can count
    assert [(one.number, one.time, one.welfare) for one in late] == [(4, "4", 3.0)]


@pytest.mark.parametrize(
    ("day", "at_end", "later"),
    [
        ("2021-01-31", ["2021-01"], ["2021-02", "2021-03"]),
        ("2021-01-30", [], ["2021-01", "2021-02", "2021-03"]),  # January was not over
    ],
)
def test_periods_go_on_after_one_that_was_judged_at_the_end(day, at_end, later):
    question = every("month")
    scheme = replace(anytime_monitor(Rawls()), filter=question.filter)
    monitor = Monitor(scheme, ("A", "B"), question)
    monitor.push(day, "A")
    assert [one.time for one in monitor.finish()] == at_end
    found = monitor.push("2021-04-02", "B")
    assert [one.time for one in found] == later
    assert [one.welfare for one in found] == [0.0] * len(later)
    assert [one.unfair_to for one in found] == [{"B": -0.5}] * len(later)


@pytest.mark.parametrize("cut", range(5))
def test_newcomers_begin_at_the_mean_before_anything_is_given_at_their_time(cut):
    """B joins at 3, when A has 2; C at 5, when A has 6 and B has 2 + 1 (mean 4.5)."""
    roster = Roster(("A", "B", "C"), first={"B": 3, "C": 5})
    scheme = anytime_monitor(Rawls(), status=WithCredit())
    monitor = Monitor(scheme, ("A", "B", "C"), roster=roster, newcomers="mean")
    events = [(1, 0, 2.0), (3, 0, 4.0), (3, 1, 1.0), (5, 2, 1.0)]
    found = monitor.take(Batch.of(events[:cut], True)) + monitor.take(Batch.of(events[cut:], True))
    found += monitor.finish()
    assert monitor.credit.tolist() == [0.0, 2.0, 4.5]
    assert [one.welfare for one in found] == [2.0, 3.0, 3.0]


def test_nobody_can_be_given_a_beginning_where_more_counts_than_the_sum():
    people = pd.DataFrame({"name": ["A", "B"], "from": [None, 3]})
    scheme = anytime_monitor(Rawls(), status=Window(2))
    monitor, _ = make_monitor(SchemeOptions(scheme=scheme), roster=people)
    assert monitor.newcomers == "zero"
    assert monitor.stream.scheme.status == Window(2)
    summed, _ = make_monitor(SchemeOptions(scheme=anytime_monitor(Rawls())), roster=people)
    assert summed.newcomers == "mean"


def test_totals_that_no_number_can_hold_are_refused_whatever_the_welfare():
    """The least has little, so that the welfare of Rawls is still a number."""
    watch = Monitor(anytime_monitor(Rawls()), ["A", "B"])
    watch.push(1, "A", 1e308)
    watch.push(2, "B", 1.0)
    watch.push(3, "A", 1e308)
    with pytest.raises(WelfareOverflow, match="the amounts are too large: at time 3"):
        watch.finish()


def of_two(welfare=LogNash(), names=("A", "B"), **more):
    return Monitor(anytime_monitor(welfare), names, **more)


def test_a_snapshot_stays_as_it_is():
    """While its monitor goes on, and while others go on from it."""
    monitor = of_two(max_unfairness=1)
    monitor.push(1, "A", 3)
    monitor.push(2, "B")
    kept = monitor.snapshot()
    found = []
    for amount in (5, 9, 0.5):
        monitor.push(2, "A", amount)
        monitor.push(3 + amount, "B", amount)
        other = of_two(max_unfairness=1)
        other.resume(kept)
        other.push(3, "A")
        other.finish()
        found.append(other.summary())
    assert found[0] == found[1] == found[2]
    # After 1 A is ahead by 3 / 2, after 2 by 1 and after 3 by 3 / 2.
    assert found[0]["stakeholders"][0]["overall_unfairness"] == 4.0


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (lambda: of_two(Rawls()), "watched something else"),
        (lambda: of_two(names=("A", "C")), "watched something else"),
        (lambda: of_two(names=("A", "B", "C")), "watched something else"),
    ],
)
def test_a_snapshot_of_something_else_is_refused(other, words):
    monitor = of_two()
    monitor.push(1, "A", 3)
    with pytest.raises(BadParameter, match=words):
        other().resume(monitor.snapshot())
    for nothing in ({}, None, 3):
        with pytest.raises(BadParameter, match="must be what the `snapshot` of a monitor gave"):
            other().resume(nothing)


def test_a_question_is_not_its_name():
    with pytest.raises(BadParameter, match="question is 'month': it must be a Question"):
        of_two(question="month")
