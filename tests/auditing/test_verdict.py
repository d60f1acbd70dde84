"""Tests of auditing.verdict."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from typer.testing import CliRunner

from evenhand import audit as audit_verdict_text
from evenhand.auditing import audit, compare
from evenhand.auditing.compare_logs import comparison_summary
from evenhand.auditing.verdict import Quantity, summary
from evenhand.cli.app import app
from evenhand.errors import BadParameter
from evenhand.report import report, text

# The summary: sentences that can be quoted, with every number by hand.

MAPPED = {"stakeholder": "who", "time": "date", "amount": "doses"}
DATES = ["2021-01-31", "2021-02-28", "2021-03-31", "2021-04-30"]
FIRST_A = pd.DataFrame({"date": DATES, "who": list("AABB"), "doses": 20_000.0})


def test_figure_1():
    """A has 20, 40, 40, 40 and B 0, 0, 20, 40: B is below by 10, 20, 10, 0, on average by 10."""
    assert audit(FIRST_A, **MAPPED, every="month").summary == (
        "From 31 January 2021 to 30 April 2021, the distribution of doses among 2 stakeholders was "
        "uneven: at 3 of 4 assessments (every month) somebody was below the mean. Treated worst "
        "was B: on average 10,000 doses below the mean, and below it at 75% of its assessments. "
        "At the end nobody was below the mean. 1 of the 2 stakeholders was behind overall but had "
        "recovered by the end."
    )


def test_an_even_log():
    log = pd.DataFrame({"date": [1, 1, 2, 2], "who": list("ABAB"), "doses": 2})
    assert audit(log, **MAPPED).summary == (
        "From time 1 to time 2, the distribution of doses among 2 stakeholders was even: at none "
        "of 2 assessments (each event) was anybody below the mean."
    )


def test_as_even_as_whole_units_allow():
    log = pd.DataFrame({"date": [1, 2], "who": list("AB"), "doses": 1})
    assert audit(log, **MAPPED).summary == (
        "From time 1 to time 2, the distribution of doses among 2 stakeholders was as even as "
        "whole units allow: at none of 2 assessments (each event) was anybody a whole unit from "
        "its share."
    )


def test_harms_rates_and_units():
    """Breaches 3 of 10 and 1 of 10: the mean is 0.2, and North is above it by 0.1."""
    log = pd.DataFrame(
        {"date": ["2021-01-31"] * 2, "who": ["North", "South"], "bad": [3, 1], "seen": [10, 10]}
    )
    options = {"stakeholder": "who", "time": "date", "amount": "bad", "out_of": "seen"}
    found = audit(log, **options, lower_is_better=True).summary
    assert found.startswith(
        "On 31 January 2021, the rate of bad out of seen (less is better) among 2 stakeholders was "
        "uneven: at 1 of 1 assessment (each event) somebody was above the "
    )
    assert "Treated worst was North: on average 0.1 above the mean" in found
    assert "At the end too it was furthest above, by 0.1." in found
    assert "At the end North had 1 more than its share of bad, the most of all." in found


@pytest.mark.parametrize(
    ("judged", "subject", "by"),
    [
        (None, "the share of requests that was met", "0.25"),
        ("share_met", "the share of requests that was met", "0.25"),
        ("shortfall", "what was asked for and not met", "1 doses"),
        ("while_waiting", "the distribution of doses", "1 doses"),
    ],
)
def test_what_is_judged_of_requests_is_said(judged, subject, by):
    """A received 1 of 4, and B 3 of 4."""
    log = pd.DataFrame({"date": DATES[0], "who": ["A", "B"], "doses": [1, 3], "wants": 4})
    found = audit(log, **MAPPED, asked="wants", judge_requests=judged).summary
    assert found.startswith(f"On 31 January 2021, {subject} among 2 stakeholders was uneven")
    assert f"At the end too it was furthest below, by {by}." in found


def test_a_unit_and_names_with_commas():
    log = FIRST_A.replace({"who": {"B": "Washington, DC"}})
    found = audit(log, **MAPPED, every="month", unit="doses a clinic").summary
    assert "the distribution of doses a clinic among" in found
    assert "Treated worst was “Washington, DC”: on average 10,000 doses a clinic below" in found


def test_those_who_are_alike_are_named_together():
    log = pd.DataFrame({"date": [1, 1, 1], "who": list("ABC"), "doses": [0, 0, 9]})
    assert (
        "Treated worst, all alike, were A and B: on average each 3 doses below the mean. At the "
        "end too they were furthest below, by 3 doses."
    ) in audit(log, **MAPPED).summary


def test_every_number_is_one_of_the_answer():
    answer = audit(FIRST_A, **MAPPED, every="month")
    found = [p.value for one in summary(answer) for p in one.parts if isinstance(p, Quantity)]
    assert found == [2, 3, 4, 10_000.0, 0.75, 1, 2]


@pytest.mark.parametrize("swapped", [False, True])
def test_which_of_two_logs_is_fairer(swapped):
    even = pd.DataFrame({"date": sorted(DATES * 2), "who": list("AB") * 4, "doses": 10_000.0})
    logs = (even, FIRST_A) if swapped else (FIRST_A, even)
    found = compare(*logs, **MAPPED, every="month", welfare="rawls")
    words = [one.text for one in comparison_summary(found)]
    # The worst off have 0, 0, 20, 40 and 10, 20, 30, 40 thousand: on average 15 and 25 thousand.
    assert "(every month, by rawls): it scores 25,000 and" in words[0]
    assert words[0].endswith("15,000.")
    assert len(words) == 3


def test_scores_that_differ_by_little_are_told_apart_in_the_verdict():
    more = FIRST_A.assign(doses=[20_000.0, 20_000.0, 20_000.0, 20_000.4])
    found = compare(FIRST_A, more, **MAPPED, at_end=True, welfare="average")
    assert "(40,000.2 against 40,000)" in found.verdict


def test_two_tables_are_told_apart_by_number_where_the_verdict_turns():
    """At the end A of the first has 3 and B 1, of the second both 2; before, the first is even."""
    first = pd.DataFrame({"date": [1, 1, 2], "who": list("ABA"), "doses": [1, 1, 2]})
    second = pd.DataFrame({"date": [1, 2], "who": list("AB"), "doses": [2, 2]})
    found = compare(first, second, **MAPPED, at_end=True, welfare="rawls")
    assert "the table (log 2) is fairer at the end by rawls (2 against 1)" in found.verdict
    by = {(one.question, one.welfare): (one.fairer, one.turns) for one in found.questions}
    assert by["at the end", "rawls"] == ("the table (log 2)", False)
    assert by["each event", "rawls"] == (None, True)  # 1 and 1 against 0 and 2
    assert by["each event", "log_nash"] == ("the table (log 1)", True)
    assert by["each event", "utilitarian"] == (None, True)


# The words of an audit: which side of the mean is worse, what the mean is, amounts.

PEOPLE = {"City": 1_000_000, "Village": 100}
DOSES = pd.DataFrame({"to": ["City", "Village"], "day": 1, "doses": [900_000, 200]})
SIZES = {"stakeholder": "to", "time": "day", "amount": "doses", "entitlement": PEOPLE}
# By week 2 A has 14 of 40 and B 3 of 20: the mean is 8.5, or the rate 17 of 60.
BREACHES = pd.DataFrame(
    {
        "week": [1, 1, 2, 2],
        "trust": ["A", "B", "A", "B"],
        "breaches": [9, 1, 5, 2],
        "seen": [20, 10, 20, 10],
    }
)
HARMS = {"stakeholder": "trust", "time": "week", "amount": "breaches", "lower_is_better": True}


def words_of(page: bytes) -> str:
    """The words of a page, without its scripts, data and styles."""
    bare = re.sub(r"<(script|style).*?</\1>", "", page.decode(), flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", bare).split())


def test_what_is_short_is_said_in_amounts():
    answer = audit_verdict_text(DOSES, **SIZES)
    short = 1_000_000 * 900_200 / 1_000_100 - 900_000  # 109.989 doses
    assert answer.stakeholder("City").short_of_share == pytest.approx(short, rel=1e-9)
    assert answer.stakeholder("Village").short_of_share == pytest.approx(-short, rel=1e-9)
    assert "At the end City was 109.99 doses short of its share, the most of all." in answer.verdict
    assert "below the mean per unit of entitlement (all amounts over all ent" in answer.verdict


def test_unweighted_says_so_and_has_no_shares():
    answer = audit_verdict_text(DOSES, **SIZES, unweighted=True)
    assert "below the mean (all counted alike, whatever their entitlement)" in answer.verdict
    assert any("All were counted alike" in note for note in answer.notes)
    assert answer.stakeholder("City").short_of_share is None
    assert "share" not in answer.verdict


def test_equals_are_all_named_and_nobody_is_short_of_an_even_share():
    log = pd.DataFrame({"to": ["A", "B", "C"], "day": 1, "given_out": [1, 1, 4]})
    keywords = {"stakeholder": "to", "time": "day", "amount": "given_out"}
    sizes = {"A": 2, "B": 2, "C": 2}
    answer = audit_verdict_text(log, **keywords, entitlement=sizes)
    assert "At the end A and B were each 1 short of their share of given_out." in answer.verdict
    even = audit_verdict_text(log, **keywords, entitlement={"A": 2, "B": 2, "C": 8})
    assert [one.short_of_share for one in even.by_stakeholder] == [0.0, 0.0, 0.0]
    assert "share" not in even.verdict


def test_of_harms_above_the_mean_is_worse():
    answer = audit_verdict_text(BREACHES, **HARMS, max_unfairness=2)
    assert "at 2 of 2 assessments somebody was above the mean." in answer.verdict
    assert "was A, above the mean at 100% of the assessments (+4.75 from the" in answer.verdict
    assert "and also at the end (+5.5)" in answer.verdict
    assert answer.breaches[0].startswith("somebody was 5.5 above the mean at an assessment")
    found = answer.to_json()
    assert found["lower_is_better"] is True
    by_name = {one["name"]: one for one in found["stakeholders"]}
    assert by_name["A"]["final_unfairness"] == -5.5  # figures stay: below 0 is worse off
    people, course, _ = text.tables(answer)
    assert "above 0 is unfair to it" in people.title
    assert people.rows[0][:4] == ("A", "14", "+5.5", "+9.5")
    assert course.columns[2:] == ("most above", "by", "most below", "by")
    assert course.rows[-1][2:] == ("A", "+5.5", "B", "−5.5")


def test_the_page_of_harms_reads_right():
    words = words_of(report(audit_verdict_text(BREACHES, **HARMS)))
    assert "Who was above the mean, and when" in words
    assert "Somebody was above the mean at 2 of 2" in words
    assert "Hatched: above the mean, unfair to the stakeholder. Plain: below it" in words
    assert "Right of the line: behind overall. Above the line: behind at the end." in words
    assert "above the mean by 5.5 or more" in words
    assert "A 14 +5.5 +9.5 100%" in words
    assert "Less of what was logged is better" in words
    plain = words_of(report(audit_verdict_text(BREACHES, **{**HARMS, "lower_is_better": False})))
    assert "Who was below the mean, and when" in plain
    assert "Higher is better." in plain
    assert "Weights" not in plain


def test_a_notebook_shows_harms_as_logged():
    shown = words_of(audit_verdict_text(BREACHES, **HARMS)._repr_html_().encode())
    assert "Somebody was above the mean at 2 of 2" in shown
    assert "assessments above" in shown
    assert "A 14 +5.5 +9.5 100%" in shown


def test_a_rate_is_told_with_its_chances():
    answer = audit_verdict_text(BREACHES, **HARMS, out_of="seen")
    worst = answer.stakeholder("A")
    assert (worst.received, worst.chances) == (14, 40)
    assert worst.short_of_share == pytest.approx(14 - 40 * 17 / 60)
    assert "somebody was above the mean rate (all amounts over all chances)." in answer.verdict
    assert "At the end A had 2.67 breaches more than its share, the most of all." in answer.verdict
    words = words_of(report(answer))
    assert "over its share" in words
    assert "whoever had none yet is not judged" in words
    assert "no entitlement was given" not in words
    assert not any("differ in size" in note for note in answer.notes)


def test_groups_have_the_shares_of_their_members():
    log = BREACHES.assign(side=["x", "y", "x", "y"])
    answer = audit_verdict_text(log, **HARMS, out_of="seen", by="side")
    assert answer.stakeholder("x").chances == 40
    assert answer.stakeholder("x").short_of_share == pytest.approx(14 - 40 * 17 / 60)


def test_runs_have_the_means_of_amounts():
    runs = pd.concat([BREACHES.assign(run=1), BREACHES.assign(run=2, breaches=[3, 3, 3, 3])])
    answer = audit_verdict_text(runs, **HARMS, out_of="seen", run="run")
    worst = answer.stakeholder("B")
    assert worst.chances == 20
    each = [3 - 20 * 17 / 60, 6 - 20 * 12 / 60]
    assert worst.short_of_share == pytest.approx(sum(each) / 2)
    assert "above the mean" in answer.verdict
    assert "below the mean" not in answer.verdict


def test_two_logs_are_compared_by_weights():
    even = DOSES.assign(doses=[900_110, 90])
    found = compare(DOSES, even, **SIZES)
    scores = {match.welfare: match.scores for match in found.questions if match.asked}
    for welfare in ("log_nash", "gini"):
        assert scores[welfare][0] < scores[welfare][1]


def test_the_command_line_says_the_same(tmp_path):
    path = tmp_path / "breaches.csv"
    BREACHES.to_csv(path, index=False)
    command = ["audit", str(path), "--stakeholder", "trust", "--time", "week"]
    command += ["--amount", "breaches", "--lower-is-better"]
    rate = CliRunner().invoke(app, [*command, "--out-of", "seen"])
    assert rate.exit_code == 0
    assert "A had 2.67 breaches more than its share" in rate.output
    assert "over its share" in rate.output
    found = json.loads(CliRunner().invoke(app, [*command, "--json"]).output)
    assert found["all_treated_worst"] == ["A"]
    people = tmp_path / "people.csv"
    people.write_text("trust,people\nA,4\nB,1\n")
    alike = [*command, "--entitlement", str(people), "--unweighted"]
    assert "counted alike" in CliRunner().invoke(app, alike).output


def test_unweighted_without_sizes_is_refused():
    with pytest.raises(BadParameter, match="no meaning without `entitlement`"):
        audit_verdict_text(BREACHES, **HARMS, unweighted=True)
