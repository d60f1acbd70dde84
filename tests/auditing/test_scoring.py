"""Tests of auditing.scoring."""

from __future__ import annotations

import csv
import html
import itertools
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from evenhand import LogNash, Rawls, anytime
from evenhand._util.wording import join_tied
from evenhand.auditing.scoring import (
    Ranking,
    RunningTotals,
    Scorer,
    Sides,
    known_mean,
    rounding,
    welfare_now,
)
from evenhand.cli.app import app
from evenhand.errors import NegativeStatus
from evenhand.fairness.stream import Block
from evenhand.fairness.trace import Standing
from evenhand.monitor import Monitor
from evenhand.monitor.monitor import Batch
from evenhand.report import report
from evenhand.report.text import tables
from logs import MAPPED, OPTIONS, write
from logs import audit_alone as audit
from places import VACCINATIONS

# Equal is equal: whoever shares the last place is named with the others, whatever the rounding.

# The means are 40/3, 50/3, 80/3 and 110/3. South: −40/3 −20/3 −50/3 −80/3, East: −40/3 −50/3 −80/3
# −20/3; both −190/3.
TIE = [("2026-01-10", "N", 40), ("2026-01-24", "S", 10), ("2026-02-09", "N", 30)]
TIE.append(("2026-02-20", "E", 30))


def log(rows):
    return pd.DataFrame(rows, columns=["date", "country", "doses"])


