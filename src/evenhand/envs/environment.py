"""What an environment is: a world that endures, noise drawn afresh, and `outcomes` of an action."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.checks import require_whole
from evenhand._util.numbers import as_float64
from evenhand.errors import BadParameter, EvenhandError, TooLarge, UnequalLengths, argument
from evenhand.fairness.groups import Groups, Labels, all_different
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.status import Returns
from evenhand.fairness.temporal import Total
from evenhand.fairness.trace import Override, Step
from evenhand.fairness.welfare import LogNash
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Attribute, Full, Memory, Min, Nothing, OfStatus, Reset
from evenhand.process import FiniteMDP

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


# Section 6: the numbers with which the methods learn an environment, as the environment says them.
#
# A recipe is plain numbers and names; `lab.recipes` makes agents of it. What stands here as
# default suits an environment of which nothing is known. An environment that knows better overrides
# `Environment.recipe`.


@dataclass(frozen=True)
class LearningNumbers:
    """The three numbers of the appendix's tables: the learning rate, the room for experiences in
    the replay buffer, and how many of them make a batch.
    """

    rate: float
    capacity: int
    batch: int


@dataclass(frozen=True)
class PaperRecipe:
    """The appendix's table for an environment. The default is that of doughnuts."""

    fairqcm: LearningNumbers = LearningNumbers(1e-4, 6400, 2048)
    rnn: LearningNumbers = LearningNumbers(2e-3, 1000, 256)
    others: LearningNumbers = LearningNumbers(1e-4, 400, 64)
    target_copied_every: int = 1000  # updates
    widths: tuple[int, ...] = (32, 16, 8)

    def learning(self, method: str) -> LearningNumbers:
        return {"fairqcm": self.fairqcm, "rnn": self.rnn}.get(method, self.others)


@dataclass(frozen=True)
class BestRecipe:
    """A recipe of our own. By default the horizon ends an episode and a clock says how near it is.

    Args:
        discount: The discount γ of the learner.
        horizon_terminates: Whether the horizon ends an episode; then a clock is added to memory.
        shaping: Whether a step is rewarded by the welfare it adds, which makes a short view enough.
        scale: What rewards are multiplied by, for the network's sake.
        learning: Of all methods but the recurrent one.
        rnn: Of the recurrent one.
        warm_up: How many steps are taken before learning starts.
        halved_after: The number of updates after which the learning rate has halved.
        updates_per_step: How many updates follow each step.
        target_rate: The share of the way that the target network moves with each update.
        exploration_factor: What epsilon is multiplied by after each episode.
        exploration_floor: Epsilon falls no further than this.
        widths: Of the network's layers.
        groups: The groups in which the network compares stakeholders, if there are any.
    """

    discount: float = 1.0
    horizon_terminates: bool = True
    shaping: bool = False
    scale: float = 1.0
    learning: LearningNumbers = LearningNumbers(1e-3, 50_000, 128)
    rnn: LearningNumbers = LearningNumbers(1e-3, 5_000, 256)
    warm_up: int = 1000
    halved_after: int = 40_000
    updates_per_step: int = 2
    target_rate: float = 0.005
    exploration_factor: float = 0.98
    exploration_floor: float = 0.1
    widths: tuple[int, ...] = (64, 64)
    groups: Groups | None = None


@dataclass(frozen=True)
class Recipe:
    """How the methods of section 6 learn an environment.

    Args:
        memories: The memory that each method sees, by the method's name. FairQCM's must determine
            the reward; a method that is left out is not offered.
        proposal: The name of what FairQCM imagines.
        reach: How far that reaches; None for a proposal that takes no parameter.
        paper: Numbers for networks, as in the paper's appendix.
        best: Numbers for networks that learn faster, where some were found by trying; without them
            the recipe `best` is the default one.
    """

    memories: Mapping[str, Memory]
    proposal: str = "above"
    reach: int | None = 2
    paper: PaperRecipe = PaperRecipe()
    best: BestRecipe | None = None


def memories_by_method(scheme: FairnessScheme, determining: Memory | None) -> dict[str, Memory]:
    """The memories of the methods where nothing else is known.

    FairQCM needs a memory that determines the reward: the environment's own (`determining`), or
    Full where the status is what each stakeholder has received.
    """
    known = Full() if determining is None and scheme.status == Returns() else determining
    fairqcm = {} if known is None else {"fairqcm": known}
    return {**fairqcm, "full": Full(), "min": Min(), "reset": Reset(), "rnn": Nothing()}


