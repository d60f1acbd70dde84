"""Section 5.2, the NMFDP: an environment, a scheme, and the memory that the agent sees."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.checks import refuse_class, require_kind
from evenhand._util.files import in_bytes
from evenhand._util.numbers import Array
from evenhand._util.registry import Registry
from evenhand._util.saved import SavedRecord
from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter, OverridesRefused, SchemeFileError, TooLarge
from evenhand.fairness.scheme import FairnessScheme, from_table, from_toml, to_table, to_toml
from evenhand.fairness.trace import Step
from evenhand.memory.memory import (
    Attribute,
    Full,
    Memory,
    OfStatus,
    Product,
    memory_from_table,
    memory_to_table,
)
from evenhand.problem import checks
from evenhand.problem.reward import FairnessReward, SchemeState, is_sum_of_rewards, share_of_sum

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, PRNGKeyArray


# What a problem asks of an environment, and the environments that are known by name.
#
# The environments themselves lie above problems: those of `evenhand.envs` register here when they
# are imported, and so does a user's own.

ENVIRONMENTS = Registry("environment")


class EnvironmentLike(Protocol):
    """What a problem asks of an environment; `envs.Environment` answers it in pure JAX."""

    @property
    def num_stakeholders(self) -> int: ...
    @property
    def num_actions(self) -> int: ...
    @property
    def horizon(self) -> int: ...
    @property
    def may_override(self) -> bool: ...
    @property
    def compiled(self) -> bool:
        """Whether `initial`, `step` and `is_over` are JAX, or the environment runs on the host."""
        ...

    def initial(self, key: PRNGKeyArray) -> Any: ...
    def step(self, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Step]: ...
    def is_over(self, state: Any) -> Bool[Array, ""]: ...
    def attributes(self, state: Any) -> tuple[Attribute, ...]: ...
    def achieved(self, world: Any) -> Bool[Array, ""]: ...


def require_environment_like(environment: Any) -> None:
    """Refuse what lacks a part of an environment that every problem asks for."""
    refuse_class(environment, "environment")
    asked = ("num_stakeholders", "horizon", "may_override", "initial")
    missing = [name for name in asked if not hasattr(environment, name)]
    if missing:
        raise BadParameter(
            f"environment is {short_repr(environment)}, which has no "
            f"{' and no '.join(missing[:2])}: give one of evenhand.envs, such as "
            "Doughnuts(), or a subclass of Environment."
        )


# Definition "NMFDP", memory-augmented: an environment, a scheme, and what is remembered.


class AgentView(NamedTuple):
    """What the policy knows besides the state: its memory, and what the scheme makes it carry."""

    memory: Any
    filter: Any  # a clock for periodic assessment, a counter for bounded assessment
    fold: Any  # the running score, where the scheme is not a sum of per-step rewards


class AugmentedState(NamedTuple):
    """An augmented state: ⟨s, m⟩, and the scheme's own state, from which rewards come."""

    state: Any
    memory: Any
    scheme_state: SchemeState  # what the scheme carries from step to step

    @property
    def seen(self) -> AgentView:
        return AgentView(self.memory, self.scheme_state.filter, self.scheme_state.fold)


class Episode(NamedTuple):
    """What came of an episode."""

    last: AugmentedState
    rewards: Float[Array, " time"]
    kept: Float[Array, " time"]  # 1 where the environment did not override the welfare

    def score(self, discount: float) -> Float[Array, ""]:
        """The (discounted) sum of the rewards."""
        times = jnp.arange(self.rewards.shape[0])
        return jnp.sum(discount**times * self.rewards)


