"""Definition "NMFDP", memory-augmented, of an environment that runs elsewhere.

The problem without its environment: what is remembered, what is paid, and how it is shown. It is
all that a replay buffer needs to imagine, and it can be pickled without the environment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.learn.deep.encoders import Encoder, Raw
from evenhand.memory.memory import Attribute
from evenhand.problem.checks import require_reward
from evenhand.problem.problem import AgentView, AugmentedState, Problem
from evenhand.problem.reward import SchemeState

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, PRNGKeyArray


@dataclass(frozen=True)
class ExternalEnvironment:
    """An environment of which only its size is known here: the steps come from outside."""

    num_stakeholders: int
    num_actions: int
    horizon: int
    may_override: bool = False

    @property
    def compiled(self) -> bool:
        return False

    def initial(self, key: PRNGKeyArray) -> Any:
        return ()

    def step(self, key: PRNGKeyArray, state: Any, action: Any) -> tuple[Any, Step]:
        raise BadParameter("this environment is run elsewhere: step it there.")

    def is_over(self, state: Any) -> Bool[Array, ""]:
        raise BadParameter("this environment is run elsewhere: it says itself when it is over.")

    def attributes(self, state: Any) -> tuple[Attribute, ...]:
        return ()  # the observation comes from outside

    def achieved(self, world: Any) -> Bool[Array, ""]:
        return jnp.ones((), dtype=bool)


class StepContext(NamedTuple):
    """One step with the memory and scheme state of before it: all that imagining another takes."""

    memory: Any
    scheme_state: SchemeState
    step: Step
    is_over: Bool[np.ndarray, ""]

    def __deepcopy__(self, memo: dict[int, Any]) -> StepContext:
        # Nothing writes into it, and vector environments copy every info they pass on.
        return self


@dataclass(frozen=True, eq=False)
class Fairness:
    """A problem that is run elsewhere, with the code in which its memory is shown."""

    problem: Problem
    encoder: Encoder = Raw()

    @property
    def num_stakeholders(self) -> int:
        return self.problem.environment.num_stakeholders

    def first(self) -> AugmentedState:
        """Memory and scheme state before the first decision, in NumPy."""
        memory, pay, size = self.problem.memory, self.problem.pay, self.num_stakeholders
        start = jax.tree.map(np.asarray, (memory.init(size), pay.init(size)))
        return AugmentedState((), *start)

    @np.errstate(all="ignore")  # a status without welfare is refused by name
    def after(
        self, before: AugmentedState, step: Step, is_over: bool
    ) -> tuple[AugmentedState, float]:
        """Memory and scheme state after a step, and its reward, by the problem's own μ and R."""
        after, pay = self.problem.after(before, step, (), np.asarray(is_over))
        require_reward(self.problem, pay, self.status(after))
        return after, float(pay)

    def status(self, at: AugmentedState) -> Float[np.ndarray, " status"]:
        return self.problem.scheme.status.value(at.scheme_state.status)

    def code(self, seen: AgentView) -> Float[Array, " size"]:
        """What is remembered as numbers, in JAX: the caller maps and compiles it."""
        return self.encoder(self.problem, (), seen)

    def shown(self, at: AugmentedState) -> Float[np.ndarray, " size"]:
        """What is remembered as numbers."""
        return np.array(self._code(at.seen))

    @cached_property
    def size(self) -> int:
        return self.shown(self.first()).shape[0]

    @cached_property
    def _code(self) -> Any:
        return jax.jit(self.code)

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "encoder": self.encoder}  # compiled code stays here

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
