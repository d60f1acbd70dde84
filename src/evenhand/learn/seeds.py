"""Seeds as random keys, and learners that start from them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import jax
import numpy as np

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray


class Starts(Protocol):
    """An agent: tabular or deep."""

    def start(self, key: PRNGKeyArray) -> Any: ...


def seed_keys(seeds: Sequence[int]) -> PRNGKeyArray:
    """The random key of each seed."""
    return jax.vmap(jax.random.key)(np.asarray(seeds, dtype=np.uint32))


@partial(jax.jit, static_argnames="agent")
def start_learners(agent: Starts, keys: PRNGKeyArray) -> Any:
    """A learner that knows nothing for each key, on a leading axis; equal agents share the code."""
    return jax.vmap(agent.start)(keys)
