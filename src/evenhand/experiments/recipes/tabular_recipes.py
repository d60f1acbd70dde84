"""The tabular methods of the appendix, each with the paper's recipe and with a better one."""

from __future__ import annotations

from typing import Any

from evenhand.envs import Environment
from evenhand.errors import BadParameter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.learn.default_recipe import default_tables
from evenhand.learn.proposals import PROPOSALS, Everything, NoProposal, Proposal
from evenhand.learn.schedules import Constant, Exploration, Watkins
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Clock, Full, Memory, Product
from evenhand.problem.problem import Problem

RECIPES = ("default", "paper", "best")
METHOD_LINES = {
    "fairqcm": "Learns on a memory that determines the reward, and from imagined memories as well "
    "(Algorithm 1).",
    "full": "Q-learning that remembers all that each stakeholder has received.",
    "min": "Q-learning that remembers each one's lead over the one with least.",
    "reset": "Q-learning that counts from zero again whenever all are equal.",
}


def methods_with_memories(environment: Environment, recipe: str) -> dict[str, Memory]:
    """The methods of section 6 under a recipe, with the memory that each sees.

    Under `default` FairQCM's is found, and is offered everywhere: what stands here is not used.
    """
    memories = dict(environment.recipe().memories)
    return {"fairqcm": Full(), **memories} if recipe == "default" else memories


def tabular_methods(environment: Environment, recipe: str = "paper") -> dict[str, Memory]:
    """The methods of section 6 that use tables, with the memory that each sees."""
    memories = methods_with_memories(environment, recipe)
    return {method: memory for method, memory in memories.items() if method in METHOD_LINES}


def tabular_learner(
    environment: Environment,
    method: str,
    recipe: str = "paper",
    memory: Memory | None = None,
    proposal: Proposal | None = None,
    scheme: FairnessScheme | None = None,
) -> Tabular:
    """A method under a recipe.

    `paper`: γ = 0.99, α = 0.1, epsilon from 1 by 0.95 a visit to 0.2, FairQCM imagining the 2^n
    memories above; the horizon cuts episodes off without ending them.

    `best`: the horizon ends an episode and a clock shows how near it is, so that nothing need be
    discounted; steps are rewarded by the welfare they add (shaping); learning rates fall as Watkins
    asks; FairQCM imagines every memory there is.

    `default`: derived from the problem, see `learn.default_recipe`.

    Args:
        environment: What to learn; its `recipe()` says which memory each method sees.
        method: One of `tabular_methods(environment)`.
        recipe: `default`, `paper` or `best`.
        memory: A memory in place of the recipe's.
        proposal: What to imagine, in place of the recipe's.
        scheme: The fairness scheme in place of the environment's own.
    """
    seen = require_method(tabular_methods(environment, recipe), method, recipe, "tabular")
    seen = seen if memory is None else memory
    judged = environment.default_scheme() if scheme is None else scheme
    if recipe == "default":
        own = method != "fairqcm" or memory is not None
        if method != "fairqcm" and proposal is None:
            proposal = NoProposal()
        return default_tables(
            Problem(environment, judged, seen), keep_memory=own, proposal=proposal
        )
    settings: dict[str, Any]
    if recipe == "paper":
        imagined = imagined_by_fairqcm(environment)
        settings = {"discount": 0.99, "rate": Constant(0.1), "exploration": Exploration()}
    else:
        imagined = Everything()
        seen = Product((seen, Clock(environment.horizon + 1)))
        settings = {
            "discount": 1.0,
            "rate": Watkins(0.6),
            "horizon_terminates": True,
            "shaping": True,
        }
    if method != "fairqcm":
        imagined = NoProposal()
    problem = Problem(environment, judged, seen)
    return Tabular(problem, imagined if proposal is None else proposal, **settings)


def require_method(memories: dict[str, Memory], method: str, recipe: str, what: str) -> Memory:
    """The memory of a method; refuses a method or a recipe that does not exist."""
    if method not in memories:
        known = ", ".join(memories)
        raise BadParameter(f"{method!r} is not a {what} method for this environment: {known} are.")
    if recipe not in RECIPES:
        raise BadParameter(f"there is no recipe {recipe!r}: there are {', '.join(RECIPES)}.")
    return memories[method]


def imagined_by_fairqcm(environment: Environment) -> Proposal:
    """The proposal that the environment's recipe names."""
    recipe = environment.recipe()
    proposal = PROPOSALS.get(recipe.proposal)
    return proposal() if recipe.reach is None else proposal(recipe.reach)