def page_of(answer):
    body = re.sub(r"<(script|style)\b.*?</\1>", "", report(answer).decode(), flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", "", body))


@pytest.mark.parametrize("names", list(itertools.permutations(("Alpha", "Middle", "Zulu"))))
def test_names_do_not_settle_a_tie(names):
    north, south, east = names
    called = dict(zip("NSE", names, strict=True))
    answer = audit(log([(date, called[who], n) for date, who, n in TIE]), **MAPPED)
    people = {name: answer.stakeholder(name) for name in names}
    assert people[south].overall_unfairness == pytest.approx(-190 / 3)
    assert people[east].overall_unfairness == pytest.approx(-190 / 3)
    assert [people[name].rank_overall for name in names] == [1, 2, 2]
    assert [people[name].rank_final for name in names] == [1, 3, 2]
    assert answer.treated_worst == tuple(sorted((south, east)))
    assert [one.name for one in answer.by_stakeholder] == [*sorted((south, east)), north]
    first, second = sorted((south, east))
    assert (
        f"Treated worst overall were {first} and {second}, each below the mean at 100% of the "
        f"assessments (−15.83 from the mean on average); at the end it is {south} (−26.67)."
    ) in answer.verdict


def test_everyone_is_named_in_text_json_and_page():
    answer = audit(log(TIE), **MAPPED)
    found = answer.to_json()
    assert found["all_treated_worst"] == ["E", "S"]
    asked, at_end = found["questions"][:2]
    assert (asked["treated_worst"], asked["all_treated_worst"]) == ("E", ["E", "S"])
    assert asked["overall_unfairness"] == pytest.approx(-190 / 3)
    assert (at_end["treated_worst"], at_end["all_treated_worst"]) == ("S", ["S"])
    assert at_end["turns"]  # South alone is not East and South
    _, course, turned = tables(answer)
    assert course.rows[0][2:] == ("E and S", "−13.33", "N", "+26.67")
    assert turned.rows[0][2] == "E and S"
    assert turned.rows[1][2] == "≠ S"
    text = page_of(answer)
    far = "−15.83 doses from the mean on average; −63.33 summed"  # over four time points
    assert f"Treated worst overallE and S{far}" in text
    assert "Treated worst overall: E and S (−63.33 from the mean, summed)." in text


def test_nobody_was_treated_worst_where_nobody_is_behind_over_all():
    """A is half a dose above and then half below the mean, and B the reverse."""
    answer = audit(log([(1, "A", 0.1), (2, "B", 0.2)]), **MAPPED)
    assert answer.treated_worst == ()
    assert "reated worst" not in answer.verdict
    assert answer.verdict.endswith(
        "Over all nobody was behind: what each was below the mean at some times it was above it at "
        "others; at the end A is furthest below the mean (−0.05). Not behind overall, but behind "
        "at the end: A."
    )
    assert [one.rank_overall for one in answer.by_stakeholder] == [1, 1]
    asked, at_end = answer.to_json()["questions"]
    assert (asked["treated_worst"], asked["all_treated_worst"]) == (None, [])
    assert asked["overall_unfairness"] == 0
    assert (at_end["treated_worst"], at_end["turns"]) == ("A", True)
    text = page_of(answer)
    assert "Treated worst overallnobody" in text
    assert "Treated worst overall: nobody" in text


def test_equals_who_were_below_at_different_times():
    """Statuses 6 1 2 and 4 3 2, means 3: B is 2 below the mean once, and C 1 below it twice."""
    rows = [(1, "A", 6), (1, "B", 1), (1, "C", 2), (2, "A", -2), (2, "B", 2)]
    answer = audit(log(rows), **MAPPED)
    assert answer.treated_worst == ("B", "C")
    assert (
        "Treated worst overall were B and C, each below the mean at 50% to 100% of the "
        "assessments (−1 from the mean on average); at the end it is C (−1)."
    ) in answer.verdict


def test_a_unit_in_a_billion_thousand_is_no_tie():
    answer = audit(log([(1, "A", 10**12), (1, "B", 10**12 + 1)]), **MAPPED)
    assert answer.treated_worst == ("A",)
    assert [one.rank_overall for one in answer.by_stakeholder] == [2, 1]


def test_how_many_are_named():
    assert join_tied("A") == "A"
    assert join_tied("AB") == "A and B"
    assert join_tied("ABC") == "A, B and C"
    assert join_tied("ABCD") == "A, B and 2 others"
    answer = audit(log([(1, "A", 5), *((1, name, 0) for name in "BCDE")]), **MAPPED)
    assert "Treated worst overall were B, C and 2 others, each" in answer.verdict
    assert "Treated worst overallB, C and 2 others" in page_of(answer)


def test_a_mean_is_over_those_in_which_it_is_known():
    nan = np.nan
    assert known_mean([[1.0, nan], [3.0, 5.0], [2.0, nan]]).tolist() == [2.0, 5.0]
    assert np.isnan(known_mean([[nan], [nan]])).tolist() == [True]
    several = [Ranking(np.array([-1.0, 1.0]), 0.25, 0.5), Ranking(np.array([-3.0, nan]), 0.75, 1.5)]
    mean = Ranking.mean(several)
    assert mean.deviation.tolist() == [-2.0, 1.0]
    assert (mean.rounding, mean.let_pass.tolist()) == (0.5, [1.0, 0.5])


def test_nobody_is_behind_by_what_is_let_pass_or_by_rounding():
    far = np.array([-2.0, -1.0, 3.0])
    for equal, let_pass, behind, lowest, highest in (
        (0.5, 0.0, [True, True, False], (0,), (2,)),
        (1.0, 0.0, [True, False, False], (0, 1), (2,)),
        (0.5, 1.0, [True, False, False], (0,), (2,)),
        (0.5, 2.0, [False, False, False], (), (2,)),
        (3.0, 0.5, [False, False, False], (), ()),
    ):
        ranking = Ranking(far, equal, let_pass)
        assert ranking.behind.tolist() == behind
        assert (ranking.lowest, ranking.highest) == (lowest, highest)
    assert Ranking(far, 1.0).ranks.tolist() == [2, 2, 1]  # as far apart as counts for nothing
    assert Ranking.of(far, np.array([1e15, 0.0, 0.0])).rounding > 1e-9 * 3
    assert Ranking.of(far, far).rounding == pytest.approx(3e-9, rel=1e-12)


def test_what_is_let_pass_may_differ_from_one_to_the_next():
    far = np.array([-5.0, -5.0, -4.0, 14.0])
    ranking = Ranking(far, 1e-9, np.array([10.0, 1.0, 1.0, 1.0]))
    assert ranking.behind.tolist() == [False, True, True, False]
    assert (ranking.lowest, ranking.highest) == ((1,), (3,))


def test_ranks_with_equals_and_with_those_who_are_not_there():
    ranking = Ranking(np.array([1.0, np.nan, -1.0, 1 + 1e-10, -1.0, np.nan]), rounding(1.0, 2.0))
    assert ranking.ranks.tolist() == [1, 5, 3, 1, 3, 5]
    assert ranking.lowest == (2, 4)
    assert ranking.highest == (0, 3)
    assert ranking.worst_first.tolist() == [1, 5, 2, 4, 0, 3]


@pytest.mark.skipif(not VACCINATIONS.exists(), reason="the real log is not here")
def test_four_of_the_real_log_got_nothing_and_are_all_named():
    answer = audit(
        str(VACCINATIONS),
        stakeholder="location",
        time="date",
        amount="distributed_per_hundred",
        cumulative=True,
        every="month",
        exclude=["United States"],
    )
    four = ("Bureau of Prisons", "Dept of Defense", "Long Term Care", "Veterans Health")
    assert answer.treated_worst == four
    assert {answer.stakeholder(name).rank_overall for name in four} == {61}
    assert len(answer.by_stakeholder) == 64
    assert "were Bureau of Prisons, Dept of Defense and 2 others, each below" in answer.verdict


def test_an_alert_names_all_who_are_equally_far_behind():
    monitor = Monitor(anytime(Rawls()), tuple("ABCDE"), max_unfairness=1)
    events = [(1, 0, 10.0), (2, 1, 10.0), (3, 2, 10.0), (4, 3, 10.0), (5, 4, 10.0)]
    lines = monitor.take(Batch(*(np.array(part) for part in zip(*events, strict=True))))
    lines += monitor.finish()
    assert [one.alert for one in lines] == [
        ("B, C and 2 others are 2 below the mean, more than 1",),
        ("C, D and E are 4 below the mean, more than 1",),
        ("D and E are 6 below the mean, more than 1",),
        ("E is 8 below the mean, more than 1",),
        (),
    ]


def test_from_the_shell(tmp_path):
    path = write(tmp_path / "tie.csv", TIE)
    out, folder = tmp_path / "page.html", tmp_path / "sheets"
    command = ["audit", path, *OPTIONS, "--json", "--out", str(out), "--csv", str(folder)]
    found = json.loads(CliRunner().invoke(app, command).output)
    assert found["all_treated_worst"] == ["E", "S"]
    with open(folder / "stakeholders.csv", newline="") as file:
        ranks = {row["name"]: row["rank_overall"] for row in csv.DictReader(file)}
    assert ranks == {"N": "1", "E": "2", "S": "2"}
    with open(folder / "questions.csv", newline="") as file:
        asked = next(csv.DictReader(file))
    assert (asked["treated_worst"], asked["all_treated_worst"]) == ("E", "E; S")


def test_what_counts_as_rounding_goes_by_the_distances_and_not_by_the_statuses():
    """One in 10^12 is further apart than whole numbers of that size are rounded."""
    statuses = np.array([1e12 - 1, 1e12 + 1])
    ranking = Ranking.of(statuses - 1e12, statuses)
    assert ranking.rounding == rounding(furthest=1.0, largest=1e12 + 1)
    assert (ranking.lowest, ranking.highest) == ((0,), (1,))


# Running totals against plain counting, however the assessments are cut into blocks.

SIZE = 3
tables_running_totals = st.integers(1, 10).flatmap(
    lambda rows: st.tuples(
        st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, -4.0]), min_size=SIZE, max_size=SIZE),
            min_size=rows,
            max_size=rows,
        ),
        st.one_of(
            st.none(),
            st.lists(
                st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).filter(any),
                min_size=rows,
                max_size=rows,
            ),
        ),
    )
)


