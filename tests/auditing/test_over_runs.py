"""A log with runs: every number shown is the mean over all of them, worked out by hand."""

from __future__ import annotations

import csv
import html
import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from evenhand.auditing import audit
from evenhand.cli.app import app
from evenhand.errors import BadLog
from evenhand.report import report
from evenhand.report.text import tables
from logs import MAPPED, OPTIONS, write

COLUMNS = ("run", "date", "country", "doses")
# Run 1 gives A, B, C 3, 1, 2 at both steps: means 2 and 4, so A +1 +2, B −1 −2, C 0 0.
# Run 2 gives 9, 8, 0: means 17/3 and 34/3, so A 10/3 20/3, B 7/3 14/3, C −17/3 −34/3.
ROWS = [
    (run, step, who, amount)
    for run, amounts in ((1, (3, 1, 2)), (2, (9, 8, 0)))
    for step in (1, 2)
    for who, amount in zip("ABC", amounts, strict=True)
]


def judged(rows, **options):
    return audit(pd.DataFrame(rows, columns=list(COLUMNS)), **MAPPED, run="run", **options)


def text_of(page: bytes) -> str:
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page.decode(), flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", "", body))


def test_every_figure_of_a_stakeholder_is_the_mean():
    answer = judged(ROWS, welfare="rawls")
    assert [one.name for one in answer.by_stakeholder] == ["C", "B", "A"]
    for name, overall, final, first in (
        ("A", (3 + 10) / 2, (2 + 20 / 3) / 2, (1 + 10 / 3) / 2),
        ("B", (-3 + 7) / 2, (-2 + 14 / 3) / 2, (-1 + 7 / 3) / 2),
        ("C", (0 - 17) / 2, (0 - 34 / 3) / 2, (0 - 17 / 3) / 2),
    ):
        one = answer.stakeholder(name)
        assert one.overall_unfairness == pytest.approx(overall)
        assert one.final_unfairness == pytest.approx(final)
        assert one.last_unfairness == pytest.approx(final)
        assert one.first_unfairness == pytest.approx(first)
        assert one.assessments == 2
        assert one.longest_spell_from is one.longest_spell_until is None
    found = [
        (one.name, one.final, one.received, one.share_below, one.longest_spell)
        for one in answer.by_stakeholder
    ]
    # C is below at both steps of run 2, B at both of run 1: a longest spell of 2 in any run.
    assert found == [("C", 2, 2, 0.5, 2), ("B", 9, 9, 0.5, 2), ("A", 12, 12, 0, 0)]
    ranks = [(one.rank_final, one.rank_overall) for one in answer.by_stakeholder]
    assert ranks == [(3, 3), (2, 2), (1, 1)]
    assert not any(one.made_good or one.fell_behind for one in answer.by_stakeholder)


def test_the_whole_and_the_other_questions_are_means():
    answer = judged(ROWS, welfare="rawls")
    assert answer.runs == 2
    overall = answer.overall
    assert overall.score == ((1 + 2) / 2 + 0) / 2
    assert overall.even_score == pytest.approx(((2 + 4) / 2 + (17 / 3 + 34 / 3) / 2) / 2)
    assert (overall.assessments, overall.unequal_assessments) == (2, 2)
    assert overall.worst_unfairness == pytest.approx(-34 / 3)  # the lowest of any run
    assert answer.over_time.welfare.tolist() == [0.5, 1]
    assert answer.over_time.mean.tolist() == pytest.approx([(2 + 17 / 3) / 2, (4 + 34 / 3) / 2])
    asked, at_end = answer.questions
    assert (asked.worst, asked.all_worst, asked.worst_unfairness) == ("C", ("C",), -8.5)
    assert (at_end.worst, at_end.turns) == ("C", False)
    assert at_end.worst_unfairness == pytest.approx(-17 / 3)
    scores = {reading.welfare: reading for reading in at_end.readings}
    assert scores["rawls"].score == (2 + 0) / 2
    assert scores["rawls"].even_score == pytest.approx((4 + 34 / 3) / 2)
    assert scores["utilitarian"].score == (12 + 34) / 2
    assert scores["utilitarian"].turns  # the sum cannot tell who got what
    assert not scores["rawls"].turns
    assert "Treated worst overall was C, below the mean at 50% of the assessments (−4.25" in (
        answer.verdict
    )
    assert "and also at the end (−5.67)" in answer.verdict


