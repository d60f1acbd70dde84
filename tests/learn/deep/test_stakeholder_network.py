"""The network for any actions: equal treatment to begin with, and a value that is known at once."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import BadParameter
from evenhand.learn.deep.encoders import Layout
from evenhand.learn.deep.masked_network import MaskedNetwork
from evenhand.learn.deep.networks import IMPOSSIBLE
from evenhand.learn.deep.stakeholder_network import PooledLayer, StakeholderNetwork

LAYOUT = Layout(3, 4, 3)
SERVES = ((0,), (1, 2), ())
NETWORK = StakeholderNetwork((4, 4), SERVES)


def features(at_once, unit=2.0, others=(0.3, -0.2, 0.9)):
    more = 0.5 * np.asarray(others)
    each = np.column_stack((others, more - 0.1, more + 0.3, at_once))
    return np.concatenate((each.ravel(), [0.7, -0.4, unit])).astype(np.float32)


def learned(weights, seed):
    """Weights whose values differ from what is known at once, for all stakeholders alike."""
    rng = np.random.default_rng(seed)
    parts = {
        name: dataclasses.replace(
            getattr(weights, name),
            weight=rng.normal(size=getattr(weights, name).weight.shape).astype(np.float32),
        )
        for name in ("serving", "straight")
    }
    return dataclasses.replace(weights, **parts)


def test_before_anything_is_learned_an_action_is_worth_what_it_adds_at_once():
    weights = NETWORK.init(jax.random.key(0), LAYOUT, 3)
    _, values = NETWORK.apply(weights, (), features([1.0, 0.25, 0.5]))
    np.testing.assert_allclose(values, [1.0, 0.75, 0.0], atol=1e-6)
    level = NETWORK.with_level(weights, jnp.asarray(7.0))
    _, higher = NETWORK.apply(level, (), features([1.0, 0.25, 0.5]))
    np.testing.assert_allclose(higher - values, 2.0 * 7.0, rtol=1e-5)  # in the unit
    assert NETWORK.unit(weights, features([0.0, 0.0, 0.0])) == 2.0


def by_hand(weights, shown, serves, ahead):
    """The values again, in plain loops over stakeholders."""
    relu = lambda x: np.maximum(x, 0.0)  # noqa: E731
    dense = lambda layer, x: np.asarray(layer.weight) @ x + np.asarray(layer.bias)  # noqa: E731
    each, (*common, unit) = shown[:12].reshape(3, 4), shown[12:]
    at_once = each[:, 3]
    ends = [np.array([*own, now / unit, *common, np.log(unit)]) for *own, now in each]
    rows = ends
    for number, layer in enumerate(weights.hidden):
        mean, most = np.mean(rows, axis=0), np.max(rows, axis=0)
        pooled = np.asarray(layer.mean) @ mean + np.asarray(layer.most) @ most
        rows = [
            relu(dense(layer.own, row) + pooled + (np.asarray(weights.who)[i] if not number else 0))
            for i, row in enumerate(rows)
        ]
    summed = np.concatenate((np.mean(rows, axis=0), np.max(rows, axis=0), ends[0][4:]))
    state, *own = dense(weights.action, relu(dense(weights.summary, summed)))
    values = []
    for value, served in zip(own, serves, strict=True):
        total = unit * (ahead * float(weights.level) + 3.0 * state + value)
        for i in served:
            factor, more = dense(weights.serving, rows[i])
            straight = np.asarray(weights.straight.weight) @ ends[i]
            total += at_once[i] * (1.0 + factor + straight[0]) + unit * (more + straight[1])
        values.append(total)
    return values


@pytest.mark.parametrize("serves", [SERVES, ()])
def test_values_by_hand_once_everything_was_learned(serves):
    network = StakeholderNetwork((4, 5), serves, ahead=6.0)
    weights = network.init(jax.random.key(0), LAYOUT, 3)
    rng = np.random.default_rng(1)
    weights = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(np.float32), weights)
    shown = features([1.0, 0.25, 0.5])
    _, values = network.apply(weights, (), shown)
    expected = by_hand(weights, shown.astype(float), serves or ((),) * 3, 6.0)
    np.testing.assert_allclose(values, expected, rtol=1e-4)


def test_what_is_pooled_begins_with_half_the_weight_of_ones_own():
    layer = PooledLayer.init(jax.random.key(0), 4, 4)
    for weight, size in ((layer.own.weight, 1.0), (layer.mean, 0.5), (layer.most, 0.5)):
        sizes = np.linalg.svd(np.asarray(weight), compute_uv=False)
        np.testing.assert_allclose(sizes, size, rtol=1e-5)


@given(order=st.permutations(range(3)), seed=st.integers(0, 100))
def test_stakeholders_are_treated_alike_until_it_is_learned_that_they_differ(order, seed):
    network = StakeholderNetwork((4, 4), ((0,), (1,), (2,)))
    weights = network.init(jax.random.key(seed), LAYOUT, 3)
    weights = learned(weights, seed + 1)
    at_once, others = np.array([1.0, 0.25, 0.5]), np.array([0.3, -0.2, 0.9])
    _, values = network.apply(weights, (), features(at_once, others=others))
    _, moved = network.apply(weights, (), features(at_once[order], others=others[order]))
    np.testing.assert_allclose(np.asarray(values)[list(order)], moved, rtol=1e-4, atol=1e-5)


def test_what_is_impossible_has_a_value_that_nothing_takes():
    network = MaskedNetwork(NETWORK)
    weights = network.init(jax.random.key(0), Layout(3, 4, 6), 3)
    shown = features([1.0, 0.25, 0.5])
    for mask in ([1, 0, 1], [0, 1, 0], [0, 0, 0]):
        _, values = network.apply(weights, (), np.insert(shown, 12, mask))
        _, plain = NETWORK.apply(weights.inner, (), shown)
        left = plain if not any(mask) else np.where(mask, plain, IMPOSSIBLE)
        np.testing.assert_allclose(values, left)


def test_serves_must_fit():
    with pytest.raises(BadParameter, match="3 entries for 4 actions"):
        NETWORK.init(jax.random.key(0), LAYOUT, 4)
    with pytest.raises(BadParameter, match="they are 0 to 1"):
        NETWORK.init(jax.random.key(0), Layout(2, 4, 3), 3)
