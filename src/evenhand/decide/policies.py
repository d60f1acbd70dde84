"""Policies as rules of a pool, and rules as policies of an environment."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import as_numbers, namespace
from evenhand._util.wording import format_number, pluralise
from evenhand.decide.rules.built_in import RULES, rule_of, rule_to_name
from evenhand.decide.rules.rule import Entrant, Instant, Remembered, Rule, TieBreak
from evenhand.decide.rules.state import RuleState, Standings
from evenhand.envs.environment import Environment, State
from evenhand.envs.log_world import LogWorld, Situation
from evenhand.errors import BadParameter
from evenhand.fairness.groups import Labels, all_alike, by_value
from evenhand.fairness.trace import Step
from evenhand.learn.policies import Greedy
from evenhand.memory.memory import Clock, Memory, Nothing, Product
from evenhand.planning.planner import TIES, Plan
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


# How a real decision is put before a policy: as the noise of the environment it was made for.


class RealDecision(NamedTuple):
    """What is to be decided: a lot, at a moment, and who may be given it."""

    eligible: Bool[np.ndarray, " stakeholder"]  # by the policy's own numbers
    wanted: Float[np.ndarray, " stakeholder"]  # ∞ where requests do not count
    amount: float
    time: float  # as a number


class DecisionSetting(ABC):
    """What a policy's environment takes a decision for."""

    lot: float | None  # the only amount it knows; None: any
    usual_lot: float  # what is taken to be given out where nobody says it
    ends: bool  # whether it was made for so many decisions and no more

    @abstractmethod
    def noise(self, decision: RealDecision) -> Any:
        """The decision as the noise of a state."""

    def number_of(self, name: str) -> int | None:
        """Which of its stakeholders has this name; None where it knows no names."""
        return None

    def learned_from(self, moments: np.ndarray) -> bool:
        """Whether some of these moments are from before the end of what it was learned from."""
        return False

    def require_times(self, plain_numbers: bool, policy: str) -> None:
        """Refuse times of a kind that the policy was not made for."""

    def require_number(self, size: int, found: int, policy: str, kind: str) -> None:
        """Refuse a number of stakeholders that the policy was not made for."""
        if found != size:
            raise BadParameter(
                f"{policy} was made for {pluralise(size, 'stakeholder')}, and here are {found:,}: "
                f"make a {kind} for as many, or name another rule."
            )


class TurnSetting(DecisionSetting):
    """An environment of taking turns: its noise says who is there, and action i serves i.

    Args:
        environment: Refused where an action does not serve one stakeholder of those present.
    """

    ends = True

    def __init__(self, environment: Environment) -> None:
        size = environment.num_stakeholders
        state: Any = State(environment.start(), jnp.ones(size, dtype=bool))
        outcomes = environment.outcomes(state.world, state.noise, 0)
        rewards = environment.rewards(state, 0, jax.tree.map(lambda leaf: leaf[0], outcomes.world))
        if outcomes.probability.shape[0] > 1 or np.count_nonzero(rewards) != 1:
            raise BadParameter(
                f"a policy of {type(environment).__name__} cannot say who is next: there, chance "
                "has a part in what a choice brings."
            )
        self.lot = self.usual_lot = float(rewards[0])

    def noise(self, decision: RealDecision) -> Any:
        return jnp.asarray(decision.eligible)


