"""Section 3: a multi-stakeholder decision process as something that can be run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from evenhand.fairness.trace import Override, Step, Trace

if TYPE_CHECKING:
    from evenhand.process.policy import Policy


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
