"""Each variant differs from the default in one part, and says where it does not differ."""

from __future__ import annotations

from dataclasses import fields

import pytest

from evenhand.envs import Crates, Doughnuts, Jobs, WaitingList
from evenhand.experiments.ablation.variants import VARIANTS, first_alike
from evenhand.problem.problem import Problem

pytestmark = pytest.mark.system  # each trains something

STEPS = 1000


def problem_of(env):
    return Problem(env, env.default_scheme())


@pytest.mark.parametrize(
    ("variant", "parts"),
    [
        ("nothing imagined", {"proposal"}),
        ("no shaping", {"shaping", "scale", "baseline"}),
        ("no equal treatment", {"network"}),
    ],
)
def test_a_variant_differs_in_one_part_and_what_belongs_to_it(variant, parts):
    problem = problem_of(Jobs())
    plain, other = (VARIANTS[name](problem, STEPS) for name in ("default", variant))
    differ = {f.name for f in fields(plain) if getattr(plain, f.name) != getattr(other, f.name)}
    assert differ == parts
    assert first_alike(variant, problem, STEPS) == variant


def test_where_nothing_is_imagined_by_default_nothing_changes():
    """The waits are in the state: there is nothing to imagine."""
    problem = problem_of(WaitingList((0.5, 0.4), 1.0, 2, 6))
    assert first_alike("nothing imagined", problem, STEPS) == "default"


def test_the_other_recipe_is_studied_with_and_without_imagined_memories():
    problem = problem_of(Doughnuts(2, 4))
    best, real = (VARIANTS[name](problem, STEPS) for name in ("best", "best, nothing imagined"))
    assert {f.name for f in fields(best) if getattr(best, f.name) != getattr(real, f.name)} == {
        "proposal"
    }
    assert best.imagines
    assert not real.imagines


@pytest.mark.parametrize("env", [Jobs(), Crates(), WaitingList((0.5, 0.4), 1.0, 2, 6)])
def test_the_other_recipe_is_the_default_where_nothing_better_was_found(env):
    assert first_alike("best", problem_of(env), STEPS) == "default"
    real = first_alike("best, nothing imagined", problem_of(env), STEPS)
    assert real == first_alike("nothing imagined", problem_of(env), STEPS)
