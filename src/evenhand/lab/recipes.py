"""The methods of section 6 and the appendix, each with the paper's recipe and with a better one.

And the mistakes that the paper's scripts make with imagined experience, to see what they cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from evenhand.envs import BestRecipe, Doughnuts, Environment
from evenhand.errors import BadParameter
from evenhand.fairness.scheme import FairnessScheme
from evenhand.learn.deep.agent import DeepAgent, HardUpdate, PolyakUpdate
from evenhand.learn.deep.dqn import DQN, RecurrentDQN
from evenhand.learn.deep.encoders import Binary, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Network, Recurrent
from evenhand.learn.imagined_memories import PROPOSALS, Everything, NoProposal, Proposal
from evenhand.learn.recipe import default_learner, default_tables
from evenhand.learn.schedules import Constant, Exploration, ExplorationBySteps, Watkins
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Clock, Full, LastWinner, Memory, Product
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from evenhand._util.numbers import Array
    from evenhand.fairness.trace import Step
    from evenhand.problem.reward import SchemeState

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
    memories = tabular_methods(environment, recipe)
    problem = _problem_of(environment, memories, method, recipe, memory, scheme, "tabular")
    if recipe == "default":
        keep = method != "fairqcm" or memory is not None
        imagined = _imagined(method, proposal, None)
        return default_tables(problem, keep_memory=keep, proposal=imagined)
    if recipe == "paper":
        imagined = _imagined(method, proposal, _of_recipe(environment))
        return Tabular(problem, imagined, 0.99, Constant(0.1), Exploration())
    problem = replace(problem, memory=Product((problem.memory, Clock(environment.horizon + 1))))
    imagined = _imagined(method, proposal, Everything())
    ends: dict[str, Any] = {"horizon_terminates": True, "shaping": True}
    return Tabular(problem, imagined, 1.0, Watkins(0.6), **ends)


def _problem_of(
    environment: Environment,
    memories: dict[str, Memory],
    method: str,
    recipe: str,
    memory: Memory | None,
    scheme: FairnessScheme | None,
    what: str,
) -> Problem:
    """What a method learns; refuses a method or a recipe that does not exist."""
    if method not in memories:
        known = ", ".join(memories)
        raise BadParameter(f"{method!r} is not a {what} method for this environment: {known} are.")
    if recipe not in RECIPES:
        raise BadParameter(f"there is no recipe {recipe!r}: there are {', '.join(RECIPES)}.")
    judged = environment.default_scheme() if scheme is None else scheme
    return Problem(environment, judged, memories[method] if memory is None else memory)


def _imagined(method: str, asked: Proposal | None, own: Proposal | None) -> Any:
    """What is asked for, or else FairQCM's own; other methods imagine nothing."""
    if asked is not None:
        return asked
    return own if method == "fairqcm" else NoProposal()


def _of_recipe(environment: Environment) -> Proposal:
    """The proposal that the environment's recipe names."""
    recipe = environment.recipe()
    proposal = PROPOSALS.get(recipe.proposal)
    return proposal() if recipe.reach is None else proposal(recipe.reach)


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
    memories = deep_methods(environment, recipe)
    problem = _problem_of(environment, memories, method, recipe, memory, scheme, "deep")
    if recipe == "default":
        if method == "rnn":
            return _recurrent(problem, steps)
        keep = method != "fairqcm" or memory is not None
        imagined = _imagined(method, proposal, None)
        return default_learner(problem, steps=steps, keep_memory=keep, proposal=imagined)
    imagined = _imagined(method, proposal, _of_recipe(environment))
    numbers = environment.recipe().best
    if recipe == "paper" or numbers is None:
        return _paper(environment, problem, method, imagined)
    return _best(environment, numbers, problem, method, imagined)


def _recurrent(problem: Problem, steps: int) -> RecurrentDQN:
    """The default's numbers for a network that learns what to remember."""
    # A recurrent network must know what it did: a choice made to explore is not in the state.
    seen = replace(problem, memory=LastWinner())
    plain = default_learner(seen, steps=steps, keep_memory=True, proposal=NoProposal())
    network = Recurrent((32, 32), 32)
    return with_numbers_of(plain, RecurrentDQN, network=network, capacity=5_000, batch=256)


