"""Tests of decide.rules.built_in."""

from __future__ import annotations

import json
import subprocess
import sys

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand._util.saved import write_tensors
from evenhand.cli.output import as_option
from evenhand.decide.policies import RealDecision
from evenhand.decide.rules.built_in import (
    EvenOut,
    LeastServed,
    Lottery,
    Proportional,
    WeightedLottery,
    is_policy_file,
    policy_rule,
    raised,
    rule_of,
    rule_or_policy,
    rule_to_table,
)
from evenhand.decide.rules.rule import RULES
from evenhand.decide.rules.state import RuleState
from evenhand.envs import Doughnuts
from evenhand.errors import BadFile, EvenhandError, naming_arguments
from evenhand.lab.recipes import deep_learner
from evenhand.learn.policy_files import save_policies
from evenhand.planning.planner import plan, save_plan
from evenhand.problem.problem import Problem

# Tests of decide.rules.built_in.

# Sharing an amount: against conditions that only the right shares meet.

SOME = st.lists(
    st.tuples(st.floats(0, 10), st.floats(0.1, 5), st.floats(0, 8) | st.just(float("inf"))),
    min_size=1,
    max_size=6,
)


@given(SOME, st.floats(0.01, 40))
def test_whoever_gets_something_is_level_and_nobody_else_is_below(some, amount):
    """The conditions of Karush, Kuhn and Tucker for the most even levels."""
    levels, entitled, room = map(np.array, zip(*some, strict=True))
    given_out = raised(amount, levels, entitled, room)
    assert given_out.sum() == pytest.approx(min(amount, room.sum()))
    assert (given_out >= 0).all()
    assert (given_out <= room).all()
    after = levels + given_out / entitled
    wants_more = given_out < room * (1 - 1e-9)
    if wants_more.any():
        lowest = after[wants_more].min()
        assert (after[given_out > 1e-9] <= lowest + 1e-6).all()


def test_in_proportion_whatever_was_before():
    state = RuleState(Proportional())
    for entitlement in (1.0, 3.0):
        state.add(entitlement)
    state.give(0, 100.0)
    assert state.shares(8.0) == [(0, 2.0), (1, 6.0)]


def test_to_even_out_whoever_is_behind_comes_first():
    state = RuleState(EvenOut())
    for entitlement in (1.0, 3.0):
        state.add(entitlement)
    state.give(0, 2.0)
    assert state.shares(3.0) == [(1, 3.0)]
    assert state.shares(10.0) == [(0, 1.0), (1, 9.0)]


def test_what_is_not_wanted_goes_to_the_others():
    state = RuleState(Proportional(), by_request=True)
    for place, wanted in enumerate((1.0, 9.0)):
        state.add()
        state.ask(place, wanted)
    assert state.shares(6.0) == [(0, 1.0), (1, 5.0)]
    assert state.shares(20.0) == [(0, 1.0), (1, 9.0)]


# Lotteries: every decision an independent draw among those eligible, whoever came and went.

ENTITLEMENTS = [1.0, 2.0, 5.0]


def winners(rule, among_of_turn, turns):
    state = RuleState(rule)
    for entitlement in ENTITLEMENTS:
        state.add(entitlement)
    found = []
    for turn in range(turns):
        found.append(state.first(1.0, among_of_turn(turn)))
        state.give(found[-1], 1.0)
    return np.array(found)


@pytest.mark.parametrize(
    ("rule", "chances"), [(Lottery(3), [1, 1, 1]), (WeightedLottery(3), [1, 2, 5])]
)
def test_chances_are_as_said_also_after_turns_that_some_could_not_take(rule, chances):
    """Every third turn 2 is away, so that its clock would else be overdue at the next one."""
    found = winners(rule, lambda turn: [0, 1] if turn % 3 == 0 else None, 9000)
    for phase, able in ((0, [0, 1]), (1, [0, 1, 2]), (2, [0, 1, 2])):
        seen = np.bincount(found[phase::3], minlength=3)[able]
        share = np.array(chances)[able] / np.sum(np.array(chances)[able])
        assert stats.chisquare(seen, share * seen.sum()).pvalue > 1e-4


def test_one_draw_says_nothing_of_the_next():
    found = winners(Lottery(1), lambda turn: None, 9000)
    pairs = np.bincount(found[:-1] * 3 + found[1:], minlength=9)
    assert stats.chisquare(pairs).pvalue > 1e-4


def test_the_seed_decides():
    once, again, other = (
        winners(Lottery(seed), lambda turn: None, 50).tolist() for seed in (1, 1, 2)
    )
    assert once == again != other


def test_another_entitlement_counts_as_if_it_had_been_so_from_the_start():
    """In 2,000 first draws each; what was drawn before is not in the way."""

    def first(seed, before, after):
        state = RuleState(WeightedLottery(seed))
        state.add(1.0)
        state.add(before)
        state.entitle(1, after)
        return state.first()

    for before in (0.001, 1.0, 1000.0):
        wins = sum(first(seed, before, 3.0) for seed in range(2000))
        assert stats.binomtest(wins, 2000, 3 / 4).pvalue > 1e-4


def test_a_lottery_of_equals_does_not_look_at_entitlements():
    state = RuleState(Lottery(5))
    places = [state.add(1.0), state.add(1.0)]
    before = list(state.memory)
    for place in places:
        state.entitle(place, 7.0)
    assert state.memory == before


