"""What each choice is worth to a policy, learned or planned, as its environment goes on.

A real decision takes the place of a step in the environment of the policy: what there is to decide
is its noise (see `decision_setting`), and what is remembered after it is the policy's own `update`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from evenhand.decide.policies.decision_setting import RealDecision, counts_steps, setting_of
from evenhand.envs.environment import State
from evenhand.fairness.trace import Step
from evenhand.learn.policies import Greedy
from evenhand.planning.planner import TIES, Plan
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Float


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