def block(statuses, present) -> Block:
    rows = len(statuses)
    every = np.ones(rows, dtype=bool)
    return Block(every, every, statuses, np.zeros(rows), Standing(present), None, statuses, None)


def by_counting(statuses, present, i) -> dict[str, float]:
    """The figures of stakeholder i, one assessment after the other."""
    deviations, spell, longest, longest_end = [], 0, 0, -1
    below = 0
    for k, (row, here) in enumerate(zip(statuses, present, strict=True)):
        there = [u for u, yes in zip(row, here, strict=True) if yes]
        far = row[i] - sum(there) / len(there)
        is_below = bool(here[i]) and far < -1e-9
        if here[i]:
            deviations.append(far)
        below += is_below
        spell = spell + 1 if is_below else 0
        if spell > longest:
            longest, longest_end = spell, k
    return {
        "judged": len(deviations),
        "below": below,
        "overall": sum(deviations),
        "first": deviations[0] if deviations else math.nan,
        "last": deviations[-1] if deviations else math.nan,
        "last_is_below": bool(deviations) and deviations[-1] < -1e-9,
        "spell": spell,
        "longest": longest,
        "longest_end": longest_end,
        "share_below": below / max(len(deviations), 1),
    }


@given(tables_running_totals, st.lists(st.integers(0, 10), max_size=3), st.booleans())
def test_totals_are_those_of_counting_whatever_the_cut_and_the_stop(table, cuts, stop):
    statuses, present = np.array(table[0]), table[1]
    present = None if present is None else np.array(present)
    totals = RunningTotals(SIZE)
    edges = sorted(min(cut, len(statuses)) for cut in cuts)
    for start, end in itertools.pairwise([0, *edges, len(statuses)]):
        here = None if present is None else present[start:end]
        deviation, below = totals.take(block(statuses[start:end], here))
        assert deviation.shape == below.shape == (end - start, SIZE)
        if stop:
            other = RunningTotals(SIZE)
            other.resume(totals.snapshot())
            totals = other
    here = np.ones(statuses.shape, dtype=bool) if present is None else present
    expected = [by_counting(table[0], here.tolist(), i) for i in range(SIZE)]
    for name in expected[0]:
        wanted = [one[name] for one in expected]
        assert getattr(totals, name).tolist() == pytest.approx(wanted, nan_ok=True), name
    spread = np.where(here, statuses, np.nan)
    far = spread - np.nanmean(spread, axis=1, keepdims=True)
    assert totals.assessments == len(statuses)
    assert totals.unequal == (far < -1e-9).any(axis=1).sum()
    assert totals.worst == pytest.approx(min(0.0, float(np.nanmin(far))))
    assert totals.furthest == pytest.approx(np.nanmax(np.abs(far), axis=1).sum())
    assert totals.scale == pytest.approx(np.abs(statuses).max(axis=1).sum())


