"""What is impossible has a value that no choice takes, and the rest is the network inside."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.learn.deep.encoders import Layout
from evenhand.learn.deep.masked_network import MaskedNetwork
from evenhand.learn.deep.networks import IMPOSSIBLE, MLP, Recurrent

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
