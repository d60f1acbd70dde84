"""What a network sees of a state and a memory: coded, standardised, with gains at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.registry import Registry
from evenhand.envs.environment import State
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.memory.memory import Attribute
from evenhand.problem.problem import AgentView, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float


# Section 6: augmented states as numbers for a network. What is coded is what the agent may see.


class Features(NamedTuple):
    """What is known of each stakeholder, and of the whole."""

    each: Float[Array, "stakeholder feature"]
    common: Float[Array, " feature"]


class Layout(NamedTuple):
    """How features lie in one vector: those of each stakeholder first."""

    stakeholders: int
    each: int
    common: int

    @property
    def size(self) -> int:
        return self.stakeholders * self.each + self.common

    def split(self, flat: Float[Array, " feature"]) -> Features:
        cut = self.stakeholders * self.each
        return Features(flat[:cut].reshape(self.stakeholders, self.each), flat[cut:])


class Encoder(ABC):
    """A code for ⟨s, m⟩ and for whatever else the scheme makes the agent carry."""

    def __call__(self, problem: Problem, state: Any, seen: AgentView) -> Float[Array, " feature"]:
        """The features as one vector."""
        each, common = self.features(problem, state, seen)
        return jnp.concatenate((each.ravel(), common))

    def layout(self, problem: Problem) -> Layout:
        """How the features of this problem lie in their vector."""

        def start(key: Any) -> Features:
            augmented = problem.initial(key)
            return self.features(problem, augmented.state, augmented.seen)

        shapes = jax.eval_shape(start, jax.random.key(0))
        stakeholders, each = shapes.each.shape
        return Layout(stakeholders, each, shapes.common.shape[0])

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        size = problem.environment.num_stakeholders
        each, common = [jnp.zeros((size, 0))], [jnp.zeros(0)]
        for attribute in observed(problem, state, seen):
            spread = attribute if attribute.groups is None else self.spread(attribute)
            code = self.code(spread).astype(jnp.float32)
            if jnp.shape(spread.values) == (size,) and not spread.shared:
                each.append(code)
            else:
                common.append(code.ravel())
        return Features(jnp.concatenate(each, axis=1), jnp.concatenate(common))

    def spread(self, attribute: Attribute) -> Attribute:
        """What to do with one number per group: nothing, or to give it to each of the members."""
        return attribute

    @abstractmethod
    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        """The features of each number of an attribute, on a last axis of their own."""


@dataclass(frozen=True)
class Raw(Encoder):
    """Every number as it is."""

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return jnp.asarray(attribute.values, dtype=jnp.float32)[..., None]


@dataclass(frozen=True)
class Binary(Encoder):
    """Whole numbers in binary, as many bits each as their range needs; others as they are."""

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        values = jnp.asarray(attribute.values)
        if not attribute.whole:
            return values[..., None]
        bits = max(1, math.ceil(math.log2(attribute.most - attribute.least + 1)))
        number = (values - attribute.least).astype(jnp.int32)
        return (number[..., None] >> np.arange(bits)) & 1


@dataclass(frozen=True)
class Relative(Encoder):
    """Counts as the lead over the least served and as a logarithm; the rest scaled down.

    Members are given the count of their group, so that a network that treats them alike knows it.
    """

    def spread(self, attribute: Attribute) -> Attribute:
        return spread_to_members(attribute)

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        values = jnp.asarray(attribute.values, dtype=jnp.float32)
        if attribute.counts:
            return jnp.stack((values - jnp.min(values), jnp.log1p(jnp.abs(values))), axis=-1)
        # A range of 1 is left as it is. In a long one, one step more is still to be noticed.
        reach = math.sqrt(max(1.0, attribute.most - attribute.least))
        return ((values - attribute.least) / reach)[..., None]


def spread_to_members(attribute: Attribute) -> Attribute:
    """One number per group as one per stakeholder: each is given that of its group."""
    groups = attribute.groups
    assert groups is not None
    group_of = {i: k for k, members in enumerate(groups.members) for i in members}
    own = np.asarray([group_of[i] for i in sorted(group_of)])
    return attribute._replace(values=attribute.values[own], groups=None)


ENCODERS = Registry("encoder", {"raw": Raw, "binary": Binary, "relative": Relative})


def observed(problem: Problem, state: Any, seen: AgentView) -> tuple[Attribute, ...]:
    """All that the agent may see: the state, its memory, and the scheme's counters and folds."""
    env = problem.environment
    return (
        *env.attributes(state),
        *problem.memory.attributes(seen.memory, env.horizon, env.num_stakeholders),
        *(part for leaf in jax.tree.leaves((seen.filter, seen.fold)) for part in _finite(leaf)),
    )


