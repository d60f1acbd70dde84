"""What choosing each would do at once, by hand."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np

from evenhand import LogNash, Rawls, Total, anytime
from evenhand.envs.doughnuts import Doughnuts
from evenhand.envs.log_world import LogWorld, TimePointEnds, Unmet
from evenhand.fairness.groups import Groups
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.scheme_file import from_table, to_table, to_toml
from evenhand.fairness.status import GroupTotals
from evenhand.learn.deep.at_once import AtOnce, after_each_choice
from evenhand.learn.deep.encoders import ENCODERS, Raw
from evenhand.learn.deep.standardised import Standardised
from evenhand.learn.default_recipe import default_learner
from evenhand.memory.memory import OfStatus
from evenhand.problem.problem import Problem

LOTS = LogWorld(
    names=("A", "B", "C"),
    lots=(6.0, 2.0, 4.0),
    slots=(0, 1, 2),
    blocks=(0,),
    phases=(0, 0, 0),
    num_phases=1,
    assessed=(True, True, True),
    scheme=to_toml(anytime(LogNash(), Total())),
    horizon=6,
)


def after(problem, *actions):
    """The augmented state after some decisions."""
    augmented = problem.initial(jax.random.key(0))
    for action in actions:
        augmented, _, _ = problem.step(jax.random.key(1), augmented, action)
    return augmented


def test_the_welfare_after_each_choice_and_what_each_would_gain():
    problem = Problem(LOTS, LOTS.default_scheme())
    at = after(problem, 0)  # A has 6; a lot of 2 is next
    welfare, gained = after_each_choice(problem, at.state, at.seen)
    expected = [np.log(9), np.log(7) + np.log(3), np.log(7) + np.log(3)]
    np.testing.assert_allclose(welfare, expected, rtol=1e-5)
    np.testing.assert_allclose(gained, [2, 2, 2], rtol=1e-5)
    raw, shown = (one.features(problem, at.state, at.seen) for one in (Raw(), AtOnce(Raw())))
    np.testing.assert_array_equal(shown.common, raw.common)
    np.testing.assert_array_equal(shown.each[:, :-4], raw.each)
    share, about, best, own = np.asarray(shown.each[:, -4:]).T
    np.testing.assert_allclose(share, [0, 1, 1], atol=1e-5)
    np.testing.assert_allclose(about, np.array([-2, 1, 1]) / np.sqrt(2), rtol=1e-3)
    assert best.tolist() == [0, 1, 1]
    np.testing.assert_allclose(own, [1, 1, 1], rtol=1e-5)


def test_what_goes_to_somebody_else_is_not_shown_as_ones_own():
    """Who cannot be served is passed over, and whoever is served instead is not its merit."""
    scheme = FairnessScheme(Unmet(), anytime(Rawls(), Total()).aggregation, TimePointEnds())
    asked = ((0, 1, 9.0), (0, 2, 7.0))
    world = replace(LOTS, by_request=True, requests=asked, scheme=to_toml(scheme))
    problem = Problem(world, world.default_scheme(), OfStatus(Unmet()))
    at = after(problem)  # a lot of 6, which A does not want
    welfare, gained = after_each_choice(problem, at.state, at.seen)
    assert welfare.tolist() == [-9, -7, -9]
    assert gained.tolist() == [0, 6, 6]


def test_where_nobody_can_be_served_every_number_is_finite():
    world = replace(LOTS, lots=(6.0, 0.0, 4.0))
    problem = Problem(world, world.default_scheme())
    at = after(problem, 0)
    assert not bool(world.present(at.state).any())
    assert np.isfinite(AtOnce(Raw())(problem, at.state, at.seen)).all()


def test_it_is_the_default_where_outcomes_are_certain_and_nowhere_else():
    logged = default_learner(Problem(LOTS, LOTS.default_scheme()), steps=1000)
    assert isinstance(logged.encoder, AtOnce)
    assert isinstance(logged.encoder.of, Standardised)
    shop = Doughnuts(2, 4, 1.0)
    assert isinstance(
        default_learner(Problem(shop, shop.default_scheme()), steps=1000).encoder, Standardised
    )
    totals = GroupTotals(Groups.of({"x": (0, 1), "y": (2,)}))
    grouped = replace(LOTS, scheme=to_toml(anytime(Rawls(), Total(), totals)))
    encoder = default_learner(Problem(grouped, grouped.default_scheme()), steps=1000).encoder
    assert isinstance(encoder, Standardised)  # whose status would a choice change?


def test_it_is_saved_and_read_again():
    encoder = AtOnce(Standardised((0.0, 1.0), (2.0, 3.0), 4.0))
    assert from_table(to_table(encoder, ENCODERS), ENCODERS, "encoder") == encoder


def test_a_few_steps_find_what_is_best_at_once():
    """Lots of one size among three: serving the least served is optimal, and is found soon."""
    from evenhand.learn.seeds import seed_keys, start_learners

    world = replace(LOTS, lots=(1.0, 1.0, 1.0), horizon=12)
    agent = default_learner(Problem(world, world.default_scheme()), steps=600)
    learners = agent.train_steps(start_learners(agent, seed_keys([0])), 600)
    best = sum(
        3 * np.log(1 + t // 3) + (t % 3) * np.log((2 + t // 3) / (1 + t // 3)) for t in range(1, 13)
    )
    assert float(agent.evaluate(learners, episodes=1).score[0]) > 0.97 * best
