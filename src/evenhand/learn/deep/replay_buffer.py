"""Section 5.2: the replay buffer, which stores whole experiences one by one.

Real and imagined experiences lie side by side, so that what follows an experience in the buffer
need not have followed it in time: each carries all that an update needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Int, PRNGKeyArray

Items = Any  # a pytree of arrays with a leading axis of items


class Replay(NamedTuple):
    """A ring of items: the newest takes the place of the oldest."""

    items: Items
    place: Int[Array, ""]  # where the next item goes
    stored: Int[Array, ""]  # how many there are

    @property
    def capacity(self) -> int:
        return jax.tree.leaves(self.items)[0].shape[0]

    @property
    def full(self) -> Bool[Array, ""]:
        return self.stored >= self.capacity


def init(item: Any, capacity: int) -> Replay:
    """An empty buffer for items like this one."""
    zero = jnp.zeros((), dtype=jnp.int32)
    blank = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), item)
    return Replay(blank, zero, zero)


def add(replay: Replay, items: Items, exist: Bool[Array, " item"]) -> Replay:
    """Put in those items that exist, in their order."""
    order = jnp.cumsum(exist.astype(jnp.int32))
    places = (replay.place + order - 1) % replay.capacity
    places = jnp.where(exist, places, replay.capacity)  # out of bounds: dropped
    stored = jax.tree.map(
        lambda kept, new: kept.at[places].set(new, mode="drop"), replay.items, items
    )
    return Replay(
        stored,
        (replay.place + order[-1]) % replay.capacity,
        jnp.minimum(replay.stored + order[-1], replay.capacity),
    )


def sample(replay: Replay, key: PRNGKeyArray, number: int) -> Items:
    """Items drawn independently, with replacement, from all that there are."""
    # The remainder of 32 random bits: uneven by less than one in a hundred thousand, and three
    # times quicker than drawing evenly.
    drawn = jax.random.bits(key, (number,), jnp.uint32)
    chosen = (drawn % jnp.maximum(replay.stored, 1).astype(jnp.uint32)).astype(jnp.int32)
    return jax.tree.map(lambda leaf: leaf[chosen], replay.items)


def sample_sequences(replay: Replay, key: PRNGKeyArray, number: int, length: int) -> Items:
    """Stretches of items stored one after the other, which begin anywhere, with replacement."""
    drawn = jax.random.bits(key, (number,), jnp.uint32)
    choices = jnp.maximum(replay.stored - length + 1, 1).astype(jnp.uint32)
    start = (drawn % choices).astype(jnp.int32)
    oldest = replay.place - replay.stored
    chosen = (oldest + start[:, None] + jnp.arange(length)) % replay.capacity
    return jax.tree.map(lambda leaf: leaf[chosen], replay.items)
