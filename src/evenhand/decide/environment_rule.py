"""A rule put into an environment: its memory as a memory there, its index as a policy.

The environment says who may be served (`present`), and action i serves stakeholder i. A step does
not say who could have been served before it, so a rule that counts turns or lifts those who come
back cannot be put there; neither can one that divides, or that needs requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import namespace
from evenhand.decide.rules.named_rule import RULES, rule_of, rule_to_name
from evenhand.decide.rules.rule import Entrant, Instant, Remembered, Rule
from evenhand.envs.environment import Environment, State
from evenhand.errors import BadParameter
from evenhand.fairness.groups import Labels, all_alike, by_value
from evenhand.fairness.trace import Step
from evenhand.memory.memory import Memory, Nothing

if TYPE_CHECKING:
    from jaxtyping import Array, Int, PRNGKeyArray


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
