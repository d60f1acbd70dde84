"""Worlds and schemes of the benchmark by name, and what is not one."""

from __future__ import annotations

import json

import pytest

from evenhand import Trace
from evenhand.envs import FairTaxi
from evenhand.errors import BadParameter
from evenhand.lab.benchmark_worlds import SIZES, pair_of, pairs_of, world_of


def test_a_world_has_three_schemes():
    long_term, periodic, anytime = pairs_of(["fish_wood"])
    assert [pair.name for pair in (long_term, periodic, anytime)] == [
        "fish_wood/long-term",
        "fish_wood/periodic",
        "fish_wood/anytime",
    ]
    horizon = long_term.world.environment().horizon
    trace = Trace(rewards=[[3.0, 1.0]] * horizon)
    least = [float(time) for time in range(1, horizon + 1)]  # judged by the least that there is
    assert long_term.scheme.score(trace) == least[-1]
    quarter = horizon // 4
    assert periodic.scheme.score(trace) == sum(least[quarter - 1 :: quarter])
    assert anytime.scheme.score(trace) == sum(least)


@pytest.mark.parametrize("name", SIZES)
def test_a_world_is_what_its_table_says(name):
    world = world_of(name)
    table = json.loads(json.dumps(world.table()))
    again = world_of(table)
    assert again.label == name
    assert again.environment() == world.environment()


def test_a_map_of_ones_own_has_a_name_that_says_so():
    asked = '{"name": "taxi", "origins": [[0, 0]], "destinations": [[1, 1]], "size": [2, 2]}'
    pair = pairs_of([asked], ["anytime"])[0]
    assert pair.world.environment() == FairTaxi(((0, 0),), ((1, 1),), (2, 2))
    assert pair.name.startswith("taxi(origins=[[0,0]]")
    assert pair_of(json.loads(json.dumps(pair.to_json()))).name == pair.name


@pytest.mark.parametrize(
    ("world", "words"),
    [
        ("taxy", "there is no world .*taxy.*taxi"),
        ("mo/taxi-v3", "there is no world 'mo/taxi-v3': of MO-Gymnasium"),
        ('{"name": "taxi", "horizon": 0}', "horizon is 0"),
        ('{"name": "taxi", "colour": 1}', "colour"),
        ('{"name": ', "is not JSON"),
    ],
)
def test_an_unknown_world_is_a_sentence(world, words):
    with pytest.raises(BadParameter, match=words):
        pairs_of([world])


def test_an_unknown_scheme_is_a_sentence():
    with pytest.raises(BadParameter, match="no scheme 'sometimes': there are long-term"):
        pairs_of(["doughnuts"], ["sometimes"])
