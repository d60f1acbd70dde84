"""Policies as rules: on a log of lots of one they do what they do in their environment."""

from __future__ import annotations

import jax
import numpy as np
import pandas as pd
import pytest

from evenhand import Allocator
from evenhand.decide.policies.policy_choices import LearnedChoices, PlannedChoices
from evenhand.decide.policies.policy_rule import PolicyRule
from evenhand.decide.replay.replay_log import ReplayOptions, replay_with
from evenhand.envs import Doughnuts, Vaccines
from evenhand.envs.environment import State
from evenhand.errors import BadParameter, EvenhandError
from evenhand.lab.recipes import deep_learner
from evenhand.learn.policies import Greedy
from evenhand.log.options import AuditOptions
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

NAMES, TURNS = ("A", "B", "C"), 6
COLUMNS = {"stakeholder": "to", "time": "t"}


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


def replayed(policy, seed):
    """Whom the rule serves in a replay, and who was there."""
    presence, first, last = come_and_go(seed)
    roster = pd.DataFrame({"name": NAMES, "from": first, "until": last})
    log = pd.DataFrame({"t": range(TURNS), "to": NAMES[seed % 3]})
    rule = PolicyRule(policy, "fair")
    asked = ReplayOptions([rule])
    answer = replay_with(log, AuditOptions(**COLUMNS, roster=roster), asked)
    return answer.outcomes[0].given.who.tolist(), presence


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("seed", range(4))
def test_a_plan_does_on_a_log_what_it_does_in_its_environment(planned, seed):
    served, presence = replayed(PlannedChoices(planned), seed)
    act = lambda augmented: planned.explain(augmented).action  # noqa: E731
    assert served == in_the_shop(planned.problem, act, presence)


@pytest.mark.system
@pytest.mark.parametrize("seed", range(2))
def test_a_learned_policy_serves_whom_it_values_most_of_those_there(learned, seed):
    served, presence = replayed(LearnedChoices(learned), seed)

    def act(augmented):
        values = np.asarray(learned.values((), augmented))
        return int(np.argmax(np.where(augmented.state.noise, values, -np.inf)))

    assert served == in_the_shop(learned.problem, act, presence)


def test_it_decides_live_and_says_what_each_choice_is_worth(planned):
    desk = Allocator(PolicyRule(PlannedChoices(planned), "fair"))
    for name in NAMES:
        desk.join(name)
    first = planned.problem.initial(jax.random.key(0))
    first = first._replace(state=State(first.state.world, jax.numpy.ones(3, dtype=bool)))
    values = planned.explain(first).values
    ranking = desk.ranking()
    best = int(np.argmax(values))
    assert ranking[0].name == NAMES[best]
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
    options = AuditOptions(**COLUMNS)

    def refused(rows, words, columns=("t", "to"), more=None):
        log = pd.DataFrame(rows, columns=list(columns))
        with pytest.raises(BadParameter, match=words):
            replay_with(log, more or options, ReplayOptions([rule]))

    refused([(0, "A"), (1, "B")], "fair was made for 3 stakeholders, and here are 2")
    three = [(turn, name) for turn, name in enumerate("ABC")]
    refused([*three, *((turn, "A") for turn in range(3, 7))], "made for 6 decisions")
    sized = [(turn, name, 5 if name == "B" else 1) for turn, name in three]
    amounts = AuditOptions(**COLUMNS, amount="n")
    refused(sized, "decides lots of 1, and here 5 is given", ("t", "to", "n"), amounts)
    desk = Allocator(rule)
    for name in NAMES:
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
    log = pd.DataFrame({"t": [0, 1, 2], "to": NAMES})
    with pytest.raises(BadParameter, match="which PolicyRule does not rank by"):
        replay_with(log, AuditOptions(**COLUMNS), ReplayOptions([rule], coming=coming))