Decide = Callable[[Any, AugmentedState, Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Problem:
    """⟨environment M, fairness scheme 𝔉⟩, augmented with a memory ⟨M, m_init, μ⟩.

    What gives the reward and what is seen are two things. The reward comes from the scheme's own
    state; the policy sees the memory chosen for it. Counters of periodic and bounded filters are
    added to what it sees by themselves.

    Args:
        environment: Where decisions are made: one of `evenhand.envs`, or your own.
        scheme: How fair a history is. One that is not a sum of per-step rewards is refused, unless
            `augment_with_score` is set. A mean over a fixed number of assessments is a sum.
        memory: What the policy remembers. The default is all that each stakeholder has received.
        augment_with_score: Whether the policy also sees the running score. Then the reward of a
            step is by how much it changed the score so far.
    """

    environment: EnvironmentLike
    scheme: FairnessScheme
    memory: Memory = Full()
    augment_with_score: bool = False
    pay: FairnessReward = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_environment_like(self.environment)
        require_kind(self.scheme, FairnessScheme, "scheme", "anytime(LogNash())")
        require_kind(self.memory, Memory, "memory", "Full()")
        share = None
        if not (self.augment_with_score or is_sum_of_rewards(self.scheme)):
            overrides = self.environment.may_override
            share = share_of_sum(self.scheme, self.environment.horizon, overrides)
        pay = FairnessReward(self.scheme, self.augment_with_score, share)
        object.__setattr__(self, "pay", pay)
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
        """With this discount the rewards of an episode add up to the score of its trace."""
        return self.pay.discount

    def welfare(self, vector: Float[Array, "*batch status"]) -> Float[Array, "*batch"]:
        """What an assessment of these statuses adds to the score."""
        contribution = self.scheme.contribution(vector)
        return contribution if self.pay.share is None else self.pay.share * contribution

    def initial(self, key: PRNGKeyArray) -> AugmentedState:
        """The augmented state before the first decision."""
        stakeholders = self.environment.num_stakeholders
        start = self.memory.init(stakeholders), self.pay.init(stakeholders)
        memory, scheme_state = jax.tree.map(_as_jax, start)
        return AugmentedState(self.environment.initial(key), memory, scheme_state)

    def step(
        self, key: PRNGKeyArray, augmented: AugmentedState, action: Any
    ) -> tuple[AugmentedState, Step, Float[Array, ""]]:
        """One decision: the next augmented state, what happened, and its reward."""
        state, step = self.environment.step(key, augmented.state, action)
        if not self.environment.may_override:
            step = step._replace(override=None)
        following, pay = self.after(augmented, step, state, self.environment.is_over(state))
        return following, step, pay

    def after(
        self, augmented: AugmentedState, step: Step, state: Any, is_over: Bool[Array, ""]
    ) -> tuple[AugmentedState, Float[Array, ""]]:
        """The augmented state after a step that happened, and the reward of the step."""
        memory = self.memory.update(augmented.memory, step)
        scheme_state, pay = self.pay.update(augmented.scheme_state, step, is_over)
        return AugmentedState(state, memory, scheme_state), pay

    def imagine(
        self, memory: Any, scheme_state: SchemeState, step: Step, is_over: Bool[Array, ""]
    ) -> tuple[Any, SchemeState, Float[Array, ""]]:
        """Equation 2: what a step would have brought from another memory.

        Gives the next memory, the next scheme state and the reward, by the same μ and the same
        reward function as real experience. `scheme_state` is that of before the step: the clocks
        and running scores it started with are not imagined.
        """
        following = self.memory.update(memory, step)
        after, pay = self.pay.step_reward(
            scheme_state, self.memory.implied_status(following), step, is_over
        )
        return following, after, pay

    def episode(self, decide: Decide, carry: Any, first_key: PRNGKeyArray, keys: Any) -> Episode:
        """One episode of a policy, over the environment's horizon.

        Args:
            decide: decide(key, augmented state, carry) -> (carry, action).
            carry: What the policy carries into the first decision.
            first_key: A random key for the first state.
            keys: Random keys for decisions and for steps, two arrays of one per step.
        """

        def step(carried: Any, keys: Any) -> tuple[Any, Any]:
            augmented, carry = carried
            act_key, step_key = keys
            carry, action = decide(act_key, augmented, carry)
            after, happened, reward = self.step(step_key, augmented, action)
            override = happened.override
            kept = jnp.ones(()) if override is None else 1.0 - override.applies
            return (after, carry), (reward, kept)

        (last, _), (rewards, kept) = jax.lax.scan(step, (self.initial(first_key), carry), keys)
        return Episode(last, rewards, kept)

    def require_memory_pays(self, seed: int = 0, episodes: int = 64) -> None:
        """Refuse imagined memories unless the memory determines the reward (W∘U is Markovian).

        What the memory claims to know is rewarded along random episodes and compared with the
        reward of the true status; the error shows the first step where the two differ.
        """
        self.scheme.require_counterfactuals()
        checks.require_claim(self)
        if self.environment.compiled:  # on the host, the loop that runs it compares as it goes
            checks.require_determined(self, seed, episodes)


def _as_jax(leaf: Any) -> Array:
    """A leaf of an initial state as JAX carries it: float32, or an integer or a flag as it is."""
    array = np.asarray(leaf)
    return jnp.asarray(array.astype(np.float32) if array.dtype == np.float64 else array)


def require_problem(problem: Any) -> None:
    """Refuse what is not a problem, such as an environment without a scheme."""
    require_kind(problem, Problem, "problem", "Problem(environment, scheme)")


# A problem in words and numbers that JSON has: the header of plans and policies.
#
# Its environment and memory are known by the names they are registered under; import the module
# that registers your own before loading a file that names it.

OWN = "default"  # the scheme of the environment itself
OF_SCHEME = "scheme_status"  # the memory of what the scheme's status carries
MOST_CARRIED = 1 << 26  # bytes from step to step; learners keep many copies


def describe_problem(problem: Problem) -> dict[str, Any]:
    """Environment, scheme, memory, and whether the score so far is seen."""
    return {
        "environment": to_table(problem.environment, ENVIRONMENTS),
        "scheme": _scheme_text(problem),
        "memory": _memory_table(problem.memory, problem.scheme),
        "augment_with_score": problem.augment_with_score,
    }


def build_problem(header: Mapping[str, Any], path: str | os.PathLike[str] = "the file") -> Problem:
    """The problem that was described so. Other entries of the header are left alone.

    Args:
        header: What `describe_problem` made of it.
        path: The file whose header it is, as an error names it.
    """
    record = SavedRecord(header, path)
    environment = from_table(record.value("environment"), ENVIRONMENTS, "environment")
    own = record.text("scheme") == OWN
    scheme = environment.default_scheme() if own else from_toml(record.text("scheme"))
    memory = _memory(record.value("memory"), scheme)
    problem = Problem(environment, scheme, memory, record.flag("augment_with_score"))
    _require_room(problem)
    return problem


def _scheme_text(problem: Problem) -> str:
    """The scheme as TOML; one that is Python code by what it is: the environment's own."""
    try:
        return to_toml(problem.scheme)
    except SchemeFileError:
        own = getattr(problem.environment, "default_scheme", None)
        if own is None or own() != problem.scheme:
            raise
    return OWN


def _memory_table(memory: Memory, scheme: FairnessScheme) -> Any:
    """As `memory_to_table`; what the scheme's own status carries is called by that name."""
    if isinstance(memory, Product):
        return [_memory_table(part, scheme) for part in memory.parts]
    try:
        return memory_to_table(memory)
    except SchemeFileError:
        if memory != OfStatus(scheme.status):
            raise
    return OF_SCHEME


def _memory(table: Any, scheme: FairnessScheme) -> Memory:
    if table == OF_SCHEME:
        return OfStatus(scheme.status)
    if isinstance(table, list) and table:
        return Product(tuple(_memory(part, scheme) for part in table))
    return memory_from_table(table)


def _require_room(problem: Problem) -> None:
    """Refuse what carries more from step to step than there is room for.

    An array of zeros takes no room before it is written to, so that its size can be looked at.
    """
    size = problem.environment.num_stakeholders
    start = problem.memory.init(size), problem.pay.init(size)
    carried = sum(np.asarray(leaf).nbytes for leaf in jax.tree.leaves(start))
    if carried > MOST_CARRIED:
        raise TooLarge(
            f"memory and scheme carry {in_bytes(carried)} from step to step, and may carry "
            f"{in_bytes(MOST_CARRIED)}: use a shorter window, or fewer stakeholders."
        )
