"""A log is read once, and everything that is asked of it is of what was read then."""

from __future__ import annotations

import dataclasses
import functools
import json
import sqlite3

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand
from chance_cases import KINDS, SIZES, STAYS, log_of, small_log
from command_line import evenhand as shell
from evenhand import Log
from evenhand.auditing import compare, compare_periods
from evenhand.decide.world_from_log import world_of_log
from evenhand.errors import BadLog, BadParameter, BadRoster, UnknownArgument
from evenhand.events import Ask, Entitle, Give, Join, Leave, Pause, Resume, Undo
from evenhand.log import files
from evenhand.log.files import LogTable
from evenhand.log.options import READING, AuditOptions
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, SIDE_BY_SIDE, write

NAMED = {"stakeholder": "who", "time": "day", "amount": "got"}


def parted(options):
    """Options of reading, and all others."""
    reading = {name: value for name, value in options.items() if name in READING}
    return reading, {name: value for name, value in options.items() if name not in READING}


def plainly(answer):
    """All of an answer but where the log came from."""
    found = answer.to_json()
    return json.dumps({name: value for name, value in found.items() if name != "origin"})


# Reading once


@pytest.fixture
def looks(monkeypatch):
    """How often a log was opened, and how often its rows were read: the calls, as they happen."""
    found = {"opened": [], "read": []}
    opened, load = files._opened, LogTable.load

    def open_and_count(source, *how):
        found["opened"].append(source)
        return opened(source, *how)

    def load_and_count(self, *what, **more):
        found["read"].append(self.label)
        return load(self, *what, **more)

    monkeypatch.setattr(files, "_opened", open_and_count)
    monkeypatch.setattr(LogTable, "load", load_and_count)
    return found


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "log.csv", FIRST_A_THEN_B)


