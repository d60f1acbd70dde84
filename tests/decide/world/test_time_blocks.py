"""Blocks of time points, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.decide.world.time_blocks import blocks_of
from evenhand.errors import BadLog, BadParameter


def days(*texts):
    return np.array(texts, dtype="datetime64[us]")


MONDAYS_AND_FRIDAYS = days(
    *("2024-01-01", "2024-01-05", "2024-01-08", "2024-01-12T15:00", "2024-01-15")
)


def test_weeks_begin_on_the_weekday_of_the_first_day():
    blocks = blocks_of(MONDAYS_AND_FRIDAYS, length="7d")
    assert blocks.kept.tolist() == [True, True, True, True, False]  # one day of the third week
    assert (blocks.block.tolist(), blocks.phase.tolist()) == ([0, 0, 1, 1], [0, 4, 0, 4])
    assert (blocks.number, blocks.num_phases) == (2, 7)
    first, left_out, few = blocks.sentences()
    assert "2 blocks of 7 days" in first
    assert left_out.startswith("1 time point at the end did not make a whole block")
    assert "That is few" in few


def test_a_log_that_is_whole_up_to_a_later_day_has_the_blocks_up_to_it():
    until = np.datetime64("2024-01-21T23:59:59.999999", "us")
    blocks = blocks_of(MONDAYS_AND_FRIDAYS, until, "7d")
    assert blocks.kept.all()
    assert blocks.block.tolist() == [0, 0, 1, 1, 2]


def test_a_week_in_which_nothing_happened_is_no_block():
    blocks = blocks_of(days("2024-01-01", "2024-01-15", "2024-01-21"), length=7)
    assert blocks.block.tolist() == [0, 1, 1]


def test_the_default_is_a_week_where_time_points_are_days():
    daily = np.arange("2024-01-01", "2024-02-01", dtype="datetime64[D]").astype("datetime64[us]")
    assert blocks_of(daily).length == 7 * 86_400e6


def test_the_default_is_the_cube_root_of_the_time_points_elsewhere():
    plain = blocks_of(np.arange(1.0, 28.0))  # 27 of them: blocks of 3
    assert (plain.length, plain.number, plain.num_phases) == (3.0, 9, 3)
    assert plain.phase.tolist() == [0, 1, 2] * 9
    monthly = np.arange("2020-01", "2022-04", dtype="datetime64[M]").astype("datetime64[us]")
    assert blocks_of(monthly).length == 14 * 7 * 86_400e6  # 3 × 31 days in whole weeks


@pytest.mark.parametrize(
    ("length", "words"),
    [
        ("30d", "too short to be cut into blocks: it covers 2.1 weeks, and a"),
        ("4w", "Use more of the log (`until`), or shorter blocks (`block`)."),
    ],
)
def test_a_log_shorter_than_a_block_is_refused(length, words):
    with pytest.raises(BadLog) as refused:
        blocks_of(MONDAYS_AND_FRIDAYS, length=length)
    assert words in str(refused.value)


@pytest.mark.parametrize("length", ["12h", "soon", "0", "-3"])
def test_a_length_that_is_none_is_refused(length):
    with pytest.raises(BadParameter, match=f"`block` is '{length}'"):
        blocks_of(MONDAYS_AND_FRIDAYS, length=length)
