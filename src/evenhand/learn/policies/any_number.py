"""Learned once, used for any number: a policy for more or fewer stakeholders than it learned with.

A network that treats stakeholders alike has the same weights however many there are, so that what
it learned with five decides for fifty. Whether it does so well is for a score to say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import jax

from evenhand.envs.environment import Environment
from evenhand.errors import BadParameter, EvenhandError
from evenhand.learn.deep.encoders import Encoder, Layout
from evenhand.learn.deep.networks import Network
from evenhand.memory.memory import Clock, Memory, Product
from evenhand.problem.problem import Problem


class UsableFor(NamedTuple):
    """Whether a policy can be used for any number of stakeholders, and if not, why."""

    any_number: bool
    reason: str

    def to_json(self, learned_with: int) -> dict[str, Any]:
        return {"learned_with": learned_with, "any_number": self.any_number, "reason": self.reason}


def problem_for(
    problem: Problem, num_stakeholders: int | None = None, horizon: int | None = None
) -> Problem:
    """The same problem with another number of stakeholders, or of decisions.

    A clock that counted to the old horizon counts to the new one, and is seen as if it still
    counted to the old: what a policy sees is how much of the episode is over.

    Args:
        problem: The problem that a policy was learned in.
        num_stakeholders: How many there are to be; as many as there are by default.
        horizon: How many decisions an episode is to have; as many as it has by default.
    """
    environment = problem.environment
    if not isinstance(environment, Environment):
        raise BadParameter(
            f"{type(environment).__name__} runs on the host, and cannot be built for another "
            "number of stakeholders: build the problem, and give it to for_problem."
        )
    other = environment.resized(num_stakeholders, horizon)
    scheme = problem.scheme
    if scheme == environment.default_scheme():
        scheme = other.default_scheme()
    elif len(set(scheme.exchangeable(other.num_stakeholders))) > 1:
        raise BadParameter(
            "the scheme does not treat all stakeholders alike, and does not say how it would treat "
            "others: build the problem, and give it to for_problem."
        )
    memory = _with_horizon(problem.memory, environment.horizon, other.horizon)
    built = replace(problem, environment=other, scheme=scheme, memory=memory)
    # What has one number each of five, such as entitlements, says so when it begins.
    built.pay.init(other.num_stakeholders)
    built.memory.init(other.num_stakeholders)
    return built


def _with_horizon(memory: Memory, old: int, new: int) -> Memory:
    if isinstance(memory, Product):
        return Product(tuple(_with_horizon(part, old, new) for part in memory.parts))
    if isinstance(memory, Clock) and memory.period == old + 1 and new != old:
        return Clock(new + 1, memory.period if memory.shown_as is None else memory.shown_as)
    return memory


def weights_for(
    network: Network, encoder: Encoder, weights: Any, learned: Problem, problem: Problem
) -> Any:
    """The weights of a policy as weights for another problem; refuses those that cannot be.

    Args:
        network: What they are weights of.
        encoder: How the network sees states and memories.
        weights: The weights, with any leading axes.
        learned: The problem that they were learned in.
        problem: The problem that they are to be used in.
    """
    before, after = (_form(network, encoder, one) for one in (learned, problem))
    if before.layout[1:] != after.layout[1:]:
        raise BadParameter(
            f"this policy sees {_seen(before.layout)}, and of this problem it would see "
            f"{_seen(after.layout)}: it can only be used where it sees as much."
        )
    sizes = [[leaf.shape for leaf in jax.tree.leaves(one.weights)] for one in (before, after)]
    if sizes[0] != sizes[1]:
        raise BadParameter(
            f"{type(network).__name__} has weights of its own for each of the "
            f"{learned.environment.num_stakeholders} stakeholders it learned with, and none for "
            f"{problem.environment.num_stakeholders}: learn with EquivariantMLP, which treats "
            "them alike, or learn for this number."
        )
    return jax.tree.unflatten(jax.tree.structure(after.weights), jax.tree.leaves(weights))


class _Form(NamedTuple):
    layout: Layout
    weights: Any  # in shapes alone


def _form(network: Network, encoder: Encoder, problem: Problem) -> _Form:
    network.require_alike(problem.environment.num_stakeholders)
    layout, actions = encoder.layout(problem), problem.environment.num_actions
    key = jax.random.key(0)
    return _Form(layout, jax.eval_shape(lambda key: network.init(key, layout, actions), key))


def _seen(layout: Layout) -> str:
    return f"{layout.each} numbers of each stakeholder and {layout.common} of the whole"


def usable_for(problem: Problem, network: Network, encoder: Encoder, weights: Any) -> UsableFor:
    """Whether a policy can be used for any number of stakeholders: one more is tried."""
    number = problem.environment.num_stakeholders
    try:
        other = problem_for(problem, number + 1)
        weights_for(network, encoder, weights, problem, other)
    except EvenhandError as error:
        return UsableFor(False, str(error))
    return UsableFor(True, "the network treats all stakeholders alike")
