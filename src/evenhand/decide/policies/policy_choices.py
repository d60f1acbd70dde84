"""What each choice is worth to a policy, learned or planned, as its environment goes on.

The environment is one of taking turns: its noise says who is there, and action i serves i. A real
decision takes the place of a step there: those eligible are the noise, and what is remembered after
it is the policy's own `update`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.envs.environment import Environment, State
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.learn.policies.greedy_policy import Greedy
from evenhand.planning.planner import TIES, Plan
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


class Course(NamedTuple):
    """How far decisions have come: the augmented state, and what the policy carries."""

    augmented: AugmentedState
    carry: Any
    decided: int


class PolicyChoices(ABC):
    """What each choice is worth, at each decision. Nothing here changes: a course is passed on.

    Args:
        problem: What the policy was made for; its environment must be one of taking turns.
    """

    kind: str  # what it is called in messages
    close: float  # values that differ by no more than this are equally good

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.lot = _lot_of(problem.environment)

    @property
    def num_stakeholders(self) -> int:
        return self.problem.environment.num_stakeholders

    @property
    def horizon(self) -> int | None:
        """How many decisions it was made for; None if there is no end to them."""
        return self.problem.environment.horizon

    def start(self) -> Course:
        """Before the first decision."""
        return Course(self.problem.initial(jax.random.key(0)), self.carried(), 0)

    def after(self, course: Course, present: Bool[np.ndarray, " stakeholder"], who: int) -> Course:
        """After one of those present was served."""
        seen = _facing(course, present)
        carry, following = self.decided(course.carry, seen), _after(self.problem, seen, who)
        return Course(following, carry, course.decided + 1)

    def values(
        self, course: Course, present: Bool[np.ndarray, " stakeholder"]
    ) -> Float[np.ndarray, " stakeholder"]:
        """What it is worth to serve each, in the long run, where these are present."""
        return np.asarray(self.worth(course.carry, _facing(course, present)), dtype=float)

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


def _facing(course: Course, present: Bool[np.ndarray, " stakeholder"]) -> AugmentedState:
    """The augmented state in which these are present."""
    state = course.augmented.state
    return course.augmented._replace(state=state._replace(noise=jnp.asarray(present)))


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


def _lot_of(environment: Any) -> float:
    """What is given out at each step; refused where an action does not serve one stakeholder."""
    if not isinstance(environment, Environment) or not environment.takes_turns:
        raise BadParameter(
            f"a policy of {type(environment).__name__} cannot say who is next: there, an action "
            "does not serve one stakeholder of those present, as it does in doughnuts."
        )
    size = environment.num_stakeholders
    state: Any = State(environment.start(), jnp.ones(size, dtype=bool))
    outcomes = environment.outcomes(state.world, state.noise, 0)
    rewards = environment.rewards(state, 0, jax.tree.map(lambda leaf: leaf[0], outcomes.world))
    if outcomes.probability.shape[0] > 1 or np.count_nonzero(rewards) != 1:
        raise BadParameter(
            f"a policy of {type(environment).__name__} cannot say who is next: there, chance has a "
            "part in what a choice brings."
        )
    return float(rewards[0])
