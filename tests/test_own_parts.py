"""A user's own environment, status, memory and proposal: by subclassing and registration alone.

Everything here is defined outside the package. It is planned, learned with tables and networks,
audited, saved, loaded, and found by the command line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import Clock, Full, Last, Min, Problem, Product, Rawls, Total, Trace, anytime, audit
from evenhand.envs import ENVIRONMENTS, Environment, Outcomes
from evenhand.errors import CannotPlan, SchemeFileError
from evenhand.fairness.groups import by_value
from evenhand.fairness.scheme import from_toml, to_toml
from evenhand.fairness.status import STATUSES, Status
from evenhand.lab.compare_methods import all_methods, compare
from evenhand.lab.executors import LocalProcesses
from evenhand.lab.recipes import deep_learner, deep_methods, tabular_learner, tabular_methods
from evenhand.lab.reference_scores import yardstick
from evenhand.learn.imagined_memories import PROPOSALS, Proposal
from evenhand.learn.policy_files import load_policies, save_policies
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.memory.memory import MEMORIES, Memory
from evenhand.planning import load_plan, save_plan
from evenhand.planning.planner import plan
from evenhand.problem.problem import build_problem, describe_problem


class Shelf(NamedTuple):
    time: Any


@ENVIRONMENTS.register("own_gifts")
@dataclass(frozen=True)
class Gifts(Environment):
    """One gift per step, worth 2 with some probability, otherwise 1."""

    num_stakeholders: int = 2
    horizon: int = 4
    large: float = 0.5
    weights: tuple[float, ...] = (1.0, 1.0)  # how much each one makes of a gift

    options = ("horizon",)

    @property
    def num_actions(self):
        return self.num_stakeholders

    def start(self):
        return Shelf(jnp.zeros((), dtype=jnp.int32))

    def draw(self, key):
        return jnp.where(jax.random.uniform(key) < self.large, 2.0, 1.0)

    def noises(self):
        return jnp.array([1.0, 2.0]), jnp.array([1.0 - self.large, self.large])

    def outcomes(self, world, noise, action):
        return Outcomes(jnp.ones(1), Shelf(world.time[None] + 1))

    def rewards(self, state, action, world):
        chosen = jnp.arange(self.num_stakeholders) == action
        return state.noise * chosen * jnp.asarray(self.weights)

    def observation(self, state):
        return state.noise[None]


@dataclass(frozen=True)
class EvenGifts(Gifts):
    """The same, which says who is exchangeable."""

    def exchangeable(self):
        return by_value(self.weights)


@ENVIRONMENTS.register("own_many_actions")
@dataclass(frozen=True)
class ManyActions(Gifts):
    """The same with one action more, which gives to nobody."""

    @property
    def num_actions(self):
        return self.num_stakeholders + 1


@STATUSES.register("own_streak")
@dataclass(frozen=True)
class Streak(Status):
    """Minus the length of the longest wait of each stakeholder so far, at most `most`."""

    most: int = 3

    symmetric = True

    def init(self, num_stakeholders):
        return np.zeros(num_stakeholders), np.zeros(num_stakeholders)

    def update(self, state, step):
        waiting, longest = state
        waiting = (waiting + 1.0) * (step.rewards <= 0)
        higher = waiting > longest
        longest = longest + (waiting - longest) * higher
        return waiting, longest - (longest - self.most) * (longest > self.most)

    def value(self, state):
        return -state[1]

    def describe(self):
        return f"minus its longest wait so far, at most {self.most}"


@MEMORIES.register("own_lead")
@dataclass(frozen=True)
class Lead(Memory):
    """Each one's lead over the one with least, never more than a cap."""

    cap: float = 2.0

    symmetric = True

    def init(self, num_stakeholders):
        return np.zeros(num_stakeholders)

    def update(self, memory, step):
        received = memory + step.rewards
        lead = received - received.min()
        return lead - (lead - self.cap) * (lead > self.cap)

    def describe(self):
        return f"each one's lead, up to {self.cap:g}"


