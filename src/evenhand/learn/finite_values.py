"""What was learned must be numbers: a value that is none would be acted on, and scored."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from evenhand.errors import NotFinite


def require_finite_values(values: Any) -> None:
    """Refuse the values of tables or the weights of networks once one of them is no number."""
    if bool(_all_finite(values)):
        return
    raise NotFinite(
        "what is learned is no longer finite: some step has a reward that is no number (a status "
        "for which the welfare is undefined; see `fairness.welfare`), or learning diverges (use a "
        "smaller learning_rate or scale)."
    )


@jax.jit
def _all_finite(values: Any) -> Any:
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(values)]))
