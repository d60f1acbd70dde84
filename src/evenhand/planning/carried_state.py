"""What a planner's row holds of the past beside the world: the scheme's state, the memory, or both.

Each form says how it begins, how a step changes it, and what reward the step has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from evenhand.fairness.trace import Step
from evenhand.problem.problem import Problem
from evenhand.problem.reward import SchemeState


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
