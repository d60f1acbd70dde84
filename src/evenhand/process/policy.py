"""Section 3: policies, from those that see the state alone to those that see the whole history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step


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
