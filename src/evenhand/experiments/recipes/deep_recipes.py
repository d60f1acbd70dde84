"""The deep methods of section 6, each with the paper's recipe and with a better one."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from evenhand.envs import BestRecipe, Environment
from evenhand.experiments.recipes.tabular_recipes import (
    METHOD_LINES,
    imagined_by_fairqcm,
    methods_with_memories,
    require_method,
)
from evenhand.fairness.scheme import FairnessScheme
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Binary, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Network, Recurrent
from evenhand.learn.deep.recurrent import RecurrentDQN
from evenhand.learn.deep.targets import HardUpdate, PolyakUpdate
from evenhand.learn.default_recipe import default_learner
from evenhand.learn.proposals import NoProposal, Proposal
from evenhand.learn.schedules import Exploration
from evenhand.memory.memory import Clock, LastWinner, Memory, Product
from evenhand.problem.problem import Problem

DEEP_METHOD_LINES = {
    **METHOD_LINES,
    "rnn": "Learns with a recurrent network what to remember (deep only).",
}


def deep_methods(environment: Environment, recipe: str = "paper") -> dict[str, Memory]:
    """The methods of section 6 for an environment, with the memory that each sees."""
    return methods_with_memories(environment, _meant(environment, recipe))


def _meant(environment: Environment, recipe: str) -> str:
    """The recipe that is used: where nothing better than the default was found, `best` is that."""
    nothing_better = recipe == "best" and environment.recipe().best is None
    return "default" if nothing_better else recipe


def deep_learner(
    environment: Environment,
    method: str,
    recipe: str = "paper",
    memory: Memory | None = None,
    proposal: Proposal | None = None,
    scheme: FairnessScheme | None = None,
    *,
    steps: int = 100_000,
) -> DeepAgent:
    """A method under a recipe.

    Args:
        environment: What to learn; its `recipe()` has the numbers.
        method: One of `deep_methods(environment)`.
        recipe: `default` (derived from the problem), `paper`, or `best`, which is the default where
            the environment has no numbers of its own for it.
        memory: A memory in place of the recipe's.
        proposal: What to imagine, in place of the recipe's.
        scheme: The fairness scheme in place of the environment's own.
        steps: How many decisions it will take, which `default` goes by.
    """
    recipe = _meant(environment, recipe)
    seen = require_method(deep_methods(environment, recipe), method, recipe, "deep")
    seen = seen if memory is None else memory
    judged = environment.default_scheme() if scheme is None else scheme
    if recipe == "default":
        own = method != "fairqcm" or memory is not None
        if method != "fairqcm" and proposal is None:
            proposal = NoProposal()
        problem = Problem(environment, judged, seen)
        if method == "rnn":
            return _recurrent(problem, steps)
        return default_learner(problem, steps=steps, keep_memory=own, proposal=proposal)
    imagined = imagined_by_fairqcm(environment) if method == "fairqcm" else NoProposal()
    if proposal is not None:
        imagined = proposal
    numbers = environment.recipe().best
    if recipe == "paper" or numbers is None:
        return _paper(environment, judged, method, seen, imagined)
    return _best(environment, numbers, judged, method, seen, imagined)


def _recurrent(problem: Problem, steps: int) -> RecurrentDQN:
    """The default's numbers for a network that learns what to remember."""
    # A recurrent network must know what it did: a choice made to explore is not in the state.
    seen = replace(problem, memory=LastWinner())
    plain = default_learner(seen, steps=steps, keep_memory=True, proposal=NoProposal())
    own = {"network", "capacity", "batch"}
    shared = {
        one.name: getattr(plain, one.name) for one in fields(DeepAgent) if one.name not in own
    }
    network = Recurrent((32, 32), 32)
    return RecurrentDQN(network=network, capacity=5_000, batch=256, **shared)


def _paper(
    env: Environment, scheme: FairnessScheme, method: str, memory: Memory, proposal: Proposal
) -> DeepAgent:
    """Every number of the appendix, and what the scripts do that it does not say.

    Adam, squared error, orthogonal weights, epsilon from 1 by 0.999 an episode to 0.2 and fresh for
    each seed, one update per step once the buffer is full, a greedy target network copied every
    1,000 updates (doughnuts) or 100 (lending), and a horizon that cuts episodes off without ending
    them.
    """
    numbers = env.recipe().paper
    learning = numbers.learning(method)
    settings: dict[str, Any] = {
        "problem": Problem(env, scheme, memory),
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


def _best(
    env: Environment,
    numbers: BestRecipe,
    scheme: FairnessScheme,
    method: str,
    memory: Memory,
    proposal: Proposal,
) -> DeepAgent:
    """What learns fastest and ends nearest to the optimum.

    A network that treats exchangeable stakeholders alike, features relative to the least served,
    double targets, a target network that drifts after and acts. The rest is the environment's.
    """
    learning = numbers.rnn if method == "rnn" else numbers.learning
    clock = (Clock(env.horizon + 1),) if numbers.horizon_terminates else ()
    # A recurrent network must know what it did: a choice made to explore is not in the state.
    parts = (LastWinner() if method == "rnn" else memory, *clock)
    # The recurrent one's is a product also where there is no clock, as it has been saved so.
    seen = Product(parts) if clock or method == "rnn" else memory
    settings: dict[str, Any] = {
        "problem": Problem(env, scheme, seen),
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
        "updates_per_step": numbers.updates_per_step,
        "exploration": Exploration(1.0, numbers.exploration_factor, numbers.exploration_floor),
    }
    if method == "rnn":
        return RecurrentDQN(network=Recurrent((32, 32), 32), **settings)
    return DQN(network=_network(env, numbers), proposal=proposal, **settings)


def _network(env: Environment, numbers: BestRecipe) -> Network:
    """One that treats exchangeable stakeholders alike, where there is an action for each."""
    if env.num_actions != env.num_stakeholders:
        return MLP(numbers.widths)
    if numbers.groups is not None:
        return EquivariantMLP(numbers.widths, numbers.groups)
    kinds = env.exchangeable()
    return EquivariantMLP(numbers.widths, kinds=kinds if len(set(kinds)) > 1 else ())