def _finite(leaf: Any) -> tuple[Attribute, ...]:
    """A number that is carried; of a running least or most, which starts infinite, also whether."""
    number = jnp.asarray(leaf)
    if not jnp.issubdtype(number.dtype, jnp.floating):
        return (Attribute(number),)
    known = jnp.isfinite(number)
    return Attribute(jnp.where(known, number, 0.0)), Attribute(known)


# Features of one size, whatever the unit of what is observed: how they are scaled is measured.


@ENCODERS.register("standardised")
@dataclass(frozen=True)
class Standardised(Encoder):
    """Every attribute divided by a typical size of its own, as random play shows it.

    Amounts received, and the statuses that the memory implies, are shown as the lead over the
    least served, the distance to the mean, and a logarithm. Members are given the number of
    their group.

    Args:
        shifts: What is taken from each attribute, in the order in which they are observed.
        sizes: What each attribute is divided by.
        status_size: What a lead in status is divided by.
    """

    shifts: tuple[float, ...]
    sizes: tuple[float, ...]
    status_size: float = 1.0

    def __post_init__(self) -> None:
        numbers = np.asarray((*self.sizes, self.status_size))
        if len(self.shifts) != len(self.sizes) or not (numbers > 0).all():
            raise BadParameter(
                f"sizes is {self.sizes} and shifts is {self.shifts}: give both for each attribute, "
                "and sizes above 0."
            )

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        size = problem.environment.num_stakeholders
        attributes = observed(problem, state, seen)
        if len(attributes) != len(self.sizes):
            raise BadParameter(
                f"there are {len(attributes)} attributes and {len(self.sizes)} sizes: this encoder "
                "was made for another problem."
            )
        each, common = [jnp.zeros((size, 0))], [jnp.zeros(0)]
        for attribute, shift, scale in zip(attributes, self.shifts, self.sizes, strict=True):
            part = spread_to_members(attribute) if attribute.groups is not None else attribute
            values = jnp.asarray(part.values, dtype=jnp.float32)
            codes = leads(values / scale) if part.counts else ((values - shift) / scale)[..., None]
            if values.shape == (size,) and not part.shared:
                each.append(codes)
            else:
                common.append(codes.ravel())
        status = self._status(problem, seen, attributes)
        if status is not None and status.shape == (size,):
            each.append(leads(status / self.status_size))
        return Features(jnp.concatenate(each, axis=1), jnp.concatenate(common))

    def _status(
        self, problem: Problem, seen: AgentView, attributes: tuple[Attribute, ...]
    ) -> Array | None:
        """The status that the memory implies, unless it is what the memory is made of."""
        if any(attribute.counts for attribute in attributes):
            return None
        claim = problem.memory.implied_status(seen.memory)
        return None if claim is None else jnp.asarray(claim, dtype=jnp.float32)

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        raise NotImplementedError("attributes are coded by their place: see `features`.")


def leads(values: Float[Array, " n"]) -> Float[Array, "n feature"]:
    """The lead over the least, the distance to the mean, and the size as a logarithm."""
    ahead = values - jnp.min(values)
    about = values - jnp.mean(values)
    return jnp.stack((ahead, about, jnp.sign(values) * jnp.log1p(jnp.abs(values))), axis=1)


# What serving each stakeholder would bring at once, as features: by the problem's own scheme.

LEAST_AMOUNT = 1e-3  # of the unit: whoever may expect less than that receives nothing


