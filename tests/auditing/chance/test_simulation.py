"""Drawn histories judged all at once, beside the audit of each of them one by one."""

from __future__ import annotations

import numpy as np
import pytest

from chance_cases import KINDS, Ready, dated, log_of, small_log
from evenhand.auditing.chance.nulls import FairLottery


def the_same(figures, draw, answer):
    people = {one.name: one for one in answer.by_stakeholder}
    inorder = [people[name] for name in answer.over_time.names]
    assert figures.score[draw] == pytest.approx(answer.score, rel=1e-9, abs=1e-9)
    overall = [one.overall_unfairness for one in inorder]
    assert figures.overall[draw] == pytest.approx(overall, rel=1e-9, abs=1e-9)
    shares = [one.share_below for one in inorder]
    assert figures.share_below[draw] == pytest.approx(shares, abs=1e-12)
    if answer.groups is not None:
        statuses = [group.status for group in answer.groups.groups]
        assert figures.group_gap[draw] == pytest.approx(max(statuses) - min(statuses), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_those_of_the_audit(kind):
    ready = Ready(log_of(kind), **KINDS[kind])
    figures, asked = ready.judging.judge(ready.held.as_it_was()), ready.judgement.asked
    assert figures.score[0] == pytest.approx(asked.score, rel=1e-9)
    assert figures.overall[0] == pytest.approx(asked.totals.overall, rel=1e-9, abs=1e-9)
    assert figures.share_below[0] == pytest.approx(asked.totals.share_below, abs=1e-12)
    drawn = FairLottery().draw(ready.by_slot, np.random.default_rng(1), 2)
    figures = ready.judging.judge(ready.by_interval(drawn), curves=True)
    for draw in range(2):
        answer = ready.audit_of(drawn[draw])
        the_same(figures, draw, answer)
        if figures.curves is not None:
            assert figures.curves[draw] == pytest.approx(
                answer.over_time.unfairness, rel=1e-9, abs=1e-9, nan_ok=True
            )


def test_figures_of_a_calendar_question_with_an_unfinished_last_period():
    ready = Ready(dated(small_log()), every="month")
    found = ready.judging.judge(ready.held.as_it_was())
    answer = ready.audit_of(ready.by_slot.as_it_was()[0])
    assert answer.overall.unfinished is not None
    the_same(found, 0, answer)


def test_an_empty_period_is_judged_too():
    log = small_log(correction=False)
    log = log[(log["day"] < 4) | (log["day"] > 70)]
    log.loc[len(log) + 50] = [75, "B", 2.0]
    ready = Ready(dated(log), every="week", until="2021-04-20")
    answer = ready.audit_of(ready.by_slot.as_it_was()[0])
    assert answer.gaps
    the_same(ready.judging.judge(ready.held.as_it_was()), 0, answer)
