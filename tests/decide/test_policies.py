"""Tests of decide.policies."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from evenhand import Allocator, Clock, Full, Product
from evenhand.decide.policies import (
    LearnedChoices,
    PlannedChoices,
    PolicyRule,
    RuleMemory,
    RulePolicy,
    counts_steps,
    rule_for,
    setting_of,
)
from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.decide.rules.built_in import HalfLife, LeastServed, LongestWait
from evenhand.decide.rules.state import RuleState
from evenhand.decide.world_from_log import world_of_log
from evenhand.envs import Crates, Doughnuts, Lending, Shifts, Vaccines
from evenhand.envs.environment import State
from evenhand.errors import BadParameter, EvenhandError
from evenhand.fairness.trace import Step
from evenhand.lab.recipes import deep_learner
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import MLP
from evenhand.learn.policies import Greedy
from evenhand.log.options import AuditOptions
from evenhand.planning.evaluation import evaluate
from evenhand.planning.planner import check_turn_taking, plan
from evenhand.problem.problem import Problem

# A policy of a world made from a log decides, on a log, what it decides in its world.

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


# Policies as rules: on a log of lots of one they do what they do in their environment.

NAMES_POLICY_RULE, TURNS = ("A", "B", "C"), 6
COLUMNS_POLICY_RULE = {"stakeholder": "to", "time": "t"}


@pytest.fixture(scope="module")
def shop():
    """Three who come with different chances, so that who is served is not a matter of turns."""
    return Doughnuts(3, TURNS, (0.9, 0.5, 0.2))


@pytest.fixture(scope="module")
def planned(shop):
    return plan(Problem(shop, shop.default_scheme()))


@pytest.fixture(scope="module")
def learned(shop):
    """A network as it starts: what its values are is no matter."""
    agent = deep_learner(shop, "fairqcm", "best")
    weights = jax.jit(agent.start)(jax.random.key(3)).weights
    return Greedy(agent.problem, agent.encoder, agent.network, weights)


def in_the_shop(problem, act, presence):
    """Whom a policy serves if these come, step by step in its own environment."""
    augmented, found = problem.initial(jax.random.key(0)), []
    for here in presence:
        augmented = augmented._replace(state=State(augmented.state.world, jax.numpy.asarray(here)))
        found.append(act(augmented))
        assert here[found[-1]]  # so that the rule, which serves those present, can do the same
        augmented = problem.step(jax.random.key(1), augmented, found[-1])[0]
    return found


def come_and_go(seed):
    """Who is there at each turn: each from one turn on until another, somebody at each."""
    rng = np.random.default_rng(seed)
    first, last = rng.integers(0, 3, 3), rng.integers(3, TURNS, 3)
    first[seed % 3], last[seed % 3] = 0, TURNS - 1
    turns = np.arange(TURNS)[:, None]
    return (first <= turns) & (turns <= last), first, last


def replayed_policy_rule(policy, seed):
    """Whom the rule serves in a replay, and who was there."""
    presence, first, last = come_and_go(seed)
    roster = pd.DataFrame({"name": NAMES_POLICY_RULE, "from": first, "until": last})
    log = pd.DataFrame({"t": range(TURNS), "to": NAMES_POLICY_RULE[seed % 3]})
    rule = PolicyRule(policy, "fair")
    asked = ReplayOptions([rule])
    answer = replay_with(log, AuditOptions(**COLUMNS_POLICY_RULE, roster=roster), asked)
    return answer.outcomes[0].given.who.tolist(), presence


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("seed", range(4))
def test_a_plan_does_on_a_log_what_it_does_in_its_environment(planned, seed):
    served, presence = replayed_policy_rule(PlannedChoices(planned), seed)
    act = lambda augmented: planned.explain(augmented).action  # noqa: E731
    assert served == in_the_shop(planned.problem, act, presence)


@pytest.mark.system
@pytest.mark.parametrize("seed", range(2))
def test_a_learned_policy_serves_whom_it_values_most_of_those_there(learned, seed):
    served, presence = replayed_policy_rule(LearnedChoices(learned), seed)

    def act(augmented):
        values = np.asarray(learned.values((), augmented))
        return int(np.argmax(np.where(augmented.state.noise, values, -np.inf)))

    assert served == in_the_shop(learned.problem, act, presence)


def test_it_decides_live_and_says_what_each_choice_is_worth(planned):
    desk = Allocator(PolicyRule(PlannedChoices(planned), "fair"))
    for name in NAMES_POLICY_RULE:
        desk.join(name)
    first = planned.problem.initial(jax.random.key(0))
    first = first._replace(state=State(first.state.world, jax.numpy.ones(3, dtype=bool)))
    values = planned.explain(first).values
    ranking = desk.ranking()
    best = int(np.argmax(values))
    assert ranking[0].name == NAMES_POLICY_RULE[best]
    assert ranking[0].reason == (
        f"has received 0, and to choose it is worth {values[best]:.6g}, as much as any choice"
    )
    assert [one.level for one in ranking] == pytest.approx(np.sort(values.max() - values))
    # What is proposed is tried and undone: asked again, and then decided, it is the same.
    proposed = [share.name for share in desk.propose(count=TURNS)]
    assert [share.name for share in desk.propose(count=TURNS)] == proposed
    assert [desk.decide()[0].name for _ in range(TURNS)] == proposed
    with pytest.raises(BadParameter, match="made for 6 decisions"):
        desk.next()


def test_what_cannot_be_is_refused(planned):
    rule = PolicyRule(PlannedChoices(planned), "fair")
    options = AuditOptions(**COLUMNS_POLICY_RULE)

    def refused(rows, words, columns=("t", "to"), more=None):
        log = pd.DataFrame(rows, columns=list(columns))
        with pytest.raises(BadParameter, match=words):
            replay_with(log, more or options, ReplayOptions([rule]))

    refused([(0, "A"), (1, "B")], "fair was made for 3 stakeholders, and here are 2")
    three = [(turn, name) for turn, name in enumerate("ABC")]
    refused([*three, *((turn, "A") for turn in range(3, 7))], "made for 6 decisions")
    sized = [(turn, name, 5 if name == "B" else 1) for turn, name in three]
    amounts = AuditOptions(**COLUMNS_POLICY_RULE, amount="n")
    refused(sized, "decides lots of 1, and here 5 is given", ("t", "to", "n"), amounts)
    desk = Allocator(rule)
    for name in NAMES_POLICY_RULE:
        desk.join(name)
    with pytest.raises(BadParameter, match="made for 3 stakeholders, and one more"):
        desk.join("D")
    with pytest.raises(BadParameter, match="lots of 1, and here 2 is given"):
        desk.give("A", 2)
    with pytest.raises(EvenhandError, match="events"):
        desk.snapshot()


def test_an_environment_whose_action_serves_nobody_in_particular_is_refused():
    world = Vaccines(
        populations=(2, 1),
        supplies=(1,),
        supply_chances=(1.0,),
        horizon=2,
        transport_cost=0,
        delay=0.0,
    )
    found = plan(Problem(world, world.default_scheme()))
    with pytest.raises(BadParameter, match="a policy of Vaccines cannot say who is next"):
        PlannedChoices(found)


def test_a_supply_to_come_is_not_planned_by_it(planned):
    rule = PolicyRule(PlannedChoices(planned), "fair")
    coming = pd.DataFrame({"t": [9]})
    log = pd.DataFrame({"t": [0, 1, 2], "to": NAMES_POLICY_RULE})
    with pytest.raises(BadParameter, match="which PolicyRule does not rank by"):
        replay_with(log, AuditOptions(**COLUMNS_POLICY_RULE), ReplayOptions([rule], coming=coming))


# Rules in environments: the same object, against the exact planner.


def score(environment, name):
    policy = rule_for(environment, name)
    problem = Problem(environment, environment.default_scheme(), policy.memory())
    return evaluate(problem, policy).score


def best(environment):
    return plan(Problem(environment, environment.default_scheme()))


def test_least_served_is_optimal_where_all_come_alike():
    """The value in closed form of two who come half of the time, in two steps."""
    assert score(Doughnuts(2, 2, (0.5, 0.5)), "least_served") == pytest.approx(
        27 / 16 * math.log(2) + 3 / 16 * math.log(3), abs=1e-5
    )


def test_with_unequal_presence_it_is_not_and_the_planner_shows_where():
    environment = Doughnuts(2, 5, (0.9, 0.2))
    found = best(environment)
    assert score(environment, "least_served") < found.value - 1e-4
    check = check_turn_taking(found)
    assert not check.optimal
    values, chosen = check.witness["values"], check.witness["chosen"]
    assert max(values) > values[chosen]


@pytest.mark.parametrize("rule", [LeastServed(), HalfLife(3.0), LongestWait()])
def test_the_memory_in_an_environment_is_that_of_a_state(rule):
    state, memory = RuleState(rule), RuleMemory(rule)
    for _ in range(3):
        state.add()
    value = memory.init(3)
    for turn, place in enumerate([0, 2, 2, 1, 0]):
        state.time = float(turn)
        state.give(place, 1.0)
        value = memory.update(value, Step(place, np.eye(3)[place]))
    assert pytest.approx(np.array(value[:-1])) == np.array(state.memory).T
    assert value[-1] == state.turn
    assert memory.describe()


def test_what_does_not_fit_is_refused_with_what_does():
    environment = Doughnuts(2, 2, (0.5, 0.5))
    assert rule_for(environment, "fairqcm") is None
    assert isinstance(rule_for(environment, "lottery"), RulePolicy)
    with pytest.raises(BadParameter, match="those that can are least_served"):
        rule_for(environment, "proportional")
    with pytest.raises(BadParameter, match="does not serve one stakeholder"):
        rule_for(Lending(), "least_served")


def test_a_rule_serves_those_whom_the_environment_says_may_be():
    """At first only the first of three is on shift, at step 6 only the second."""
    env = Shifts()
    policy = rule_for(env, "longest_wait")
    state = State(env.start(), jnp.ones(3, bool))
    assert int(policy(jax.random.key(0), state, policy.memory().init(3))) == 0
    later = state.world._replace(begins_in=jnp.asarray([0, 0, 2]), left=jnp.asarray([0, 6, 7]))
    state = state._replace(world=later)
    assert int(policy(jax.random.key(0), state, policy.memory().init(3))) == 1


def test_a_rule_goes_by_what_each_is_entitled_to():
    """Households of 1 and 4 that have had 1 and 2 meals: per head the second has had less."""
    env = Crates((1, 4), (2,), (1.0,), 3)
    policy = rule_for(env, "least_served")
    memory = policy.memory()
    value = memory.update(memory.init(2), Step(0, np.array([1.0, 2.0])))
    state = State(env.start(), jnp.asarray(2))
    assert int(policy(jax.random.key(0), state, value)) == 1
