"""Potential-based shaping: the reward of a step is the welfare it added, not all there is.

Adding γΦ(x') − Φ(x) to the reward leaves every optimal policy optimal. Φ is the welfare now, times
the (discounted) number of steps, or assessments, for which it will be rewarded again if nothing
changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.fairness.filters import Always, Filter
from evenhand.problem.problem import Problem
from evenhand.problem.reward import is_sum_of_rewards

if TYPE_CHECKING:
    from jaxtyping import Array, Float

ALWAYS = Always()


def steps_left(
    time: Any, horizon: int, horizon_terminates: bool, discount: float, assessed: Filter = ALWAYS
) -> Float[Array, ""]:
    """1 + γ + γ² + … over the steps left: to the horizon where it ends an episode, or for ever.

    With a filter that is not always on, over the assessments left; then nothing is discounted.
    """
    if not assessed.always:
        within = assessed.assessments_within
        return jnp.asarray(within(horizon, horizon) - within(time, horizon), dtype=jnp.float32)
    if not horizon_terminates:
        return jnp.asarray(1.0 / (1.0 - discount))
    left = jnp.asarray(horizon - time, dtype=jnp.float32)
    return left if discount == 1.0 else (1.0 - discount**left) / (1.0 - discount)


def shaping(
    now: Any,
    then: Any,
    time: Any,
    horizon: int,
    horizon_terminates: bool,
    discount: float,
    assessed: Filter = ALWAYS,
    ahead: tuple[Any, Any] | None = None,
) -> Float[Array, ""]:
    """γΦ(x') − Φ(x), from the welfare before and after the step that is the `time`-th from 0.

    `ahead` are the assessments to come before and after it, where states show them.
    """
    left, next_left = ahead or (
        steps_left(t, horizon, horizon_terminates, discount, assessed) for t in (time, time + 1)
    )
    return discount * next_left * then - left * now


def known_from_states(problem: Problem, horizon_terminates: bool, discount: float) -> bool:
    """Whether states show how many assessments are to come, and the number of the step does not."""
    assessed = problem.scheme.filter
    if assessed.always or horizon_terminates or discount == 1.0:
        return False
    return assessed.usual_assessments_ahead(problem.environment, discount) is not None


def shaped_pay(
    problem: Problem,
    status: Float[np.ndarray, "episode time status"],
    pay: Float[np.ndarray, "episode time"],
    horizon_terminates: bool,
    discount: float,
) -> Float[np.ndarray, "episode time"]:
    """The rewards of episodes with shaping, from the status after each step."""
    start = problem.scheme.status
    before = np.asarray(start.value(start.init(problem.environment.num_stakeholders)))
    first = np.broadcast_to(before, (len(status), 1, *before.shape))
    welfare = np.asarray(problem.welfare(np.concatenate((first, status), axis=1)))
    if known_from_states(problem, horizon_terminates, discount):
        # The states are not known here: what each change is usually worth.
        usual = problem.scheme.filter.usual_assessments_ahead(problem.environment, discount)
        return np.diff(welfare, axis=1) * usual
    times = np.arange(pay.shape[1])
    more = shaping(
        welfare[:, :-1],
        welfare[:, 1:],
        times,
        problem.environment.horizon,
        horizon_terminates,
        discount,
        problem.scheme.filter,
    )
    return pay + np.asarray(more)


def may_shape(problem: Problem, horizon_terminates: bool, discount: float) -> bool:
    """Whether shaping leaves the optimal policy as it is here."""
    try:
        require_shaping(problem, horizon_terminates, discount)
    except BadParameter:
        return False
    return True


def require_shaping(problem: Problem, horizon_terminates: bool, discount: float) -> None:
    """Refuse shaping where the reward is not the welfare of time points that are known before."""
    scheme, horizon = problem.scheme, problem.environment.horizon
    sums = problem.pay.share is not None or is_sum_of_rewards(scheme)
    by_states = known_from_states(problem, horizon_terminates, discount)
    known = by_states or scheme.filter.assessments_within(horizon, horizon) is not None
    if problem.augment_with_score or not (sums and known):
        raise BadParameter(
            "shaping is by welfare, for schemes that are sums of it at every step, or at time "
            "points that do not depend on what happens."
        )
    by_steps = scheme.filter.always or (horizon_terminates and discount == 1.0)
    if not (by_states or by_steps):
        raise BadParameter(
            "shaping for a scheme that is not assessed at every step needs a horizon that ends and "
            "a discount of 1."
        )
    if not horizon_terminates and discount == 1.0:
        raise BadParameter("shaping needs a discount below 1, or a horizon that ends.")
