"""Odd files, options, schemes and saved files for every verb, for some minutes; see `fuzzing`."""

from __future__ import annotations

import pytest

from fuzzing.fuzz import fuzz
from fuzzing.runner import Runner

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def runner():
    with Runner() as runner:
        yield runner


def test_nothing_breaks_any_verb(runner):
    summary = fuzz(3000, 2, runner, most_seconds=180)
    assert not summary.failures, f"\n{summary.table()}\n\n{summary.complaints()}"
    assert summary.counts.total() > 100


def test_nor_through_the_shell(runner):
    summary = fuzz(25, 3, runner, shell=True, most_seconds=120)
    assert not summary.failures, f"\n{summary.table()}\n\n{summary.complaints()}"