@PROPOSALS.register("own_one_more")
@dataclass(frozen=True)
class OneMore(Proposal):
    """The memories in which one stakeholder has received one more."""

    def near(self, memory):
        return memory + jnp.eye(memory.shape[0]), jnp.ones(memory.shape[0], dtype=bool)

    def steps_ahead(self, num_stakeholders):
        return 2

    def describe(self):
        return "one stakeholder to have received one more"


GIFTS = Gifts(weights=(1.0, 1.0))
STREAKS = anytime(Rawls(), Total(), Streak())


def test_an_own_environment_is_planned_and_its_symmetry_used():
    def found(environment):
        return plan(Problem(environment, environment.default_scheme()))

    plain, merged = found(GIFTS), found(EvenGifts())
    assert merged.value == pytest.approx(plain.value, abs=1e-9)
    assert merged.states < plain.states
    uneven = found(EvenGifts(weights=(1.0, 3.0)))  # not exchangeable: nothing may be merged
    assert uneven.value == pytest.approx(found(Gifts(weights=(1.0, 3.0))).value, abs=1e-9)


def test_an_own_status_is_planned_scored_and_written():
    assert from_toml(to_toml(STREAKS)) == STREAKS
    rewards = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert STREAKS.score(Trace(rewards=rewards)) == -1 - 2 - 2
    assert plan(Problem(GIFTS, STREAKS)).value > plan(Problem(GIFTS, STREAKS)).random_value()


