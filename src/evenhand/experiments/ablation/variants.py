"""The default recipe, and the same without one of its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evenhand.envs import Environment
from evenhand.experiments.recipes.deep_recipes import deep_learner
from evenhand.learn.deep.agent import DeepAgent
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.networks import MLP
from evenhand.learn.default_recipe import WIDTHS, default_learner
from evenhand.learn.proposals import NoProposal
from evenhand.problem.problem import Problem

Variant = Callable[[Problem, int], DeepAgent]


def default(problem: Problem, steps: int) -> DQN:
    """The default recipe as it is."""
    return default_learner(problem, steps=steps)


def nothing_imagined(problem: Problem, steps: int) -> DQN:
    """Every experience is a real one."""
    return default_learner(problem, steps=steps, proposal=NoProposal())


def no_shaping(problem: Problem, steps: int) -> DQN:
    """A step is rewarded by all the welfare there is, and scaled by how large that is."""
    return default_learner(problem, steps=steps, shaping=False)


def no_equal_treatment(problem: Problem, steps: int) -> DQN:
    """Fully connected layers of the same widths, which treat everybody in a way of their own."""
    return default_learner(problem, steps=steps, network=MLP(WIDTHS))


def best(problem: Problem, steps: int) -> DeepAgent:
    """The recipe `best`: made by trying on doughnuts and lending, and elsewhere the default."""
    return deep_learner(_environment(problem), "fairqcm", "best", steps=steps)


def best_nothing_imagined(problem: Problem, steps: int) -> DeepAgent:
    """`best` with real experiences alone."""
    nothing = NoProposal()
    return deep_learner(_environment(problem), "fairqcm", "best", proposal=nothing, steps=steps)


def _environment(problem: Problem) -> Environment:
    assert isinstance(problem.environment, Environment)  # of all problems of the study
    return problem.environment


VARIANTS: Mapping[str, Variant] = {
    "default": default,
    "nothing imagined": nothing_imagined,
    "no shaping": no_shaping,
    "no equal treatment": no_equal_treatment,
    "best": best,
    "best, nothing imagined": best_nothing_imagined,
}


def first_alike(variant: str, problem: Problem, steps: int) -> str:
    """The first variant that is the same learner for this problem: mostly this one itself."""
    asked = VARIANTS[variant](problem, steps)
    return next(name for name, make in VARIANTS.items() if make(problem, steps) == asked)
