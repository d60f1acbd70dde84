"""Sections 3 and 4.1: decision processes, policies, and the fairness score of a policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from evenhand._util.numbers import as_float64, bootstrap_interval
from evenhand.errors import BadParameter, NoLimit, UnequalLengths
from evenhand.fairness.scheme import FairnessScheme, FeedbackScheme
from evenhand.fairness.trace import Override, Step, Trace

if TYPE_CHECKING:
    from jaxtyping import Float


# Section 3: policies, from those that see the state alone to those that see the whole history.


class Policy(Protocol):
    """A policy carries a memory: nothing, a summary of the past, or all of it."""

    def start(self, state: Any) -> Any:
        """The memory before the first action."""
        ...

    def act(self, state: Any, memory: Any, rng: np.random.Generator) -> Any:
        """The action to take."""
        ...

    def observe(self, memory: Any, step: Step) -> Any:
        """The memory after a step."""
        ...


@dataclass(frozen=True)
class MarkovPolicy:
    """π(s): the action depends on the present state alone."""

    action: Callable[[Any], Any]

    def start(self, state: Any) -> None:
        return None

    def act(self, state: Any, memory: None, rng: np.random.Generator) -> Any:
        return self.action(state)

    def observe(self, memory: None, step: Step) -> None:
        return None


@dataclass(frozen=True)
class MemoryPolicy:
    """π(s, m) with a memory ⟨m_init, μ⟩: m_{t+1} = update(m_t, step)."""

    init: Any
    update: Callable[[Any, Step], Any]
    action: Callable[[Any, Any], Any]

    def start(self, state: Any) -> Any:
        return self.init

    def act(self, state: Any, memory: Any, rng: np.random.Generator) -> Any:
        return self.action(state, memory)

    def observe(self, memory: Any, step: Step) -> Any:
        return self.update(memory, step)


@dataclass(frozen=True)
class HistoryPolicy:
    """π(s_1, a_1, …, s_t): the action may depend on everything that happened.

    The function gets the initial state and the tuple of steps so far.
    """

    action: Callable[[Any, tuple[Step, ...]], Any]

    def start(self, state: Any) -> tuple[Any, tuple[Step, ...]]:
        return state, ()

    def act(self, state: Any, memory: Any, rng: np.random.Generator) -> Any:
        return self.action(*memory)

    def observe(self, memory: Any, step: Step) -> Any:
        initial, steps = memory
        return initial, (*steps, step)


@dataclass(frozen=True)
class Stochastic:
    """π(a | ·): another policy whose "action" is a list of probabilities, one per action."""

    of: Policy

    def start(self, state: Any) -> Any:
        return self.of.start(state)

    def act(self, state: Any, memory: Any, rng: np.random.Generator) -> int:
        probabilities = np.asarray(self.of.act(state, memory, rng), dtype=np.float64)
        if not (probabilities >= 0).all() or abs(probabilities.sum() - 1.0) > 1e-9:
            raise BadParameter(
                f"a policy gave the action probabilities {probabilities.tolist()}: they must be "
                "at least 0 and sum to 1."
            )
        return int(rng.choice(len(probabilities), p=probabilities))

    def observe(self, memory: Any, step: Step) -> Any:
        return self.of.observe(memory, step)


# Section 3: a multi-stakeholder decision process as something that can be run.


class Transition(NamedTuple):
    """What the process answers to an action.

    `terminated` ends the process; `truncated` only cuts the record of it off.
    """

    next_state: Any
    rewards: Any
    override: Override | None = None
    terminated: bool = False
    truncated: bool = False
    feedback: float | None = None


class Process(Protocol):
    """Definition 1 without the requirement that anyone can list its states."""

    @property
    def num_stakeholders(self) -> int: ...

    def initial(self, rng: np.random.Generator) -> Any:
        """The state before the first action."""
        ...

    def step(self, state: Any, action: Any, rng: np.random.Generator) -> Transition:
        """What taking an action in a state leads to."""
        ...


def rollout(process: Process, policy: Policy, horizon: int, rng: np.random.Generator) -> Trace:
    """The trace of one run: until the process ends, or after `horizon` actions."""
    state = initial = process.initial(rng)
    memory = policy.start(state)
    steps: list[Step] = []
    while len(steps) < horizon:
        action = policy.act(state, memory, rng)
        outcome = process.step(state, action, rng)
        step = Step(action, outcome.rewards, outcome.next_state, outcome.override, outcome.feedback)
        steps.append(step)
        memory = policy.observe(memory, step)
        state = outcome.next_state
        if outcome.terminated or outcome.truncated:
            break
    return Trace.from_steps(steps, initial, process.num_stakeholders)


# Definition 1: a finite multi-stakeholder Markov decision process, given as arrays.


@dataclass(frozen=True, eq=False)
class FiniteMDP:
    """⟨S, s_init, A, P, R_1 … R_n⟩: states and actions are the integers that index the arrays.

    The paper's γ is left to those who discount: `Returns(discount)` for what a stakeholder has,
    `Discounted(discount)` for the sum over time.
    """

    initial_state: int
    transitions: Float[np.ndarray, "state action next_state"]
    rewards: Float[np.ndarray, "state action next_state stakeholder"]

    def __post_init__(self) -> None:
        transitions = as_float64(self.transitions, "transitions")
        rewards = as_float64(self.rewards, "rewards")
        if transitions.ndim != 3 or transitions.shape[0] != transitions.shape[2]:
            raise UnequalLengths(
                f"transitions have shape {transitions.shape}: expected [state, action, state]."
            )
        if rewards.ndim != 4 or rewards.shape[:3] != transitions.shape:
            raise UnequalLengths(
                f"rewards have shape {rewards.shape}: expected {transitions.shape} and one more "
                "axis for the stakeholders."
            )
        sums = transitions.sum(axis=-1)
        wrong = np.argwhere((np.abs(sums - 1.0) > 1e-9) | (transitions.min(axis=-1) < 0))
        if len(wrong):
            state, action = wrong[0]
            raise BadParameter(
                f"the probabilities of state {state}, action {action} sum to "
                f"{sums[state, action]:g} or hold a negative one: they must be at least 0 and "
                "sum to 1."
            )
        if not 0 <= self.initial_state < len(transitions):
            raise BadParameter(
                f"initial_state is {self.initial_state}: states run from 0 to "
                f"{len(transitions) - 1}."
            )
        object.__setattr__(self, "transitions", transitions)
        object.__setattr__(self, "rewards", rewards)

    @property
    def num_states(self) -> int:
        return self.transitions.shape[0]

    @property
    def num_actions(self) -> int:
        return self.transitions.shape[1]

    @property
    def num_stakeholders(self) -> int:
        return self.rewards.shape[-1]

    @property
    def reward_bound(self) -> float:
        """No reward of any stakeholder is larger than this in size."""
        return float(np.abs(self.rewards).max())

    def initial(self, rng: np.random.Generator) -> int:
        return self.initial_state

    def step(self, state: int, action: int, rng: np.random.Generator) -> Transition:
        next_state = int(rng.choice(self.num_states, p=self.transitions[state, action]))
        return Transition(next_state, self.rewards[state, action, next_state])


# Section 4.1: the fairness score of a policy, 𝔉ᵀ(π), and its limit 𝔉^∞(π).

Growth = Callable[[int], float]
Evaluator = Callable[[FairnessScheme | FeedbackScheme, Process, Policy, float], float]


@dataclass(frozen=True)
class PolicyScore:
    """The expected score of a policy, and how it was found."""

    mean: float
    interval: tuple[float, float]
    episodes: int  # 0 where the value is exact
    horizon: int  # steps in each episode
    tail: float = 0.0  # for an infinite horizon: what was cut off is at most this

    @property
    def exact(self) -> bool:
        return self.episodes == 0


def policy_score(
    scheme: FairnessScheme | FeedbackScheme,
    process: Process,
    policy: Policy,
    horizon: float,
    *,
    episodes: int = 1000,
    seed: int = 0,
    evaluator: Evaluator | None = None,
    tolerance: float = 1e-3,
    growth: Growth | None = None,
) -> PolicyScore:
    """Definition "fairness score of a policy": the expectation over its traces.

    By rollouts, with a 95% interval (too narrow for fewer than some ten episodes); or by an exact
    `evaluator`.

    Args:
        scheme: How fair a trace is.
        process: Where decisions are made.
        policy: What decides.
        horizon: How many decisions. With math.inf it is the limit, cut off where the rest is at
            most `tolerance`, or a refusal where no limit is known.
        episodes: How many rollouts.
        seed: Of the rollouts.
        evaluator: A function (scheme, process, policy, horizon) -> score, in place of rollouts.
        tolerance: See `horizon`.
        growth: A bound growth(t) on |w_t|, for a welfare or a process that does not have one; its
            ratio growth(t + 1) / growth(t) must not increase.
    """
    if math.isinf(horizon):
        steps, tail = steps_for_limit(scheme, process, tolerance, growth)
    elif horizon != int(horizon) or horizon < 0:
        raise BadParameter(f"horizon is {horizon}: it must be a whole number, or math.inf.")
    else:
        steps, tail = int(horizon), 0.0
    if evaluator is not None:
        value = evaluator(scheme, process, policy, horizon)
        return PolicyScore(value, (value, value), 0, steps, 0.0)
    if episodes < 2:
        raise BadParameter(f"episodes is {episodes}: an interval needs at least 2.")
    rng = np.random.default_rng(seed)
    scores = np.array([scheme.score(rollout(process, policy, steps, rng)) for _ in range(episodes)])
    return PolicyScore(float(scores.mean()), bootstrap_interval(scores, rng), episodes, steps, tail)


def steps_for_limit(
    scheme: FairnessScheme | FeedbackScheme,
    process: Process,
    tolerance: float,
    growth: Growth | None = None,
) -> tuple[int, float]:
    """How many steps bring 𝔉^T within `tolerance` of 𝔉^∞, and the bound on the rest.

    The limit is known to exist for a discounted sum with γ < 1 of values that grow by less than
    1/γ per step in the end: bounded ones, or log-Nash of counts, at most n·log(t + 1).
    """
    if not tolerance > 0:
        raise BadParameter(f"tolerance is {tolerance}: it must be positive.")
    temporal = scheme.temporal
    discount = None if temporal is None else temporal.sum_discount
    if discount is None or discount >= 1.0:
        what = "not timepoint-first" if temporal is None else repr(temporal)
        raise NoLimit(
            f"the infinite-horizon score is known to exist only for a discounted sum with a "
            f"discount below 1, and this aggregation is {what}: choose a finite horizon."
        )
    if isinstance(scheme, FeedbackScheme):
        steps_of: Callable[[int], int | None] = int
        declared = growth
    else:
        steps_of = scheme.filter.steps_for
        declared = growth or _declared_growth(scheme, process)
    if declared is None:
        raise NoLimit(
            "no bound on the welfare at time t is known, so the rest of an infinite sum cannot be "
            "bounded: pass growth=…, or a process with a reward_bound (and an override_bound if "
            "it overrides)."
        )
    assessments = 1
    while True:
        ahead = steps_of(assessments + 1), steps_of(assessments + 2)
        if ahead[0] is None or ahead[1] is None:
            raise NoLimit(
                "it is not known how long this filter takes to fire, so the rest of an infinite "
                "sum cannot be bounded: assess always or every p steps, or take a finite horizon."
            )
        first, second = _bounded(declared, ahead[0]), _bounded(declared, ahead[1])
        ratio = discount * (second / first if first > 0 else 1.0)
        tail = discount**assessments * first / (1.0 - ratio) if ratio < 1.0 else math.inf
        if tail <= tolerance:
            return steps_of(assessments) or 0, tail
        if assessments > 100_000_000:
            raise NoLimit(
                f"the rest of the sum is still {tail:g} after {assessments} assessments: the "
                "declared growth outruns the discount, or the tolerance is too small."
            )
        assessments = max(assessments + 1, int(assessments * 1.05))


def _declared_growth(scheme: FairnessScheme, process: Process) -> Growth | None:
    """A bound on |w_t| from what status, welfare and process say of themselves."""
    rewards = getattr(process, "reward_bound", None)
    welfare = scheme.welfare
    if rewards is None or welfare is None:
        return None
    size = len(scheme.status.names(range(process.num_stakeholders)))  # type: ignore[arg-type]
    overrides = getattr(process, "override_bound", 0.0)

    def bound(time: int) -> float | None:
        status = scheme.status.magnitude(rewards, time)
        value = None if status is None else welfare.magnitude(status, size)
        return None if value is None else max(value, overrides)

    return None if bound(1) is None else bound  # type: ignore[return-value]


def _bounded(growth: Growth, time: int) -> float:
    """The declared bound, or infinity where it is beyond what a number can hold."""
    try:
        return growth(time)
    except OverflowError:
        return math.inf


# Section 3: decision processes, policies that may remember, and the score of a policy.

__all__ = [
    "FiniteMDP",
    "HistoryPolicy",
    "MarkovPolicy",
    "MemoryPolicy",
    "Policy",
    "PolicyScore",
    "Process",
    "Stochastic",
    "Transition",
    "policy_score",
    "rollout",
    "steps_for_limit",
]