def test_the_order_of_the_runs_does_not_matter():
    answers = [judged([(sign * run, *rest) for run, *rest in ROWS]) for sign in (1, -1)]
    one, two = (answer.to_json() for answer in answers)
    for name in ("stakeholders", "questions", "overall", "over_time", "all_treated_worst"):
        assert json.dumps(one[name]) == json.dumps(two[name])


@pytest.mark.system  # takes seconds
def test_text_json_csv_and_page_say_the_same(tmp_path):
    path = write(tmp_path / "runs.csv", ROWS, COLUMNS)
    page, folder = tmp_path / "page.html", tmp_path / "sheets"
    command = ["audit", path, *OPTIONS, "--run", "run", "--welfare", "rawls"]
    found = json.loads(
        CliRunner()
        .invoke(app, [*command, "--json", "--out", str(page), "--csv", str(folder)])
        .output
    )
    assert (found["runs"], found["score"], found["all_treated_worst"]) == (2, 0.75, ["C"])
    for row, deviation in zip(found["questions"], (-8.5, -17 / 3), strict=True):
        assert row["treated_worst"] == "C"
        assert row["overall_unfairness"] == pytest.approx(deviation)
    c = found["stakeholders"][0]
    assert (c["name"], c["rank_final"], c["rank_overall"], c["share_below"]) == ("C", 3, 3, 0.5)
    with open(folder / "stakeholders.csv", newline="") as file:
        people = {row["name"]: row for row in csv.DictReader(file)}
    assert people["C"]["overall_unfairness"] == "-8.5"
    assert [people[name]["rank_overall"] for name in "ABC"] == ["1", "2", "3"]
    assert [people[name]["longest_spell"] for name in "ABC"] == ["0", "2", "2"]
    with open(folder / "questions.csv", newline="") as file:
        assert {row["treated_worst"] for row in csv.DictReader(file)} == {"C"}
    text = text_of(page.read_bytes())
    assert "from the mean on average; −8.5 summed" in text
    assert "an even log scores 5.75" in text
    assert "All are means over 2 runs, except the spell, which is the longest in any run" in text
    assert "C2−5.67−8.550%233" in text  # status, at the end, over all, below, spell, ranks
    assert "B9+1.33+250%222" in text
    turned = text[text.index("For each question: who is treated worst") :]
    assert "each eventyour question2 of 2C0.75" in turned
    assert "at the end1 of 1C1" in turned
    shown = CliRunner().invoke(app, command).output
    assert re.search(r"→ each event +2 of 2 +C ", shown)
    assert re.search(r"C +2 +−5.67 +−8.5 +50% +2 +3, 3", shown)
    assert "Every number is the mean over 2 runs" in shown


def test_equals_over_the_runs_are_all_named():
    """Who is behind in one run is ahead in the other, and C is behind in both."""
    rows = [
        (run, 1, who, n)
        for run, order in ((1, "AB"), (2, "BA"))
        for who, n in ((order[0], 6), (order[1], 3), ("C", 0))
    ]
    answer = judged(rows)
    assert [
        (one.name, one.overall_unfairness, one.rank_overall) for one in answer.by_stakeholder
    ] == [("C", -3, 3), ("A", 1.5, 1), ("B", 1.5, 1)]
    swapped = judged([row for row in rows if row[2] != "C"])
    assert swapped.treated_worst == ()
    assert swapped.verdict.endswith("Over all and over the runs nobody was behind the others.")
    even = judged([(run, 1, who, 2) for run in (1, 2) for who in "AB"])
    assert even.verdict.endswith("At no assessment of any run was anybody below the mean.")


