"""Tests of learn.deep.networks."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.envs import Doughnuts, GaussianLending, Lending, State
from evenhand.envs.doughnuts import Shop
from evenhand.errors import BadParameter, EvenhandError
from evenhand.learn.deep.encoders import Binary, Layout, Raw, Relative
from evenhand.learn.deep.networks import (
    IMPOSSIBLE,
    MLP,
    Dense,
    EquivariantMLP,
    MaskedNetwork,
    PooledLayer,
    Recurrent,
    StakeholderNetwork,
)
from evenhand.memory.memory import Clock, Full, GroupDifference, LastWinner, Nothing, Product
from evenhand.problem.problem import AgentView, Problem

# What is impossible has a value that no choice takes, and the rest is the network inside.

LAYOUT = Layout(stakeholders=2, each=1, common=3 + 2)  # of the whole: the mask, and two others
INSIDE = Layout(stakeholders=2, each=1, common=2)


def test_the_network_inside_sees_everything_but_the_mask():
    network, inner = MaskedNetwork(MLP((8,))), MLP((8,))
    key = jax.random.key(0)
    weights, alone = network.init(key, LAYOUT, 3), inner.init(key, INSIDE, 3)
    own, others = [0.3, -0.2], [0.7, 0.1]
    _, expected = inner.apply(alone, (), jnp.array([*own, *others]))
    for mask in ([1, 0, 1], [0, 1, 0], [1, 1, 1], [0.6, 0.5, 0.51]):
        _, values = network.apply(weights, (), jnp.array([*own, *mask, *others]))
        possible = np.array(mask) > 0.5
        np.testing.assert_allclose(values[possible], expected[possible], rtol=1e-6)
        assert (np.asarray(values)[~possible] == IMPOSSIBLE).all()
        assert possible[int(jnp.argmax(values))]
    # Nothing is possible any more: nothing is decided, and the values are as they are.
    _, values = network.apply(weights, (), jnp.array([*own, 0, 0, 0, *others]))
    np.testing.assert_allclose(values, expected, rtol=1e-6)


def test_all_else_is_the_networks_inside():
    network = MaskedNetwork(Recurrent((4,)))
    assert network.masks
    assert not network.of.masks
    same = jax.tree.map(np.array_equal, network.start(), network.of.start())
    assert all(jax.tree.leaves(same))
    weights = network.init(jax.random.key(0), LAYOUT, 3)
    assert len(jax.tree.leaves(weights)) == len(jax.tree.leaves(weights.inner))
    assert float(network.unit(weights, jnp.zeros(7))) == 1.0
    again = network.with_level(weights, jnp.asarray(2.0))
    assert (again.cut, again.num_actions) == (weights.cut, weights.num_actions) == (2, 3)


# Codes and networks, by hand and by the symmetries they promise.

SHOP = Doughnuts(3, 12, 0.8)
AT_COUNTER = State(Shop(jnp.array(4)), jnp.array([True, False, True]))


def coded(encoder, memory, value, environment=SHOP, state=AT_COUNTER):
    problem = Problem(environment, environment.default_scheme(), memory)
    return encoder.features(problem, state, AgentView(value, (), ()))


def test_counts_in_binary():
    each, common = coded(Binary(), Full(), jnp.array([5.0, 0.0, 12.0]))
    # Who is there, then four bits (0 … 12), the lowest first.
    assert each.tolist() == [[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 1, 1]]
    assert common.shape == (0,)


def test_raw_and_relative_codes():
    counts = jnp.array([5.0, 2.0, 3.0])
    both = Product((Full(), Clock(5)))
    each, common = coded(Raw(), both, (counts, jnp.array(4)))
    assert each.tolist() == [[1, 5], [0, 2], [1, 3]]
    assert common.tolist() == [4]
    each, common = coded(Relative(), both, (counts, jnp.array(4)))
    np.testing.assert_allclose(each[:, 1], [3, 0, 1])
    np.testing.assert_allclose(each[:, 2], np.log([6, 3, 4]), rtol=1e-6)
    assert common.tolist() == [2]  # 4 of a range of 4, scaled by its root
    each, _ = coded(Raw(), LastWinner(), jnp.array(2))
    assert each[:, 1].tolist() == [0, 0, 1]
    assert coded(Raw(), LastWinner(), jnp.array(3)).each[:, 1].tolist() == [0, 0, 0]  # nobody yet


@pytest.mark.parametrize(
    ("environment", "memory", "size"),
    [
        (Doughnuts(5, 100), Full(), 5 + 5 * 7),
        (Doughnuts(5, 100), Nothing(), 5),
        # Who applies, three bits of credit, 7 of profit, two groups of 6 bits.
        (Lending(), GroupDifference(Lending().groups), 4 + 4 * 3 + 7 + 2 * 6),
        (GaussianLending(), GroupDifference(Lending().groups), 4 + 4 + 7 + 2 * 6),
    ],
)
def test_the_scripts_code_has_as_many_bits_as_rules_say(environment, memory, size):
    problem = Problem(environment, environment.default_scheme(), memory)
    layout = Binary().layout(problem)
    assert layout.size == size
    first = problem.initial(jax.random.key(0))
    flat = Binary()(problem, first.state, first.seen)
    assert flat.shape == (size,)
    if isinstance(environment, Lending):
        assert layout.split(flat).each[:, 1:].tolist() == [[1, 1, 0]] * 2 + [[1, 1, 1]] * 2
        assert layout.split(flat).common[:7].tolist() == [0, 0, 0, 1, 0, 1, 0]  # 0 + 40


def test_members_are_told_what_their_group_has():
    env = Lending()
    problem = Problem(env, env.default_scheme(), GroupDifference(env.groups))
    first = problem.initial(jax.random.key(0))
    each, _ = Relative().features(problem, first.state, AgentView(jnp.array([3.0, 0.0]), (), ()))
    assert each[:, 2].tolist() == [3, 3, 0, 0]


@pytest.mark.parametrize("order", [[1, 0, 2, 3], [0, 1, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
def test_a_network_that_treats_stakeholders_alike(order):
    layout = Layout(4, 3, 2)
    network = EquivariantMLP((8, 8), {"A": [0, 1], "B": [2, 3]})
    weights = network.init(jax.random.key(0), layout, 4)
    each, common = jax.random.normal(jax.random.key(1), (4, 3)), jnp.array([0.3, -1.0])
    flat = lambda rows: jnp.concatenate((rows.ravel(), common))  # noqa: E731
    values = network.apply(weights, (), flat(each))[1]
    changed = network.apply(weights, (), flat(each[jnp.array(order)]))[1]
    np.testing.assert_allclose(changed, values[jnp.array(order)], rtol=1e-5, atol=1e-6)
    assert np.unique(np.round(values, 5)).size == 4


def test_groups_and_kinds_are_told_apart():
    layout = Layout(4, 3, 0)
    flat = jax.random.normal(jax.random.key(1), (4, 3))
    swapped = flat[jnp.array([2, 1, 0, 3])]  # across groups, or across kinds
    for network in (
        EquivariantMLP((8,), {"A": [0, 1], "B": [2, 3]}),
        EquivariantMLP((8,), kinds=(0, 0, 1, 1)),
    ):
        weights = network.init(jax.random.key(0), layout, 4)
        values = network.apply(weights, (), flat.ravel())[1]
        other = network.apply(weights, (), swapped.ravel())[1]
        assert not np.allclose(other, values[jnp.array([2, 1, 0, 3])], atol=1e-4)
    with pytest.raises(BadParameter, match="2 kinds for 4"):
        EquivariantMLP((8,), kinds=(0, 1)).init(jax.random.key(0), layout, 4)
    with pytest.raises(BadParameter, match="3 actions for 4 stakeholders"):
        EquivariantMLP((8,)).init(jax.random.key(0), layout, 3)
    with pytest.raises(EvenhandError, match="3"):
        EquivariantMLP((8,), {"A": [0, 1], "B": [2]}).init(jax.random.key(0), layout, 4)


def test_who_is_who_must_be_known_for_as_many_as_there_are():
    grouped, kinds = EquivariantMLP(groups={"A": [0, 1], "B": [2]}), EquivariantMLP(kinds=[0, 1, 1])
    assert kinds == EquivariantMLP(kinds=(0, 1, 1))
    for network in (grouped, kinds):
        network.require_alike(3)
        for number in (2, 4):
            with pytest.raises(BadParameter, match=f"knows 3 stakeholders .* of {number} it does"):
                network.require_alike(number)
    # Where all are alike any number will do.
    for network in (EquivariantMLP(), EquivariantMLP(kinds=(1, 1)), MLP()):
        network.require_alike(7)


def test_layers_of_different_widths_follow_each_other():
    init = lambda key: EquivariantMLP((3, 5)).init(key, Layout(4, 2, 1), 4)  # noqa: E731
    weights = jax.eval_shape(init, jax.random.key(0))
    assert [mix.own.weight.shape for mix in weights.hidden] == [(3, 3), (5, 3)]
    assert weights.out.weight.shape == (1, 5)


def test_layers_by_hand():
    """Two inputs, two hidden, one value: ReLU between the layers and none at the end."""
    first = Dense(jnp.array([[1.0, -1.0], [2.0, 1.0]]), jnp.array([0.5, -9.0]))
    last = Dense(jnp.array([[-4.0, 3.0]]), jnp.array([0.25]))
    # 3 − 1 + 0.5 is 2.5; 6 + 1 − 9 is below 0.
    values = MLP((2,)).apply((first, last), (), jnp.array([3.0, 1.0]))[1]
    assert values.tolist() == [-4.0 * 2.5 + 0.25]


def test_the_papers_layers():
    weights = MLP((32, 16, 8)).init(jax.random.key(0), Layout(5, 8, 0), 5)
    assert [w.weight.shape for w in weights] == [(32, 40), (16, 32), (8, 16), (5, 8)]
    rows = weights[1].weight
    np.testing.assert_allclose(rows @ rows.T, np.eye(16), atol=1e-5)  # orthogonal
    assert all((w.bias == 0).all() for w in weights)
    with pytest.raises(BadParameter, match="width of a layer"):
        MLP((0,))


@pytest.mark.parametrize("widths", [(0,), (8, True), (2.5,), (float("nan"),), ("8",), 8, "64"])
def test_what_is_no_width_is_a_sentence(widths):
    for network in (MLP, EquivariantMLP, Recurrent, StakeholderNetwork):
        with pytest.raises(BadParameter, match=r"width of a layer|list of widths"):
            network(widths)
    assert MLP([8, np.int64(4), 2.0]) == MLP((8, 4, 2))
    assert StakeholderNetwork([8, 4.0], [[0], [1]]) == StakeholderNetwork((8, 4), ((0,), (1,)))


def test_a_sequence_is_unrolled_as_it_was_lived():
    network = Recurrent((8,), 6)
    weights = network.init(jax.random.key(0), Layout(1, 3, 0), 2)
    features = jax.random.normal(jax.random.key(1), (7, 3))
    first = jnp.array([False, False, False, True, False, False, False])
    start = jnp.ones(6)
    carries = network.unroll(weights, start, features, first)
    values = network.values(weights, carries)
    carry = start
    for t in range(7):
        carry = network.start() if first[t] else carry
        carry, value = network.apply(weights, carry, features[t])
        np.testing.assert_allclose(carries[t], carry, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(values[t], value, rtol=1e-5, atol=1e-6)


def test_a_network_that_treats_alike_by_hand():
    """One's own features, the group's mean, everyone's mean; what is common, the kind's label."""
    layout = Layout(3, 1, 1)
    network = EquivariantMLP((2,), {"A": [0, 1], "B": [2]}, kinds=(0, 0, 1))
    fresh = network.init(jax.random.key(0), layout, 3)
    rng = np.random.default_rng(0)
    weights = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(np.float32), fresh)
    (mix,), out = weights.hidden, weights.out
    own, common = np.array([0.5, -1.0, 2.0]), 0.3
    x = np.column_stack((own, np.full(3, common), [1, 1, 0], [0, 0, 1]))
    group = np.stack((x[:2].mean(axis=0), x[:2].mean(axis=0), x[2]))
    hidden = x @ mix.own.weight.T + mix.own.bias + mix.everyone @ x.mean(axis=0)
    hidden = np.maximum(hidden + group @ mix.group.T, 0.0)
    expected = hidden @ out.weight[0] + out.bias
    found = network.apply(weights, (), jnp.array([*own, common], dtype=jnp.float32))[1]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_one_kind_is_no_kind():
    layout = Layout(2, 1, 0)
    plain, labelled = EquivariantMLP((2,)), EquivariantMLP((2,), kinds=(1, 1))
    shapes = [
        [leaf.shape for leaf in jax.tree.leaves(network.init(jax.random.key(0), layout, 2))]
        for network in (plain, labelled)
    ]
    assert shapes[0] == shapes[1]


# The network for any actions: equal treatment to begin with, and a value that is known at once.

LAYOUT_STAKEHOLDER_NETWORK = Layout(3, 4, 3)
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
    weights = NETWORK.init(jax.random.key(0), LAYOUT_STAKEHOLDER_NETWORK, 3)
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
    weights = network.init(jax.random.key(0), LAYOUT_STAKEHOLDER_NETWORK, 3)
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
    weights = network.init(jax.random.key(seed), LAYOUT_STAKEHOLDER_NETWORK, 3)
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
        NETWORK.init(jax.random.key(0), LAYOUT_STAKEHOLDER_NETWORK, 4)
    with pytest.raises(BadParameter, match="they are 0 to 1"):
        NETWORK.init(jax.random.key(0), Layout(2, 4, 3), 3)
