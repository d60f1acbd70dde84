"""Networks: plain ones, ones that treat stakeholders alike, and masks of what cannot be chosen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.registry import Registry
from evenhand.errors import BadParameter
from evenhand.fairness.groups import Groups
from evenhand.learn.deep.encoders import Layout

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, PRNGKeyArray


# Appendix "Experimental Details": networks from features to the value of each action.
#
# A network is an init/apply pair for one vector of features; the caller maps it. `apply` takes and
# returns a carry, which is empty for all but recurrent networks.

Weights = Any
Carry = Any

IMPOSSIBLE = -1e9  # the value of an action that cannot be taken


class Network(ABC):
    """What values an agent learns with."""

    @abstractmethod
    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Weights:
        """Fresh weights."""

    @abstractmethod
    def apply(
        self, weights: Weights, carry: Carry, features: Float[Array, " feature"]
    ) -> tuple[Carry, Float[Array, " action"]]:
        """The carry after the features, and the value of each action."""

    def unit(self, weights: Weights, features: Float[Array, " feature"]) -> Float[Array, ""]:
        """In which unit errors of the values are measured; 1, unless a network knows better."""
        return jnp.ones(())

    def with_level(self, weights: Weights, level: Float[Array, ""]) -> Weights:
        """Fresh weights with values about this high, in their unit, where a network knows how."""
        return weights

    @property
    def masks(self) -> bool:
        """Whether it gives the value `IMPOSSIBLE` to actions that cannot be taken."""
        return False

    def start(self) -> Carry:
        """The carry at the start of an episode."""
        return ()

    def require_alike(self, num_stakeholders: int) -> None:
        """Refuse to be used for so many stakeholders, where it knows who is who."""


class Dense(eqx.Module):
    """x ↦ Wx + b, with orthogonal W and b = 0 to begin with."""

    weight: Float[Array, "out in"]
    bias: Float[Array, " out"]

    @classmethod
    def init(cls, key: PRNGKeyArray, inputs: int, outputs: int) -> Dense:
        weight = jax.nn.initializers.orthogonal()(key, (outputs, inputs), jnp.float32)
        return cls(weight, jnp.zeros(outputs))

    def __call__(self, x: Float[Array, " in"]) -> Float[Array, " out"]:
        return self.weight @ x + self.bias


@dataclass(frozen=True)
class MLP(Network):
    """Fully connected layers with ReLU between: 32-16-8 for doughnuts, 32-8 for lending."""

    hidden: tuple[int, ...] = (32, 16, 8)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", require_widths(self.hidden))

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Weights:
        sizes = (layout.size, *self.hidden, num_actions)
        keys = jax.random.split(key, len(sizes) - 1)
        return tuple(Dense.init(k, *pair) for k, pair in zip(keys, pairwise(sizes), strict=True))

    def apply(
        self, weights: Weights, carry: Carry, features: Float[Array, " feature"]
    ) -> tuple[Carry, Float[Array, " action"]]:
        x = features
        for layer in weights[:-1]:
            x = jax.nn.relu(layer(x))
        return carry, weights[-1](x)


class Mix(eqx.Module):
    """A layer for each stakeholder alike: of its own features, its group's mean and all's mean."""

    own: Dense
    group: Float[Array, "out in"] | None
    everyone: Float[Array, "out in"]

    @classmethod
    def init(cls, key: PRNGKeyArray, inputs: int, outputs: int, grouped: bool) -> Mix:
        keys = jax.random.split(key, 3)
        own, group, everyone = (Dense.init(k, inputs, outputs) for k in keys)
        return cls(own, group.weight if grouped else None, everyone.weight)

    def __call__(
        self, x: Float[Array, "stakeholder in"], means: Float[Array, "stakeholder stakeholder"]
    ) -> Float[Array, "stakeholder out"]:
        mixed = x @ self.own.weight.T + (self.everyone @ jnp.mean(x, axis=0) + self.own.bias)
        return mixed if self.group is None else mixed + (means @ x) @ self.group.T


class EquivariantWeights(eqx.Module):
    """The layers of an `EquivariantMLP`, and how its features are laid out."""

    hidden: tuple[Mix, ...]
    out: Dense
    layout: Layout = eqx.field(static=True)


@dataclass(frozen=True)
class EquivariantMLP(Network):
    """One that treats exchangeable stakeholders alike (permutation equivariant).

    Action i must be to serve stakeholder i. With groups, those within a group are exchangeable, and
    groups are with each other; what tells them apart must be among the features. `kinds` has a
    label for each stakeholder: only those of a kind are alike then.
    """

    hidden: tuple[int, ...] = (32, 32)
    groups: Groups | None = None
    kinds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", require_widths(self.hidden))
        object.__setattr__(self, "kinds", tuple(int(kind) for kind in self.kinds))
        if self.groups is not None:
            object.__setattr__(self, "groups", Groups.of(self.groups))

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Weights:
        if num_actions != layout.stakeholders:
            raise BadParameter(
                f"there are {num_actions} actions for {layout.stakeholders} stakeholders: a "
                "network that treats them alike needs an action for each. Use MLP."
            )
        if self.groups is not None:
            self.groups.require_fit(layout.stakeholders)
        if self.kinds and len(self.kinds) != layout.stakeholders:
            raise BadParameter(
                f"there are {len(self.kinds)} kinds for {layout.stakeholders} stakeholders: give "
                "one each."
            )
        labels = self._labels(layout.stakeholders).shape[1]
        sizes = (layout.each + layout.common + labels, *self.hidden)
        keys = jax.random.split(key, len(sizes))
        grouped = self.groups is not None
        pairs = zip(keys[1:], pairwise(sizes), strict=True)
        hidden = tuple(Mix.init(k, *pair, grouped) for k, pair in pairs)
        return EquivariantWeights(hidden, Dense.init(keys[0], sizes[-1], 1), layout)

    def apply(
        self, weights: Weights, carry: Carry, features: Float[Array, " feature"]
    ) -> tuple[Carry, Float[Array, " action"]]:
        each, common = weights.layout.split(features)
        size = each.shape[0]
        for_all = jnp.broadcast_to(common, (size, common.shape[0]))
        x = jnp.concatenate((each, for_all, self._labels(size)), axis=1)
        means = self._group_means(size)
        for layer in weights.hidden:
            x = jax.nn.relu(layer(x, means))
        return carry, x @ weights.out.weight[0] + weights.out.bias

    def require_alike(self, num_stakeholders: int) -> None:
        members = () if self.groups is None else self.groups.members
        known = sum(map(len, members)) or len(self.kinds)
        if (members or len(set(self.kinds)) > 1) and known != num_stakeholders:
            raise BadParameter(
                f"this policy knows {known} stakeholders by their kind or group, and of "
                f"{num_stakeholders} it does not know who is which: learn for this number."
            )

    def _labels(self, size: int) -> Float[np.ndarray, "stakeholder kind"]:
        """Which kind each one is, if there are several."""
        several = len(set(self.kinds)) > 1
        return np.eye(max(self.kinds) + 1)[list(self.kinds)] if several else np.zeros((size, 0))

    def _group_means(self, size: int) -> Float[np.ndarray, "stakeholder stakeholder"]:
        """The matrix that takes each one's features to the mean of its group's."""
        means = np.zeros((size, size), dtype=np.float32)
        for members in () if self.groups is None else self.groups.members:
            means[np.ix_(members, members)] = 1.0 / len(members)
        return means


@dataclass(frozen=True)
class Recurrent(Network):
    """Two layers, a GRU and a last layer: 32, 16, GRU, actions.

    The appendix has a GRU of 256 before a layer of 16 × actions, which do not fit together: here
    the GRU is 16 wide, as that layer asks.
    """

    before: tuple[int, ...] = (32, 16)
    width: int = 16

    def __post_init__(self) -> None:
        object.__setattr__(self, "before", require_widths(self.before))
        require_widths((self.width,))

    def init(self, key: PRNGKeyArray, layout: Layout, num_actions: int) -> Weights:
        sizes = (layout.size, *self.before)
        last, cell, *keys = jax.random.split(key, len(sizes) + 1)
        pairs = zip(keys, pairwise(sizes), strict=True)
        return (
            tuple(Dense.init(k, *pair) for k, pair in pairs),
            eqx.nn.GRUCell(sizes[-1], self.width, key=cell),
            Dense.init(last, self.width, num_actions),
        )

    def apply(
        self, weights: Weights, carry: Carry, features: Float[Array, " feature"]
    ) -> tuple[Carry, Float[Array, " action"]]:
        _, cell, out = weights
        carry = cell(self._embed(weights, features), carry)
        return carry, out(carry)

    def unroll(
        self,
        weights: Weights,
        carry: Carry,
        features: Float[Array, "time feature"],
        first: Bool[Array, " time"],
    ) -> Float[Array, "time width"]:
        """The carry after each step of a sequence, begun anew wherever an episode begins."""
        _, cell, _ = weights

        def once(carry: Carry, at: Any) -> tuple[Carry, Carry]:
            x, begins = at
            carry = cell(x, jnp.where(begins, self.start(), carry))
            return carry, carry

        # All that does not depend on the carry is done for the whole sequence at once.
        embedded = jax.vmap(lambda x: self._embed(weights, x))(features)
        return jax.lax.scan(once, carry, (embedded, first))[1]

    def values(
        self, weights: Weights, carries: Float[Array, "time width"]
    ) -> Float[Array, "time action"]:
        return jax.vmap(weights[2])(carries)

    def _embed(self, weights: Weights, features: Float[Array, " feature"]) -> Float[Array, " x"]:
        x = features
        for layer in weights[0]:
            x = jax.nn.relu(layer(x))
        return x

    def start(self) -> Carry:
        return jnp.zeros(self.width)


NETWORKS = Registry("network", {"layers": MLP, "alike": EquivariantMLP, "recurrent": Recurrent})


def require_widths(widths: Any) -> tuple[int, ...]:
    """Widths of layers as a tuple; refuses what is none."""
    if not isinstance(widths, Iterable) or isinstance(widths, str):
        raise BadParameter(
            f"{widths!r} is not a list of widths: give one for each layer, such as (64,)."
        )
    widths = tuple(widths)
    for width in widths:
        if not isinstance(width, Real) or isinstance(width, bool) or width % 1 or width < 1:
            raise BadParameter(f"{width!r} is not the width of a layer: use a whole number from 1.")
    return tuple(int(width) for width in widths)


# A network for any actions: the same layers for each stakeholder, which may yet differ.
#
# Each stakeholder's features pass through the same layers, with what all have in common. An action
# is worth what it does for those whom it serves, plus a value of its own.

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


# A network in an environment where some actions are impossible at times.


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