# What an environment is: a world that endures, noise drawn afresh, and `outcomes` of an action.

# An environment for another number of stakeholders, all like those that there are.


def resized(
    environment: Environment, num_stakeholders: int | None, horizon: int | None
) -> Environment:
    """The environment built anew: what it has one each of, it has one each of the same again.

    Args:
        environment: One whose stakeholders are all alike.
        num_stakeholders: How many there are to be; None: as many as there are.
        horizon: How many decisions there are to be; None: as many as there are.
    """
    for name, value in (("num_stakeholders", num_stakeholders), ("horizon", horizon)):
        if value is not None:
            require_whole(value, argument(name))
    size = environment.num_stakeholders
    number = size if num_stakeholders is None else num_stakeholders
    kind = type(environment)
    if number != size and len(set(environment.exchangeable())) > 1:
        raise BadParameter(
            f"the stakeholders of this {kind.__name__} are not alike, so that {number} of them are "
            "not defined by these: build the environment, and give its problem to for_problem."
        )
    if not is_dataclass(environment):
        raise _unknown(kind, number)
    own = {spec.name: getattr(environment, spec.name) for spec in fields(environment) if spec.init}
    if horizon is not None:
        own = {**own, "horizon": horizon}
    if number != size:
        own = {name: _repeated(value, size, number) for name, value in own.items()}
        own = {name: number if name == "num_stakeholders" else own[name] for name in own}
    try:
        built = kind(**own)
    except (EvenhandError, TypeError):
        raise _unknown(kind, number) from None
    if (built.num_stakeholders, built.horizon) != (number, own.get("horizon", built.horizon)):
        raise _unknown(kind, number)
    return built


def _repeated(value: Any, size: int, number: int) -> Any:
    """One each of the same, for more or fewer; anything else as it is."""
    one_each = isinstance(value, tuple) and len(value) == size and len(set(value)) == 1
    return value[:1] * number if one_each else value


def _unknown(kind: type, number: int) -> BadParameter:
    return BadParameter(
        f"{kind.__name__} does not say how it would be with {number} stakeholders: build it, and "
        "give its problem to for_problem."
    )


# What every environment here is: a world, fresh noise before each decision, and an answer.
#
# The state of the decision process is (world, noise). The world is what endures: counts, credit,
# the step number. The noise is who is at the counter, who applies, what has arrived: drawn afresh
# and independently before every decision, the first included, and seen by the policy. A
# planner integrates the noise out and lists the answers' outcomes; a learner samples both. The
# dynamics are written once, as `outcomes`.
#
# All methods are pure JAX for one state; the caller maps them.


class TimedWorld(Protocol):
    """What every world has: the step number. A world is a NamedTuple of arrays."""

    @property
    def time(self) -> Any: ...


World = TypeVar("World", bound=TimedWorld)
Noise = TypeVar("Noise")  # an array, or a tuple of arrays


class OutcomesNotFinite(EvenhandError):
    """An environment whose answers cannot be listed: sample it, or plan a discrete form of it."""


class State(NamedTuple, Generic[World, Noise]):
    """The state s of the decision process."""

    world: World
    noise: Noise


class Outcomes(NamedTuple, Generic[World]):
    """What an action may lead to: `world` has a leading axis of as many as probabilities."""

    probability: Float[Array, " outcome"]
    world: World


