"""Tests of auditing.answer."""

from __future__ import annotations

import html
import json
import math
import random

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from evenhand import audit as audit_gap_parts
from evenhand.auditing import answer, audit, compare
from evenhand.auditing.answer import GapParts
from evenhand.auditing.questions import PERIODS
from evenhand.cli.app import app
from evenhand.decide.hindsight.best_of_log import with_best
from evenhand.errors import BadLog, BadParameter, MissingExtra, UnknownStakeholder
from evenhand.log.options import AuditOptions
from evenhand.report import report
from logs import MAPPED, OPTIONS, SIDE_BY_SIDE, write

# Calendars, rosters, groups, entitlements and thresholds, worked out by hand.

DAYS = [("2021-01-15", "A", 4), ("2021-01-20", "B", 2), ("2021-04-30", "B", 6)]


def frame(rows, columns=("date", "country", "doses")):
    return pd.DataFrame(rows, columns=list(columns))


def test_empty_periods_are_assessed_and_named():
    answer = audit(frame(DAYS), **MAPPED, every="month", welfare="rawls")
    assert answer.over_time.times == ("2021-01", "2021-02", "2021-03", "2021-04")
    assert answer.over_time.welfare.tolist() == [2, 2, 2, 4]
    assert answer.score == 2.5
    assert answer.gaps == ("2021-02", "2021-03")
    assert "Nothing happened in 2021-02 and 2021-03: assessed all the same." in answer.notes


def test_an_unfinished_period_is_shown_and_not_scored():
    rows = [*DAYS, ("2021-05-30", "A", 100)]
    answer = audit(frame(rows), **MAPPED, every="month", welfare="rawls")
    assert answer.score == 2.5
    assert answer.overall.unfinished == "2021-05"
    last = answer.over_time.unfinished
    assert (last.time, last.welfare, last.unfairness.tolist()) == ("2021-05", 8, [48, -48])
    assert answer.stakeholder("A").final == 104  # the end of the log
    assert answer.stakeholder("A").last_unfairness == -2  # the last assessment
    until = audit(frame(rows), **MAPPED, every="month", welfare="rawls", until="2021-05-31")
    assert until.overall.unfinished is None
    assert until.score == (2 + 2 + 2 + 4 + 8) / 5
    assert audit(frame(rows), **MAPPED, every="month", until="2021-06-15").over_time.times[-1] == (
        "2021-05"
    )


def test_in_an_unfinished_period_whoever_has_left_is_not_judged():
    """B was 1 below the mean when it left, in February; in May nobody is below it."""
    roster = pd.DataFrame({"country": ["A", "B"], "until": [None, "2021-02-28"]})
    rows = [*DAYS[:2], ("2021-05-10", "A", 1)]
    answer = audit(frame(rows), **MAPPED, every="month", roster=roster, max_unfairness=1)
    assert answer.stakeholder("B").final_unfairness == -1
    last = answer.over_time.unfinished
    assert (last.time, last.unfairness[0]) == ("2021-05", 0)
    assert math.isnan(last.unfairness[1])
    assert answer.to_json()["over_time"]["unfinished"]["unfairness"] == {"A": 0, "B": None}
    lower = audit(frame(rows), **MAPPED, every="month", roster=roster, max_unfairness=0.5)
    assert not lower.limits[0].unfinished  # what is broken was broken in January


def test_until_cuts_the_log_and_counts_what_it_cut():
    answer = audit(frame(DAYS), **MAPPED, until="2021-02-28", every="month")
    assert answer.over_time.times == ("2021-01", "2021-02")
    assert any("1 time point after `until`" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("name", "day", "label", "last"),
    [
        ("day", "2020-02-29", "2020-02-29", "2020-02-29"),
        ("week", "2021-01-03", "2020-W53", "2021-01-03"),
        ("week", "2021-01-04", "2021-W01", "2021-01-10"),
        ("week", "1969-12-29", "1970-W01", "1970-01-04"),
        ("month", "2020-02-01", "2020-02", "2020-02-29"),
        ("quarter", "2021-11-30", "2021-Q4", "2021-12-31"),
        ("year", "1968-06-01", "1968", "1968-12-31"),
    ],
)
def test_calendar(name, day, label, last):
    period = PERIODS[name]
    number = period.number(np.array([day], dtype="M8[D]"))
    assert period.label(int(number[0])) == label
    assert str(period.last_day(number)[0]) == last
    assert period.first_day(number)[0] <= np.datetime64(day) <= period.last_day(number)[0]


