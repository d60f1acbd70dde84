"""The page of a replay: names from the log are shown and never obeyed."""

from __future__ import annotations

import pandas as pd

from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.log.options import AuditOptions
from evenhand.report.html.replay_page import replay_page


def test_the_page_says_what_the_answer_says():
    log = pd.DataFrame({"month": [1, 2, 3], "to": ["<b>A", "<b>A", "B"], "doses": [5, 5, 5]})
    options = AuditOptions(stakeholder="to", time="month", amount="doses")
    answer = replay_with(log, options, ReplayOptions(("least_served", "deadline:2")))
    page = replay_page(answer).decode()
    assert "&lt;b&gt;A" in page
    assert "<b>A" not in page
    for one in answer.outcomes:
        assert f"With {one.name}" in page
        for sentence in answer.changes(one):
            assert sentence.replace("<", "&lt;").replace(">", "&gt;") in page
    assert replay_page(answer).decode() == page


def test_the_page_shows_the_plan_of_what_to_give_next():
    log = pd.DataFrame({"month": [1, 2, 3], "to": ["<b>A", "<b>A", "B"], "doses": [5, 5, 5]})
    options = AuditOptions(stakeholder="to", time="month", amount="doses")
    coming = pd.DataFrame({"month": [4, 5], "doses": [2, 8]})
    answer = replay_with(log, options, ReplayOptions(coming=coming))
    page = replay_page(answer).decode()
    assert "What to give whom next" in page
    assert answer.plan.verdict in page
    assert "it has received 5" in page
    assert "<b>A" not in page
    without = replay_page(replay_with(log, options, ReplayOptions(("least_served",)))).decode()
    assert "What to give whom next" not in without