# Tests of decide.rules.named.

# Policies and plans by the names of their files, as `evenhand replay --rule` takes them.

SHOP = Doughnuts(2, 4, 0.5)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A plan, and policies of two seeds."""
    folder = tmp_path_factory.mktemp("policies")
    save_plan(plan(Problem(SHOP, SHOP.default_scheme())), folder / "fair.plan")
    agent = deep_learner(SHOP, "fairqcm", "best")
    learners = jax.jit(jax.vmap(agent.start))(jax.random.split(jax.random.key(0), 2))
    save_policies(folder / "fair.policy", agent, learners.weights, {})
    return folder


@pytest.mark.system
def test_a_plan_is_replayed_by_its_file(files, tmp_path, monkeypatch, capsys):
    """Two who are always there: the plan takes turns, as least served does."""
    from evenhand import cli

    log = tmp_path / "log.csv"
    log.write_text("t,to\n0,A\n1,A\n2,B\n3,B\n")
    rules = ("--rule", "least_served", "--rule", str(files / "fair.plan"))
    columns = ("--stakeholder", "to", "--time", "t", "--json")
    monkeypatch.setattr(sys, "argv", ["evenhand", "replay", str(log), *columns, *rules])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    found = json.loads(capsys.readouterr().out)["rules"]
    assert found[1]["rule"] == str(files / "fair.plan")
    assert found[0]["score"] == found[1]["score"]
    assert "by the plan fair.plan, which remembers all that each" in found[1]["describe"]


def test_which_names_are_files(files, monkeypatch):
    monkeypatch.chdir(files)
    assert is_policy_file("fair.plan")
    assert is_policy_file("nowhere.policy")
    assert not is_policy_file("least_served")
    assert not is_policy_file("half-life:1.5d")
    assert isinstance(rule_or_policy("least_served"), LeastServed)
    assert (
        rule_or_policy("fair.policy")
        .describe()
        .endswith(
            "by the policy fair.policy, which remembers all that each stakeholder has received"
        )
    )
    with pytest.raises(EvenhandError, match="least_served"):
        rule_or_policy("least_srved")


@pytest.mark.system
@pytest.mark.parametrize(
    ("about", "place"), [({}, 0), ({"measures": {"score": [[9, 1], [2, 7]]}}, 1)]
)
def test_of_several_seeds_the_one_decides_that_scored_most_in_the_end(tmp_path, about, place):
    agent = deep_learner(SHOP, "fairqcm", "best")
    learners = jax.jit(jax.vmap(agent.start))(jax.random.split(jax.random.key(0), 2))
    save_policies(tmp_path / "two.policy", agent, learners.weights, about)
    choices = policy_rule(tmp_path / "two.policy").choices
    decision = RealDecision(np.ones(2, dtype=bool), np.full(2, np.inf), 1.0, 0.0)
    found = choices.values(choices.start(), decision)
    own = agent.policy(jax.tree.map(lambda leaf: leaf[place], learners))
    first = agent.problem.initial(jax.random.key(0))
    seen = first._replace(state=first.state._replace(noise=jax.numpy.ones(2, dtype=bool)))
    assert found == pytest.approx(np.asarray(own.values((), seen)))


def test_files_that_hold_no_policy_are_refused(files, tmp_path):
    with pytest.raises(BadFile, match=r"nowhere\.policy"):
        policy_rule(tmp_path / "nowhere.policy")
    other = tmp_path / "other.policy"
    other.write_text("not a policy")
    with pytest.raises(BadFile, match="is not a policy that evenhand wrote"):
        policy_rule(other)


def test_what_was_learned_in_tables_is_refused_with_what_to_do(tmp_path):
    path = tmp_path / "small.policy"
    write_tensors(path, "run", {}, {"q": np.zeros(3)})
    with pytest.raises(BadFile, match=r"in tables.*train a network \(`deep`\), or give the file"):
        policy_rule(path)
    with (
        naming_arguments(as_option),
        pytest.raises(BadFile, match=r"train a network \(--deep\)"),
    ):
        policy_rule(path)


@pytest.mark.system  # takes seconds
def test_a_replay_by_rules_alone_does_without_jax(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("t,to\n0,A\n1,A\n2,B\n")
    program = (
        "import sys; from evenhand.decide.replay.replay_log import replay\n"
        f"found = replay({str(log)!r}, stakeholder='to', time='t')\n"
        "assert found.outcomes and 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# Rules by name: every registered one, and what is said of a name that is wrong.

WRITTEN = {"half_life": "half_life:2w", "deadline": "deadline:3"}


@pytest.mark.parametrize("name", list(RULES.classes))
def test_every_rule_has_a_name_that_comes_back(name):
    rule = rule_of(WRITTEN.get(name, name))
    assert RULES.name_of(rule) == name
    assert rule_of(rule_to_table(rule)) == rule
    assert rule.describe()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("least_serve", "did you mean 'least_served'"),
        ("half_life", "such as half_life:7d"),
        ("half_life:soon", "such as 30d"),
        ("deadline:0", "at least 1"),
        ("longest_wait:3", "takes nothing after a colon"),
        ("lottery:x", "whole number"),
    ],
)
def test_a_wrong_name_is_refused_in_a_sentence(written, said):
    with pytest.raises(EvenhandError, match=said):
        rule_of(written)


def test_a_number_as_it_is_typed():
    assert rule_of("lottery:7").seed == 7