class Environment(ABC, Generic[World, Noise]):
    """Definition 1 as an environment: frozen, hashable, every number a constructor argument."""

    # Constructor arguments that the command line may set, of num_stakeholders, horizon, presence.
    options: ClassVar[tuple[str, ...]] = ("horizon",)
    # Constructor arguments of an instance that is small enough for tables.
    small: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    # Whether action i serves stakeholder i if noise[i] says that they are present, so that turn
    # taking (of those present, the one who has received least) is a policy to compare with.
    takes_turns: ClassVar[bool] = False
    # Whether decisions go on after the horizon, which then cuts an episode off and does not end it.
    goes_on: ClassVar[bool] = False
    # Whether action i is for stakeholder i, if `present` says that they may be served: then a rule
    # that says who is next (see `decide.rules`) is a policy to compare with.
    serves_by_number: ClassVar[bool] = False
    # Whether action i is for stakeholder i and has one outcome, which depends on nothing that is
    # drawn later: then a learner is shown what each choice does at once (see `learn.deep.at_once`).
    certain_outcomes: ClassVar[bool] = False

    @property
    @abstractmethod
    def num_stakeholders(self) -> int: ...

    @property
    @abstractmethod
    def num_actions(self) -> int: ...

    @property
    def compiled(self) -> bool:
        return True

    @property
    @abstractmethod
    def horizon(self) -> int:
        """T: the number of decisions."""

    @abstractmethod
    def start(self) -> World:
        """The world before the first decision."""

    def starts(self) -> tuple[World, Float[Array, " start"]] | None:
        """Every world that an episode may begin in (leading axis), with its probability.

        None, the default, where there is one: `start`. Which of several it is, is seen.
        """
        return None

    @abstractmethod
    def draw(self, key: PRNGKeyArray) -> Noise:
        """Fresh noise, independent of the world and of the past."""

    @abstractmethod
    def outcomes(self, world: World, noise: Noise, action: Any) -> Outcomes[World]:
        """Every world that taking an action may lead to, with its probability."""

    @abstractmethod
    def rewards(
        self, state: State[World, Noise], action: Any, world: World
    ) -> Float[Array, " stakeholder"]:
        """R_i(s, a, s') for every stakeholder; s' enters through its world alone."""

    @abstractmethod
    def observation(self, state: State[World, Noise]) -> Float[Array, " feature"]:
        """What the policy sees of the state, as numbers. The step number is not seen."""

    def noises(self) -> tuple[Noise, Float[Array, " noise"]] | None:
        """Every value of the noise (leading axis) with its probability; None if not finite."""
        return None

    def default_scheme(self) -> FairnessScheme:
        """The default scheme of the environment: log-Nash, added up."""
        return anytime(LogNash(), Total())

    def effects(self) -> Int[np.ndarray, "noise action"] | None:
        """Which pairs of noise and action do the same, by number, as rows of `noises` come.

        Giving to a stakeholder who is absent is the same waste, whichever of them it is: outcomes,
        rewards and override of such pairs are the same in every world. None: no two
        are known to be. A planner need look at each effect only once.
        """
        return None

    def override(self, state: State[World, Noise], action: Any, world: World) -> Override:
        """What stands in for the welfare of the step: depends on (s, a, s') alone."""
        return Override(jnp.zeros((), dtype=bool), jnp.zeros(()))

    @property
    def may_override(self) -> bool:
        """Whether some step may have an override."""
        return type(self).override is not Environment.override

    def exchangeable(self) -> Labels:
        """A label for each stakeholder, equal for those that the environment treats alike.

        Two stakeholders are alike if exchanging them, in world, noise, action and rewards, changes
        nothing. Planning merges states that differ only in which of them is which. The default is
        that all are different, which is always right.
        """
        return all_different(self.num_stakeholders)

    def resized(
        self, num_stakeholders: int | None = None, horizon: int | None = None
    ) -> Environment:
        """The same with another number of stakeholders, like those that there are, or of decisions.

        Refused where they are not all alike, or where it is not known how to build it.

        Args:
            num_stakeholders: How many there are to be; as many as there are by default.
            horizon: How many decisions there are to be; as many as there are by default.
        """
        return resized(self, num_stakeholders, horizon)

    def present(self, state: State[World, Noise]) -> Bool[Array, " stakeholder"]:
        """Which stakeholders could be served now. The default is all of them."""
        return jnp.ones(self.num_stakeholders, dtype=bool)

    @property
    def entitlements(self) -> tuple[float, ...]:
        """What each stakeholder is entitled to, for rules that go by it. The default is alike."""
        return (1.0,) * self.num_stakeholders

    def bounds(self) -> tuple[Any, Any]:
        """The least and the greatest observation: two numbers, or one each for every feature."""
        return -np.inf, np.inf

    def reward_bounds(self) -> tuple[float, float]:
        """The least and the most that a stakeholder can receive in one step."""
        return -np.inf, np.inf

    def planning_memory(self) -> Memory | None:
        """A memory that determines the reward of the default scheme with fewer states than its
        status has, so that planning is quicker; None where none is known.
        """
        return None

    def table_size(self) -> int | None:
        """About how many states a table to learn in would have; None if it is out of the question.

        Where the command line is not asked for tables or networks, this decides. The default is
        right where at most one thing is given out at each step.
        """
        return (self.horizon + 1) ** self.num_stakeholders

    def recipe(self) -> Recipe:
        """How the methods of section 6 learn here."""
        return Recipe(memories_by_method(self.default_scheme(), self.planning_memory()))

    def attributes(self, state: State[World, Noise]) -> tuple[Attribute, ...]:
        """The observation in its parts, for those who code it: see `learn.deep.encoders`."""
        observation, layout = self.observation(state), self.feature_layout()
        if layout is None:
            return (Attribute(observation),)
        layout.require_fit(self.num_stakeholders, observation.shape[0])
        return layout.attributes(observation, self.bounds())

    def feature_layout(self) -> FeatureLayout | None:
        """Which numbers of the observation belong to whom, so that a network can tell.

        None: an observation of one number per stakeholder is theirs, any other is of the whole.
        """
        return None

    def achieved(self, world: World) -> Bool[Array, ""]:
        """Whether an episode that ends in this world reached what is asked besides fairness."""
        return jnp.ones((), dtype=bool)

    def initial(self, key: PRNGKeyArray) -> State[World, Noise]:
        several = self.starts()
        if several is None:
            return State(self.start(), self.draw(key))
        start_key, noise_key = jax.random.split(key)
        worlds, chance = several
        chosen = jax.random.choice(start_key, chance.shape[0], p=chance)
        return State(jax.tree.map(lambda leaf: leaf[chosen], worlds), self.draw(noise_key))

    def answer(self, key: PRNGKeyArray, world: World, noise: Noise, action: Any) -> World:
        """One of the outcomes, drawn with its probability."""
        probability, worlds = self.outcomes(world, noise, action)
        if probability.shape[0] == 1:
            return jax.tree.map(lambda leaf: leaf[0], worlds)
        draw = jax.random.uniform(key)
        chosen = jnp.sum(draw >= jnp.cumsum(probability)[:-1])
        return jax.tree.map(lambda leaf: leaf[chosen], worlds)

    def step(
        self, key: PRNGKeyArray, state: State[World, Noise], action: Any
    ) -> tuple[State[World, Noise], Step]:
        """One decision: the next state, and what the step did."""
        answer_key, noise_key = jax.random.split(key)
        world = self.answer(answer_key, state.world, state.noise, action)
        following = State(world, self.draw(noise_key))
        step = Step(
            action,
            self.rewards(state, action, world),
            following,
            self.override(state, action, world),
        )
        return following, step

    def is_over(self, state: State[World, Noise]) -> Bool[Array, ""]:
        """Whether the T decisions are made."""
        return state.world.time >= self.horizon