def with_numbers_of(plain: DeepAgent, kind: Any, **own: Any) -> Any:
    """An agent of another kind that shares what all deep agents have with this one.

    Args:
        plain: Whose problem and numbers are taken.
        kind: The class of the other.
        own: What it has in their place.
    """
    return kind(**{one.name: getattr(plain, one.name) for one in fields(DeepAgent)} | own)


def _paper(env: Environment, problem: Problem, method: str, proposal: Proposal) -> DeepAgent:
    """Every number of the appendix, and what the scripts do that it does not say.

    Adam, squared error, orthogonal weights, epsilon from 1 by 0.999 an episode to 0.2 and fresh for
    each seed, one update per step once the buffer is full, a greedy target network copied every
    1,000 updates (doughnuts) or 100 (lending), and a horizon that cuts episodes off without ending
    them.
    """
    numbers = env.recipe().paper
    learning = numbers.learning(method)
    settings: dict[str, Any] = {
        "problem": problem,
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
    env: Environment, numbers: BestRecipe, problem: Problem, method: str, proposal: Proposal
) -> DeepAgent:
    """What learns fastest and ends nearest to the optimum.

    A network that treats exchangeable stakeholders alike, features relative to the least served,
    double targets, a target network that drifts after and acts. The rest is the environment's.
    """
    learning = numbers.rnn if method == "rnn" else numbers.learning
    clock = (Clock(env.horizon + 1),) if numbers.horizon_terminates else ()
    # A recurrent network must know what it did: a choice made to explore is not in the state.
    parts = (LastWinner() if method == "rnn" else problem.memory, *clock)
    # The recurrent one's is a product also where there is no clock, as it has been saved so.
    seen = Product(parts) if clock or method == "rnn" else problem.memory
    settings: dict[str, Any] = {
        "problem": replace(problem, memory=seen),
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


@dataclass(frozen=True)
class _Mistaken(Problem):
    """A problem that rewards real experience rightly and imagined experience as the scripts do.

    Doughnuts: an imagined memory gains a doughnut even where it was wasted. Lending: the imagined
    reward is of the memory before the step, not after it. Neither is of any use but to be measured.
    """

    def imagine(
        self, memory: Any, scheme_state: SchemeState, step: Step, over: Any
    ) -> tuple[Any, SchemeState, Array]:
        following, after, pay = super().imagine(memory, scheme_state, step, over)
        # Each mistake is of one script, and a script is of one environment.
        if isinstance(self.environment, Doughnuts):
            served = jnp.arange(self.environment.num_stakeholders) == step.action
            return memory + served, after, pay
        after, pay = self.pay.step_reward(
            scheme_state, self.memory.implied_status(memory), step, over
        )
        return following, after, pay

    def require_memory_pays(self, seed: int = 0, episodes: int = 64) -> None:
        """It does not, which is the point."""


def with_script_mistakes(problem: Problem) -> Problem:
    """The same problem, its counterfactuals made as the scripts make them."""
    given = {spec.name: getattr(problem, spec.name) for spec in fields(problem) if spec.init}
    return _Mistaken(**given)


def host_learner(
    problem: Problem, steps: int, proposal: Proposal, settings: Mapping[str, Any]
) -> DQN:
    """A learner on the host with plain numbers, the same for every network of the benchmark.

    A clock, exploration that falls over a third of the steps, a target that drifts, double targets.
    Sizes are not measured but left as they are, or scaled down by their range.

    Args:
        problem: What to learn, with the memory to see; a clock is added to it.
        steps: How many decisions it will take.
        proposal: What to imagine.
        settings: Fields of `DQN` in place of those here.
    """
    horizon = problem.environment.horizon
    seen = replace(problem, memory=Product((problem.memory, Clock(horizon + 1))))
    chosen: dict[str, Any] = {
        "encoder": Relative(),
        "network": MLP((64, 64)),
        "discount": 1.0,
        "scale": 1.0 / horizon,
        "learning_rate": 1e-3,
        "batch": 64,
        "capacity": 20_000,
        "warm_up": min(500, max(1, steps // 20)),
        "exploration": ExplorationBySteps(max(1, steps // 3)),
        "target": PolyakUpdate(0.005),
        "double": True,
        "horizon_terminates": True,
    }
    return DQN(problem=seen, proposal=proposal, **{**chosen, **settings})