class LogSetting(DecisionSetting):
    """A world made from a log: lots of any size, at dates, to stakeholders with names.

    Args:
        world: The environment.
    """

    lot, ends = None, False

    def __init__(self, world: LogWorld) -> None:
        self.world = world
        self.usual_lot = world.tables.mean_lot

    def noise(self, decision: RealDecision) -> Any:
        wanted = decision.wanted if self.world.by_request else np.zeros(0)
        return Situation(
            jnp.asarray(decision.amount, dtype=jnp.float32),
            jnp.asarray(decision.eligible),
            # Where requests do not count here and did there, each wants as much as there is.
            jnp.asarray(np.minimum(wanted, 1e30), dtype=jnp.float32),
            jnp.asarray(self.world.phase_at(decision.time), dtype=jnp.int32),
        )

    def number_of(self, name: str) -> int | None:
        names = self.world.names
        if name not in names:
            raise BadParameter(
                f"the policy was learned for {pluralise(len(names), 'stakeholder')}, and {name!r} "
                f"is not one of them: learn it anew from a log that has all "
                "of them, leave this one out, or name another rule."
            )
        return names.index(name)

    def learned_from(self, moments: np.ndarray) -> bool:
        return bool((as_numbers(moments) <= self.world.last).any())

    def require_times(self, plain_numbers: bool, policy: str) -> None:
        if plain_numbers != self.world.plain_numbers:
            kinds = ("dates", "plain numbers")
            raise BadParameter(
                f"{policy} was learned from a log whose times are "
                f"{kinds[self.world.plain_numbers]}, and here they are {kinds[plain_numbers]}: "
                "write both in one way, or name another rule."
            )

    def require_number(self, size: int, found: int, policy: str, kind: str) -> None:
        return  # each is looked for by its name


def setting_of(environment: Any) -> DecisionSetting:
    """How a decision is put before a policy of an environment."""
    if isinstance(environment, LogWorld):
        return LogSetting(environment)
    if isinstance(environment, Environment) and environment.takes_turns:
        return TurnSetting(environment)
    raise BadParameter(
        f"a policy of {type(environment).__name__} cannot say who is next: there, an action does "
        "not serve one stakeholder of those present, as it does in doughnuts."
    )


def counts_steps(memory: Memory) -> bool:
    """Whether a memory has a clock, which knows no time after the last decision."""
    parts = memory.parts if isinstance(memory, Product) else (memory,)
    return any(isinstance(part, Clock) for part in parts)


# What each choice is worth to a policy, learned or planned, as its environment goes on.
#
# A real decision takes the place of a step in the environment of the policy: what there is to
# decide is its noise (see `decision_setting`), and what is remembered after it is the policy's own
# `update`.


class Course(NamedTuple):
    """How far decisions have come: the augmented state, and what the policy carries."""

    augmented: AugmentedState
    carry: Any
    decided: int


class PolicyChoices(ABC):
    """What each choice is worth, at each decision. Nothing here changes: a course is passed on.

    Args:
        problem: What the policy was made for; its environment must be one in which an action
            serves one stakeholder.
    """

    kind: str  # what it is called in messages
    close: float  # values that differ by no more than this are equally good

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.setting = setting_of(problem.environment)

    @property
    def num_stakeholders(self) -> int:
        return self.problem.environment.num_stakeholders

    @property
    def horizon(self) -> int | None:
        """How many decisions it was made for; None if there is no end to them."""
        ends = self.setting.ends or counts_steps(self.problem.memory)
        return self.problem.environment.horizon if ends else None

    def start(self) -> Course:
        """Before the first decision."""
        return Course(self.problem.initial(jax.random.key(0)), self.carried(), 0)

    def after(self, course: Course, decision: RealDecision, who: int) -> Course:
        """After one of those eligible was served."""
        seen = self._facing(course, decision)
        carry, following = self.decided(course.carry, seen), _after(self.problem, seen, who)
        return Course(following, carry, course.decided + 1)

    def values(self, course: Course, decision: RealDecision) -> Float[np.ndarray, " stakeholder"]:
        """What it is worth to serve each, in the long run, where this is to be decided."""
        return np.asarray(self.worth(course.carry, self._facing(course, decision)), dtype=float)

    def _facing(self, course: Course, decision: RealDecision) -> AugmentedState:
        """The augmented state in which this is to be decided."""
        noise, state = self.setting.noise(decision), course.augmented.state
        return course.augmented._replace(state=state._replace(noise=noise))

    def carried(self) -> Any:
        """What the policy carries beside its memory before the first decision."""
        return ()

    def decided(self, carry: Any, augmented: AugmentedState) -> Any:
        """What it carries after a decision."""
        return carry

    @abstractmethod
    def worth(self, carry: Any, augmented: AugmentedState) -> Any:
        """The value of each action."""


