"""A network for any number of actions: the same for each stakeholder, and free where they differ.

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
from evenhand.learn.deep.networks import Carry, Dense, Network, Weights

if TYPE_CHECKING:
    from jaxtyping import Array, Float, PRNGKeyArray


class Pooled(eqx.Module):
    """A layer for each stakeholder alike: of its own features, and the mean and most of all's."""

    own: Dense
    mean: Float[Array, "out in"]
    most: Float[Array, "out in"]

    @classmethod
    def init(cls, key: PRNGKeyArray, inputs: int, outputs: int) -> Pooled:
        own, mean, most = (Dense.init(k, inputs, outputs) for k in jax.random.split(key, 3))
        return cls(own, 0.5 * mean.weight, 0.5 * most.weight)

    def __call__(self, x: Float[Array, "stakeholder in"]) -> Float[Array, "stakeholder out"]:
        pooled = self.mean @ jnp.mean(x, axis=0) + self.most @ jnp.max(x, axis=0)
        return x @ self.own.weight.T + (pooled + self.own.bias)


class StakeholderWeights(eqx.Module):
    hidden: tuple[Pooled, ...]
    who: Float[Array, "stakeholder out"]  # what tells stakeholders apart, learned from zero
    serving: Dense
    summary: Dense
    action: Dense
    layout: Layout = eqx.field(static=True)


@dataclass(frozen=True)
class StakeholderNetwork(Network):
    """Values of actions from features per stakeholder, which the layers treat alike.

    The features are those of `Measured`. The value of an action begins as what it adds to the
    reward at once; what is learned is what comes later.

    Args:
        hidden: Widths of the layers.
        serves: For each action the stakeholders whom it serves; nothing: no action is anybody's,
            such as an amount or a direction.
        alike: Whether stakeholders are exchangeable. By default each may differ, which is learned.
        ahead: About how many rewards a value is the sum of.
    """

    hidden: tuple[int, ...] = (32, 32)
    serves: tuple[tuple[int, ...], ...] = ()
    alike: bool = False
    ahead: float = 10.0

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Weights:
        if self.serves and len(self.serves) != num_actions:
            raise BadParameter(
                f"serves has {len(self.serves)} entries for {num_actions} actions: give the "
                "stakeholders that each action serves."
            )
        sizes = (layout.each + layout.common, *self.hidden)
        keys = jax.random.split(key, len(sizes) + 1)
        hidden = tuple(
            Pooled.init(k, *pair) for k, pair in zip(keys[2:], pairwise(sizes), strict=True)
        )
        width = sizes[-1]
        return StakeholderWeights(
            hidden,
            jnp.zeros((layout.stakeholders, self.hidden[0])),
            _blank(width, 2),
            Dense.init(keys[1], 2 * width + layout.common, width),
            _blank(width, 1 + num_actions),
            layout,
        )

    def apply(
        self, weights: Weights, carry: Carry, features: Float[Array, " feature"]
    ) -> tuple[Carry, Float[Array, " action"]]:
        each, common = weights.layout.split(features)
        size, at_once, unit = each.shape[0], each[:, -1], common[-1]
        shown = each.at[:, -1].divide(unit), common.at[-1].set(jnp.log(unit))
        x = jnp.concatenate((shown[0], jnp.broadcast_to(shown[1], (size, len(common)))), axis=1)
        for k, layer in enumerate(weights.hidden):
            x = layer(x)
            if k == 0 and not self.alike:
                x = x + weights.who
            x = jax.nn.relu(x)
        pooled = jnp.concatenate((jnp.mean(x, axis=0), jnp.max(x, axis=0), shown[1]))
        later = weights.action(jax.nn.relu(weights.summary(pooled)))
        values = unit * (self.ahead * later[0] + later[1:])
        if not self.serves:
            return carry, values
        more = x @ weights.serving.weight.T + weights.serving.bias
        served = at_once * (1.0 + more[:, 0]) + unit * more[:, 1]
        return carry, values + self._serves(size) @ served

    def unit(self, weights: Weights, features: Float[Array, " feature"]) -> Float[Array, ""]:
        return features[-1]

    def _serves(self, size: int) -> Float[np.ndarray, "action stakeholder"]:
        matrix = np.zeros((len(self.serves), size), dtype=np.float32)
        for action, served in enumerate(self.serves):
            matrix[action, list(served)] = 1.0
        return matrix


def _blank(inputs: int, outputs: int) -> Dense:
    return Dense(jnp.zeros((outputs, inputs)), jnp.zeros(outputs))
