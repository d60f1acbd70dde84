"""Tests of decide.rules.named."""

from __future__ import annotations

import json
import subprocess
import sys

import jax
import numpy as np
import pytest

from evenhand._util.saved import write_tensors
from evenhand.cli.output import as_option
from evenhand.decide.policies import RealDecision
from evenhand.decide.rules.built_in import LeastServed
from evenhand.decide.rules.named import (
    is_policy_file,
    policy_rule,
    rule_of,
    rule_or_policy,
    rule_to_table,
)
from evenhand.decide.rules.rule import RULES
from evenhand.envs import Doughnuts
from evenhand.errors import BadFile, EvenhandError, naming_arguments
from evenhand.lab.recipes import deep_learner
from evenhand.learn.policy_files import save_policies
from evenhand.planning.planner import plan, save_plan
from evenhand.problem.problem import Problem

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
