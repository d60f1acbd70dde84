"""A rule put into an environment: its memory as a memory there, its index as a policy.

The environment's noise says who may be served, and action i serves stakeholder i. A step does not
say who could have been served before it, so a rule that counts turns or lifts those who come back
cannot be put there; neither can one that divides, or that needs requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from evenhand._util.arrays import namespace
from evenhand.decide.rules.named_rule import RULES, rule_of, rule_to_name
from evenhand.decide.rules.rule import Entrant, Instant, Remembered, Rule
from evenhand.envs.environment import Environment, State
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Step
from evenhand.memory.memory import Memory, Nothing

if TYPE_CHECKING:
    from jaxtyping import Array, Int, PRNGKeyArray


class _Alone:
    """Those there before anybody joined."""

    front = 0.0

    def least_index(self) -> float | None:
        return None

    def mean_level(self) -> float:
        return 0.0

    def least_level(self) -> float:
        return 0.0


@dataclass(frozen=True)
class RuleMemory(Memory[tuple[Any, ...]]):
    """What a rule remembers of each stakeholder, and the number of steps.

    Args:
        rule: A rule that can be put into an environment.
    """

    rule: Rule

    symmetric = True

    def init(self, num_stakeholders: int) -> tuple[Any, ...]:
        entrants = [
            Entrant(place, 1.0, Instant(0.0, 0), _Alone()) for place in range(num_stakeholders)
        ]
        begun = zip(*(self.rule.begin(entrant) for entrant in entrants), strict=True)
        return (*(np.array(part, dtype=float) for part in begun), np.zeros(()))

    def update(self, memory: tuple[Any, ...], step: Step) -> tuple[Any, ...]:
        *fields, turn = memory
        rewards = step.rewards
        xp, got = namespace(rewards), rewards > 0
        amount = xp.where(got, rewards, 1.0)  # of whoever got nothing, nothing is looked at
        ones = xp.ones_like(rewards)
        after = self.rule.served(tuple(fields), amount, ones, Instant(turn, turn))
        kept = (xp.where(got, new, old) for new, old in zip(after, fields, strict=True))
        return (*kept, turn + 1.0)

    def describe(self) -> str:
        return f"what {rule_to_name(self.rule)} does of each stakeholder"


@dataclass(frozen=True)
class RulePolicy:
    """Of those who may be served, whoever is next by a rule. Where there is nobody, action 0."""

    rule: Rule

    def __call__(self, key: PRNGKeyArray, state: State, memory: Any) -> Int[Array, ""]:
        fields: Remembered = tuple(memory[:-1]) if isinstance(memory, tuple) else ()
        index = self.rule.drawn_index(key, fields, jnp.ones(jnp.shape(state.noise)))
        return jnp.argmin(jnp.where(state.noise, index, jnp.inf)).astype(jnp.int32)

    def memory(self) -> Memory:
        """What it has to see."""
        return Nothing() if self.rule.draws else RuleMemory(self.rule)


def rule_for(environment: Environment, name: str) -> RulePolicy | None:
    """The policy of a rule by its name in an environment; None if there is no such rule."""
    if name.partition(":")[0] not in RULES.classes:
        return None
    rule = rule_of(name).fitted(plain_numbers=True)
    if not environment.takes_turns or not rule.in_environments:
        fit = [one for one, cls in RULES.classes.items() if cls.in_environments]  # type: ignore[attr-defined]
        raise BadParameter(
            f"the rule {name} cannot be put into {type(environment).__name__}: "
            + (
                f"those that can are {', '.join(fit)}."
                if environment.takes_turns
                else "there, an action does not serve one stakeholder of those present."
            )
        )
    return RulePolicy(rule)
