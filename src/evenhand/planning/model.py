"""A problem as the planner sees it: what a choice leads to, symmetries, noise integrated out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.checks import require_hashable
from evenhand.envs import Environment, OutcomesNotFinite, State
from evenhand.envs.environment import MDPEnvironment
from evenhand.errors import BadParameter, CannotPlan
from evenhand.fairness.groups import refine
from evenhand.fairness.trace import Step
from evenhand.problem.problem import AugmentedState, Problem
from evenhand.problem.reward import SchemeState
from evenhand.process import FiniteMDP

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


# What a planner's row holds of the past beside the world: the scheme's state, the memory, or both.
#
# Each form says how it begins, how a step changes it, and what reward the step has.


class Carried(ABC):
    """A form in which the past is carried from row to row."""

    sees_memory = True  # whether the memory is part of it

    @abstractmethod
    def of(self, scheme_state: SchemeState, memory: Any) -> Any:
        """What is carried, from the scheme's state and the memory."""

    @abstractmethod
    def after(self, problem: Problem, carried: Any, step: Step, is_over: Any) -> tuple[Any, Any]:
        """What is carried after a step, and the reward of the step."""

    def require(self, problem: Problem) -> None:
        """Refuse a problem that cannot be planned in this form."""


@dataclass(frozen=True)
class SchemeAlone(Carried):
    """The scheme's state: all that the reward depends on."""

    sees_memory = False

    def of(self, scheme_state: SchemeState, memory: Any) -> SchemeState:
        return scheme_state

    def after(
        self, problem: Problem, carried: SchemeState, step: Step, is_over: Any
    ) -> tuple[SchemeState, Any]:
        return problem.pay.update(carried, step, is_over)


@dataclass(frozen=True)
class MemoryForStatus(Carried):
    """The memory in place of the status: it must determine the reward, and is often smaller."""

    def of(self, scheme_state: SchemeState, memory: Any) -> SchemeState:
        return scheme_state._replace(status=memory)

    def after(
        self, problem: Problem, carried: SchemeState, step: Step, is_over: Any
    ) -> tuple[SchemeState, Any]:
        memory = problem.memory.update(carried.status, step)
        status = problem.memory.implied_status(memory)
        assert status is not None  # it was asked whether it determines the reward
        return problem.pay.step_reward(carried._replace(status=memory), status, step, is_over)

    def require(self, problem: Problem) -> None:
        problem.require_memory_pays()


class Both(NamedTuple):
    """The scheme's state, which the reward depends on, and the memory, which the policy sees."""

    scheme_state: SchemeState
    memory: Any


@dataclass(frozen=True)
class SchemeAndMemory(Carried):
    """Both, for policies that see the memory and are rewarded by the scheme."""

    def of(self, scheme_state: SchemeState, memory: Any) -> Both:
        return Both(scheme_state, memory)

    def after(self, problem: Problem, carried: Both, step: Step, is_over: Any) -> tuple[Both, Any]:
        scheme_state, reward = problem.pay.update(carried.scheme_state, step, is_over)
        return Both(scheme_state, problem.memory.update(carried.memory, step)), reward


# Augmented states as rows of numbers, and back: which columns hold what.


@dataclass(frozen=True, eq=False)
class RowLayout:
    """The place of every array of a pytree in a row, found from one example of it."""

    structure: Any
    places: tuple[tuple[slice, tuple[int, ...], np.dtype], ...]

    @classmethod
    def of(cls, example: Any) -> RowLayout:
        leaves, structure = jax.tree.flatten(example)
        places, begin = [], 0
        for leaf in leaves:
            places.append((slice(begin, begin + leaf.size), leaf.shape, leaf.dtype))
            begin += leaf.size
        return cls(structure, tuple(places))

    def to_rows(self, tree: Any) -> Float[np.ndarray, "row column"]:
        """Trees with a leading axis as rows."""
        leaves = jax.tree.leaves(jax.device_get(tree))
        return np.concatenate(
            [np.asarray(leaf, dtype=np.float64).reshape(len(leaf), -1) for leaf in leaves], axis=1
        )

    def from_rows(self, rows: Float[np.ndarray, "row column"]) -> Any:
        """The trees of many rows, with a leading axis."""
        leaves = [
            rows[:, place].reshape(len(rows), *shape).astype(dtype)
            for place, shape, dtype in self.places
        ]
        return jax.tree.unflatten(self.structure, leaves)

    def from_row(self, row: Float[jax.Array, " column"]) -> Any:
        """The tree of one row."""
        leaves = [row[place].reshape(shape).astype(dtype) for place, shape, dtype in self.places]
        return jax.tree.unflatten(self.structure, leaves)

    def columns_of_each(self, size: int) -> Int[np.ndarray, "feature stakeholder"]:
        """The columns that hold something of each of `size` stakeholders, one row per feature."""
        found = [
            np.arange(place.start, place.stop).reshape(-1, size)
            for place, shape, _ in self.places
            if shape and shape[-1] == size
        ]
        return np.concatenate(found) if found else np.zeros((0, size), dtype=int)