class LearnedChoices(PolicyChoices):
    """The values of a learned policy.

    Args:
        policy: Greedy for the values of a network.
    """

    kind, close = "policy", 0.0

    def __init__(self, policy: Greedy) -> None:
        super().__init__(policy.problem)
        self._decide, self._values = jax.jit(policy.decide), jax.jit(policy.values)
        self._start = policy.start()

    def carried(self) -> Any:
        return self._start

    def decided(self, carry: Any, augmented: AugmentedState) -> Any:
        return self._decide(carry, augmented)[0]

    def worth(self, carry: Any, augmented: AugmentedState) -> Any:
        return self._values(carry, augmented)


class PlannedChoices(PolicyChoices):
    """The values of an exact plan.

    Args:
        plan: The fairest policy of a problem.
    """

    kind, close = "plan", TIES

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.problem)
        self._plan = plan

    @property
    def horizon(self) -> int | None:
        return self._plan.table.horizon

    def worth(self, carry: Any, augmented: AugmentedState) -> Any:
        return self._plan.explain(augmented).values


@partial(jax.jit, static_argnames="problem")
def _after(problem: Problem, augmented: AugmentedState, action: Any) -> AugmentedState:
    environment: Any = problem.environment
    state = augmented.state
    worlds = environment.outcomes(state.world, state.noise, action).world
    world = jax.tree.map(lambda leaf: leaf[0], worlds)
    override = environment.override(state, action, world) if environment.may_override else None
    # Who will be there next is not known yet, as in a plan.
    ending = State(world, None)
    step = Step(action, environment.rewards(state, action, world), ending, override)
    following = State(world, state.noise)
    return problem.after(augmented, step, following, environment.is_over(ending))[0]


# Decision 18: a learned or planned policy is a rule: of those eligible, whoever is worth most.
#
# A policy knows stakeholders apart and remembers all of them together, so its values are worked out
# anew for all who are eligible at each decision, and stand in the memories by which a state ranks.


@dataclass(frozen=True, eq=False)
class PolicyRule(Rule):
    """Of those eligible, whoever it is worth most to serve, by a learned or planned policy.

    Args:
        choices: What each choice is worth.
        name: What the policy is called.
    """

    plans_next = False
    learned = True

    choices: PolicyChoices
    name: str

    def new_state(self, ties: TieBreak | None = None, by_request: bool = False) -> RuleState:
        return PolicyState(self, ties, by_request)

    def fitted(self, plain_numbers: bool) -> Rule:
        self.choices.setting.require_times(plain_numbers, self.name)
        return self

    def learned_from(self, moments: np.ndarray) -> bool:
        return self.choices.setting.learned_from(moments)

    def number_of(self, name: str) -> int | None:
        return self.choices.setting.number_of(name)

    def require_supply(self, stakeholders: int, amounts: Float[np.ndarray, " lot"]) -> None:
        choices = self.choices
        choices.setting.require_number(
            choices.num_stakeholders, stakeholders, self.name, choices.kind
        )
        lot = choices.setting.lot
        for amount in amounts[(amounts != lot) & (amounts != 0)][: lot is not None]:
            self.require_lot(float(amount))
        self.require_turn(int((amounts != 0).sum()) - 1)

    def require_lot(self, amount: float) -> None:
        """Refuse an amount that the environment of the policy never gives."""
        lot = self.choices.setting.lot
        if lot is not None and amount != lot:
            raise BadParameter(
                f"{self.name} decides lots of {format_number(lot)}, and here "
                f"{format_number(amount)} is given out at once: name another rule."
            )

    def require_turn(self, turn: int) -> None:
        """Refuse more decisions than the policy was made for."""
        horizon = self.choices.horizon
        if horizon is not None and turn >= horizon:
            raise BadParameter(
                f"{self.name} was made for {pluralise(horizon, 'decision')}, and here are more: "
                f"make a {self.choices.kind} with a longer horizon, or name another rule."
            )

    # What is remembered: what was received, how far the value of choosing this one is below the
    # highest, and the value.
    def begin(self, entrant: Entrant) -> Remembered:
        return (0.0, 0.0, 0.0)

    def served(
        self, memory: Remembered, amount: Any, entitlement: Any, instant: Instant
    ) -> Remembered:
        return (memory[0] + amount, *memory[1:])

    def index(self, memory: Remembered, entitlement: Any) -> Any:
        return memory[1]

    def says(self, memory: Remembered, entitlement: float, instant: Instant) -> str:
        received, short, value = memory
        worth = f"to choose it is worth {value:.6g}"
        least = "as much as any choice" if short == 0 else f"{short:.3g} less than the best choice"
        return f"has received {format_number(received)}, and {worth}, {least}"

    def describe(self) -> str:
        remembers = self.choices.problem.memory.describe()
        return (
            f"whoever it is worth most to choose by the {self.choices.kind} {self.name}, which "
            f"remembers {remembers}"
        )


