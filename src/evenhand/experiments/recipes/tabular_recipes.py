"""The tabular methods of the appendix, each with the paper's recipe and with a better one."""

from __future__ import annotations

from typing import Any

from evenhand.envs import Environment
from evenhand.errors import BadParameter
from evenhand.learn.proposals import Above, Everything, NoProposal, Proposal
from evenhand.learn.schedules import Constant, Exploration, Watkins
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Clock, Full, Memory, Min, Product, Reset
from evenhand.problem.problem import Problem

RECIPES = ("paper", "best")
# Which memory each method sees. What FairQCM adds to Full is what it imagines.
MEMORY_OF: dict[str, Memory] = {"fairqcm": Full(), "full": Full(), "min": Min(), "reset": Reset()}
METHOD_LINES = {
    "fairqcm": "Learns on Full memory, from imagined memories as well (Algorithm 1).",
    "full": "Q-learning that remembers all that each stakeholder has received.",
    "min": "Q-learning that remembers each one's lead over the one with least.",
    "reset": "Q-learning that counts from zero again whenever all are equal.",
}


def tabular_learner(
    environment: Environment,
    method: str,
    recipe: str = "paper",
    memory: Memory | None = None,
    proposal: Proposal | None = None,
) -> Tabular:
    """A method under a recipe.

    `paper`: γ = 0.99, α = 0.1, epsilon from 1 by 0.95 a visit to 0.2, FairQCM imagining the 2^n
    memories above; the horizon cuts episodes off without ending them.

    `best`: the horizon ends an episode and a clock tells how near it is, so that nothing need be
    discounted; steps are paid by the welfare they add (shaping); learning rates fall as Watkins
    asks; FairQCM imagines every memory there is.
    """
    if method not in MEMORY_OF:
        raise BadParameter(f"{method!r} is not a tabular method: {', '.join(MEMORY_OF)} are.")
    if recipe not in RECIPES:
        raise BadParameter(f"there is no recipe {recipe!r}: there are {', '.join(RECIPES)}.")
    seen = MEMORY_OF[method] if memory is None else memory
    settings: dict[str, Any]
    if recipe == "paper":
        imagined: Proposal = Above(2)
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
    problem = Problem(environment, environment.default_scheme(), seen)
    return Tabular(problem, imagined if proposal is None else proposal, **settings)
