"""A network for any actions: the same layers for each stakeholder, which may yet differ.

Each stakeholder's features pass through the same layers, with what all have in common. An action
is worth what it does for those whom it serves, plus a value of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.learn.deep.encoders import Layout
from evenhand.learn.deep.networks import NETWORKS, Carry, Dense, Network, Weights, require_widths

if TYPE_CHECKING:
    from jaxtyping import Array, Float, PRNGKeyArray


SHARED = 3.0  # how much faster what all actions share is learned than how they differ


class PooledLayer(eqx.Module):
    """A layer for each stakeholder alike: of its own features, and the mean and most of all's."""

    own: Dense
    mean: Float[Array, "out in"]
    most: Float[Array, "out in"]

    @classmethod
    def init(cls, key: PRNGKeyArray, inputs: int, outputs: int) -> PooledLayer:
        own, mean, most = (Dense.init(k, inputs, outputs) for k in jax.random.split(key, 3))
        return cls(own, 0.5 * mean.weight, 0.5 * most.weight)

    def __call__(self, x: Float[Array, "stakeholder in"]) -> Float[Array, "stakeholder out"]:
        pooled = self.mean @ jnp.mean(x, axis=0) + self.most @ jnp.max(x, axis=0)
        return x @ self.own.weight.T + (pooled + self.own.bias)


class StakeholderWeights(eqx.Module):
    """The layers of a `StakeholderNetwork`."""

    hidden: tuple[PooledLayer, ...]
    who: Float[Array, "stakeholder out"]  # what tells stakeholders apart
    serving: Dense  # a factor on what is added at once, and what comes later
    straight: Dense  # the same, from the features past the layers
    summary: Dense
    action: Dense  # the value of the state, and of each action by itself
    level: Float[Array, ""]  # of all values
    layout: Layout = eqx.field(static=True)


@NETWORKS.register("stakeholders")
@dataclass(frozen=True)
class StakeholderNetwork(Network):
    """Values of actions from the features of `Measured`, in layers that treat stakeholders alike.

    The value of an action begins as what it adds to the reward at once: whatever is learned is
    about what comes later. Stakeholders begin alike; how they differ is learned.

    Args:
        hidden: Widths of the layers.
        serves: For each action the stakeholders whom it serves. Nothing: actions are not
            anybody's; they are amounts, say, or directions.
        ahead: About how many rewards a value is the sum of.
    """

    hidden: tuple[int, ...] = (32, 32)
    serves: tuple[tuple[int, ...], ...] = ()
    ahead: float = 5.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", require_widths(self.hidden))
        serves = tuple(tuple(int(i) for i in served) for served in self.serves)
        object.__setattr__(self, "serves", serves)

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Weights:
        if self.serves and len(self.serves) != num_actions:
            raise BadParameter(
                f"serves has {len(self.serves)} entries for {num_actions} actions: give the "
                "stakeholders that each action serves."
            )
        if any(not 0 <= i < layout.stakeholders for served in self.serves for i in served):
            raise BadParameter(
                f"serves names a stakeholder that does not exist: they are 0 to "
                f"{layout.stakeholders - 1}."
            )
        sizes = (layout.each + layout.common, *self.hidden)
        keys = jax.random.split(key, len(sizes))
        pairs = zip(keys[1:], pairwise(sizes), strict=True)
        return StakeholderWeights(
            tuple(PooledLayer.init(k, *pair) for k, pair in pairs),
            jnp.zeros((layout.stakeholders, self.hidden[0])),
            _blank(sizes[-1], 2),
            _blank(sizes[0], 2),
            Dense.init(keys[0], 2 * sizes[-1] + layout.common, sizes[-1]),
            _blank(sizes[-1], 1 + num_actions),
            jnp.zeros(()),
            layout,
        )

    def apply(
        self, weights: Weights, carry: Carry, features: Float[Array, " feature"]
    ) -> tuple[Carry, Float[Array, " action"]]:
        each, common = weights.layout.split(features)
        at_once, unit = each[:, -1], common[-1]
        each = jnp.concatenate((each[:, :-1], each[:, -1:] / unit), axis=1)
        common = jnp.concatenate((common[:-1], jnp.log(common[-1:])))
        for_all = jnp.broadcast_to(common, (each.shape[0], common.shape[0]))
        first, *others = weights.hidden
        shown = jnp.concatenate((each, for_all), axis=1)
        x = jax.nn.relu(first(shown) + weights.who)
        for layer in others:
            x = jax.nn.relu(layer(x))
        pooled = jnp.concatenate((jnp.mean(x, axis=0), jnp.max(x, axis=0), common))
        later = weights.action(jax.nn.relu(weights.summary(pooled)))
        values = unit * (self.ahead * weights.level + SHARED * later[:1] + later[1:])
        if not self.serves:
            return carry, values
        through = x @ weights.serving.weight.T + weights.serving.bias
        factor, more = (through + shown @ weights.straight.weight.T).T
        served = at_once * (1.0 + factor) + unit * more
        return carry, values + self._matrix(each.shape[0]) @ served

    def unit(self, weights: Weights, features: Float[Array, " feature"]) -> Float[Array, ""]:
        return features[-1]

    def with_level(self, weights: Weights, level: Float[Array, ""]) -> Weights:
        return eqx.tree_at(lambda inside: inside.level, weights, level / self.ahead)

    def _matrix(self, size: int) -> Float[np.ndarray, "action stakeholder"]:
        matrix = np.zeros((len(self.serves), size), dtype=np.float32)
        for action, served in enumerate(self.serves):
            matrix[action, list(served)] = 1.0
        return matrix


def _blank(inputs: int, outputs: int) -> Dense:
    return Dense(jnp.zeros((outputs, inputs)), jnp.zeros(outputs))
