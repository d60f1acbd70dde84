"""Definition "NMFDP", memory-augmented: an environment, a scheme, and what is remembered."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.arrays import Array
from evenhand.errors import BadParameter, MemoryDoesNotPay, OverridesRefused
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.trace import Step
from evenhand.memory.memory import Full, Memory
from evenhand.problem.environment_like import EnvironmentLike
from evenhand.problem.reward import FairnessReward, SchemeState

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, PRNGKeyArray


LONGEST_CHECK = 256  # steps of an episode along which a memory's claim is compared with the pay


class AgentView(NamedTuple):
    """What the decider knows besides the state: its memory, and what the scheme makes it carry."""

    memory: Any
    filter: Any  # a clock for periodic assessment, a counter for bounded assessment
    fold: Any  # the running score, where the scheme is not a sum of per-step rewards


class AugmentedState(NamedTuple):
    """An augmented state: ⟨s, m⟩, and the scheme's books, which pay."""

    state: Any
    memory: Any
    books: SchemeState

    @property
    def seen(self) -> AgentView:
        return AgentView(self.memory, self.books.filter, self.books.fold)


@dataclass(frozen=True)
class Problem:
    """⟨environment M, fairness scheme 𝔉⟩, augmented with a memory ⟨M, m_init, μ⟩.

    What pays and what is seen are two things. The pay comes from the scheme's own books; the
    decider sees the memory chosen for it. Counters of periodic and bounded filters are added to
    what it sees by themselves. A scheme that is not a sum of per-step rewards is refused, unless
    `augment_with_score` adds its running value to what is seen; then the pay of a step is by how
    much it changed the score so far.
    """

    environment: EnvironmentLike
    scheme: FairnessScheme
    memory: Memory = Full()
    augment_with_score: bool = False
    pay: FairnessReward = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pay", FairnessReward(self.scheme, self.augment_with_score))
        if self.environment.may_override and not self.scheme.aggregation.takes_overrides:
            raise OverridesRefused(
                f"the environment puts rewards of its own in place of the welfare of a step, and "
                f"{type(self.scheme.aggregation).__name__} has no place for them: build the "
                "environment without, or use TimepointFirst."
            )
        horizon, filter_ = self.environment.horizon, self.scheme.filter
        never = not filter_.may_fire_within(horizon)
        if never and self.scheme.empty is None and self.scheme.aggregation.empty is None:
            raise BadParameter(
                f"fairness is assessed {filter_.describe()} and there are only {horizon}: choose "
                "a shorter period, or name the score of an episode without assessment (empty=…)."
            )

    @property
    def discount(self) -> float:
        """With this discount the pays of an episode add up to the score of its trace."""
        return self.pay.discount

    def with_full_memory(self) -> Problem:
        """The same problem seen in full: its optimum is the most that any memory can reach."""
        return replace(self, memory=Full())

    def initial(self, key: PRNGKeyArray) -> AugmentedState:
        """The augmented state before the first decision."""
        stakeholders = self.environment.num_stakeholders
        start = self.memory.init(stakeholders), self.pay.init(stakeholders)
        memory, books = jax.tree.map(_as_jax, start)
        return AugmentedState(self.environment.initial(key), memory, books)

    def step(
        self, key: PRNGKeyArray, augmented: AugmentedState, action: Any
    ) -> tuple[AugmentedState, Step, Float[Array, ""]]:
        """One decision: the next augmented state, what happened, and its pay."""
        state, step = self.environment.step(key, augmented.state, action)
        if not self.environment.may_override:
            step = step._replace(override=None)
        following, pay = self.after(augmented, step, state, self.environment.is_over(state))
        return following, step, pay

    def after(
        self, augmented: AugmentedState, step: Step, state: Any, is_over: Bool[Array, ""]
    ) -> tuple[AugmentedState, Float[Array, ""]]:
        """What a step that happened makes of memory and books, and its pay."""
        memory = self.memory.update(augmented.memory, step)
        books, pay = self.pay.update(augmented.books, step, is_over)
        return AugmentedState(state, memory, books), pay

    def imagine(
        self, memory: Any, books: SchemeState, step: Step, is_over: Bool[Array, ""]
    ) -> tuple[Any, SchemeState, Float[Array, ""]]:
        """Equation 2: the memory, books and pay that a step would have brought from another memory.

        Asks the same μ and the same pay as real experience. The books are those of before the
        step: the clocks and running scores it started with are not imagined.
        """
        following = self.memory.update(memory, step)
        after, pay = self.pay.step_reward(
            books, self.memory.implied_status(following), step, is_over
        )
        return following, after, pay

    def require_memory_pays(self, seed: int = 0, episodes: int = 64) -> None:
        """Refuse imagined memories unless the memory determines the pay (W∘U is Markovian).

        What the memory claims to know is paid along random episodes and compared with what the
        true status is paid; the error shows the first step where the two part.
        """
        self.scheme.require_counterfactuals()
        stakeholders = self.environment.num_stakeholders
        claim = self.memory.implied_status(self.memory.init(stakeholders))
        if claim is None:
            raise MemoryDoesNotPay(
                f"the memory ({self.memory.describe()}) does not say which status it knows, so "
                "imagined memories cannot be paid: use Full, or a memory with `implied_status`."
            )
        status = self.scheme.status.value(self.scheme.status.init(stakeholders))
        if claim.shape != status.shape:
            raise MemoryDoesNotPay(
                f"the memory ({self.memory.describe()}) knows {claim.shape[0]} numbers where the "
                f"status ({self.scheme.status.describe()}) has {status.shape[0]}: judge groups as "
                "stakeholders (status=GroupTotals) to be paid from a memory of groups."
            )
        if not self.environment.compiled:  # whoever runs it compares the two as it goes
            return
        claimed, true, trail = _along_episodes(self, seed, episodes)
        alike = np.isclose(claimed, true, rtol=1e-4, atol=1e-4, equal_nan=True)
        parts = np.logical_not(alike)
        if not parts.any():
            return
        time = int(np.flatnonzero(parts.any(axis=0))[0])
        episode = int(np.flatnonzero(parts[:, time])[0])
        memory, status, action = jax.tree.map(lambda leaf: leaf[episode, time].tolist(), trail)
        raise MemoryDoesNotPay(
            f"the memory ({self.memory.describe()}) does not determine the pay: at step {time + 1} "
            f"of a random episode, after action {action}, it is {memory} and would be paid "
            f"{claimed[episode, time]:g}, but the status is {status} and is paid "
            f"{true[episode, time]:g}. Use a memory that does, such as Full."
        )

    def _paid_both_ways(self, key: PRNGKeyArray) -> tuple[Array, Array, Any]:
        """Along a random episode: pay by the memory's claim, pay by the books, and the trail."""

        def decide(augmented: AugmentedState, key: PRNGKeyArray) -> tuple[AugmentedState, Any]:
            act_key, step_key = jax.random.split(key)
            action = jax.random.randint(act_key, (), 0, self.environment.num_actions)
            following, step, true = self.step(step_key, augmented, action)
            is_over = self.environment.is_over(following.state)
            memory, _, claimed = self.imagine(augmented.memory, augmented.books, step, is_over)
            status = self.scheme.status.value(following.books.status)
            return following, (claimed, true, (memory, status, action))

        start_key, run_key = jax.random.split(key)
        keys = jax.random.split(run_key, min(self.environment.horizon, LONGEST_CHECK))
        _, paid = jax.lax.scan(decide, self.initial(start_key), keys)
        return paid


def _as_jax(leaf: Any) -> Array:
    """A leaf of an initial state as JAX carries it: float32, or an integer or a flag as it is."""
    array = np.asarray(leaf)
    return jnp.asarray(array.astype(np.float32) if array.dtype == np.float64 else array)


@functools.lru_cache(maxsize=64)
def _along_episodes(problem: Problem, seed: int, episodes: int) -> Any:
    """Pays by claim and by the books along random episodes, once for each problem."""
    keys = jax.random.split(jax.random.key(seed), episodes)
    # It runs once, so that what it costs is compilation: not worth optimising.
    quick = {"xla_backend_optimization_level": 0}
    check = jax.jit(jax.vmap(problem._paid_both_ways), compiler_options=quick)
    return jax.device_get(check(keys))
