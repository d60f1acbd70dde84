"""A policy of a world made from a log decides, on a log, what it decides in its world."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from evenhand import Allocator, Clock, Full, Product
from evenhand.decide.policies.decision_setting import counts_steps, setting_of
from evenhand.decide.policies.policy_choices import LearnedChoices
from evenhand.decide.policies.policy_rule import PolicyRule
from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.decide.world.world_of_log import world_of_log
from evenhand.envs import Doughnuts, Vaccines
from evenhand.errors import BadParameter, EvenhandError
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import MLP
from evenhand.learn.policies import Greedy
from evenhand.log.options import AuditOptions
from evenhand.problem.problem import Problem

NAMES = ("A", "B", "C")
COLUMNS = {"stakeholder": "to", "time": "day", "amount": "doses"}


def drawn(weeks, seed=0):
    """Lots of some sizes on every day of some weeks."""
    rng = np.random.default_rng(seed)
    days = pd.date_range("2024-01-01", periods=7 * weeks, freq="D")
    who, doses = rng.choice(NAMES, len(days)), rng.choice([1, 2, 5], len(days))
    return pd.DataFrame({"day": days, "to": who, "doses": doses})


def untrained(world, memory=Full(), seed=3):
    """A network as it starts: what its values are is no matter."""
    problem = Problem(world, world.default_scheme(), memory)
    encoder, network = Relative(), MLP((16,))
    layout = encoder.layout(problem)
    weights = network.init(jax.random.key(seed), layout, world.num_actions)
    return Greedy(problem, encoder, network, weights)


def in_the_world(policy):
    """Whom the policy serves in the one block of its world, of those who may be served."""
    problem, world = policy.problem, policy.problem.environment
    augmented, found = problem.initial(jax.random.key(0)), []
    look = jax.jit(lambda now: (policy.values((), now), world.present(now.state)))
    go_on = jax.jit(problem.step)
    for _ in range(world.horizon):
        values, there = map(np.asarray, look(augmented))
        action = int(np.argmax(np.where(there, values, -np.inf)))
        augmented, step, _ = go_on(jax.random.key(0), augmented, action)
        if there.any():
            found.append((action, float(np.sum(step.rewards))))
    return found


def replayed(policy, log, **more):
    rule = PolicyRule(LearnedChoices(policy), "fair.policy")
    answer = replay_with(log, AuditOptions(**COLUMNS, **more), ReplayOptions([rule]))
    given = answer.outcomes[0].given
    return list(zip(given.who.tolist(), given.amount.tolist(), strict=True))


@pytest.mark.system  # takes seconds
def test_on_the_log_it_decides_what_it_decides_in_the_world_made_of_it():
    log = drawn(1)
    policy = untrained(world_of_log(log, AuditOptions(**COLUMNS)).world)
    assert replayed(policy, log) == in_the_world(policy)
    assert len({who for who, _ in in_the_world(policy)}) > 1


def test_with_requests_too_lots_are_split_alike():
    log = drawn(1)
    log = log.assign(wants=log["doses"])
    asking = {"asked": "wants", "judge_requests": "shortfall"}
    policy = untrained(world_of_log(log, AuditOptions(**COLUMNS, **asking)).world)
    assert replayed(policy, log, **asking) == in_the_world(policy)


def test_stakeholders_are_known_by_name_and_those_who_are_not_there_are_not_eligible():
    log = drawn(2)
    policy = untrained(world_of_log(log, AuditOptions(**COLUMNS)).world)
    fewer = log[log["to"] != "A"].reset_index(drop=True)
    assert {who for who, _ in replayed(policy, fewer)} <= {0, 1}  # of B and C
    seen = []
    choices = LearnedChoices(policy)
    choices.worth = lambda carry, augmented: seen.append(augmented.state.noise) or jnp.ones(3)
    rule = PolicyRule(choices, "fair.policy")
    replay_with(fewer, AuditOptions(**COLUMNS), ReplayOptions([rule]))
    assert [one.eligible.tolist() for one in seen] == [[False, True, True]] * len(fewer)
    assert [int(one.phase) for one in seen] == [day.weekday() for day in fewer["day"]]
    assert [float(one.amount) for one in seen] == fewer["doses"].tolist()


def test_somebody_it_does_not_know_is_refused_by_name():
    log = drawn(2)
    policy = untrained(world_of_log(log, AuditOptions(**COLUMNS)).world)
    other = log.replace({"to": {"C": "D"}})
    with pytest.raises(BadParameter, match="learned for 3 stakeholders, and 'D' is not one of"):
        replayed(policy, other)
    desk = Allocator(PolicyRule(LearnedChoices(policy), "fair.policy"), dates=True)
    desk.join("C", at="2024-03-01")
    with pytest.raises(BadParameter, match="'D' is not one of them"):
        desk.join("D", at="2024-03-01")


def test_times_of_another_kind_are_refused():
    log = drawn(2)
    policy = untrained(world_of_log(log, AuditOptions(**COLUMNS)).world)
    plain = log.assign(day=range(len(log)))
    with pytest.raises(BadParameter, match="whose times are dates, and here they are plain"):
        replayed(policy, plain)


def test_only_a_policy_with_a_clock_is_refused_more_decisions_than_it_was_made_for():
    log = drawn(2)
    world = world_of_log(log, AuditOptions(**COLUMNS), horizon=5).world
    assert len(replayed(untrained(world), log)) == len(log)
    timed = untrained(world, Product((Full(), Clock(6))))
    with pytest.raises(BadParameter, match="made for 5 decisions, and here are more"):
        replayed(timed, log)


def test_a_clock_is_found_in_a_product_and_alone():
    assert counts_steps(Clock(3))
    assert counts_steps(Product((Full(), Clock(3))))
    assert not counts_steps(Product((Full(),)))


def test_an_environment_in_which_an_action_serves_no_one_is_refused():
    assert setting_of(Doughnuts()).lot == 1.0
    with pytest.raises(EvenhandError, match="a policy of Vaccines cannot say who is next"):
        setting_of(Vaccines())