# Exchangeable stakeholders in canonical order.
#
# Each part of a problem says which stakeholders it treats alike (`exchangeable`). Exchangeable are
# those that all parts treat alike. Planning puts them in canonical order, which merges states that
# differ only in which of them is which.


def exchangeable(problem: Problem, use_memory: bool) -> list[list[int]]:
    """The classes of exchangeable stakeholders that have more than one member."""
    size = problem.environment.num_stakeholders
    environment = cast(Environment, problem.environment)  # what is not one cannot be planned
    parts = [environment.exchangeable(), problem.scheme.exchangeable(size)]
    if use_memory:
        parts.append(problem.memory.exchangeable(size))
    labels = refine(parts, size)
    classes = [[i for i in range(size) if labels[i] == label] for label in sorted(set(labels))]
    return [members for members in classes if len(members) > 1]


def canonical_order(
    features: Any, classes: Sequence[Sequence[int]]
) -> Int[np.ndarray, "state stakeholder"]:
    """For each state, its stakeholders in canonical order: sorted within their classes.

    `features` is [state, feature, stakeholder]. Those with like features may stand in any order.
    """
    count, width, size = features.shape
    order = np.broadcast_to(np.arange(size), (count, size)).copy()
    # Features are put in order by a mixture of them: any order will do that is the same
    # for the same features, and distinct features mix alike only by a coincidence, which would
    # cost a merge and no more.
    mixture = np.random.default_rng(0).uniform(1.0, 2.0, width)
    keys = np.einsum("sfn,f->sn", features, mixture)
    for members in classes:
        chosen = np.asarray(members)
        order[:, chosen] = chosen[np.argsort(keys[:, chosen], axis=1, kind="stable")]
    return order


# Planning from arrays: a finite MDP, and noise found inside its states.

__all__ = ["MDPEnvironment", "noise_distribution"]


def noise_distribution(mdp: FiniteMDP, num_noises: int) -> Float[np.ndarray, " noise"]:
    """The distribution of the noise in an MDP whose states are pairs: s = x · num_noises + ξ.

    Integrating ξ out is valid where it is drawn afresh, independently of everything, and only
    there. So this checks that P(x', ξ' | x, ξ, a) = P(x' | x, ξ, a) · P(ξ') for one and the same
    P(ξ'), and otherwise says where it fails.
    """
    if num_noises < 1 or mdp.num_states % num_noises:
        raise BadParameter(
            f"{mdp.num_states} states are not pairs of a world and one of {num_noises} noises."
        )
    joint = mdp.transitions.reshape(mdp.num_states, mdp.num_actions, -1, num_noises)
    noise = joint.sum(axis=2)
    distribution = noise[0, 0]
    product = joint.sum(axis=3, keepdims=True) * distribution
    apart = np.abs(joint - product).max(axis=(2, 3))
    if apart.max() > 1e-9:
        state, action = np.unravel_index(apart.argmax(), apart.shape)
        world, now = divmod(int(state), num_noises)
        raise CannotPlan(
            f"the noise is not drawn afresh: after action {action} in world {world} with noise "
            f"{now} it depends on where the world goes or on where it was. Keep it in the state."
        )
    return distribution


# A problem as a planner sees it: rows of numbers, and what each may become.
#
# A row holds the world and what is carried of the past. The noise is not in it: it is drawn afresh,
# independently of the world, so that it can be integrated out. Neither is the step number, unless
# rules depend on it in more than "is this the last step" (see `keep_time`).

