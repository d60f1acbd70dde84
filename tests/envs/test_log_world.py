"""A world made from a log, by hand, and against plain loops over the rows."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import LogNash, Parity, Rawls, Total, Trace, anytime, bounded
from evenhand.envs import Random, State, rollout, rollouts, to_trace
from evenhand.envs.log_world import LogWorld, TimePointEnds, Unmet
from evenhand.errors import BadParameter, EvenhandError, TooLarge
from evenhand.fairness.scheme import from_table, to_table, to_toml
from evenhand.memory.memory import Full
from evenhand.planning.planner import plan
from evenhand.problem.problem import ENVIRONMENTS, Problem

EVERY_STEP = to_toml(anytime(LogNash(), Total()))
AT_ENDS = to_toml(bounded(TimePointEnds(), Parity(), Total()))
# Two blocks. The first: lots of 5 and 2 at one time point, then 1. The second: 3, then 3.
TWO_BLOCKS = LogWorld(
    names=("A", "B"),
    lots=(5.0, 2.0, 1.0, 3.0, 3.0),
    slots=(0, 0, 1, 2, 3),
    blocks=(0, 3),
    phases=(0, 1, 0, 1),
    num_phases=2,
    assessed=(True, False, True, True),
    scheme=AT_ENDS,
    horizon=6,
)
# A asks for 4 at the first time point; B for 3 then and 2 at the second.
ASKING = replace(
    TWO_BLOCKS,
    lots=(5.0, 2.0, 1.0),
    slots=(0, 0, 1),
    blocks=(0,),
    phases=(0, 0),
    num_phases=1,
    assessed=(True, True),
    by_request=True,
    requests=((0, 0, 4.0), (0, 1, 3.0), (1, 1, 2.0)),
)
MANY = 20_000


def supplies(runs):
    """What was given out at each step of each run."""
    return np.asarray(runs.steps.rewards).sum(axis=-1)


def test_an_episode_is_a_sequence_of_whole_blocks_each_as_likely_as_the_other():
    given = supplies(rollouts(TWO_BLOCKS, Random(2), Full(), jax.random.key(0), MANY))
    first, second = (5.0, 2.0, 1.0), (3.0, 3.0)
    possible = {}
    for blocks in itertools.product((first, second), repeat=3):
        start = tuple(itertools.chain.from_iterable(blocks))[:6]
        possible[start] = possible.get(start, 0.0) + 1 / 8
    found, counts = np.unique(given, axis=0, return_counts=True)
    assert {tuple(row) for row in found.tolist()} == set(possible)
    for row, count in zip(found.tolist(), counts, strict=True):
        chance = possible[tuple(row)]
        assert abs(count / MANY - chance) < 5 * math.sqrt(chance / MANY)


def test_fairness_is_assessed_after_the_last_lot_of_an_assessed_time_point():
    run = rollout(TWO_BLOCKS, Random(2), Full(), jax.random.key(1), horizon=40)
    given, assessed = supplies(run), np.asarray(run.steps.next_state.world.assessed)
    for amount, here in zip(given.tolist(), assessed.tolist(), strict=True):
        assert here == (amount in (2.0, 3.0))  # after the 2 of 5 and 2, and after each 3
    trace = to_trace(run)
    totals = trace.rewards.cumsum(axis=0)[assessed]
    expected = -np.abs(totals[:, 0] - totals[:, 1]).sum()
    assert TWO_BLOCKS.default_scheme().score(trace) == pytest.approx(expected)


def walk(world, actions):
    """The situations of one block and what each step gave, for the actions that are taken."""
    state, seen, given = State(world.start(), jnp.asarray(0)), [], []
    for action in actions:
        seen.append(jax.device_get(world.situation(state)))
        after = jax.tree.map(lambda leaf: leaf[0], world.outcomes(*state, action).world)
        given.append(world.rewards(state, action, after).tolist())
        state = State(after, jnp.asarray(0))
    return seen, given


def test_a_lot_that_nobody_wants_whole_is_split_and_the_rest_is_left_over():
    seen, given = walk(ASKING, [0, 1, 1, 0, 0])
    # 5 is more than anybody wants: A takes its 4, B the 1 that is left; of 2, B takes both.
    assert given == [[4, 0], [0, 1], [0, 2], [0, 1], [4, 0]]
    assert [one.amount.tolist() for one in seen] == [5, 1, 2, 1, 5]
    assert [one.eligible.tolist() for one in seen] == [
        [True, True],
        [False, True],
        [False, True],
        [False, True],  # B has asked for 2 more, and A, chosen, wants nothing
        [True, True],  # the block again: A asks for 4 anew, and B for 3 beside the 1 it still wants
    ]
    assert seen[4].wanted.tolist() == [4, 4]


def test_whoever_can_take_a_lot_whole_comes_before_those_who_cannot():
    big = replace(ASKING, requests=((0, 0, 4.0), (0, 1, 6.0)))
    seen, given = walk(big, [0, 0])
    assert seen[0].eligible.tolist() == [False, True]
    assert given == [[0, 5], [2, 0]]


def test_whoever_is_not_there_is_passed_over_for_the_next_who_is():
    world = replace(
        TWO_BLOCKS, names=("A", "B", "C"), stays=((1, 9), (0, 0), (0, 3)), scheme=AT_ENDS
    )
    seen, given = walk(world, [0, 1, 1])
    assert [one.eligible.tolist() for one in seen] == [
        [False, True, True],
        [False, True, True],
        [True, False, True],
    ]
    assert given == [[0, 5, 0], [0, 2, 0], [0, 0, 1]]


def test_where_nobody_is_eligible_nothing_is_given():
    _, given = walk(replace(ASKING, requests=((0, 0, 1.0),)), [1, 1, 1])
    assert given == [[1, 0], [0, 0], [0, 0]]


def test_a_policy_sees_who_may_be_served_the_lot_and_the_part_of_the_block():
    state = State(TWO_BLOCKS.start(), jnp.asarray(1))
    mean = (5 + 2 + 1 + 3 + 3) / 5
    assert TWO_BLOCKS.observation(state).tolist() == pytest.approx([1, 1, 3 / mean, 1, 0])
    TWO_BLOCKS.feature_layout().require_fit(2, 5)
    asking = State(ASKING.start(), jnp.asarray(0))
    wanted = [math.log1p(4 / (8 / 3)), math.log1p(3 / (8 / 3))]
    assert ASKING.observation(asking).tolist() == pytest.approx([1, 1, *wanted, 5 / (8 / 3)])
    ASKING.feature_layout().require_fit(2, 5)


def test_those_are_alike_who_ask_alike_and_are_there_alike():
    assert TWO_BLOCKS.exchangeable() == (0, 0)
    assert ASKING.exchangeable() == (0, 1)
    there = replace(TWO_BLOCKS, names=("A", "B", "C"), stays=((0, 3), (0, 3), (1, 3)))
    assert there.exchangeable() == (0, 0, 1)


def best(world, received, rows, left):
    """The most that can be had from here on, by trying everything: log-Nash at every step."""
    if left == 0:
        return 0.0
    blocks = [(rows, 1.0)] if rows else [(block, 1 / 2) for block in ((5.0, 2.0, 1.0), (3.0, 3.0))]
    total = 0.0
    for (lot, *rest), chance in blocks:
        values = []
        for who in (0, 1):
            after = tuple(have + lot * (who == k) for k, have in enumerate(received))
            now = sum(math.log(have + 1) for have in after)
            values.append(now + best(world, after, tuple(rest), left - 1))
        total += chance * max(values)
    return total


def test_the_exact_optimum_is_that_of_trying_everything():
    world = replace(TWO_BLOCKS, scheme=EVERY_STEP, horizon=5)
    found = plan(Problem(world, world.default_scheme()))
    assert found.value == pytest.approx(best(world, (0.0, 0.0), (), 5), rel=1e-5)


def test_parts_that_read_such_a_world_are_refused_elsewhere():
    trace = Trace([[1, 0], [0, 1]])
    for scheme in (bounded(TimePointEnds()), anytime(Rawls(), status=Unmet())):
        with pytest.raises(BadParameter, match="is for worlds that are made from logs"):
            scheme.score(trace)
    without = replace(TWO_BLOCKS, scheme=to_toml(anytime(Rawls(), Total(), Unmet())))
    problem = Problem(without, without.default_scheme())
    first = problem.initial(jax.random.key(0))
    with pytest.raises(BadParameter, match="this world has no requests"):
        problem.step(jax.random.key(0), first, 0)


def test_a_moment_has_the_phase_of_its_place_in_a_block():
    week = replace(TWO_BLOCKS, num_phases=7, origin=100.0, block=14.0)
    assert [week.phase_at(moment) for moment in (100, 101.9, 102, 113.9, 114, 86, 99)] == [
        *(0, 0, 1, 6, 0, 0, 6)
    ]


def test_it_is_written_and_read_again():
    for world in (TWO_BLOCKS, ASKING, replace(TWO_BLOCKS, stays=((0, 3), (1, 2)))):
        again = from_table(to_table(world, ENVIRONMENTS), ENVIRONMENTS, "environment")
        assert again == world
        assert hash(again) == hash(world)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"names": ("A", "A")}, "names does not fit"),
        ({"names": (1, 2)}, "names is"),
        ({"lots": (5.0, -2.0, 1.0, 3.0, 3.0)}, "lots does not fit"),
        ({"lots": (5.0, math.nan, 1.0, 3.0, 3.0)}, "lots is"),
        ({"lots": ()}, "needs stakeholders and lots"),
        ({"slots": (0, 0, 1, 2)}, "slots does not fit"),
        ({"slots": (0, 0, 1, 3, 4)}, "slots does not fit"),
        ({"slots": (0.5, 0, 1, 2, 3)}, "slots is"),
        ({"blocks": (0, 1)}, "blocks does not fit"),  # in the middle of a time point
        ({"blocks": (3,)}, "blocks does not fit"),
        ({"phases": (0, 1, 0, 2)}, "phases does not fit"),
        ({"assessed": (True,) * 3}, "assessed does not fit"),
        ({"requests": ((0, 2, 1.0),)}, "requests does not fit"),
        ({"requests": ((0, 1),)}, "requests is"),
        ({"stays": ((0, 1),)}, "stays does not fit"),
        ({"block": 0.0}, "block does not fit"),
        ({"horizon": 0}, "horizon is 0"),
        ({"scheme": "nonsense"}, "not valid TOML"),
    ],
)
def test_what_does_not_fit_together_is_refused(fields, words):
    with pytest.raises(EvenhandError) as refused:
        replace(TWO_BLOCKS, **fields)
    assert words in str(refused.value)


def test_more_than_can_be_learned_from_is_refused():
    names = tuple(map(str, range(201)))
    with pytest.raises(TooLarge, match=r"201 stakeholders, and a policy is learned from at most"):
        replace(TWO_BLOCKS, names=names)
