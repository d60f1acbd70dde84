"""Exploration and learning rates over time, seeds, shaping, and values that must stay finite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter, NotFinite
from evenhand.fairness.filters import Always, Filter
from evenhand.problem.problem import Problem
from evenhand.problem.reward import is_sum_of_rewards

if TYPE_CHECKING:
    from jaxtyping import Array, Float, PRNGKeyArray


# Theorem 3 and the appendix: how fast to learn, and how much to explore.


class LearningRate(ABC):
    """The learning rate α of an update of Q(x, a), from how often it was updated before."""

    @abstractmethod
    def __call__(self, updates: Float[Array, ...]) -> Float[Array, ...]: ...


@dataclass(frozen=True)
class Constant(LearningRate):
    """The same rate always, 0.1 in the appendix. It tracks but does not converge."""

    value: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 < self.value < 1.0:
            raise BadParameter(f"the learning rate is {self.value}: it must lie in (0, 1).")

    def __call__(self, updates: Float[Array, ...]) -> Float[Array, ...]:
        return jnp.full_like(updates, self.value)


@dataclass(frozen=True)
class Watkins(LearningRate):
    """α = 1 / (k + 2)^power after k updates: the sum diverges, the sum of squares converges.

    These are the conditions of Theorem 3; they hold for powers in (1/2, 1].
    """

    power: float = 0.7

    def __post_init__(self) -> None:
        if not 0.5 < self.power <= 1.0:
            raise BadParameter(
                f"power is {self.power}: Watkins' conditions hold for powers above 0.5, up to 1."
            )

    def __call__(self, updates: Float[Array, ...]) -> Float[Array, ...]:
        return (updates + 2.0) ** -self.power


class EpsilonSchedule(ABC):
    """How epsilon of an epsilon-greedy learner falls.

    Tables have an epsilon for each augmented state, which falls with each visit. Networks have
    one, which falls at the end of each episode, or with every step (`falls_every_step`).
    """

    start: float
    floor: float

    @property
    def falls_every_step(self) -> bool:
        """Whether a network's epsilon falls with every step rather than with every episode."""
        return False

    @abstractmethod
    def after(self, epsilon: Float[Array, ...]) -> Float[Array, ...]:
        """Epsilon once it has fallen again."""


@dataclass(frozen=True)
class Exploration(EpsilonSchedule):
    """Epsilon is multiplied by a factor with each visit, or episode, down to a floor."""

    start: float = 1.0
    factor: float = 0.95
    floor: float = 0.2

    def __post_init__(self) -> None:
        if not (0.0 <= self.floor <= self.start <= 1.0 and 0.0 < self.factor <= 1.0):
            raise BadParameter(
                f"exploration from {self.start} by {self.factor} to {self.floor} is not possible: "
                "use 0 ≤ floor ≤ start ≤ 1 and a factor in (0, 1]."
            )

    def after(self, epsilon: Float[Array, ...]) -> Float[Array, ...]:
        return jnp.maximum(epsilon * self.factor, self.floor)


@dataclass(frozen=True)
class ExplorationBySteps(EpsilonSchedule):
    """Epsilon falls in a straight line over so many steps, and then stays.

    It falls in a task that never ends as it does in one of short episodes.
    """

    steps: int
    start: float = 1.0
    floor: float = 0.05

    def __post_init__(self) -> None:
        if not 0.0 <= self.floor <= self.start <= 1.0 or self.steps < 1:
            raise BadParameter(
                f"exploration from {self.start} to {self.floor} over {self.steps} steps is not "
                "possible: use 0 ≤ floor ≤ start ≤ 1, and at least one step."
            )

    @property
    def falls_every_step(self) -> bool:
        return True

    def after(self, epsilon: Float[Array, ...]) -> Float[Array, ...]:
        return jnp.maximum(epsilon - (self.start - self.floor) / self.steps, self.floor)


# Seeds as random keys, and learners that start from them.


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


# Potential-based shaping: the reward of a step is the welfare it added, not all there is.
#
# Adding γΦ(x') − Φ(x) to the reward leaves every optimal policy optimal. Φ is the welfare now,
# times the (discounted) number of steps, or assessments, for which it will be rewarded again if
# nothing changes.

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


# What was learned must be numbers: a value that is none would be acted on, and scored.


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