MAX_LISTED = 20  # events, of which every subset is listed


def subsets(
    probabilities: Sequence[float],
) -> tuple[Bool[Array, "noise n"], Float[Array, " noise"]]:
    """Every subset of n independent events (who is present, who applies), with its probability."""
    size = len(probabilities)
    if size > MAX_LISTED:
        number = f"{2**size:,}" if size <= 60 else f"2 to the power of {size:,}"
        raise TooLarge(
            f"{size:,} stakeholders make {number} combinations of who is there, and more than "
            f"{MAX_LISTED} cannot be listed one by one: plan for fewer, or use a learner."
        )
    happens = (np.arange(2**size)[:, None] >> np.arange(size)) & 1 == 1
    chance = np.where(happens, np.asarray(probabilities), 1.0 - np.asarray(probabilities))
    return jnp.asarray(happens), jnp.asarray(chance.prod(axis=1))


def one_each(values: Any, size: int, what: str, least: float, most: float) -> tuple[float, ...]:
    """One number for all, or one each, as a tuple; refuses a wrong number or a value outside."""
    numbers = as_float64(values, what)
    if numbers.ndim == 0:
        numbers = np.full(size, numbers)
    if numbers.shape != (size,):
        raise UnequalLengths(
            f"{what} has {numbers.size} entries for {size}: give one number for all, or one each."
        )
    for i in np.flatnonzero((numbers < least) | (numbers > most))[:1]:
        whose = f" of {i}" if np.ndim(values) else ""
        raise BadParameter(
            f"{what}{whose} is {numbers[i]:g}: it must lie between {least:g} and {most:g}."
        )
    return tuple(numbers.tolist())


# Beyond these nothing can be run: steps are counted in 32 bits, and each stakeholder takes room.
MOST_DECISIONS = 2**31 - 1
MOST_STAKEHOLDERS = 10**6


def require_count(value: Any, what: str, most: int = MOST_DECISIONS) -> None:
    """Refuse what is not a whole number from 1 to `most`."""
    if what == "horizon" and isinstance(value, float) and value == math.inf:
        raise BadParameter(
            "horizon is inf: a score is of so many decisions. Where they go on, choose after how "
            "many to look, let the environment say goes_on = True, and use a discounted scheme."
        )
    require_whole(value, what, most=most)