def test_by_hand():
    """Below at assessments 2 to 4 and 6 to 7: the longest spell ended with number 4, from 1."""
    statuses = np.array([[1, 1], [1, 3], [1, 3], [1, 3], [5, 3], [5, 7], [5, 7]], dtype=float)
    totals = RunningTotals(2)
    for row in statuses:
        totals.take(block(row[None], None))
    assert totals.longest.tolist() == [3, 1]
    assert totals.longest_end.tolist() == [3, 4]
    assert totals.spell.tolist() == [2, 0]
    assert totals.below.tolist() == [5, 1]
    assert totals.overall.tolist() == [-4.0, 4.0]
    assert totals.ranking.lowest == (0,)
    assert totals.worst == -1.0


def test_nobody_has_been_judged_yet():
    totals = RunningTotals(2)
    assert totals.share_below.tolist() == [0.0, 0.0]
    assert (totals.worst, totals.scale, totals.furthest, totals.unequal) == (0.0, 0.0, 0.0, 0)
    deviation, below = totals.take(block(np.zeros((0, 2)), None))
    assert deviation.shape == below.shape == (0, 2)
    assert totals.assessments == 0
    assert totals.longest_end.tolist() == [-1, -1]
    assert np.isnan(totals.first).all()
    assert np.isnan(totals.last).all()


# A scheme at work on statuses, and on those statuses made even, by hand.

MAPPED_SCORER = {"stakeholder": "who", "time": "date", "amount": "doses"}
LOG = pd.DataFrame({"date": [1, 2], "who": list("AB"), "doses": [4.0, 2.0]})


def test_the_welfare_of_the_even_log_at_each_assessment():
    """Statuses (4, 0) and (4, 2): the even ones are (2, 2) and (3, 3)."""
    course = audit(LOG, **MAPPED_SCORER, welfare="log_nash").over_time
    assert course.welfare == pytest.approx([np.log(5), np.log(5) + np.log(3)])
    assert course.even_welfare == pytest.approx([2 * np.log(3), 2 * np.log(4)])


def test_with_entitlements_the_even_log_is_even_by_entitlement():
    """Per unit: A 4/1 and B 0/3, then 4 and 2/3; the mean is 4/4, then 6/4; weights 1/2 and 3/2."""
    found = audit(LOG, **MAPPED_SCORER, welfare="utilitarian", entitlement={"A": 1, "B": 3})
    assert found.over_time.even_welfare == pytest.approx([2 * 1.0, 2 * 1.5])
    assert found.over_time.welfare == pytest.approx(found.over_time.even_welfare)


def test_the_mean_over_time_of_both_are_the_two_scores():
    found = audit(LOG, **MAPPED_SCORER)
    assert found.overall.score == pytest.approx(found.over_time.welfare.mean())
    assert found.overall.even_score == pytest.approx(found.over_time.even_welfare.mean())


def test_what_is_undefined_once_has_no_score_nor_an_even_one():
    def sides(*statuses):
        return Sides.of(np.array([statuses]), np.array([np.mean(statuses)]), Standing())

    scorer = Scorer(anytime(LogNash()))
    assert scorer.even_score is None  # nothing was assessed yet
    assert scorer.take(sides(1.0, 3.0)) is not None
    assert scorer.even_score == pytest.approx(2 * np.log(3))
    assert scorer.take(sides(-2.0, 4.0)) is None
    assert scorer.even_score is None
    with pytest.raises(NegativeStatus):
        _ = scorer.score
    assert scorer.take(sides(1.0, 3.0)) is None


def test_what_an_assessment_would_find_now():
    status, here = np.array([1.0, 3.0]), Standing()
    found = welfare_now(anytime(Rawls()), status, here)
    assert found == (1.0, 2.0)
    assert welfare_now(anytime(LogNash()), -status, here) is None
    nobody = Standing(weights=np.zeros((1, 2)))
    assert welfare_now(anytime(Rawls()), status, nobody) is None


def test_an_unfinished_period_has_both_too():
    log = pd.DataFrame(
        {"date": ["2021-01-31", "2021-02-03"], "who": list("AB"), "doses": [4.0, 2.0]}
    )
    last = audit(log, **MAPPED_SCORER, every="month", welfare="rawls").over_time.unfinished
    assert (last.welfare, last.even_welfare) == (2.0, 3.0)
