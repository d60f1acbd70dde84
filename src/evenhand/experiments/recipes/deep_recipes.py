"""The deep methods of section 6, each with the paper's recipe and with a better one."""

from __future__ import annotations

from typing import Any

from evenhand.envs import Doughnuts, Environment
from evenhand.envs.lending import Bank
from evenhand.errors import BadParameter
from evenhand.experiments.recipes.tabular_recipes import METHOD_LINES, RECIPES
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Binary, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Recurrent
from evenhand.learn.deep.recurrent import RecurrentDQN
from evenhand.learn.deep.targets import HardUpdate, PolyakUpdate
from evenhand.learn.proposals import Above, Around, NoProposal, Proposal
from evenhand.learn.schedules import Exploration
from evenhand.memory.memory import (
    Clock,
    Full,
    GroupDifference,
    GroupFull,
    LastWinner,
    Memory,
    Min,
    Nothing,
    Product,
    Reset,
)
from evenhand.problem.problem import Problem

DEEP_METHOD_LINES = {
    **METHOD_LINES,
    "rnn": "Learns with a recurrent network what to remember (deep only).",
}


def deep_methods(environment: Environment) -> dict[str, Memory]:
    """The methods of section 6 for an environment, with the memory that each sees."""
    if isinstance(environment, Doughnuts):
        full = Full()
        return {"fairqcm": full, "full": full, "min": Min(), "reset": Reset(), "rnn": Nothing()}
    if isinstance(environment, Bank):
        totals, lead = GroupFull(environment.groups), GroupDifference(environment.groups)
        return {"fairqcm": lead, "full": totals, "min": lead, "rnn": Nothing()}
    raise BadParameter(
        f"there is no recipe for {type(environment).__name__}: doughnuts, lending and "
        "lending_gaussian have one. Build a learner in Python: see evenhand.learn.deep.dqn."
    )


def deep_learner(
    environment: Environment,
    method: str,
    recipe: str = "paper",
    memory: Memory | None = None,
    proposal: Proposal | None = None,
) -> DeepAgent:
    """A method under a recipe. Another memory and proposal are FairQCM's to have."""
    memories = deep_methods(environment)
    if method not in memories:
        known = ", ".join(memories)
        raise BadParameter(f"{method!r} is not a deep method for this environment: {known} are.")
    if recipe not in RECIPES:
        raise BadParameter(f"there is no recipe {recipe!r}: there are {', '.join(RECIPES)}.")
    seen = memories[method] if memory is None else memory
    imagined: Proposal = NoProposal()
    if method == "fairqcm":
        imagined = Above(2) if isinstance(environment, Doughnuts) else Around(5)
    if proposal is not None:
        imagined = proposal
    build = _paper if recipe == "paper" else _best
    return build(environment, method, seen, imagined)


# The appendix's two tables: learning rate, room for experiences, batch.
TABLES: dict[type, dict[str, tuple[float, int, int]]] = {
    Doughnuts: {"fairqcm": (1e-4, 6400, 2048), "rnn": (2e-3, 1000, 256), "": (1e-4, 400, 64)},
    Bank: {"fairqcm": (1e-4, 8000, 512), "rnn": (5e-3, 2000, 512), "": (1e-4, 1000, 64)},
}


def _paper(env: Environment, method: str, memory: Memory, proposal: Proposal) -> DeepAgent:
    """Every number of the appendix, and what the scripts do that it does not say.

    Adam, squared error, orthogonal weights, epsilon from 1 by 0.999 an episode to 0.2 and fresh for
    each seed, an update a step once the buffer is full, a greedy target network copied every 1,000
    updates (doughnuts) or 100 (lending), and a horizon that cuts episodes off without ending them.
    """
    doughnuts = isinstance(env, Doughnuts)
    table = TABLES[Doughnuts if doughnuts else Bank]
    rate, capacity, batch = table.get(method, table[""])
    settings: dict[str, Any] = {
        "problem": Problem(env, env.default_scheme(), memory),
        "encoder": Binary(),
        "discount": 0.95,
        "learning_rate": rate,
        "capacity": capacity,
        "batch": batch,
        "exploration": Exploration(start=1.0, factor=0.999, floor=0.2),
        "target": HardUpdate(1000 if doughnuts else 100),
    }
    if method == "rnn":
        return RecurrentDQN(network=Recurrent(), **settings)
    network = MLP((32, 16, 8)) if doughnuts else MLP((32, 8))
    return DQN(network=network, proposal=proposal, **settings)


def _best(env: Environment, method: str, memory: Memory, proposal: Proposal) -> DeepAgent:
    """Whatever learns fastest and ends nearest to the optimum.

    A network that treats exchangeable stakeholders alike, features relative to the least served,
    double targets, a target network that drifts after and acts. Doughnuts: steps are paid by the
    welfare they add (shaping), which makes a short view enough. Lending: a clock, and an end that
    is an end, since the profit counts there; nothing is discounted.
    """
    settings: dict[str, Any] = {
        "encoder": Relative(),
        "target": PolyakUpdate(0.005),
        "double": True,
        "learning_rate": 1e-3,
        "warm_up": 1000,
    }
    if isinstance(env, Doughnuts):
        settings |= {
            "discount": 0.5,
            "shaping": True,
            "scale": 0.5,
            # Room for 30 episodes and their 32 imagined others: with less, the few doughnuts that
            # exploring wastes are forgotten, and now and then one is wasted in earnest.
            "capacity": 100_000,
            "batch": 128,
            "halved_after": 5_000,
            "target": PolyakUpdate(0.003),
            "exploration": Exploration(start=1.0, factor=0.9, floor=0.1),
        }
        labels = env.exchangeable()
        network = EquivariantMLP((32, 32), kinds=labels if len(set(labels)) > 1 else ())
    else:
        memory = Product((memory, Clock(env.horizon + 1)))
        settings |= {
            "discount": 1.0,
            "horizon_terminates": True,
            "scale": 1.0 / env.horizon,
            "capacity": 50_000,
            "batch": 128,
            "updates_a_step": 2,
            "halved_after": 40_000,
            "exploration": Exploration(start=1.0, factor=0.98, floor=0.1),
        }
        assert isinstance(env, Bank)
        network = EquivariantMLP((64, 64), env.groups)
    if method == "rnn":
        # It must know what it did: a choice made to explore cannot be told from the state.
        seen = Product((LastWinner(), *(memory.parts[1:] if isinstance(memory, Product) else ())))
        problem = Problem(env, env.default_scheme(), seen)
        settings |= {"capacity": 5_000, "batch": 256}
        return RecurrentDQN(problem=problem, network=Recurrent((32, 32), 32), **settings)
    problem = Problem(env, env.default_scheme(), memory)
    return DQN(problem=problem, network=network, proposal=proposal, **settings)