class PolicyState(RuleState):
    """A policy at work. Those eligible are who is present in the policy's environment.

    Args:
        rule: The policy.
        ties: How ties are broken.
        by_request: Whether only those are eligible who asked for more than they received.
    """

    rule: PolicyRule

    def __init__(
        self, rule: PolicyRule, ties: TieBreak | None = None, by_request: bool = False
    ) -> None:
        super().__init__(rule, ties, by_request)
        self.course = rule.choices.start()
        self._lot = 0.0  # what is to be given; of a lot that is split, what is left
        self._numbers: list[int] = []  # which of the policy's stakeholders each place is

    def require_entrant(self, number: int | None) -> None:
        size = self.rule.choices.num_stakeholders
        if (len(self.memory) if number is None else number) >= size:
            raise BadParameter(
                f"{self.rule.name} was made for {pluralise(size, 'stakeholder')}, and one more "
                "would join: make one for as many, or choose another rule."
            )

    def add(self, entitlement: float = 1.0, number: int | None = None) -> int:
        self.require_entrant(number)
        self._numbers.append(len(self.memory) if number is None else number)
        return super().add(entitlement)

    def first(self, amount: float = 1.0, among: Iterable[int] | None = None) -> int | None:
        self._lot = amount or self._lot
        able = self._able(amount, among)
        self._weigh(able)
        return min(able, key=self.heap.entry, default=None)  # type: ignore[arg-type]

    def order(self, among: Iterable[int] | None = None) -> list[int]:
        self._weigh_if_going_on(self._able(0.0, among))
        return super().order(among)

    def ranked(self, among: Iterable[int] | None = None) -> Standings:
        able = self._able(0.0, among)
        self._weigh_if_going_on(able)
        return Standings(self.heap, able)

    def give(self, place: int, amount: float, among: Iterable[int] | None = None) -> None:
        self.rule.require_lot(amount)
        self.rule.require_turn(self.course.decided)
        decision = self._decision([*self._able(amount, among), place], amount)
        self.course = self.rule.choices.after(self.course, decision, self._numbers[place])
        self._lot = max(0.0, self._lot - amount)
        super().give(place, amount, among)

    @contextlib.contextmanager
    def trial(self) -> Iterator[None]:
        now = self.course, self._lot
        with super().trial():
            try:
                yield
            finally:
                self.course, self._lot = now

    @contextlib.contextmanager
    def facing(self, amount: float | None) -> Iterator[None]:
        before, self._lot = self._lot, self._lot if amount is None else amount
        try:
            yield
        finally:
            self._lot = before

    def _able(self, amount: float, among: Iterable[int] | None) -> list[int]:
        """Those who are eligible and can take an amount whole."""
        return [place for place in self._held(among) if self.fits(place, amount)]

    def _decision(self, places: Iterable[int], amount: float) -> RealDecision:
        """What is to be decided, with those at these places eligible."""
        size = self.rule.choices.num_stakeholders
        eligible, wanted = np.zeros(size, dtype=bool), np.zeros(size)
        eligible[[self._numbers[place] for place in places]] = True
        wanted[self._numbers] = [self.room(place) for place in range(len(self._numbers))]
        return RealDecision(eligible, wanted, amount, self.time)

    def _weigh_if_going_on(self, able: list[int]) -> None:
        """After the last decision everybody can still be asked where they stand: as they did."""
        horizon = self.rule.choices.horizon
        if horizon is None or self.course.decided < horizon:
            self._weigh(able)

    def _weigh(self, able: list[int]) -> None:
        """Set what it is worth to choose each."""
        if not able:
            return
        self.rule.require_turn(self.course.decided)
        amount = self._lot or self.rule.choices.setting.usual_lot
        values = self.rule.choices.values(self.course, self._decision(able, amount))
        own = {place: float(values[self._numbers[place]]) for place in able}
        highest, close = max(own.values()), self.rule.choices.close
        for place, value in own.items():
            self._keep(place)
            short = 0.0 if highest - value <= close else highest - value
            self.memory[place] = (self.memory[place][0], short, value)
            self._put(place)