def test_an_own_status_judges_a_log(tmp_path, run, monkeypatch):
    """A waits twice and B once: Streak is −2 and −1 at the end, and rawls takes the lower."""
    log = tmp_path / "log.csv"
    log.write_text("day,to\n1,B\n2,B\n3,A\n")
    scheme = anytime(Rawls(), Last(), Streak())
    answer = audit(str(log), stakeholder="to", time="day", scheme=scheme)
    assert answer.score == -2
    assert [answer.stakeholder(name).final for name in "AB"] == [-2, -1]
    (tmp_path / "own.toml").write_text(to_toml(scheme))
    monkeypatch.setenv("EVENHAND_PLUGINS", __file__)
    columns = ("--stakeholder", "to", "--time", "day", "--scheme", str(tmp_path / "own.toml"))
    code, out, err = run(str(log), *columns, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["overall"]["score"] == -2


def test_own_parts_are_saved_and_loaded_with_a_plan(tmp_path):
    problem = Problem(GIFTS, STREAKS, Product((Lead(3.0), Clock(5))))
    assert build_problem(json.loads(json.dumps(describe_problem(problem)))) == problem
    found = plan(problem)
    save_plan(found, tmp_path / "own.plan")
    again = load_plan(tmp_path / "own.plan")
    assert again.problem == problem
    assert again.value == found.value


def test_a_part_that_is_not_a_dataclass_is_refused_in_a_file():
    @STATUSES.register("own_bare")
    class Bare(Streak.__mro__[1]):
        """A status that is not a dataclass."""

        def init(self, num_stakeholders):
            return np.zeros(num_stakeholders)

        def update(self, state, step):
            return state

        def value(self, state):
            return state

        def describe(self):
            return "nothing at all"

    with pytest.raises(SchemeFileError, match="Bare is not a dataclass"):
        to_toml(anytime(status=Bare()))


@pytest.mark.system  # takes seconds
def test_an_own_environment_has_a_generic_recipe():
    assert list(tabular_methods(GIFTS)) == ["fairqcm", "full", "min", "reset"]
    assert all_methods(GIFTS, deep=True) == (*deep_methods(GIFTS), "random")
    agent = deep_learner(GIFTS, "fairqcm", "best")
    assert agent == deep_learner(GIFTS, "fairqcm", "default")
    assert agent.network.kinds == (0, 1)
    assert deep_learner(EvenGifts(), "fairqcm", "best").network.kinds == ()
    assert deep_learner(GIFTS, "fairqcm", "paper").problem.memory == Full()
    for recipe in ("paper", "best"):
        for method in deep_methods(ManyActions()):
            assert deep_learner(ManyActions(), method, recipe).problem.environment.num_actions == 3


@pytest.mark.system  # takes seconds
def test_own_parts_are_learned_in_tables():
    optimum = yardstick(GIFTS).optimum
    for how in ({}, {"proposal": OneMore()}, {"memory": Product((Full(), Min()))}):
        agent = tabular_learner(GIFTS, "fairqcm", "best", **how)
        learners = jax.vmap(agent.start)(jax.random.split(jax.random.key(0), 5))
        scores = agent.evaluate(agent.train_steps(learners, 2_000)).score
        assert float(scores.mean()) > 0.98 * optimum
    agent = tabular_learner(GIFTS, "full", "best", memory=Lead())
    learners = jax.vmap(agent.start)(jax.random.split(jax.random.key(0), 5))
    assert float(agent.evaluate(agent.train_steps(learners, 2_000)).score.mean()) > 0.95 * optimum


@pytest.mark.system  # takes seconds
def test_own_parts_are_learned_by_networks_and_saved(tmp_path):
    agent = deep_learner(GIFTS, "fairqcm", "best", proposal=OneMore())
    learners = start_learners(agent, seed_keys([0, 1]))
    learners = agent.train_steps(learners, 200)
    save_policies(tmp_path / "own.policy", agent, agent.acting(learners), {})
    saved = load_policies(tmp_path / "own.policy")
    assert saved.problem == agent.problem
    assert saved.evaluate(episodes=10).score.shape == (2,)
    assert float(saved.evaluate(episodes=10).score.min()) > 0


@pytest.mark.system  # learns for long
def test_other_processes_find_what_is_registered_here(tmp_path):
    found = compare(
        GIFTS,
        ["full", "random"],
        recipe="best",
        seeds=1,
        steps=400,
        out=tmp_path,
        memory=Lead(),
        executor=LocalProcesses(1),
    )
    assert found.optimum == pytest.approx(plan(Problem(GIFTS, GIFTS.default_scheme())).value)
    assert found.methods["full"].final[0] > found.random


TALKATIVE = (
    "compare talkative_shop --methods full,min --tabular "
    "--stakeholders 2 --horizon 4 --steps 200 --seeds 1"
)


@pytest.mark.system  # a process that compiles anew
def test_what_an_environment_prints_is_not_taken_for_an_answer(tmp_path, monkeypatch):
    plugin = tmp_path / "talkative_gifts.py"
    plugin.write_text(
        "from dataclasses import dataclass\n"
        "from evenhand.envs import Doughnuts, ENVIRONMENTS\n"
        "print('imported')\n"
        "@ENVIRONMENTS.register('talkative_shop')\n"
        "@dataclass(frozen=True)\n"
        "class Shop(Doughnuts):\n"
        "    def default_scheme(self):\n"
        "        print('asked for a scheme', flush=True)\n"
        "        return super().default_scheme()\n"
    )
    monkeypatch.setenv("EVENHAND_PLUGINS", str(plugin))
    answer = subprocess.run(
        [sys.executable, "-m", "evenhand", *TALKATIVE.split(), "--json"],
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    assert set(json.loads(answer.stdout[answer.stdout.index("{") :])["methods"]) == {"full", "min"}


@pytest.mark.system  # learns for long
def test_the_command_line_finds_a_plugin(tmp_path):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "evenhand", *arguments],
            env={**os.environ, "EVENHAND_PLUGINS": __file__},
            capture_output=True,
            text=True,
        )

    answer = run("plan", "own_gifts", "--horizon", "3", "--json")
    assert json.loads(answer.stdout)["optimum"] > 0, answer.stderr
    refused = run("plan", "own_gifts", "--stakeholders", "3")
    assert "own_gifts has no --stakeholders: it takes --horizon" in refused.stderr
    trained = run("train", "own_gifts", "--tabular", "--steps", "1000", "--json")
    assert json.loads(trained.stdout)["finished"], trained.stderr
    assert "own_streak" in json.loads(run("list", "--json").stdout)["status"]


def test_an_environment_that_cannot_be_listed_has_no_optimum():
    @dataclass(frozen=True)
    class Endless(Gifts):
        """Gifts of any size."""

        def noises(self):
            return None

    with pytest.raises(CannotPlan, match="the noise of Endless cannot be listed"):
        plan(Problem(Endless(), Endless().default_scheme()))
    assert yardstick(Endless()).optimum is None
    assert yardstick(Endless()).random > 0
