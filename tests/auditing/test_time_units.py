"""Times that are numbers: what they count is said, or shown by their magnitude."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest

from evenhand.auditing.time_units import BY_UNIT, UNITS, likely_unit
from evenhand.errors import BadParameter
from logs import FIRST_A_THEN_B, MAPPED, write
from read_alone import audit

SECONDS = [1612051200, 1614470400, 1617148800, 1619740800]  # the last days of four months
TIDY = {**MAPPED, "every": "month"}


def answer(tmp_path, times, **more):
    rows = [(t, *rest) for t, (_, *rest) in zip(times, FIRST_A_THEN_B, strict=True)]
    return audit(write(tmp_path / "log.csv", rows), **{**TIDY, **more})


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (SECONDS, "seconds since 1970"),
        ([t + 0.5 for t in SECONDS], "seconds since 1970"),
        ([t * 10**3 for t in SECONDS], "milliseconds since 1970"),
        ([t * 10**6 for t in SECONDS], "microseconds"),
        ([t * 10**9 for t in SECONDS], "nanoseconds"),
        ([20210131, 20210228, 20210331, 20210430], "days, such as"),
        ([202101, 202102, 202103, 202104], "years and months"),
    ],
)
def test_the_magnitude_says_it_where_the_question_needs_dates(tmp_path, times, words):
    tidy = audit(write(tmp_path / "tidy.csv", FIRST_A_THEN_B), **TIDY)
    found = answer(tmp_path, times)
    assert any(f"were taken as {words}" in note for note in found.notes)
    assert found.score == tidy.score
    assert found.over_time.times == tidy.over_time.times
    assert found.overall.unfinished is None
    plain = answer(tmp_path, times, every=None)
    assert plain.score == tidy.score
    assert "-" not in plain.over_time.times[0]  # plain numbers, as before
    by_typed = audit(pd.read_csv(tmp_path / "log.csv"), **TIDY)
    assert by_typed.over_time.times == tidy.over_time.times


def test_years(tmp_path):
    found = answer(tmp_path, [2018, 2019, 2020, 2021], every="year")
    assert found.over_time.times == ("2018", "2019", "2020", "2021")
    assert found.overall.assessments == 4


def test_small_numbers_stay_numbers_and_a_unit_that_is_named_is_taken(tmp_path):
    with pytest.raises(BadParameter, match="needs dates"):
        answer(tmp_path, [1, 2, 3, 4])
    with pytest.raises(BadParameter, match="needs dates"):
        answer(tmp_path, SECONDS, time_unit="number")
    found = answer(tmp_path, [86400 * k for k in range(4)], every="day", time_unit="s")
    assert found.over_time.times[0] == "1970-01-01"
    assert not any("taken as" in note for note in found.notes)
    with pytest.raises(BadParameter, match="`time_unit` is 'minutes': it must be one of year,"):
        answer(tmp_path, SECONDS, time_unit="minutes")


def test_a_date_to_begin_with_asks_for_dates_too(tmp_path):
    assert answer(tmp_path, SECONDS, every=None, since="2021-02-01").overall.assessments == 3
    assert answer(tmp_path, SECONDS, every=None, since=SECONDS[2]).overall.assessments == 2


def test_magnitudes_do_not_meet():
    for one in UNITS:
        assert likely_unit(one.least, one.most) == BY_UNIT[one.name]
    for one, other in itertools.pairwise(UNITS):
        assert one.most < other.least