# A rule put into an environment: its memory as a memory there, its index as a policy.
#
# The environment says who may be served (`present`), and action i serves stakeholder i. A step does
# not say who could have been served before it, so a rule that counts turns or lifts those who come
# back cannot be put there; neither can one that divides, or that needs requests.


class _Alone:
    """Those there before anybody joined."""

    front = 0.0

    def moment_of_turn(self) -> int:
        return 0

    def least_index(self) -> float | None:
        return None

    def starting_level(self, newcomers: str) -> float:
        return 0.0


@dataclass(frozen=True)
class RuleMemory(Memory[tuple[Any, ...]]):
    """What a rule remembers of each stakeholder, and the number of steps.

    Args:
        rule: A rule that can be put into an environment.
        entitlements: What each stakeholder is entitled to; by default all alike.
    """

    rule: Rule
    entitlements: tuple[float, ...] | None = None

    def init(self, num_stakeholders: int) -> tuple[Any, ...]:
        entitled = self.entitlements or (1.0,) * num_stakeholders
        entrants = [
            Entrant(place, entitled[place], Instant(0.0, 0), _Alone())
            for place in range(num_stakeholders)
        ]
        begun = zip(*(self.rule.begin(entrant) for entrant in entrants), strict=True)
        return (*(np.array(part, dtype=float) for part in begun), np.zeros(()))

    def update(self, memory: tuple[Any, ...], step: Step) -> tuple[Any, ...]:
        *fields, turn = memory
        rewards = step.rewards
        xp, got = namespace(rewards), rewards > 0
        amount = xp.where(got, rewards, 1.0)  # of whoever got nothing, nothing is looked at
        entitled = xp.ones_like(rewards)
        if self.entitlements is not None:
            entitled = xp.asarray(self.entitlements, dtype=rewards.dtype)
        after = self.rule.served(tuple(fields), amount, entitled, Instant(turn, turn))
        kept = (xp.where(got, new, old) for new, old in zip(after, fields, strict=True))
        return (*kept, turn + 1.0)

    def exchangeable(self, size: int) -> Labels:
        return all_alike(size) if self.entitlements is None else by_value(self.entitlements)

    def describe(self) -> str:
        return f"what {rule_to_name(self.rule)} does of each stakeholder"


@dataclass(frozen=True)
class RulePolicy:
    """Of those who may be served, whoever is next by a rule. Where there is nobody, action 0."""

    rule: Rule
    environment: Environment

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        fields: Remembered = tuple(memory[:-1]) if isinstance(memory, tuple) else ()
        index = self.rule.drawn_index(key, fields, jnp.asarray(self.environment.entitlements))
        present = self.environment.present(state)
        return jnp.argmin(jnp.where(present, index, jnp.inf)).astype(jnp.int32)

    def memory(self) -> Memory:
        """What it has to see."""
        if self.rule.draws:
            return Nothing()
        entitled = self.environment.entitlements
        alike = all(one == 1.0 for one in entitled)
        return RuleMemory(self.rule, None if alike else entitled)


def rule_for(environment: Environment, name: str) -> RulePolicy | None:
    """The policy of a rule by its name in an environment; None if there is no such rule."""
    if name.partition(":")[0] not in RULES.classes:
        return None
    rule = rule_of(name).fitted(plain_numbers=True)
    if not environment.serves_by_number or not rule.in_environments:
        fit = [one for one, cls in RULES.classes.items() if cls.in_environments]  # type: ignore[attr-defined]
        raise BadParameter(
            f"the rule {name} cannot be put into {type(environment).__name__}: "
            + (
                f"those that can are {', '.join(fit)}."
                if environment.serves_by_number
                else "there, an action does not serve one stakeholder of those present."
            )
        )
    return RulePolicy(rule, environment)