COMMANDS = {
    "audit": ("audit",),
    "best": ("audit", "--best"),
    "lots": ("audit", "--best", "--lots"),
    "reach": ("audit", "--best", "--welfare", "rawls", "--reach", "16000"),
    "worst": ("audit", "--best", "--raise-worst-to", "30000"),
    "periods": ("audit", "--before", "2021-03-01"),
    "replay": ("replay",),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_reads_its_log_once(name, path, looks):
    verb, *others = COMMANDS[name]
    assert shell(verb, path, *OPTIONS, *others).returncode == 0
    assert looks == {"opened": [path], "read": [path]}


def test_of_two_logs_each_is_read_once(path, tmp_path, looks):
    other = write(tmp_path / "other.csv", SIDE_BY_SIDE)
    assert shell("audit", path, other, *OPTIONS).returncode == 0
    assert looks == {"opened": [path, other], "read": [path, other]}


CALLS = {
    "audit": evenhand.audit,
    "best": evenhand.best_there_was,
    "change": functools.partial(evenhand.smallest_change, raise_worst_to=30_000),
    "replay": evenhand.replay,
    "periods": functools.partial(compare_periods, before="2021-03-01"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_reads_its_log_once_and_a_log_no_more(name, path, looks):
    CALLS[name](path, **MAPPED)
    assert looks == {"opened": [path], "read": [path]}
    log = Log.read(path, **MAPPED)
    CALLS[name](log)
    assert looks == {"opened": [path] * 2, "read": [path] * 2}


def test_suppressed_amounts_are_filled_in_from_one_reading(tmp_path, looks):
    rows = [*FIRST_A_THEN_B, ("2021-05-31", "A", "*")]
    path = write(tmp_path / "log.csv", rows)
    answer = evenhand.audit(path, **MAPPED, missing="*=1-4", chance=False)
    assert answer.suppressed["with_lowest"] is not None
    assert looks == {"opened": [path], "read": [path]}


def test_runs_are_read_from_one_table(tmp_path, looks):
    rows = [(*row, run) for run in ("one", "two") for row in SIDE_BY_SIDE]
    path = write(tmp_path / "log.csv", rows, ("date", "country", "doses", "run"))
    log = Log.read(path, **MAPPED, run="run")
    assert looks["opened"] == [path]
    assert repr(log).endswith("; the first of 2 runs>")
    assert plainly(log.audit()) == plainly(evenhand.audit(path, **MAPPED, run="run"))


def counting_rows(path):
    """As many rows more as a database has, which change all that is found."""
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO log SELECT date, 'B', doses * 3 FROM log")
    connection.close()


@pytest.mark.parametrize("verb", [("audit", "--best", "--raise-worst-to", "30000"), ("replay",)])
def test_of_a_database_that_changes_all_is_of_one_state(verb, tmp_path, monkeypatch):
    pytest.importorskip("ibis")
    address = f"sqlite:///{tmp_path / 'log.db'}"
    with sqlite3.connect(tmp_path / "log.db") as connection:
        connection.execute("PRAGMA journal_mode = WAL")  # in which others write while we read
        connection.execute("CREATE TABLE log (date TEXT, country TEXT, doses REAL)")
        connection.executemany("INSERT INTO log VALUES (?, ?, ?)", FIRST_A_THEN_B)
    connection.close()
    command = [verb[0], address, "--table", "log", *OPTIONS, *verb[1:], "--json"]
    still = shell(*command)
    from evenhand.log import counting

    scan, changes = counting.checks.scan_cells, []

    def scan_and_change(*what):
        counting_rows(tmp_path / "log.db")
        changes.append(1)
        return scan(*what)

    monkeypatch.setattr(counting.checks, "scan_cells", scan_and_change)
    found = shell(*command)
    assert (still.returncode, found.returncode, changes) == (0, 0, [1])

    def without_file(text):
        told = json.loads(text)
        told.get("origin", {}).pop("files", None)  # which are known by their bytes at the end
        told.get("origin", {}).pop("command", None)
        return told

    assert without_file(found.stdout) == without_file(still.stdout)
    assert without_file(shell(*command).stdout) != without_file(still.stdout)


# Judging what was read


@pytest.mark.parametrize("kind", KINDS)
def test_a_log_that_was_read_is_judged_as_the_table_is(kind):
    table, options = log_of(kind), {**NAMED, **KINDS[kind], "draws": 39}
    if "alarm" in options:
        options.pop("draws")
    reading, judging = parted(options)
    log = Log.read(table, **reading)
    assert plainly(log.audit(**judging)) == plainly(evenhand.audit(table, **options))


WHOLE = {"day": [1, 1, 2, 2, 4], "who": list("ABABB"), "got": [2.0, 1, 3, 4, 6]}
READ_OTHERWISE = {
    "cumulative": ({**WHOLE, "got": [2.0, 1, 3, 4, 6]}, {"cumulative": True}, {}),
    "stock": (WHOLE, {"stock": True}, {"every": 2}),
    "rates": ({**WHOLE, "of": [4, 4, 4, 8, 8]}, {"out_of": "of"}, {"within_period": True}),
    "hidden": ({**WHOLE, "got": ["2", "*", "3", "4", "c"]}, {"missing": "*=1-4"}, {"until": 2}),
    "hidden from": ({**WHOLE, "got": ["*", "*", "3", "4", "c"]}, {}, {"since": 2}),
    "sized": ({**WHOLE, "size": [1, 2, 3, 2, 2]}, {"entitlement": "size"}, {"until": 2}),
    "asked": ({**WHOLE, "asks": [3, 3, 3, 3, 6]}, {"asked": "asks"}, {"since": 2}),
}


@pytest.mark.parametrize("kind", READ_OTHERWISE)
def test_a_log_of_any_kind_is_judged_as_the_table_is(kind):
    table, reading, judging = READ_OTHERWISE[kind]
    table, reading = pd.DataFrame(table), {**NAMED, **reading}
    log = Log.read(table, **reading)
    for asked in ({}, judging):
        expected = evenhand.audit(table, **reading, **asked, chance=False)
        assert plainly(log.audit(**asked, chance=False)) == plainly(expected)


@pytest.mark.parametrize("kind", ["plain", "sizes", "stays", "shortfall"])
def test_windows_of_a_log_are_those_of_the_table(kind):
    table, options = log_of(kind), {**NAMED, **KINDS[kind], "chance": False}
    reading, judging = parted(options)
    log = Log.read(table, **reading)
    for window in ({"since": 5}, {"until": 15}, {"since": 4, "until": 17}):
        expected = plainly(evenhand.audit(table, **options, **window))
        assert plainly(log.audit(**judging, **window)) == expected
        assert plainly(Log.read(table, **reading, **window).audit(**judging)) == expected


def test_what_looks_back_or_anew_takes_a_log():
    table = log_of("stays")[::3]  # small enough for whole lots
    reading = {**NAMED, "roster": STAYS, "entitlement": SIZES}
    log = Log.read(table, **reading)
    assert log.best(every=4) == evenhand.best_there_was(table, **reading, every=4)
    assert log.best(lots=True) == evenhand.best_there_was(table, **reading, lots=True)
    assert evenhand.smallest_change(log, raise_worst_to=1) == evenhand.smallest_change(
        table, raise_worst_to=1, **reading
    )
    found = log.replay("least_served", since=8)
    assert (
        found.to_json()
        == evenhand.replay(table, rules="least_served", since=8, **reading).to_json()
    )
    assert log.chance(draws=39).p == evenhand.audit(table, **reading, draws=39).chance.p
    world = log.world(block=2, until=15)
    assert (
        world.describe()
        == world_of_log(table, AuditOptions(**reading, until=15), block=2).describe()
    )


def test_two_logs_and_two_periods_of_one(path, tmp_path):
    other = write(tmp_path / "other.csv", SIDE_BY_SIDE)
    logs = [Log.read(one, **MAPPED) for one in (path, other)]
    expected = compare(path, other, **MAPPED, chance=False).to_json()
    expected["logs"][0].pop("origin"), expected["logs"][1].pop("origin")
    for both in (logs, (path, logs[1]), (logs[0], other)):
        named = {} if both is logs else MAPPED
        found = compare(*both, **named, chance=False).to_json()
        found["logs"][0].pop("origin"), found["logs"][1].pop("origin")
        assert found == expected
    periods = compare_periods(path, **MAPPED, before="2021-03-01", chance=False)
    assert compare_periods(logs[0], before="2021-03-01", chance=False).verdict == periods.verdict


def test_two_logs_may_have_columns_of_their_own(path, tmp_path):
    other = write(tmp_path / "other.csv", FIRST_A_THEN_B, ("day", "to", "given"))
    one = Log.read(path, **MAPPED)
    two = Log.read(other, stakeholder="to", time="day", amount="given")
    assert compare(one, two).questions[0].fairer is None


def test_when_is_said_at_reading_and_another_time_stands_in_for_it():
    table = small_log().assign(kind=lambda log: np.where(log["day"] % 5 == 0, "look", "other"))
    log = Log.read(table, **NAMED, when="kind = 'look'")
    marked = evenhand.audit(table, **NAMED, when="kind = 'look'", chance=False)
    assert plainly(log.audit(chance=False)) == plainly(marked)
    assert log.audit(at_end=True, chance=False).score == pytest.approx(
        evenhand.audit(table, **NAMED, at_end=True, chance=False).score
    )


def test_waits_are_read_once_and_judged_in_every_way():
    table = pd.DataFrame(
        {"who": list("ABAB"), "from": [1, 2, 3, 4], "to": [4, 3, np.nan, 9], "n": 1}
    )
    reading = {"stakeholder": "who", "wait_from": "from", "wait_to": "to"}
    log = Log.read(table, **reading)
    for asked in ({}, {"within": 2}, {"longest_open": True}, {"since": 2}):
        expected = evenhand.audit(table, **reading, **asked, chance=False)
        assert plainly(log.audit(**asked, chance=False)) == plainly(expected)


def test_how_a_log_is_read_is_not_said_twice(path):
    log = Log.read(path, **MAPPED)
    with pytest.raises(BadParameter, match=r"`roster` says how a log is read.* to Log\.read"):
        log.audit(roster=["A", "B"])
    with pytest.raises(BadParameter, match="names groups that were not read"):
        log.audit(by="country")
    with pytest.raises(UnknownArgument, match="audit has no argument 'evry': did you mean 'every'"):
        log.audit(evry="month")
    with pytest.raises(UnknownArgument, match=r"Log\.read has no argument 'amuont'"):
        Log.read(path, amuont="doses")
    with pytest.raises(UnknownArgument, match=r"Log\.world has no argument 'horizn'"):
        log.world(horizn=3)


def test_a_log_cannot_be_changed(path):
    log = Log.read(path, **MAPPED)
    with pytest.raises(dataclasses.FrozenInstanceError):
        log.options = None
    before = log.notes
    log.audit(every="month")
    assert log.notes == before


def test_a_log_says_who_when_and_how_much(tmp_path):
    path = write(tmp_path / "<b>.csv", FIRST_A_THEN_B)
    log = Log.read(path, **MAPPED)
    words = (
        "80,000 doses to 2 stakeholders (A and B) at 4 time points from 2021-01-31 to 2021-04-30"
    )
    assert repr(log) == f"<Log of {path}: {words}>"
    page = log._repr_html_()
    assert f"&lt;b&gt;.csv</strong>: {words}</p>" in page
    assert "No roster was given" in page
    assert (log.names, log.label) == (("A", "B"), path)


def test_a_frame_of_a_log_is_read_as_the_log_again(path):
    log = Log.read(path, **MAPPED)
    again = Log.read(log.to_frame("pandas"), **MAPPED)
    assert again.audit(chance=False).score == log.audit(chance=False).score
    assert list(log.to_frame("pandas")["doses"]) == [20_000.0] * 4


# Events and back


@st.composite
def logs(draw):
    """Small logs: who was there, entitled to how much and had asked, and who received what."""
    size, days = draw(st.integers(2, 4)), 6
    names = list("ABCD")[:size]
    stays = (
        {name: (draw(st.integers(0, 2)), draw(st.integers(3, days))) for name in names}
        if draw(st.booleans())
        else None
    )
    rows = []
    for day in range(days + 1):
        there = [n for n in names if stays is None or stays[n][0] <= day <= stays[n][1]]
        for who in draw(st.lists(st.sampled_from(there), max_size=3)) if there else []:
            rows.append((day, who, draw(st.sampled_from([1.0, 1.0, 2.0, 3.5]))))
    rows = rows or [(3, names[0], 1.0)]
    reading = dict(NAMED)
    if stays is not None:
        table = [(name, *stays[name]) for name in names]
        reading["roster"] = pd.DataFrame(table, columns=["who", "from", "until"])
    elif draw(st.booleans()):
        reading["roster"] = names
    asks = draw(st.sampled_from(["nothing", "sizes", "requests"]))
    if asks == "sizes":
        reading["entitlement"] = {name: 1.0 + k for k, name in enumerate(names)}
        reading.setdefault("roster", names)  # as one alone is entitled as all are
    elif asks == "requests":
        wants = [(0, name, 30.0) for name in names]
        reading["requests"] = pd.DataFrame(wants, columns=["day", "who", "wants"])
        reading["asked"] = "wants"
    table = pd.DataFrame(rows, columns=["day", "who", "got"])
    if draw(st.booleans()):
        begin = pd.Timestamp("2021-01-01")

        def shifted(frame):
            named = [name for name in ("day", "from", "until") if name in frame]
            return frame.assign(
                **{name: begin + pd.to_timedelta(frame[name], unit="D") for name in named}
            )

        table = shifted(table)
        for name in ("roster", "requests"):
            if isinstance(reading.get(name), pd.DataFrame):
                reading[name] = shifted(reading[name])
    return Log.read(table, **reading)


def found_of(log, **options):
    """What is found, but for names of columns and where it came from."""
    answer = log.audit(**options)
    people = {one.name: dataclasses.asdict(one) for one in answer.by_stakeholder}
    chance = answer.chance
    return {
        "score": answer.score,
        "people": people,
        "verdict": answer.verdict,
        "times": answer.over_time.times,
        "unfairness": answer.over_time.unfairness.tolist(),
        "p": getattr(chance, "p", None),
    }


@settings(max_examples=40, deadline=None)
@given(logs())
def test_the_events_of_a_log_are_the_log(log):
    again = Log.from_events(log.events(), **NAMED)
    found, expected = (found_of(one) for one in (again, log))
    np.testing.assert_allclose(
        np.array(found.pop("unfairness"), float), np.array(expected.pop("unfairness"), float)
    )
    assert found.pop("score") == pytest.approx(expected.pop("score"))
    for name, person in found.pop("people").items():
        assert person == pytest.approx(expected["people"][name], nan_ok=True)
    expected.pop("people")
    assert found == expected
    assert Log.from_events(again.events()).events() == again.events()


def test_what_changes_over_time_is_told_by_events():
    """A is entitled to 1 and from day 3 on to 3; B to 1: told, and judged as the column is."""
    table = pd.DataFrame(
        {"day": [1, 1, 3, 3], "who": list("ABAB"), "got": [1.0, 1, 5, 1], "size": [1, 1, 3, 1]}
    )
    log = Log.read(table, **NAMED, entitlement="size", roster=["A", "B"])
    told = log.events()
    assert told[:2] == [Join("A"), Join("B")]
    assert Entitle("A", 3.0, 3.0) in told
    assert Log.from_events(told).audit(chance=False).score == log.audit(chance=False).score


def test_events_say_who_was_there_and_what_was_undone():
    """Ann has 2 of 2 on day 1, Bob joins on day 2 and has 3 of 5 then; Cy was undone."""
    told = [
        Join("Ann", at=1), Give("Ann", at=1, amount=2), Join("Bob", at=2), Pause("Ann", at=2),
        Give("Bob", at=2, amount=3), Give("Bob", at=2, amount=9), Resume("Ann", at=3),
        Undo(6), Leave("Ann", at=3), Give("Bob", at=4, amount=1),
    ]  # fmt: skip
    log = Log.from_events(told, label="the desk")
    assert repr(log).startswith("<Log of the desk: 6 to 2 stakeholders (Ann and Bob) at 3 time")
    answer = log.audit(welfare="utilitarian", newcomers="zero", chance=False)
    # Statuses on days 1, 2 and 4 are 2; 2 and 3; 4 (Bob alone).
    assert answer.score == pytest.approx((2 + 5 + 4) / 3)
    assert answer.label == "the desk"


def test_requests_are_judged_where_anybody_asks():
    """Ann gets 1 of the 2 she asked for; what Bob got unasked counts as asked for."""
    told = [Join("Ann"), Join("Bob"), Ask("Ann", at=1, amount=2), Give("Ann", at=1), Give("Bob", 1)]
    answer = Log.from_events(told).audit(welfare="rawls", chance=False)
    assert answer.score == 0.5
    assert Log.from_events(told, by_request=False).audit(welfare="rawls", chance=False).score == 1.0


def test_times_of_events_are_dates_or_numbers():
    log = Log.from_events([Give("A", at="2021-01-04"), Give("B", at="2021-02-03T10:00+01:00")])
    assert log.audit(every="month", until="2021-02-28", chance=False).over_time.times == (
        "2021-01",
        "2021-02",
    )
    with pytest.raises(BadParameter, match="some events have dates as their times, and one has 3"):
        Log.from_events([Give("A", at="2021-01-04"), Give("B", at=3)])
    with pytest.raises(BadParameter, match="it must be a date such as 2021-03-31"):
        Log.from_events([Give("A", at="soon")])


@pytest.mark.parametrize(
    ("told", "error", "words"),
    [
        ([], BadLog, "the events have no rows to judge: nothing is given"),
        ([Join("A")], BadLog, "nothing is given"),
        ([Give("A")], BadParameter, "a give event of 'A' says no time"),
        ([Join("A"), Join("A"), Give("A", 1)], BadParameter, "let 'A' join twice"),
        ([Leave("A", 1), Give("A", 1)], BadParameter, "let 'A' leave, who has not joined"),
        ([Give("A", 1), Undo(2)], BadParameter, "event 2 is undone, and is none that gives"),
        ([Join("A"), Give("B", 1)], BadRoster, "in the log and not on the roster"),
    ],
)
def test_events_that_cannot_be_are_refused(told, error, words):
    with pytest.raises(error, match=words):
        Log.from_events(told)


def test_what_no_event_tells_is_refused():
    table = small_log()
    with pytest.raises(BadParameter, match="amounts below 0"):
        Log.read(table, **NAMED).events()
    with pytest.raises(BadParameter, match="a log with `stock` does not"):
        Log.read(
            small_log(correction=False).drop_duplicates(["day", "who"]), **NAMED, stock=True
        ).events()