def test_a_roster_brings_in_those_who_got_nothing(tmp_path):
    roster = write(tmp_path / "roster.csv", [("A",), ("B",), ("C",)], ("country",))
    answer = audit(frame(DAYS), **MAPPED, at_end=True, roster=roster)
    assert answer.stakeholder("C").final == 0
    assert answer.stakeholder("C").final_unfairness == -4
    assert not any("No roster" in note for note in answer.notes)
    assert audit(frame(DAYS), **MAPPED, at_end=True, roster=["A", "B", "C"]).score == answer.score


def test_whoever_comes_and_goes_is_judged_while_there(tmp_path):
    rows = [("A", None, "2021-02-28"), ("B", None, None), ("C", "2021-03-10", None)]
    roster = write(tmp_path / "roster.csv", rows, ("country", "from", "until"))
    events = [*DAYS, ("2021-01-31", "C", 50), ("2021-03-31", "C", 1)]
    asked = {**MAPPED, "every": "month", "welfare": "average", "newcomers": "zero"}
    answer = audit(frame(events), **asked, roster=roster)
    # January and February: A 4, B 2. March: B 2, C 1. April: B 8, C 1.
    assert answer.over_time.welfare.tolist() == [3, 3, 1.5, 4.5]
    a, b, c = (answer.stakeholder(name) for name in "ABC")
    assert (a.assessments, a.overall_unfairness, a.final_unfairness) == (2, 2, 1)
    assert (c.assessments, c.overall_unfairness, c.final) == (2, -0.5 - 3.5, 1)
    assert b.overall_unfairness == -1 - 1 + 0.5 + 3.5
    assert any("before coming or after leaving" in note and "50" in note for note in answer.notes)
    assert math.isnan(answer.over_time.unfairness[0, 2])
    found = answer.to_json()["over_time"]["unfairness"]["C"]
    assert found == [None, None, -0.5, -3.5]


def test_groups_are_added_up_and_judged():
    rows = [(1, "a1", 1, "A"), (1, "a2", 2, "A"), (2, "b1", 9, "B")]
    table = frame(rows, ("date", "country", "doses", "side"))
    answer = audit(table, **MAPPED, group="side", by="group", welfare="parity", at_end=True)
    assert {one.name: one.final for one in answer.by_stakeholder} == {"A": 3, "B": 9}
    assert answer.score == -6
    people = {"a1": 1.0, "a2": 2.0, "b1": 9.0}
    even = audit(table, **MAPPED, by="side", entitlement=people, welfare="parity", at_end=True)
    assert {one.name: one.final for one in even.by_stakeholder} == {"A": 1, "B": 1}
    plain = audit(table, **MAPPED, group="side")
    assert plain.stakeholder("a2").group == "A"


def test_entitlement_as_a_column_counts_as_of_each_moment():
    rows = [(1, "A", 10, 1), (2, "A", 10, 2), (2, "B", 30, 3)]
    table = frame(rows, ("date", "country", "doses", "people"))
    answer = audit(table, **MAPPED, entitlement="people", at_end=True)
    assert {one.name: one.final for one in answer.by_stakeholder} == {"A": 10, "B": 10}
    assert any("Entitlements change over time" in note for note in answer.notes)
    assert answer.stakeholder("A").received == 20
    assert answer.stakeholder("A").entitlement == 2


def test_after_each_amount():
    answer = audit(frame(DAYS), **MAPPED, after_each=5, welfare="rawls")
    assert answer.over_time.times == ("2021-01-20", "2021-04-30")
    assert answer.score == (2 + 4) / 2


