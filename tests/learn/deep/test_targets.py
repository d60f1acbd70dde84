"""How the target follows and what an error costs, by hand."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.errors import BadParameter
from evenhand.learn.deep.targets import HardUpdate, Huber, PolyakUpdate, Squared


def test_a_copy_every_so_many_updates():
    update = HardUpdate(3)
    assert update.copies_rarely
    assert update.is_due(jnp.arange(1, 8)).tolist() == [False, False, True] * 2 + [False]
    assert update.apply(1.0, 5.0) == 1.0  # between the copies it stays


def test_a_share_of_the_way_with_every_update():
    update = PolyakUpdate(0.25)
    assert not update.copies_rarely
    assert not update.is_due(jnp.arange(9)).any()
    moved = update.apply({"a": jnp.array([0.0, 8.0])}, {"a": jnp.array([4.0, 0.0])})
    assert moved["a"].tolist() == [1.0, 6.0]
    assert PolyakUpdate(1.0).apply(2.0, 5.0) == 5.0


def test_what_an_error_costs():
    errors = jnp.array([-3.0, -1.0, 0.0, 0.5, 2.0, 4.0])
    assert Squared()(errors).tolist() == [9.0, 1.0, 0.0, 0.25, 4.0, 16.0]
    # Half the square up to 2, and from there on 2 more for each.
    np.testing.assert_allclose(Huber(2.0)(errors), [4.0, 0.5, 0.0, 0.125, 2.0, 6.0])
    np.testing.assert_allclose(Huber()(errors), [2.5, 0.5, 0.0, 0.125, 1.5, 3.5])


@pytest.mark.parametrize("threshold", [0.0, -1, "x", True, float("nan"), float("inf")])
def test_a_threshold_is_above_0(threshold):
    with pytest.raises(BadParameter) as refused:
        Huber(threshold)
    assert str(refused.value) == f"threshold is {threshold!r}: it must be a number above 0."


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.01, "x", float("nan")])
def test_a_rate_is_a_share(rate):
    with pytest.raises(BadParameter, match=r"it must lie in \(0, 1\]"):
        PolyakUpdate(rate)


@pytest.mark.parametrize("every", [0, -1, 2.5, True])
def test_updates_are_counted_in_whole_numbers(every):
    with pytest.raises(BadParameter, match="it must be a whole number from 1"):
        HardUpdate(every)
    assert HardUpdate(1).is_due(jnp.array([1, 2])).all()
