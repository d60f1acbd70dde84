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

    Args:
        hidden: Widths of the layers.
        serves: For each action the stakeholders whom it serves; nothing: no action is anybody's,
            such as an amount or a direction.
        alike: Whether stakeholders are exchangeable. By default each may differ, which is learned.
    """

    hidden: tuple[int, ...] = (32, 32)
    serves: tuple[tuple[int, ...], ...] = ()
    alike: bool = False

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Weights:
        if self.serves and len(self.serves) != num_actions:
            raise BadParameter(
                f"serves has {len(self.serves)} entries for {num_actions} actions: give the "
                "stakeholders that each action serves."
            )
        sizes = (layout.each + layout.common, *self.hidden)
        keys = jax.random.split(key, len(sizes) + 2)
        hidden = tuple(Pooled.init(k, *pair) for k, pair in zip(keys[3:], pairwise(sizes), strict=True))
        width = sizes[-1]
        last = Dense.init(keys[2], width, num_actions)
        return StakeholderWeights(
            hidden,
            jnp.zeros((layout.stakeholders, self.hidden[0])),
            Dense.init(keys[0], width, 1),
            Dense.init(keys[1], 2 * width + layout.common, width),
            Dense(jnp.zeros_like(last.weight) if self.serves else last.weight, last.bias),
            layout,
        )

    def apply(
        self, weights: Weights, carry: Carry, features: Float[Array, " feature"]
    ) -> tuple[Carry, Float[Array, " action"]]:
        each, common = weights.layout.split(features)
        size = each.shape[0]
        x = jnp.concatenate((each, jnp.broadcast_to(common, (size, common.shape[0]))), axis=1)
        for k, layer in enumerate(weights.hidden):
            x = layer(x)
            if k == 0 and not self.alike:
                x = x + weights.who
            x = jax.nn.relu(x)
        pooled = jnp.concatenate((jnp.mean(x, axis=0), jnp.max(x, axis=0), common))
        values = weights.action(jax.nn.relu(weights.summary(pooled)))
        if not self.serves:
            return carry, values
        served = x @ weights.serving.weight[0] + weights.serving.bias
        return carry, values + self._serves(size) @ served

    def _serves(self, size: int) -> Float[np.ndarray, "action stakeholder"]:
        matrix = np.zeros((len(self.serves), size), dtype=np.float32)
        for action, served in enumerate(self.serves):
            matrix[action, list(served)] = 1.0
        return matrix
