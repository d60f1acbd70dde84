"""The value of every state: backward induction, and value iteration where there is no end.

The decider sees the noise before acting, so V(x) = E_ξ max_a Q(x, ξ, a): who is at the counter is
integrated out, not put in the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from evenhand.errors import CannotPlan
from evenhand.planning.state_table import Progress, StateTable

if TYPE_CHECKING:
    from jaxtyping import Float

BLOCK = 8192  # states at a time, so that their action values stay in the cache

Choice = Callable[[StateTable, "Float[np.ndarray, 'effect state']", int, int], np.ndarray]


def best(
    table: StateTable, values: Float[np.ndarray, "effect state"], time: int, start: int
) -> Float[np.ndarray, " state"]:
    """E_ξ max_a Q(x, ξ, a)."""
    effects, chance = table.model.effects, table.model.noise[1]
    total = np.zeros(values.shape[1])
    for effects_here, probability in zip(effects, chance, strict=True):
        if probability > 0:
            best_here = None
            for effect in np.unique(effects_here):
                q = values[effect]
                best_here = q if best_here is None else np.maximum(best_here, q)
            total += probability * best_here
    return total


def uniform(
    table: StateTable, values: Float[np.ndarray, "effect state"], time: int, start: int
) -> Float[np.ndarray, " state"]:
    """E_ξ of the mean over actions: the value of acting at random."""
    effects, chance = table.model.effects, table.model.noise[1]
    weights = np.zeros(len(values))
    np.add.at(weights, effects, chance[:, None] / effects.shape[1])
    return weights @ values


def effect_values(
    table: StateTable, after: Float[np.ndarray, " state"], states: slice | np.ndarray, last: bool
) -> Float[np.ndarray, "effect state"]:
    """Q of each effect: its expected reward, and the value of what follows."""
    pay = (table.last_pay if last else table.pay)[:, states]
    following = table.following[:, :, states]
    carried = np.einsum("eks,eks->es", table.probability[:, :, states], after[following])
    return pay + table.model.discount * carried


def backward(
    table: StateTable, choice: Choice = best, progress: Progress | None = None
) -> list[Float[np.ndarray, " state"]]:
    """Backward induction: the value of every state at step numbers 0, …, T, under a choice."""
    horizon = table.horizon
    if horizon is None:
        raise CannotPlan("backward induction needs a finite horizon.")
    # There is no reward after the last step, wherever it leads.
    values = [np.zeros(table.num_states)]
    for time in reversed(range(horizon)):
        count, after = table.within[time], values[-1]
        here = np.empty(count)
        for start in range(0, count, BLOCK):
            states = slice(start, min(start + BLOCK, count))
            q = effect_values(table, after, states, last=time == horizon - 1)
            here[states] = choice(table, q, time, start)
        values.append(here)
        if progress:
            progress(horizon - time, horizon)
    _require_assessed(table, values, horizon)
    return values[::-1]


def _require_assessed(
    table: StateTable, values: list[Float[np.ndarray, " state"]], horizon: int
) -> None:
    """Refuse a scheme under which an episode can end unassessed, with such an end as witness."""
    if np.isfinite(table.expected(values[-1])):
        return
    here = table.first_layer()
    for time in range(horizon - 1):
        here = table.after(here, time)
    ends = np.flatnonzero(here[: table.pay.shape[1]])
    state = ends[np.isnan(table.last_pay[:, ends]).any(axis=0).argmax()]
    raise CannotPlan(
        "the scheme can end without any assessment, and then has no score: for instance where an "
        f"episode comes to {np.round(table.rows[state], 6).tolist()} before its last decision. "
        "Name a score for that case (empty=…), or choose a filter that is sure to fire."
    )


def value_iteration(
    table: StateTable, tolerance: float = 1e-9, max_sweeps: int = 1_000_000
) -> tuple[Float[np.ndarray, " state"], float]:
    """The discounted values without a horizon, and a bound on their error.

    One sweep is a contraction by γ, so values that changed by d in the last sweep are within
    γ/(1 − γ)·d of the fixed point.
    """
    discount = table.model.discount
    if not discount < 1.0:
        raise CannotPlan(
            "without a horizon a plan needs a discount below 1: use Discounted(0.95), or a horizon."
        )
    values = np.zeros(table.num_states)
    for _ in range(max_sweeps):
        after = np.concatenate(
            [
                best(table, effect_values(table, values, slice(s, s + BLOCK), False), 0, s)
                for s in range(0, table.num_states, BLOCK)
            ]
        )
        error = discount / (1.0 - discount) * float(np.abs(after - values).max())
        values = after
        if error <= tolerance:
            return values, error
    raise CannotPlan(f"the values are only within {error:g} after {max_sweeps} sweeps.")