def test_plain_numbers_and_every_n():
    rows = [(k / 2, "AB"[k % 2], 1) for k in range(7)]
    answer = audit(frame(rows), **MAPPED, every=3, welfare="rawls")
    assert answer.over_time.times == ("1", "2.5")
    assert answer.overall.unfinished == "3"
    assert answer.score == (1 + 3) / 2


def test_a_scheme_file(tmp_path):
    scheme = tmp_path / "scheme.toml"
    scheme.write_text(
        'welfare = "rawls"\ntemporal = "worst"\nfilter = { name = "every", period = 2 }'
    )
    answer = audit(frame(DAYS), **MAPPED, scheme=scheme)
    assert answer.over_time.times == ("2021-01-20",)
    assert answer.score == 2
    scheme.write_text('aggregation = "balanced_unfairness"')
    answer = audit(frame(DAYS), **MAPPED, scheme=scheme, every="month")
    assert answer.score == -((1 + 1 + 1 - 2) ** 2) * 2
    assert answer.over_time.welfare is None


def test_fell_behind_is_the_reverse_of_made_good():
    rows = [(1, "A", 9), (2, "A", 0), (3, "B", 12)]
    answer = audit(frame(rows), **MAPPED)
    assert answer.stakeholder("A").fell_behind
    assert answer.stakeholder("B").made_good
    assert "Not behind overall, but behind at the end: A." in answer.verdict


@pytest.mark.system  # takes seconds
def test_thresholds_decide_the_exit_code(tmp_path):
    path = write(tmp_path / "log.csv", DAYS)
    command = ["audit", path, *OPTIONS, "--every", "month", "--welfare", "rawls"]

    def code(*more):
        return CliRunner().invoke(app, [*command, *more]).exit_code

    assert code("--max-unfairness", "2", "--min-score", "2.5") == 0
    assert code("--max-unfairness", "1.9") == 1
    assert code("--min-score", "2.6") == 1
    words = CliRunner().invoke(app, [*command, "--max-unfairness", "1.9"]).output
    assert "Threshold breached: somebody was 2 below the mean" in words
    found = json.loads(CliRunner().invoke(app, [*command, "--min-score", "3", "--json"]).output)
    assert found["breaches"] == ["the score is 2.5, below --min-score 3"]


def test_json_has_what_a_pipeline_needs(tmp_path):
    path = write(tmp_path / "log.csv", DAYS)
    found = json.loads(CliRunner().invoke(app, ["audit", path, *OPTIONS, "--json"]).output)
    assert {"score", "assessments", "stakeholders", "questions", "notes", "verdict"} <= found.keys()
    assert found["assessments"] == 3
    for one in found["stakeholders"]:
        assert {
            "name",
            "final",
            "final_unfairness",
            "overall_unfairness",
            "share_below",
        } <= one.keys()
    assert found["origin"]["files"][0]["path"] == path
    assert len(found["origin"]["files"][0]["sha256"]) == 64
    assert found["origin"]["version"]


@pytest.mark.system  # takes seconds
def test_csv_and_page(tmp_path):
    name = "<script>alert(1)</script>"
    rows = [
        ("2021-01-15", name, 4),
        ("2021-01-20", "=cmd()", 2),
        ("2021-01-31", '"><img src=x>', 3),
    ]
    path = write(tmp_path / "log.csv", rows)
    out, sheets = tmp_path / "report.html", tmp_path / "sheets" / "deep"
    command = ["audit", path, *OPTIONS, "--every", "day", "--out", str(out), "--csv", str(sheets)]
    assert CliRunner().invoke(app, command).exit_code == 0
    page = out.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert '"><img' not in page
    assert "default-src 'none'" in html.unescape(page)
    people = pd.read_csv(sheets / "stakeholders.csv")
    assert set(people.name) == {name, "'=cmd()", '"><img src=x>'}
    times = pd.read_csv(sheets / "over_time.csv")
    assert len(times) == 17
    assert {"questions.csv", "notes.csv"} <= {file.name for file in sheets.iterdir()}
    both = ["audit", path, path, *OPTIONS, "--out", str(out), "--csv", str(sheets)]
    assert CliRunner().invoke(app, both).exit_code == 0
    assert (sheets / "first" / "stakeholders.csv").exists()
    assert "Log 2" in out.read_text()