class Served(NamedTuple):
    """What each stakeholder has by the scheme, and what changes if it is the one to be served."""

    status: Float[Array, " stakeholder"]
    amount: Float[Array, " stakeholder"]  # what it would receive
    gain: Float[Array, " stakeholder"]  # of the welfare of all
    change: Float[Array, " stakeholder"]  # of its own status


@ENCODERS.register("gains")
@dataclass(frozen=True)
class Gains(Encoder):
    """Every number as it is; of each stakeholder also its lead, and what serving it would bring.

    That is asked of the problem's own memory and welfare, so that it is right for whatever status
    and welfare the scheme has: the status and the welfare if the stakeholder now receives what it
    may expect to and nobody else anything, less those if nobody does.

    Args:
        unit: A typical amount that somebody receives.
        amount: What a stakeholder may expect to receive when served: a constant, and a factor for
            each of its own features of the state. Nothing: the unit.
    """

    unit: float = 1.0
    amount: tuple[float, ...] = ()

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return Raw().code(attribute)

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        return self.look(problem, state, seen)[0]

    def look(self, problem: Problem, state: Any, seen: AgentView) -> tuple[Features, Served | None]:
        """The features, and what serving each would bring, from which some of them come.

        None where the memory does not tell how each stakeholder is doing.
        """
        each, common = super().features(problem, state, seen)
        served = self._served(problem, state, seen, each)
        if served is None:
            return Features(each, common), None
        status, amount, gain, change = served
        derived = (
            amount / self.unit,
            status - jnp.mean(status),
            jnp.sign(status) * jnp.log1p(jnp.abs(status) / self.unit),
            gain,
            relative(gain),
            change,
            relative(change),
        )
        columns = [each, *(column[:, None] for column in derived)]
        return Features(jnp.concatenate(columns, axis=1), common), served

    def _served(
        self,
        problem: Problem,
        state: Any,
        seen: AgentView,
        each: Float[Array, "stakeholder feature"],
    ) -> Served | None:
        size, memory = problem.environment.num_stakeholders, problem.memory
        status = memory.implied_status(seen.memory)
        if status is None or jnp.shape(status) != (size,) or problem.scheme.welfare is None:
            return None
        amount = self._expected(each)

        def after(rewards: Any) -> Any:
            step = Step(jnp.zeros((), dtype=jnp.int32), rewards, state)
            then = memory.implied_status(memory.update(seen.memory, step))
            assert then is not None
            return problem.scheme.contribution(then), then

        one_each = np.eye(size, dtype=np.float32)
        welfare, unserved = after(jnp.zeros(size))
        welfares, statuses = jax.vmap(after)(one_each * jnp.asarray(amount)[:, None])
        gain = welfares - welfare
        change = jnp.sum(one_each * statuses, axis=1) - unserved
        return Served(status, amount, jnp.where(jnp.isfinite(gain), gain, 0.0), change)

    def _expected(self, each: Float[Array, "stakeholder feature"]) -> Float[Array, " stakeholder"]:
        if not self.amount:
            return jnp.full(each.shape[0], self.unit)
        constant, *factors = self.amount
        weights = np.zeros(each.shape[1], dtype=np.float32)
        weights[: len(factors)] = factors
        amount = constant + each @ weights
        return jnp.where(jnp.abs(amount) < LEAST_AMOUNT * self.unit, 0.0, amount)


def relative(values: Float[Array, " stakeholder"]) -> Float[Array, " stakeholder"]:
    """Values as shares of the largest: small differences can be told apart too."""
    return values / (jnp.max(jnp.abs(values)) + 1e-9)


# Features in units of what was seen: grams or kilograms, a network is shown the same numbers.

TIE_BREAK = 1e-3  # of the unit
Moments = tuple[tuple[float, float], ...]  # mean and deviation of each feature


