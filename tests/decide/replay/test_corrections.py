"""Corrections: what was taken back was not there to be given."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.decide.replay.corrections import set_off
from evenhand.errors import BadLog
from evenhand.log.history import Lots
from evenhand.log.layout import Notes
from evenhand.log.log import Supply


def supply(*lots):
    slot, amount, copies = (np.array(part) for part in zip(*lots, strict=True))
    return Supply(("A",), np.arange(3.0), Lots(slot, 0 * slot, amount.astype(float), copies))


def amounts(lots):
    return [(int(s), float(a)) for s, a in zip(lots.slot, lots.amount, strict=True)]


def test_the_largest_lots_of_the_same_time_pay():
    notes = Notes()
    found = set_off(supply((0, 9, 1), (1, 5, 2), (1, 3, 1), (1, -6, 1)), notes)
    assert amounts(found.lots) == [(0, 9.0), (1, 4.0), (1, 3.0)]
    assert found.amounts().tolist() == [9.0, 7.0, 0.0]
    assert "1 correction (6 in total) was deducted from the largest lots" in notes.sentences[0]
    two = Notes()
    set_off(supply((0, 9, 1), (1, -2, 1), (1, 5, 2), (1, -3, 1)), two)
    assert "2 corrections (5 in total) were deducted from the largest lots" in two.sentences[0]


def test_then_those_of_the_time_before():
    found = set_off(supply((0, 9, 1), (1, 2, 1), (1, -2, 2)), Notes())
    assert amounts(found.lots) == [(0, 7.0)]


def test_without_any_nothing_changes():
    given = supply((0, 9, 1))
    notes = Notes()
    assert set_off(given, notes) is given
    assert notes.sentences == []


def test_more_than_was_given_out_is_refused():
    with pytest.raises(BadLog, match="takes more back than it had given out"):
        set_off(supply((0, 1, 1), (1, -2, 1), (2, 9, 1)), Notes())


@pytest.mark.parametrize(
    "lots", [((0, 0.1, 1), (1, 0.7, 1), (2, -0.8, 1)), ((0, 0.1, 1), (1, 0.2, 1), (2, -0.3, 1))]
)
def test_all_can_be_taken_back_although_sums_of_floats_are_not_exact(lots):
    assert amounts(set_off(supply(*lots), Notes()).lots) == []
    with pytest.raises(BadLog, match="more back than it had given out"):
        set_off(supply(*lots[:2], (2, -0.81, 1)), Notes())