def test_a_log_against_a_policys_rollouts(tmp_path):
    """A rollout is written as a log of events, and compared like any other."""
    rollout = [(k // 2, "AB"[k % 2], 10_000) for k in range(8)]
    log = write(
        tmp_path / "log.csv",
        [(0, "A", 20_000), (1, "A", 20_000), (2, "B", 20_000), (3, "B", 20_000)],
    )
    frame(rollout).to_parquet(tmp_path / "policy.parquet")
    found = compare(log, str(tmp_path / "policy.parquet"), **MAPPED, welfare="parity")
    assert found.questions[0].scores == (-20_000, 0)
    assert found.questions[0].fairer.endswith("policy.parquet")
    lonely = compare(frame(SIDE_BY_SIDE), frame(SIDE_BY_SIDE[::2]), **MAPPED)
    assert any("Only in" in note and "B" in note for note in lonely.notes)


@pytest.mark.parametrize(
    ("runs", "words"),
    [(1, ". "), (5, " (too few runs for an interval). "), (6, ", 95 % interval 0.5 to 0.5. ")],
)
def test_an_interval_over_runs_is_said_from_six_of_them_on(runs, words):
    rows = [(run, k, "AB"[k], 1) for run in range(runs) for k in range(2)]
    table = frame(rows, ("run", "date", "country", "doses"))
    answer = audit(table, **MAPPED, run="run", welfare="rawls", chance=False)
    assert answer.verdict.split("on average")[1].startswith(words)


@pytest.mark.system  # takes seconds
def test_many_runs_are_averaged(tmp_path):
    rows = [
        (run, k, who, 10)
        for run, order in enumerate(("AABB", "ABAB", "BABA", "BBAA"))
        for k, who in enumerate(order)
    ]
    runs = tmp_path / "policy.csv"
    frame(rows, ("run", "date", "country", "doses")).to_csv(runs, index=False)
    log = write(tmp_path / "log.csv", [(k, who, 10) for k, who in enumerate("AABB")])
    answer = audit(str(runs), **MAPPED, run="run", welfare="parity")
    assert answer.score == (-10 - 5 - 5 - 10) / 4
    assert {one.overall_unfairness for one in answer.by_stakeholder} == {0.0}
    assert answer.over_time.unfairness.tolist() == [[0.0, 0.0]] * 4
    assert answer.over_time.welfare.tolist() == [-10, -10, -10, 0]
    limited = audit(
        str(runs), **MAPPED, run="run", welfare="parity", min_score=-7, max_unfairness=9
    )
    assert [limit.found for limit in limited.limits] == [10, -7.5]
    assert limited.breaches == (
        "somebody was 10 below the mean at an assessment, more than `max_unfairness` 9",
        "the score is −7.5, below `min_score` −7",
    )
    assert any("mean over 4 runs" in note and "too few runs" in note for note in answer.notes)
    assert "95 %" not in answer.verdict + " ".join(answer.notes)
    found = compare(log, str(runs), **MAPPED, run="run", welfare="parity")
    assert found.questions[0].scores == (-10, -7.5)
    assert found.questions[0].fairer == str(runs)
    uneven = frame(
        [(0, 1, "A", 1), (0, 1, "B", 1), (1, 1, "A", 1)], ("run", "date", "country", "doses")
    )
    with pytest.raises(BadLog, match="do not have the same stakeholders"):
        audit(uneven, **MAPPED, run="run")
    assert audit(uneven, **MAPPED, run="run", roster=["A", "B"], welfare="rawls").score == 0.5


def test_a_long_log_is_grouped_by_day_with_the_same_answer(monkeypatch):
    """Where no question needs every time point, only the sums of each day come back."""
    moments = pd.date_range("2021-01-01", periods=300, freq="7h")
    log = pd.DataFrame(
        {"date": moments, "country": list("ABC") * 100, "doses": np.arange(300) % 7 - 1.0}
    )
    for cumulative in (False, True):
        exact = audit(log, **MAPPED, every="week", cumulative=cumulative)
        monkeypatch.setattr("evenhand.log.counting.EXACT_ROWS", 0)
        monkeypatch.setattr("evenhand.log.counting.CHECKED_ROWS", 0)
        coarse = audit(log, **MAPPED, every="week", cumulative=cumulative)
        monkeypatch.undo()
        assert coarse.score == pytest.approx(exact.score)
        assert coarse.over_time.times == exact.over_time.times
        assert coarse.over_time.unfairness == pytest.approx(exact.over_time.unfairness)
        assert any("not searched for duplicate" in note for note in coarse.notes)
        assert "each event" not in [row.question for row in coarse.questions]


def test_very_many_assessments_are_thinned_but_counted_in_full(monkeypatch):
    log = frame([(k, "AB"[k % 2], 1) for k in range(1000)])
    whole = audit(log, **MAPPED)
    monkeypatch.setattr("evenhand.auditing.judge.KEPT_VALUES", 100)
    thin = audit(log, **MAPPED)
    assert thin.over_time.every == 20
    assert len(thin.over_time.times) == 50
    assert thin.score == whole.score
    assert thin.by_stakeholder == whole.by_stakeholder
    assert thin.over_time.unfairness == pytest.approx(whole.over_time.unfairness[::20])


def test_an_audit_loads_no_jax():
    import subprocess
    import sys

    code = (
        "import sys, evenhand.auditing, evenhand.monitor, evenhand.monitor.state_file\n"
        "import evenhand.report, evenhand.report.formats\n"
        "assert 'jax' not in sys.modules, 'jax was loaded'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# The tables of an answer as data frames of any backend, with the numbers of the answer.

ROWS = [
    ("2021-01-31", "A", 3),
    ("2021-01-31", "time", 1),
    ("2021-02-28", "welfare", 5),
    ("2021-03-31", "A", 1),
]
ANSWER = audit(
    pd.DataFrame(ROWS, columns=["date", "country", "doses"]),
    **MAPPED,
    every="month",
    welfare="rawls",
    roster=["A", "time", "welfare"],
)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_same_numbers_in_every_backend(backend):
    pytest.importorskip(backend)
    frame = nw.from_native(ANSWER.to_frame("stakeholders", backend), eager_only=True)
    assert frame.implementation.name.lower() == backend
    assert frame["name"].to_list() == [one.name for one in ANSWER.by_stakeholder]
    assert frame["overall_unfairness"].to_list() == [
        one.overall_unfairness for one in ANSWER.by_stakeholder
    ]
    assert frame["rank_final"].to_list() == [one.rank_final for one in ANSWER.by_stakeholder]
    assert frame.schema["rank_final"] == nw.Int64
    assert frame.schema["entitlement"] == nw.Float64  # though nobody has one
    assert frame.schema["group"] == nw.String
    over = nw.from_native(ANSWER.to_frame("over_time", backend), eager_only=True)
    assert over.columns == ["time", "welfare", "mean", "stakeholder", "unfairness"]
    assert len(over) == 9
    # After January A has 3, "time" 1 and "welfare" 0: the mean is 4/3.
    first = over.rows()[:3]
    assert [row[0] for row in first] == ["2021-01"] * 3
    assert [row[3] for row in first] == ["A", "time", "welfare"]
    assert [row[4] for row in first] == pytest.approx([5 / 3, -1 / 3, -4 / 3])
    assert {row[2] for row in first} == {4 / 3}
    asked = nw.from_native(ANSWER.to_frame("questions", backend), eager_only=True)
    assert asked["question"][0] == "every month"
    assert asked["score"][0] == pytest.approx(ANSWER.score)
    assert len(asked) == sum(len(row.readings) for row in ANSWER.questions)


def test_those_who_are_not_there_have_no_unfairness():
    roster = pd.DataFrame({"country": ["A", "B"], "from": ["2021-01-01", "2021-02-15"]})
    log = pd.DataFrame(
        [("2021-01-31", "A", 1), ("2021-02-28", "B", 1)], columns=["date", "country", "doses"]
    )
    frame = audit(log, **MAPPED, every="month", roster=roster, welfare="rawls").to_frame(
        "over_time", "pandas"
    )
    assert math.isnan(frame["unfairness"][1])
    assert not math.isnan(frame["unfairness"][3])


def test_what_cannot_be_made_is_refused_by_name(monkeypatch):
    with pytest.raises(BadParameter, match="did you mean 'over_time'"):
        ANSWER.to_frame("overtime")
    with pytest.raises(BadParameter, match="`backend`: Unsupported backend: 'nonsense'"):
        ANSWER.to_frame(backend="nonsense")
    with pytest.raises(BadParameter, match="lazy-only"):
        ANSWER.to_frame(backend="duckdb")
    with pytest.raises(MissingExtra, match="`backend` is 'modin', which is not installed"):
        ANSWER.to_frame(backend="modin")
    monkeypatch.setattr(answer.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="none of pandas, polars, pyarrow is installed"):
        ANSWER.to_frame()


def test_a_frame_is_of_what_is_installed(monkeypatch):
    assert isinstance(ANSWER.to_frame(), pd.DataFrame)
    polars = pytest.importorskip("polars")
    find = answer.importlib.util.find_spec
    monkeypatch.setattr(
        answer.importlib.util,
        "find_spec",
        lambda name: None if name == "pandas" else find(name),
    )
    assert isinstance(ANSWER.to_frame(), polars.DataFrame)


def test_an_unknown_stakeholder_is_offered_the_nearest():
    with pytest.raises(UnknownStakeholder, match="no stakeholder 'tme': did you mean 'time'") as e:
        ANSWER.stakeholder("tme")
    assert (e.value.name, e.value.nearest) == ("tme", "time")
    with pytest.raises(UnknownStakeholder, match="check its spelling"):
        ANSWER.stakeholder("Ouagadougou")


# The distance to an even log in three parts that add up, by hand and on a log.


def test_the_parts_add_up_and_say_so():
    parts = GapParts(even=10.0, best=9.5, lottery=8.0, actual=6.0)
    assert (parts.out_of_reach, parts.by_chance, parts.rest) == (0.5, 1.5, 2.0)
    assert parts.out_of_reach + parts.by_chance + parts.rest == parts.gap == 4.0
    assert parts.sentence() == (
        "Of the 4 by which the score lies below that of an even log, 0.5 was out of reach for any "
        "decision, and 1.5 is what a fair lottery leaves in the middle of its draws; the rest, 2, "
        "neither explains."
    )


def test_better_than_a_lottery():
    parts = GapParts(even=10.0, best=9.5, lottery=8.0, actual=9.0)
    assert parts.rest == -1.0
    assert parts.sentence().endswith("; what happened was better than that by 1.")


def test_no_gap_needs_no_words():
    assert GapParts(even=10.0, best=10.0, lottery=8.0, actual=10.0).sentence() == ""


@pytest.fixture(scope="module")
def answer_gap_parts():
    rng = random.Random(3)
    log = pd.DataFrame({"day": range(40), "who": [rng.choice("AABBC") for _ in range(40)]})
    options = AuditOptions(stakeholder="who", time="day", every=10)
    return with_best(audit_gap_parts(log, stakeholder="who", time="day", every=10), log, options)


def test_an_answer_with_the_best_and_a_lottery_has_the_parts(answer_gap_parts):
    parts, score = answer_gap_parts.gap_parts, answer_gap_parts.chance.measure("score")
    assert parts.gap == pytest.approx(answer_gap_parts.overall.even_score - answer_gap_parts.score)
    assert parts.by_chance == answer_gap_parts.best.score - score.middle
    assert answer_gap_parts.to_json()["gap_parts"]["words"] == parts.sentence()
    page = report(answer_gap_parts).decode()
    assert f"Could it have been fairer? </b>{answer_gap_parts.best.sentence()}" in page
    assert parts.sentence() in page


def test_without_the_best_there_are_none():
    log = pd.DataFrame({"day": [1, 2], "who": ["A", "B"]})
    assert audit_gap_parts(log, stakeholder="who", time="day").gap_parts is None
