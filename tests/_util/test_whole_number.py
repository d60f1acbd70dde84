"""One check of whole numbers, wherever an argument is one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand import Clock, Doughnuts
from evenhand._util.whole_number import is_whole, require_whole
from evenhand.decide.rules.draws import read_seed
from evenhand.envs.other_sizes import resized
from evenhand.errors import BadParameter
from evenhand.fairness import Every, Modulo, Window
from evenhand.learn.deep.targets import HardUpdate
from evenhand.learn.proposals import Above

NOT_WHOLE = [True, np.True_, 1.5, 3.0, np.float64(3), math.nan, math.inf, "3", None, [3], 0, -1]


@pytest.mark.parametrize("value", NOT_WHOLE)
def test_what_is_not_a_whole_number_from_1_is_refused(value):
    assert not is_whole(value)
    with pytest.raises(BadParameter) as refused:
        require_whole(value, "reach")
    assert str(refused.value) == f"reach is {value!r}: it must be a whole number from 1."


@pytest.mark.parametrize("value", [1, np.int32(7), np.uint8(3), 10**30])
def test_whole_numbers_of_python_and_numpy_are_taken_as_int(value):
    found = require_whole(value, "reach")
    assert type(found) is int
    assert found == value


def test_the_bounds_are_in_the_sentence():
    assert require_whole(0, "seed", least=0) == 0
    assert require_whole(1000, "steps", most=1000) == 1000
    with pytest.raises(BadParameter, match=r"^seed is -1: it must be a whole number from 0\.$"):
        require_whole(-1, "seed", least=0)
    with pytest.raises(BadParameter, match=r"^steps is 1001: .* whole number from 1 to 1,000\.$"):
        require_whole(1001, "steps", most=1000)
    with pytest.raises(BadParameter, match=r"^steps is a number of 401 digits: it must be a whole"):
        require_whole(10**400, "steps", most=1000)


WHO_COUNTS = {
    "period": (Every, Clock),
    "length": (Window,),
    "modulus": (Modulo,),
    "every": (HardUpdate,),
    "reach": (Above,),
    "horizon": (
        lambda value: Doughnuts(horizon=value),
        lambda value: resized(Doughnuts(), None, value),
    ),
    "seed": (read_seed,),
}


@pytest.mark.parametrize("value", [True, 1.5, 3.0, math.nan, math.inf, "x", -1])
@pytest.mark.parametrize(("name", "kinds"), WHO_COUNTS.items(), ids=WHO_COUNTS)
def test_every_part_that_counts_is_as_strict(name, kinds, value):
    for kind in kinds:
        with pytest.raises(BadParameter, match=f"^`?{name}`? is .*"):
            kind(value)
        kind(np.int64(3))


def test_a_part_holds_a_plain_int_whatever_it_was_given():
    assert type(Every(np.int64(3)).period) is int
    assert type(Clock(np.int64(3)).period) is int
    assert type(Above(np.int64(3)).reach) is int


@pytest.mark.parametrize("typed", ["-1", "1.0", "٣", "", "7 8", "9" * 5000])
def test_a_typed_seed_shows_a_whole_number(typed):
    assert read_seed(" 12 ") == 12
    with pytest.raises(BadParameter, match=r"`seed` is .*: it must be a whole number from 0"):
        read_seed(typed)