def test_made_good_is_by_the_means():
    """In run 1 B is 2 below and then even; in run 2 it is even and then 1 above."""
    rows = [(1, 1, "A", 4), (1, 2, "B", 4), (2, 1, "A", 2), (2, 1, "B", 2), (2, 2, "B", 2)]
    answer = judged(rows)
    b = answer.stakeholder("B")
    assert (b.overall_unfairness, b.final_unfairness) == ((-2 + 1) / 2, (0 + 1) / 2)
    assert b.made_good
    assert "Behind overall, but recovered by the end: B." in answer.verdict
    assert answer.overall.unequal_assessments == 1  # one in each run


def test_runs_of_different_length_share_some_times():
    rows = [*ROWS, (2, 3, "C", 17)]
    answer = judged(rows, welfare="rawls")
    assert answer.overall.assessments == 2.5
    assert (answer.overall.first, answer.overall.last) == ("1", "3")
    assert answer.over_time.times == ("1", "2")
    assert answer.over_time.welfare.tolist() == [0.5, 1]
    # Run 2 at step 3: 18, 16, 17, mean 17.
    assert answer.stakeholder("C").overall_unfairness == (0 - 17 + 0) / 2
    assert answer.stakeholder("C").final_unfairness == 0
    assert answer.stakeholder("C").share_below == pytest.approx((0 + 2 / 3) / 2)
    assert any("for the 2 times at which every run" in note for note in answer.notes)
    assert next(tables(answer)).rows[0][0] == "C"
    assert list(tables(answer))[-1].rows[0][1] == "2.5 of 2.5"
    assert "Fairness over time" in text_of(report(answer))


def test_runs_without_a_common_time_have_no_course():
    rows = [(1, 1, "A", 3), (1, 1, "B", 1), (2, 10, "A", 1), (2, 10, "B", 5)]
    answer = judged(rows)
    assert answer.over_time.times == ()
    assert answer.to_json()["over_time"]["unfairness"] == {"A": [], "B": []}
    assert (answer.overall.first, answer.overall.last) == ("1", "10")
    assert answer.treated_worst == ("A",)  # +1 and −2
    assert len(list(tables(answer))) == 2
    text = text_of(report(answer))
    assert "No chart: there is no time at which every run was assessed." in text
    assert "from the mean on average; −0.5 summed" in text


def test_all_runs_are_judged_by_one_welfare_function():
    """log_nash is undefined in run 2 alone: a mean of it and of rawls would mean nothing."""
    rows = [(1, 1, "A", 3), (1, 1, "B", 1), (2, 1, "A", -2), (2, 1, "B", 1)]
    answer = judged(rows)
    assert answer.score == (1 - 2) / 2
    assert any("rawls (the status of the worst-off) is used instead" in n for n in answer.notes)
    readings = {one.welfare: one for one in answer.questions[0].readings}
    assert readings["log_nash"].score is None
    assert readings["gini"].score is not None


def test_even_is_what_is_even_in_every_run():
    rows = [(1, 1, "A", 2), (1, 1, "B", 2), (2, 1, "A", 3), (2, 1, "B", 1)]
    answer = judged(rows, welfare="rawls")
    assert answer.questions[0].readings[0].even is False
    assert (answer.questions[0].unequal, answer.questions[0].assessments) == (0.5, 1)
    assert answer.treated_worst == ("B",)


def test_what_was_judged_is_told_of_all_runs():
    one, two = judged(ROWS), judged([*ROWS[:-1], (2, 2, "C", 1)])
    assert one.origin["fingerprint"] != two.origin["fingerprint"]
    assert (one.origin["rows"], one.origin["time_points"]) == (12, 4)
    assert judged([*ROWS, (2, 3, "A", -1)]).corrections == (("3", "A", -1.0),)
    with pytest.raises(BadLog, match="no row names a run"):
        judged([(None, 1, "A", 1), (None, 1, "B", 1)])