def served_or_not(present: Bool[Array, "noise n"]) -> Int[np.ndarray, "noise action"]:
    """The effects where action i serves i if present, and otherwise is one and the same waste."""
    return np.where(present, np.arange(present.shape[1]), present.shape[1])


# Definition 1 as an environment: a finite MDP given as arrays, to be planned, run and learned.

ENDLESS = 2**30  # more decisions than anyone will make, and safe in an int32


class Place(NamedTuple):
    """The state of the MDP, and the step number."""

    state: Int[Array, ""]
    time: Int[Array, ""]


@dataclass(frozen=True)
class MDPEnvironment(Environment[Place, jax.Array]):
    """A `FiniteMDP` run for `horizon` decisions. No noise is seen: chance follows the action.

    The default horizon is as good as none, for planning and learning without an end.
    """

    mdp: FiniteMDP
    horizon: int = ENDLESS

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")

    @property
    def num_stakeholders(self) -> int:
        return self.mdp.num_stakeholders

    @property
    def num_actions(self) -> int:
        return self.mdp.num_actions

    def start(self) -> Place:
        first = jnp.asarray(self.mdp.initial_state, dtype=jnp.int32)
        return Place(first, jnp.zeros((), dtype=jnp.int32))

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        return jnp.zeros(0)

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return jnp.zeros((1, 0)), jnp.ones(1)

    def outcomes(self, world: Place, noise: jax.Array, action: Any) -> Outcomes[Place]:
        states = jnp.arange(self.mdp.num_states, dtype=jnp.int32)
        time = jnp.broadcast_to(world.time + 1, states.shape)
        probability = jnp.asarray(self.mdp.transitions, dtype=float)[world.state, action]
        return Outcomes(probability, Place(states, time))

    def rewards(
        self, state: State[Place, jax.Array], action: Any, world: Place
    ) -> Float[Array, " stakeholder"]:
        return jnp.asarray(self.mdp.rewards, dtype=float)[state.world.state, action, world.state]

    def observation(self, state: State[Place, jax.Array]) -> Float[Array, " feature"]:
        return jax.nn.one_hot(state.world.state, self.mdp.num_states)

    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def reward_bounds(self) -> tuple[float, float]:
        return float(self.mdp.rewards.min()), float(self.mdp.rewards.max())

    def table_size(self) -> int:
        return self.mdp.num_states * (self.horizon + 1) ** self.num_stakeholders


# The strongest rule without foresight: whatever makes this step as fair as can be.

TIE = 1e-5  # expected welfares closer than this are equally good, in float32


@dataclass(frozen=True)
class OneStepAhead:
    """The action after which welfare is greatest in expectation, with no thought of later steps.

    Of several that are as good, for somebody who may be served; of these, for whoever has least
    per unit of its entitlement; of these, the first. Its memory is what the status carries.
    """

    environment: Environment
    scheme: FairnessScheme

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        actions = jnp.arange(self.environment.num_actions)
        welfare = jax.vmap(lambda action: self._expected(state, memory, action))(actions)
        best = welfare >= jnp.max(welfare) - TIE * jnp.maximum(1.0, jnp.abs(jnp.max(welfare)))
        if not self.environment.serves_by_number:
            return jnp.argmax(best).astype(jnp.int32)
        status = self.scheme.status.value(memory)
        if not self.scheme.status.per_stakeholder:
            status = jnp.zeros(self.environment.num_stakeholders)
        # Whoever may not be served comes after all who may.
        behind = jnp.where(self.environment.present(state), status, jnp.max(status) + 1.0)
        return jnp.argmin(jnp.where(best, behind, jnp.inf)).astype(jnp.int32)

    def memory(self) -> Memory:
        """What it has to see."""
        return OfStatus(self.scheme.status)

    def _expected(self, state: State, memory: Any, action: Any) -> Float[Array, ""]:
        """The expected welfare of the step; what stands in for it, where the environment says."""
        env, status = self.environment, self.scheme.status

        def welfare(world: Any) -> Float[Array, ""]:
            override = env.override(state, action, world) if env.may_override else None
            # Who will be there next is not known yet: those of now stand in for them.
            ending = State(world, state.noise)
            step = Step(action, env.rewards(state, action, world), ending, override)
            return self.scheme.contribution(status.value(status.update(memory, step)), override)

        outcomes = env.outcomes(state.world, state.noise, action)
        return jnp.sum(outcomes.probability * jax.vmap(welfare)(outcomes.world))
