"""The buffer: what is in it, in which order, and how it is drawn."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenhand.learn.deep import replay_buffer as replay

CAPACITY = 5


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=8))
def test_the_newest_take_the_place_of_the_oldest(batches):
    buffer = replay.init({"x": jnp.zeros(())}, CAPACITY)
    kept, number = [], 0.0
    for exist in batches:
        items = jnp.arange(number, number + 3)
        kept += [float(item) for item, there in zip(items, exist, strict=True) if there]
        number += 3
        buffer = replay.add(buffer, {"x": items}, jnp.asarray(exist))
    expected = kept[-CAPACITY:]
    assert int(buffer.stored) == len(expected)
    assert bool(buffer.full) == (len(expected) == CAPACITY)
    oldest = int(buffer.place) - int(buffer.stored)
    order = [(oldest + k) % CAPACITY for k in range(len(expected))]
    assert np.asarray(buffer.items["x"])[order].tolist() == expected


def test_every_item_is_as_likely_as_any_other():
    buffer = replay.init(jnp.zeros(()), 10)
    buffer = replay.add(buffer, jnp.arange(7.0), jnp.ones(7, dtype=bool))
    drawn = np.asarray(replay.sample(buffer, jax.random.key(0), 70_000))
    counts = np.bincount(drawn.astype(int), minlength=10)
    assert counts[7:].sum() == 0  # nothing is there yet
    assert abs(counts[:7] - 10_000).max() < 400
    none = buffer._replace(stored=jnp.zeros((), dtype=jnp.int32))
    assert not np.asarray(replay.sample(none, jax.random.key(0), 70_000)).any()  # the first place


def test_sequences_lie_as_they_happened_across_the_ring():
    buffer = replay.init(jnp.zeros(()), 8)
    for k in range(13):
        buffer = replay.add(buffer, jnp.array([float(k)]), jnp.ones(1, dtype=bool))
    drawn = np.asarray(replay.sample_sequences(buffer, jax.random.key(0), 500, 3))
    assert (np.diff(drawn, axis=1) == 1).all()
    assert set(drawn[:, 0]) == {5, 6, 7, 8, 9, 10}  # the last eight are 5 … 12


def test_of_less_than_a_sequence_there_is_only_the_beginning():
    buffer = replay.init(jnp.zeros(()), 8)
    for item in (5.0, 6.0):
        buffer = replay.add(buffer, jnp.array([item]), jnp.ones(1, dtype=bool))
    drawn = np.asarray(replay.sample_sequences(buffer, jax.random.key(0), 500, 3))
    assert drawn.tolist() == [[5.0, 6.0, 0.0]] * 500
