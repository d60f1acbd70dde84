"""Seeds as random keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax
import numpy as np

if TYPE_CHECKING:
    from jaxtyping import PRNGKeyArray


def seed_keys(seeds: Sequence[int]) -> PRNGKeyArray:
    """The random key of each seed."""
    return jax.vmap(jax.random.key)(np.asarray(seeds, dtype=np.uint32))
