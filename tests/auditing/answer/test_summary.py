"""The summary: sentences that can be quoted, with every number by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.auditing import audit, compare
from evenhand.auditing.answer.summary import Quantity, summary
from evenhand.auditing.compare_logs import comparison_summary

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
