"""Which columns of a job log are looked at by default, and when none are."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.auditing.workload_columns import DEFAULTS, default_columns


def test_of_job_logs_what_is_not_given_is_filled_in():
    assert default_columns(["a.swf", Path("b.SWF.gz")], {}) == DEFAULTS
    given = {"stakeholder": "group", "time": None}
    assert default_columns([["a.swf"]], given) == {"time": "start", "amount": "processor_seconds"}


@pytest.mark.parametrize(
    ("logs", "given"),
    [
        (["a.csv"], {}),
        (["a.swf", "b.csv"], {}),
        ([{"user": [1]}], {}),
        ([[]], {}),
        (["a.swf"], {"wait_from": "submit"}),
        (["a.swf"], {"wide": "time"}),
    ],
)
def test_of_others_nothing_is(logs, given):
    assert default_columns(logs, given) == {}
