"""Tests of planning.model."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import three_rooms as rooms
from evenhand import LogNash, Parity, PerEntitlement, Total, anytime
from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, CannotPlan
from evenhand.memory.memory import LastWinner, Min
from evenhand.planning import model as module
from evenhand.planning.model import (
    Model,
    RowLayout,
    SchemeAndMemory,
    canonical_order,
    exchangeable,
    require_listed,
)
from evenhand.problem.problem import Problem
from three_rooms import Goals, Happened, ThreeRooms

# A problem as rows: what they are, which effects there are, and what each may become.

NASH = anytime(LogNash(), Total())
ROOMS = Model(Problem(ThreeRooms(), NASH))
SHOP = Doughnuts(2, 3, (0.5, 1.0))


def rows_of(cells):
    """Rows of rooms and counts, as the start has them."""
    world, carried = ROOMS.from_rows(np.repeat(ROOMS.start, len(cells), axis=0), 0)
    room = np.array([room for room, _ in cells], dtype=np.int32)
    total = np.array([counts for _, counts in cells], dtype=float)
    status = carried.status._replace(total=total)
    return ROOMS.to_rows((world._replace(room=room), carried._replace(status=status)))


CELLS = [(room, (float(a), float(b))) for room in range(3) for a in range(2) for b in (0, 3)]


@pytest.mark.parametrize("time", [0, 2])
def test_rows_become_what_the_rooms_say(time):
    after, pay, probability = ROOMS.expand(rows_of(CELLS), time)
    for row, (room, counts) in enumerate(CELLS):
        for coin, action in itertools.product(range(2), repeat=2):
            effect = ROOMS.effects[coin, action]
            chances = rooms.moves(room, action)
            shown = [*(chance for chance, _ in chances), 0.0][:2]
            assert probability[row, effect].tolist() == pytest.approx(shown)
            for outcome, (_, to) in enumerate(chances):
                step = Happened(time, room, coin, counts, action, to, 0)
                expected = rows_of([(to, step.next_counts)])[0]
                np.testing.assert_allclose(after[row, effect, outcome], expected)
                paid = pay[row, effect, outcome]
                assert paid == pytest.approx(Goals().pay(step), abs=1e-12)


def test_pairs_of_coin_and_action_become_what_their_effect_does():
    rows = rows_of(CELLS)
    # More pairs than effects, a number of them that effects do not divide; the first step is last.
    coins, actions = np.array([1, 0, 1, 1, 0, 0]), np.array([0, 1, 1, 0, 0, 1])
    for model in (ROOMS, Model(Problem(ThreeRooms(1), NASH))):
        pairs, whole = model.expand_pairs(rows, coins, actions), model.expand(rows, 0)
        for one, other in zip(pairs, whole, strict=True):
            np.testing.assert_allclose(one, other[:, model.effects[coins, actions]], atol=1e-12)


def test_a_chunk_at_a_time_is_the_same(monkeypatch):
    rows = rows_of(CELLS)
    whole = ROOMS.expand(rows, 0)
    monkeypatch.setattr(module, "CHUNKS", (2, 5))
    part = Model(Problem(ThreeRooms(), NASH))
    assert part._chunks == (2, 5)
    for one, other in zip(part.expand(rows, 0), whole, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    monkeypatch.setattr(module, "CHUNKS", (5, 5))
    alike = Model(Problem(ThreeRooms(), NASH))
    assert alike._chunks == (5,)
    for one, other in zip(alike.expand(rows, 0), whole, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
    monkeypatch.setattr(module, "CHUNKS", (2, 5))
    # No more numbers at a time than there is room for: 4 effects of two outcomes.
    width = ROOMS.start.shape[1]
    monkeypatch.setattr(module, "CELLS", 4 * width * 2 * 4)
    assert Model(Problem(ThreeRooms(), NASH))._chunks == (2, 4)
    monkeypatch.setattr(module, "CELLS", 1)
    assert Model(Problem(ThreeRooms(), NASH))._chunks == (1,)
    with pytest.raises(BadParameter, match="no rows"):
        ROOMS.expand(rows[:0], 0)


def test_the_start_and_the_step_number():
    world, carried = ROOMS.from_rows(ROOMS.start, 7)
    assert (world.room.tolist(), world.time.tolist()) == ([0], [7])
    assert carried.status.total.tolist() == [[0.0, 0.0]]
    kept = Model(Problem(ThreeRooms(), NASH), keep_time=True)
    assert kept.from_rows(kept.start, 7)[0].time.tolist() == [0]
    later = kept.from_rows(kept.start, 0)
    moved = later[0]._replace(time=np.array([2], dtype=np.int32)), later[1]
    assert kept.from_rows(kept.to_rows(moved), 0)[0].time.tolist() == [2]
    np.testing.assert_array_equal(ROOMS.to_rows(moved), ROOMS.start)
    # Where the step number is in the row, it decides which step is the last.
    after, pay, _ = kept.expand(kept.to_rows(moved), 0)
    assert pay[0, kept.effects[1, 0], 0] == pytest.approx(np.log(2))
    assert pay[0, kept.effects[1, 1], 0] == pytest.approx(np.log(2))
    assert kept.from_rows(after[0, 0], 0)[0].time.tolist() == [3, 3]


def test_two_wastes_are_one_effect_unless_they_must_be_told_apart():
    merged, apart = Model(Problem(SHOP, NASH)), Model(Problem(SHOP, NASH), merge_effects=False)
    assert (merged.num_effects, apart.num_effects) == (3, 8)
    present = np.asarray(merged.noise[0])
    for noise, action in itertools.product(range(4), range(2)):
        served = action if present[noise, action] else 2
        assert merged.effects[noise, action] == served
    # The second is always there, so that nothing need be wasted by serving them.
    assert merged.noise[1].tolist() == [0.0, 0.0, 0.5, 0.5]
    assert merged.possible_effects.tolist() == [True, True, True]
    always = Model(Problem(Doughnuts(2, 3, 1.0), NASH))
    assert always.possible_effects.tolist() == [True, True, False]


def test_noise_is_known_by_its_number():
    model = Model(Problem(SHOP, NASH))
    seen = jnp.array([[True, False], [False, False], [True, True]])
    listed = np.asarray(model.noise[0])
    np.testing.assert_array_equal(listed[model.noise_numbers(seen)], seen)
    with pytest.raises(CannotPlan, match="does not list"):
        model.noise_numbers(jnp.array([[True, False], [3, 1]]))


@dataclass(frozen=True)
class Tossed(ThreeRooms):
    """Three rooms with a coin of other chances."""

    chances: tuple[float, float] = (0.5, 0.5)

    def noises(self):
        return super().noises()[0], jnp.asarray(self.chances)


@pytest.mark.parametrize(
    "chances", [(0.5, 0.5), (1.0, 0.0), (0.1, 0.9), (0.5, 0.5 + 5e-7), (0.5, 0.5 - 5e-7)]
)
def test_chances_of_the_noise_are_made_to_sum_to_one(chances):
    found = Model(Problem(Tossed(chances=chances), NASH)).noise[1]
    exact = np.array(chances) / sum(chances)
    assert found.tolist() == pytest.approx(exact.tolist(), abs=1e-13)


@pytest.mark.parametrize("chances", [(0.5, 0.5 + 2e-6), (0.5, 0.4), (1.5, -0.5), (0.0, 0.0)])
def test_other_chances_of_the_noise_are_refused(chances):
    with pytest.raises(BadParameter, match="at least 0 and sum to 1"):
        _ = Model(Problem(Tossed(chances=chances), NASH)).noise


def test_equals_are_ordered_unless_that_is_refused():
    problem = Problem(Doughnuts(2, 3, 0.5), NASH)
    ordered, plain = Model(problem), Model(problem, canonical=False)
    assert (ordered.classes, plain.classes) == ([[0, 1]], [])
    world, carried = ordered.from_rows(np.repeat(ordered.start, 2, axis=0), 0)
    status = carried.status._replace(total=np.array([[3.0, 1.0], [1.0, 3.0]]))
    rows = ordered.to_rows((world, carried._replace(status=status)))
    first, second = ordered.order(rows)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(plain.order(rows), rows)


def test_both_the_scheme_and_the_memory_are_carried_where_both_are_needed():
    model = Model(Problem(ThreeRooms(), NASH), SchemeAndMemory())
    after, pay, _ = model.expand(model.start, 0)
    _, (scheme_state, memory) = model.from_rows(after[0, :, 0], 1)
    np.testing.assert_array_equal(scheme_state.status.total, memory)
    np.testing.assert_allclose(pay, ROOMS.expand(ROOMS.start, 0).pay)
    require_listed(model)


# States as rows and back: nothing is lost, and each stakeholder's columns are theirs.

EXAMPLE = {
    "counts": np.zeros(3),
    "flag": np.zeros((), dtype=bool),
    "table": np.zeros((2, 3), dtype=np.int32),
    "time": np.zeros((), dtype=np.int32),
}


def test_rows_there_and_back():
    rng = np.random.default_rng(0)
    trees = {
        "counts": rng.normal(size=(5, 3)),
        "flag": rng.random(5) < 0.5,
        "table": rng.integers(0, 9, (5, 2, 3)).astype(np.int32),
        "time": np.arange(5, dtype=np.int32),
    }
    layout = RowLayout.of(EXAMPLE)
    rows = layout.to_rows(trees)
    assert rows.shape == (5, 3 + 1 + 6 + 1)
    back = layout.from_rows(rows)
    single = layout.from_row(rows[3])
    for name, leaf in trees.items():
        np.testing.assert_array_equal(back[name], leaf)
        assert back[name].dtype == EXAMPLE[name].dtype
        np.testing.assert_allclose(single[name], leaf[3], rtol=1e-6)
        assert single[name].shape == EXAMPLE[name].shape


def test_the_columns_of_each_stakeholder():
    """Leaves by name: three counts, a flag, two rows of three, a step number."""
    layout = RowLayout.of(EXAMPLE)
    assert layout.columns_of_each(3).tolist() == [[0, 1, 2], [4, 5, 6], [7, 8, 9]]
    assert layout.columns_of_each(4).shape == (0, 4)


# Canonical order: whoever is exchanged with an equal, the ordered state is the same.

CLASSES = [[0, 2], [1, 3, 4]]
FEATURES = st.lists(
    st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=3
).map(lambda rows: np.array(rows, dtype=float)[None])


def ordered(features):
    order = canonical_order(features, CLASSES)
    return np.take_along_axis(features, order[:, None, :], axis=2)


@given(FEATURES, st.permutations([0, 2]), st.permutations([1, 3, 4]))
def test_exchanging_equals_changes_nothing(features, first, second):
    exchanged = features.copy()
    exchanged[:, :, [0, 2]] = features[:, :, first]
    exchanged[:, :, [1, 3, 4]] = features[:, :, second]
    np.testing.assert_array_equal(ordered(exchanged), ordered(features))


@given(FEATURES)
def test_everyone_stays_in_their_class_with_all_that_is_theirs(features):
    order = canonical_order(features, CLASSES)[0]
    for members in CLASSES:
        assert sorted(order[members]) == members
    if features.shape[1] == 1:
        keys = features[0, 0, order]
        for members in CLASSES:
            assert (np.diff(keys[members]) >= 0).all()


def test_those_whom_no_part_tells_apart_are_exchangeable():
    shop = Doughnuts(4, 3, (0.5, 0.5, 0.9, 0.5))
    nash = anytime(LogNash(), Total())
    assert exchangeable(Problem(shop, nash), False) == [[0, 1, 3]]
    entitled = anytime(LogNash(), Total(), PerEntitlement((1, 2, 1, 1)))
    assert exchangeable(Problem(shop, entitled), False) == [[0, 3]]
    grouped = anytime(Parity({"A": [0, 1], "B": [2, 3]}), Total())
    assert exchangeable(Problem(shop, grouped), False) == [[0, 1]]
    # A memory counts where it is part of the state.
    names = Problem(shop, nash, LastWinner())
    assert exchangeable(names, False) == [[0, 1, 3]]
    assert exchangeable(names, True) == []
    assert exchangeable(Problem(shop, nash, Min()), True) == [[0, 1, 3]]