CHUNKS = (512, 16_384)  # how many rows are expanded at a time
CELLS = 33_554_432  # at most so many numbers come of that, a quarter of a gigabyte


class Expansion(NamedTuple):
    """What rows may become, for every effect an action can have and every outcome of that."""

    rows: Float[np.ndarray, "row effect outcome column"]
    pay: Float[np.ndarray, "row effect outcome"]
    probability: Float[np.ndarray, "row effect outcome"]


@dataclass(frozen=True)
class Model:
    """The finite model of a problem.

    Args:
        problem: What is planned.
        carried: What rows hold of the past besides the world.
        canonical: Whether exchangeable stakeholders are put in canonical order.
        merge_effects: Whether pairs of noise and action that the environment declares alike are
            one; not where what is carried depends on the action itself.
        keep_time: Whether the step number is in the rows, where rules depend on it.
    """

    problem: Problem
    carried: Carried = SchemeAlone()
    canonical: bool = True
    merge_effects: bool = True
    keep_time: bool = False

    def __post_init__(self) -> None:
        env = self.environment
        if not isinstance(env, Environment):
            raise CannotPlan(
                f"{type(env).__name__} does not describe its model: plan needs an environment "
                "with `outcomes` and `noises`, or a FiniteMDP; otherwise use a learner."
            )
        own = [
            name
            for name in ("step", "initial", "is_over")
            if getattr(type(env), name) is not getattr(Environment, name)
        ]
        if own:
            raise CannotPlan(
                f"{type(env).__name__} has its own `{own[0]}`, so its noise may not be drawn "
                "afresh and independently of the world, or it may end early; put what endures "
                "into the world."
            )
        if env.noises() is None:
            raise CannotPlan(f"the noise of {type(env).__name__} cannot be listed: use a learner.")
        require_hashable(self.problem)
        self.carried.require(self.problem)

    @property
    def environment(self) -> Any:
        return self.problem.environment

    @property
    def discount(self) -> float:
        return self.problem.discount

    @cached_property
    def noise(self) -> tuple[Any, Float[np.ndarray, " noise"]]:
        """Every value of the noise, and its probability."""
        with jax.enable_x64(True):
            values, probability = jax.device_get(self.environment.noises())
        probability = np.asarray(probability, dtype=np.float64)
        if not (abs(probability.sum() - 1.0) <= 1e-6 and probability.min() >= 0):  # or no number
            raise BadParameter(
                f"the probabilities of the noise sum to {probability.sum():g}: they must be at "
                "least 0 and sum to 1."
            )
        return values, probability / probability.sum()

    @cached_property
    def effects(self) -> Int[np.ndarray, "noise action"]:
        """The number of the effect that an action has under each value of the noise."""
        declared = self.environment.effects() if self.merge_effects else None
        shape = (len(self.noise[1]), self.environment.num_actions)
        table = np.arange(np.prod(shape)).reshape(shape) if declared is None else declared
        if np.shape(table) != shape:
            raise CannotPlan(
                f"{type(self.environment).__name__}.effects has shape {np.shape(table)}: expected "
                f"{shape}, a number for every value of the noise and every action."
            )
        return np.unique(table, return_inverse=True)[1].reshape(shape)

    @cached_property
    def num_effects(self) -> int:
        return int(self.effects.max()) + 1

    @cached_property
    def possible_effects(self) -> Bool[np.ndarray, " effect"]:
        """Which effects some noise brings about: where all are present, nothing can be wasted."""
        return np.isin(np.arange(self.num_effects), self.effects[self.noise[1] > 0])

    @cached_property
    def classes(self) -> list[list[int]]:
        """The classes of stakeholders that are put in canonical order."""
        return exchangeable(self.problem, self.carried.sees_memory) if self.canonical else []

    # From pytrees to rows and back

    @cached_property
    def _start(self) -> tuple[Any, Any]:
        """The world and what is carried before the first decision, as NumPy in float64."""
        env, size = self.environment, self.environment.num_stakeholders
        with jax.enable_x64(True):
            world = jax.device_get(env.start())
        carried = self.carried.of(self.problem.pay.init(size), self.problem.memory.init(size))
        return jax.tree.map(np.asarray, (world._replace(time=np.zeros((), np.int32)), carried))

    @cached_property
    def _layout(self) -> RowLayout:
        return RowLayout.of(self._start)

    @property
    def start(self) -> Float[np.ndarray, "start column"]:
        """The rows that an episode may begin in, each once: a table begins with them."""
        return self._starts[0]

    @property
    def start_chance(self) -> Float[np.ndarray, " start"]:
        """The probability of each of these rows."""
        return self._starts[1]

    @cached_property
    def _starts(self) -> tuple[np.ndarray, np.ndarray]:
        one = jax.tree.map(lambda leaf: leaf[None], self._start)
        with jax.enable_x64(True):
            several = jax.device_get(self.environment.starts())
        if several is None:
            return self.order(self.to_rows(one)), np.ones(1)
        worlds, chance = several
        chance = np.asarray(chance, dtype=np.float64)
        if not (abs(chance.sum() - 1.0) <= 1e-6 and chance.min() >= 0):  # or no number
            raise BadParameter(
                f"the probabilities of the starts sum to {chance.sum():g}: they must be at least "
                "0 and sum to 1."
            )
        carried = jax.tree.map(lambda leaf: np.repeat(leaf, len(chance), axis=0), one[1])
        rows = self.order(self.to_rows((worlds._replace(time=np.zeros_like(worlds.time)), carried)))
        different, which = np.unique(rows, axis=0, return_inverse=True)
        return different, np.bincount(which.ravel(), chance / chance.sum())

    def placed(self, augmented: AugmentedState) -> tuple[Any, Any]:
        """The worlds of augmented states, and what is carried of them."""
        return augmented.state.world, self.carried.of(augmented.scheme_state, augmented.memory)

    def noise_numbers(self, noise: Any) -> Int[np.ndarray, " run"]:
        """Which of the environment's `noises` each value of the noise is."""
        rows, known = (
            np.concatenate(
                [np.asarray(x, dtype=float).reshape(len(x), -1) for x in jax.tree.leaves(part)],
                axis=1,
            )
            for part in (noise, self.noise[0])
        )
        alike = (rows[:, None, :] == known[None]).all(axis=2)
        if not alike.any(axis=1).all():
            raise CannotPlan("a value of the noise was seen that the environment does not list.")
        return alike.argmax(axis=1)

    def to_rows(self, state: Any) -> Float[np.ndarray, "row column"]:
        """Worlds and what is carried, with a leading axis, as rows."""
        world, carried = state
        if not self.keep_time:
            world = world._replace(time=np.zeros_like(world.time))
        return self._layout.to_rows((world, carried))

    def from_rows(self, rows: Float[np.ndarray, "row column"], time: int) -> Any:
        """Worlds and what is carried, with a leading axis, at a step number."""
        world, carried = self._layout.from_rows(rows)
        if not self.keep_time:
            world = world._replace(time=np.full(len(rows), time, dtype=np.int32))
        return world, carried

    def order(self, rows: Float[np.ndarray, "row column"]) -> Float[np.ndarray, "row column"]:
        """The rows with exchangeable stakeholders in canonical order."""
        if not self.classes:
            return rows
        columns = self._stakeholder_columns
        features = rows[:, columns]
        order = canonical_order(features, self.classes)
        ordered = rows.copy()
        ordered[:, columns] = np.take_along_axis(features, order[:, None, :], axis=2)
        return ordered

    @cached_property
    def _stakeholder_columns(self) -> Int[np.ndarray, "feature stakeholder"]:
        return self._layout.columns_of_each(self.environment.num_stakeholders)

    # What rows become

    def expand(self, rows: Float[np.ndarray, "row column"], time: int) -> Expansion:
        """What each row may become when a decision is made at this step number (from 0)."""
        # One pair of noise and action for each effect.
        _, first = np.unique(self.effects, return_index=True)
        return self._expand(rows, time, *np.unravel_index(first, self.effects.shape))

    def expand_pairs(
        self,
        rows: Float[np.ndarray, "row column"],
        noise_of: Int[np.ndarray, " pair"],
        action_of: Int[np.ndarray, " pair"],
    ) -> Expansion:
        """What rows may become for these pairs of noise and action, in place of effects."""
        # As many pairs at a time as there are effects: that is what is compiled already.
        size = self.num_effects
        parts = [
            self._expand(
                rows, 0, *(np.resize(of[k : k + size], size) for of in (noise_of, action_of))
            )
            for k in range(0, len(noise_of), size)
        ]
        joined = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        return Expansion(*(part[:, : len(noise_of)] for part in joined))

    def _expand(
        self,
        rows: Float[np.ndarray, "row column"],
        time: int,
        noise_of: Int[np.ndarray, " pair"],
        action_of: Int[np.ndarray, " pair"],
    ) -> Expansion:
        noises = jax.tree.map(lambda leaf: np.asarray(leaf)[noise_of], self.noise[0])
        parts = []
        for start in range(0, len(rows), self._chunks[-1]):
            part = rows[start : start + self._chunks[-1]]
            # Few different lengths, as each is compiled once.
            length = next(size for size in self._chunks if size >= len(part))
            padded = np.resize(part, (length, part.shape[1]))
            with jax.enable_x64(True):
                found = jax.device_get(
                    _expand_rows(self._dynamics, padded, np.int32(time), noises, action_of)
                )
            parts.append(jax.tree.map(lambda leaf, size=len(part): leaf[:size], found))
        if not parts:
            raise BadParameter("there are no rows to expand.")
        after, pay, probability = jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
        return Expansion(after, pay, probability)

    @cached_property
    def _chunks(self) -> tuple[int, ...]:
        """How many rows to expand at a time: few where there are many effects."""
        cells = self.num_effects * self.start.shape[1] * 2
        most = 1 << max(0, (CELLS // cells).bit_length() - 1)
        return tuple(sorted({min(size, most) for size in CHUNKS}))

    @cached_property
    def _dynamics(self) -> Model:
        """This model without what expanding rows does not depend on, so that more share it."""
        dynamics = replace(self, canonical=False, merge_effects=False)
        _ = dynamics._layout  # read now: inside the compiled function the start would be traced
        return dynamics

    def _outcomes(self, row: Any, time: Any, noise: Any, action: Any) -> tuple[Any, Any, Any]:
        world, carried = self._layout.from_row(row)
        if not self.keep_time:
            world = world._replace(time=time)
        probability, worlds = self.environment.outcomes(world, noise, action)
        after, pay = jax.vmap(partial(self._after, world, carried, noise, action))(worlds)
        leaves = jax.tree.leaves(after)
        flat = [leaf.reshape(leaf.shape[0], -1).astype(jnp.float64) for leaf in leaves]
        return jnp.concatenate(flat, axis=1), pay, probability

    def _after(self, world: Any, carried: Any, noise: Any, action: Any, after: Any) -> Any:
        """The next world and what is carried, and the reward, of one outcome."""
        env, state = self.environment, State(world, noise)
        override = env.override(state, action, after) if env.may_override else None
        # The next noise is not known yet, and nothing that is carried may depend on it.
        step = Step(action, env.rewards(state, action, after), State(after, None), override)
        is_over = env.is_over(State(after, None))
        carried, pay = self.carried.after(self.problem, carried, step, is_over)
        if not self.keep_time:
            after = after._replace(time=jnp.zeros_like(after.time))
        return (after, carried), pay


@partial(jax.jit, static_argnames="model")
def _expand_rows(model: Model, rows: Any, time: Any, noises: Any, actions: Any) -> Any:
    """Compiled once for all models that are equal, however often a problem is planned."""
    by_effect = jax.vmap(model._outcomes, in_axes=(None, None, 0, 0))
    return jax.vmap(lambda row: by_effect(row, time, noises, actions))(rows)


def require_listed(model: Model) -> None:
    """Refuse an environment whose outcomes cannot be listed, in its own words."""
    try:
        model.expand(model.start, 0)
    except OutcomesNotFinite as error:
        raise CannotPlan(str(error)) from None
    except AttributeError as error:
        raise CannotPlan(
            f"a status, filter or memory reads what is not known when an outcome is weighed, such "
            f"as who will be there next ({error}): let it read the world and the rewards alone."
        ) from None
