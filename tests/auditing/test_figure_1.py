"""The paper's Figure 1 as two logs: equal at the end, unequal monthly, and the words say so."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from evenhand.auditing import audit, compare
from evenhand.cli.app import app
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, SIDE_BY_SIDE, write


@pytest.fixture
def logs(tmp_path):
    return (
        write(tmp_path / "first_a.csv", FIRST_A_THEN_B),
        write(tmp_path / "even.csv", SIDE_BY_SIDE),
    )


def test_equal_at_the_end_and_unequal_month_by_month(logs):
    answer = audit(logs[0], **MAPPED, every="month", welfare="parity")
    assert answer.verdict.startswith(
        "Equal at the end, but unequal month by month: at 3 of 4 assessments somebody was below "
        "the mean. Treated worst overall was B"
    )
    assert "recovered by the end: B" in answer.verdict
    assert answer.score == -20_000  # (20 + 40 + 20 + 0) thousand over four months
    b = answer.stakeholder("B")
    assert (b.final, b.final_unfairness, b.overall_unfairness) == (40_000, 0, -40_000)
    assert (b.share_below, b.longest_spell) == (0.75, 3)
    assert (b.longest_spell_from, b.longest_spell_until) == ("2021-01", "2021-03")
    assert (b.made_good, b.fell_behind, b.rank_final, b.rank_overall) == (True, False, 1, 2)
    assert answer.over_time.unfairness[:, 1].tolist() == [-10_000, -20_000, -10_000, 0]


def test_the_even_process_is_equal_all_along(logs):
    answer = audit(logs[1], **MAPPED, every="month")
    assert answer.verdict.startswith("Equal at the end, and equal month by month")
    assert answer.overall.unequal_assessments == 0
    assert answer.overall.score == pytest.approx(answer.overall.even_score)


def test_the_verdict_turns_between_the_end_and_the_months(logs):
    answer = audit(logs[0], **MAPPED, at_end=True)
    rows = {row.question: row for row in answer.questions}
    assert rows["at the end"].worst is None
    assert not rows["at the end"].turns
    assert rows["every month"].worst == "B"
    assert rows["every month"].turns
    readings = {reading.welfare: reading for reading in rows["every month"].readings}
    assert readings["rawls"].turns
    assert not readings["utilitarian"].turns  # the sum cannot tell who got what
    assert "every year" not in rows  # no year is finished


def test_side_by_side_they_are_equal_at_the_end_alone(logs):
    found = compare(*logs, **MAPPED, every="month", welfare="parity")
    by = {(match.question, match.welfare): match for match in found.questions}
    assert by["every month", "parity"].fairer == logs[1]
    assert by["at the end", "parity"].fairer is None
    assert by["at the end", "parity"].turns
    assert f"{logs[1]} is fairer every month by parity (0 against −20,000)" in found.verdict
    assert "The verdict turns" in found.verdict


def test_from_the_shell(logs):
    answer = CliRunner().invoke(app, ["audit", logs[0], *OPTIONS, "--every", "month"])
    assert answer.exit_code == 0
    assert "Equal at the end, but unequal month by month" in answer.output
    both = CliRunner().invoke(app, ["audit", *logs, *OPTIONS, "--every", "month", "--json"])
    found = json.loads(both.output)
    assert [one["stakeholders"][0]["name"] for one in found["logs"]] == ["B", "A"]
    assert found["logs"][0]["assessments"] == 4