@ENCODERS.register("measured")
@dataclass(frozen=True)
class Measured(Encoder):
    """The features of `Gains`, less the mean that was seen of each, by its deviation.

    Those of stakeholders have one mean and one deviation for all, so that they stay comparable.
    Last comes, for each, what serving it would add to the reward at once, in the learner's own
    units; and of the whole, the unit in which values at this moment are best told apart. Where
    several would add as much, it is more for whose own status would rise by more.

    Args:
        of: The features.
        each: Of each stakeholder's features.
        common: Of the features of the whole.
        reward: What a gain of 1 in welfare is worth to the learner.
        floor: The least unit of values; the unit is the largest gain of the moment. 0: it is 1.
    """

    of: Gains
    each: Moments
    common: Moments
    reward: float = 1.0
    floor: float = 0.0

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return self.of.code(attribute)

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        raw, served = self.of.look(problem, state, seen)
        at_once, unit = jnp.zeros(raw.each.shape[0]), jnp.ones(())
        if served is not None:
            at_once = self.reward * served.gain
            if self.floor:
                unit = jnp.maximum(jnp.max(jnp.abs(at_once)), self.floor)
            at_once = at_once + TIE_BREAK * unit * relative(served.change)
        each, common = _scaled(raw.each, self.each), _scaled(raw.common, self.common)
        return Features(
            jnp.concatenate((each, at_once[:, None]), axis=1),
            jnp.concatenate((common, unit[None])),
        )


def _scaled(values: Any, by: Moments) -> Any:
    mean, deviation = np.asarray(by, dtype=np.float32).reshape(-1, 2).T
    return (values - mean) / deviation


# What choosing each stakeholder would do at once, as features: asked of the environment itself.

SMALLEST = 1e-9  # spread, and difference between welfares, that says anything


class AfterChoice(NamedTuple):
    """How things stand if a stakeholder is chosen now."""

    welfare: Float[Array, " stakeholder"]  # of all
    gained: Float[Array, " stakeholder"]  # by its own status, compared with others being chosen


@ENCODERS.register("at_once")
@dataclass(frozen=True)
class AtOnce(Encoder):
    """The features of another encoder, and for each stakeholder what choosing it would do at once.

    Of the welfare after that, how far it is from what the others' choice would lead to, and whether
    it is the best there is; and what its own status would gain. What a policy has to learn is then
    where the choice that is best at once is not the best in the end. Only where an environment says
    that its outcomes are certain (`Environment.certain_outcomes`).

    Args:
        of: The other encoder.
    """

    of: Encoder

    def code(self, attribute: Attribute) -> Float[Array, "*number feature"]:
        return self.of.code(attribute)

    def features(self, problem: Problem, state: Any, seen: AgentView) -> Features:
        each, common = self.of.features(problem, state, seen)
        welfare, gained = after_each_choice(problem, state, seen)
        about = welfare - jnp.mean(welfare)
        columns = (
            relative(welfare - jnp.min(welfare)),
            about / (jnp.std(welfare) + SMALLEST),
            (welfare >= jnp.max(welfare) - SMALLEST).astype(jnp.float32),
            relative(gained),
        )
        return Features(
            jnp.concatenate((each, *(column[:, None] for column in columns)), axis=1), common
        )


def after_each_choice(problem: Problem, state: Any, seen: AgentView) -> AfterChoice:
    """How things would stand after each choice, by the problem's own environment, memory and W."""
    environment: Any = problem.environment

    def after(action: Any) -> tuple[Array, Array]:
        worlds = environment.outcomes(state.world, state.noise, action).world
        world = jax.tree.map(lambda leaf: leaf[0], worlds)
        step = Step(action, environment.rewards(state, action, world), State(world, state.noise))
        status = problem.memory.implied_status(problem.memory.update(seen.memory, step))
        assert status is not None  # asked before this encoder is chosen
        return problem.scheme.contribution(status), status

    welfare, status = jax.vmap(after)(jnp.arange(environment.num_actions))
    # Who cannot be served is passed over: somebody else's good is not to stand beside its name.
    there = environment.present(state)
    least = jnp.min(jnp.where(there, welfare, jnp.inf))
    least = jnp.where(jnp.isfinite(least), least, 0.0)
    gained = jnp.diagonal(status) - jnp.min(status, axis=0)
    return AfterChoice(jnp.where(there, welfare, least), jnp.where(there, gained, 0.0))
