"""The deep methods of section 6, each with the paper's recipe and with a better one."""

from __future__ import annotations

from typing import Any

from evenhand.envs import Environment
from evenhand.experiments.recipes.tabular_recipes import (
    METHOD_LINES,
    imagined_by_fairqcm,
    require_method,
)
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Binary, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Network, Recurrent
from evenhand.learn.deep.recurrent import RecurrentDQN
from evenhand.learn.deep.targets import HardUpdate, PolyakUpdate
from evenhand.learn.proposals import NoProposal, Proposal
from evenhand.learn.schedules import Exploration
from evenhand.memory.memory import Clock, LastWinner, Memory, Product
from evenhand.problem.problem import Problem

DEEP_METHOD_LINES = {
    **METHOD_LINES,
    "rnn": "Learns with a recurrent network what to remember (deep only).",
}


def deep_methods(environment: Environment) -> dict[str, Memory]:
    """The methods of section 6 for an environment, with the memory that each sees."""
    return dict(environment.recipe().memories)


def deep_learner(
    environment: Environment,
    method: str,
    recipe: str = "paper",
    memory: Memory | None = None,
    proposal: Proposal | None = None,
) -> DeepAgent:
    """A method under a recipe.

    Args:
        environment: What to learn; its `recipe()` has the numbers.
        method: One of `deep_methods(environment)`.
        recipe: `paper` or `best`.
        memory: A memory in place of the recipe's.
        proposal: What to imagine, in place of the recipe's.
    """
    seen = require_method(deep_methods(environment), method, recipe, "deep")
    seen = seen if memory is None else memory
    imagined = imagined_by_fairqcm(environment) if method == "fairqcm" else NoProposal()
    if proposal is not None:
        imagined = proposal
    build = _paper if recipe == "paper" else _best
    return build(environment, method, seen, imagined)


def _paper(env: Environment, method: str, memory: Memory, proposal: Proposal) -> DeepAgent:
    """Every number of the appendix, and what the scripts do that it does not say.

    Adam, squared error, orthogonal weights, epsilon from 1 by 0.999 an episode to 0.2 and fresh for
    each seed, one update per step once the buffer is full, a greedy target network copied every
    1,000 updates (doughnuts) or 100 (lending), and a horizon that cuts episodes off without ending
    them.
    """
    numbers = env.recipe().paper
    learning = numbers.learning(method)
    settings: dict[str, Any] = {
        "problem": Problem(env, env.default_scheme(), memory),
        "encoder": Binary(),
        "discount": 0.95,
        "learning_rate": learning.rate,
        "capacity": learning.capacity,
        "batch": learning.batch,
        "exploration": Exploration(start=1.0, factor=0.999, floor=0.2),
        "target": HardUpdate(numbers.target_copied_every),
    }
    if method == "rnn":
        return RecurrentDQN(network=Recurrent(), **settings)
    return DQN(network=MLP(numbers.widths), proposal=proposal, **settings)


def _best(env: Environment, method: str, memory: Memory, proposal: Proposal) -> DeepAgent:
    """What learns fastest and ends nearest to the optimum.

    A network that treats exchangeable stakeholders alike, features relative to the least served,
    double targets, a target network that drifts after and acts. The rest is the environment's.
    """
    numbers = env.recipe().best
    learning = numbers.rnn if method == "rnn" else numbers.learning
    clock = (Clock(env.horizon + 1),) if numbers.horizon_terminates else ()
    # A recurrent network must know what it did: a choice made to explore is not in the state.
    parts = (LastWinner() if method == "rnn" else memory, *clock)
    # The recurrent one's is a product also where there is no clock, as it has been saved so.
    seen = Product(parts) if clock or method == "rnn" else memory
    settings: dict[str, Any] = {
        "problem": Problem(env, env.default_scheme(), seen),
        "encoder": Relative(),
        "target": PolyakUpdate(numbers.target_rate),
        "double": True,
        "discount": numbers.discount,
        "horizon_terminates": numbers.horizon_terminates,
        "shaping": numbers.shaping,
        "scale": numbers.scale,
        "learning_rate": learning.rate,
        "capacity": learning.capacity,
        "batch": learning.batch,
        "warm_up": numbers.warm_up,
        "halved_after": numbers.halved_after,
        "updates_a_step": numbers.updates_per_step,
        "exploration": Exploration(1.0, numbers.exploration_factor, numbers.exploration_floor),
    }
    if method == "rnn":
        return RecurrentDQN(network=Recurrent((32, 32), 32), **settings)
    return DQN(network=_network(env), proposal=proposal, **settings)


def _network(env: Environment) -> Network:
    """One that treats exchangeable stakeholders alike, where there is an action for each."""
    numbers = env.recipe().best
    if env.num_actions != env.num_stakeholders:
        return MLP(numbers.widths)
    if numbers.groups is not None:
        return EquivariantMLP(numbers.widths, numbers.groups)
    kinds = env.exchangeable()
    return EquivariantMLP(numbers.widths, kinds=kinds if len(set(kinds)) > 1 else ())
