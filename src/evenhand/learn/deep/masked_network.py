"""A network in an environment where some actions are impossible at times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp

from evenhand.learn.deep.encoders import Layout
from evenhand.learn.deep.networks import IMPOSSIBLE, NETWORKS, Carry, Network, Weights

if TYPE_CHECKING:
    from jaxtyping import Array, Float, PRNGKeyArray


class MaskedWeights(eqx.Module):
    """The weights of the network within, and where the mask lies among the features."""

    inner: Weights
    cut: int = eqx.field(static=True)  # where the mask begins
    num_actions: int = eqx.field(static=True)


@NETWORKS.register("masked")
@dataclass(frozen=True)
class MaskedNetwork(Network):
    """Another network, with a value for what is impossible that no choice and no target takes.

    The features of the whole begin with the mask: a number per action, 0 where it is impossible.
    Where all are 0 nothing is decided any more, and the values are left as they are.
    """

    of: Network

    @property
    def masks(self) -> bool:
        return True

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Weights:
        within = layout._replace(common=layout.common - num_actions)
        inner = self.of.init(key, within, num_actions)
        return MaskedWeights(inner, layout.stakeholders * layout.each, num_actions)

    def apply(
        self, weights: Weights, carry: Carry, features: Float[Array, " feature"]
    ) -> tuple[Carry, Float[Array, " action"]]:
        begin, end = weights.cut, weights.cut + weights.num_actions
        mask = features[begin:end] > 0.5
        carry, values = self.of.apply(weights.inner, carry, self._within(weights, features))
        possible = mask | ~jnp.any(mask)
        return carry, jnp.where(possible, values, IMPOSSIBLE)

    def unit(self, weights: Weights, features: Float[Array, " feature"]) -> Float[Array, ""]:
        return self.of.unit(weights.inner, self._within(weights, features))

    def with_level(self, weights: Weights, level: Float[Array, ""]) -> Weights:
        inner = self.of.with_level(weights.inner, level)
        return MaskedWeights(inner, weights.cut, weights.num_actions)

    def start(self) -> Carry:
        return self.of.start()

    def _within(self, weights: Weights, features: Float[Array, " feature"]) -> Array:
        return jnp.concatenate(
            (features[: weights.cut], features[weights.cut + weights.num_actions :])
        )
