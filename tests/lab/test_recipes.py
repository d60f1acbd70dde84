"""The recipes, number by number, and what sets the paper's apart from the better one."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from evenhand.envs import Doughnuts, Lending
from evenhand.fairness.trace import Override, Step
from evenhand.lab.recipes import (
    deep_learner,
    tabular_learner,
    tabular_methods,
    with_script_mistakes,
)
from evenhand.learn.deep.agent import PolyakUpdate
from evenhand.learn.deep.encoders import Binary, Relative
from evenhand.learn.deep.networks import EquivariantMLP, Recurrent
from evenhand.learn.imagined_memories import Above, Around, Everything, NoProposal
from evenhand.learn.schedules import Constant, Exploration, Watkins
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Clock, Full, LastWinner, Min, Nothing, Product, Reset
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 3, 0.8)


@pytest.fixture(autouse=True)
def _only_named(monkeypatch):
    """Agents are looked at and not run: no table is built, and no memory tried out."""
    monkeypatch.setattr(Tabular, "tables", None)
    monkeypatch.setattr(Problem, "require_memory_pays", lambda problem: None)


MEMORIES = {"fairqcm": Full(), "full": Full(), "min": Min(), "reset": Reset()}


@pytest.mark.parametrize("method", MEMORIES)
def test_the_papers_tables(method):
    agent = tabular_learner(SHOP, method)
    assert tabular_methods(SHOP) == MEMORIES
    assert agent.problem == Problem(SHOP, SHOP.default_scheme(), MEMORIES[method])
    assert agent.proposal == (Above(2) if method == "fairqcm" else NoProposal())
    assert (agent.discount, agent.rate) == (0.99, Constant(0.1))
    assert agent.exploration == Exploration(start=1.0, factor=0.95, floor=0.2)
    # The horizon cuts an episode off: what would follow counts.
    assert (agent.horizon_terminates, agent.shaping) == (False, False)
    assert (agent.initial_value, agent.steps_an_episode) == (0.0, 3)


@pytest.mark.parametrize("method", ["fairqcm", "min"])
def test_the_better_tables(method):
    agent = tabular_learner(SHOP, method, "best")
    assert agent.problem.memory == Product((MEMORIES[method], Clock(4)))
    assert agent.proposal == (Everything() if method == "fairqcm" else NoProposal())
    assert (agent.discount, agent.rate) == (1.0, Watkins(0.6))
    assert (agent.horizon_terminates, agent.shaping) == (True, True)
    other = tabular_learner(SHOP, method, memory=Full(), proposal=Above(1))
    assert (other.problem.memory, other.proposal) == (Full(), Above(1))


def test_the_papers_networks_cut_off_and_act_by_their_target():
    for method in ("fairqcm", "min", "rnn"):
        agent = deep_learner(SHOP, method)
        assert (agent.encoder, agent.horizon_terminates) == (Binary(), False)
        assert (agent.acts_with_target, agent.updates_per_step) == (True, 1)
        assert (agent.scale, agent.halved_after) == (1.0, None)
    assert deep_learner(SHOP, "rnn").problem.memory == Nothing()
    assert deep_learner(SHOP, "full").proposal == NoProposal()
    assert deep_learner(SHOP, "full", memory=Min()).problem.memory == Min()
    assert deep_learner(SHOP, "fairqcm", proposal=Above(1)).proposal == Above(1)


def test_the_better_networks():
    shop = deep_learner(SHOP, "fairqcm", "best")
    numbers = SHOP.recipe().best
    assert (shop.encoder, shop.target) == (Relative(), PolyakUpdate(numbers.target_rate))
    assert (shop.double, shop.proposal) == (True, Above(2))
    assert (shop.discount, shop.scale) == (numbers.discount, numbers.scale)
    assert (shop.shaping, shop.horizon_terminates) == (numbers.shaping, numbers.horizon_terminates)
    learning = numbers.learning
    assert (shop.learning_rate, shop.capacity, shop.batch) == (
        *(learning.rate, learning.capacity, learning.batch),
    )
    assert (shop.warm_up, shop.halved_after) == (numbers.warm_up, numbers.halved_after)
    assert shop.updates_per_step == numbers.updates_per_step
    assert shop.exploration == Exploration(
        1.0, numbers.exploration_factor, numbers.exploration_floor
    )
    assert shop.network == EquivariantMLP(numbers.widths)
    recurrent = deep_learner(SHOP, "rnn", "best")
    assert recurrent.network == Recurrent((32, 32), 32)
    assert recurrent.learning_rate == numbers.rnn.rate
    bank = Lending(horizon=5)
    for method, proposal in (("fairqcm", Around(5)), ("min", NoProposal())):
        agent = deep_learner(bank, method, "best")
        assert agent.proposal == proposal
        assert agent.horizon_terminates == bank.recipe().best.horizon_terminates


@pytest.mark.parametrize("environment", [SHOP, Lending(horizon=5)], ids=["shop", "bank"])
@pytest.mark.parametrize("method", ["fairqcm", "min", "rnn"])
def test_a_clock_is_seen_where_and_only_where_the_horizon_ends(environment, method):
    agent = deep_learner(environment, method, "best")
    clock = (Clock(environment.horizon + 1),) if agent.horizon_terminates else ()
    own = LastWinner() if method == "rnn" else environment.recipe().memories[method]
    expected = Product((own, *clock)) if clock or method == "rnn" else own
    assert agent.problem.memory == expected


def test_the_scripts_mistakes():
    right = Problem(SHOP, SHOP.default_scheme())
    wrong = with_script_mistakes(right)
    assert (wrong.environment, wrong.scheme, wrong.memory) == (*right.__dict__.values(),)[:3]
    state = right.initial(jax.random.key(0)).scheme_state
    waste = Step(1, np.zeros(2), None, Override(np.asarray(True), np.asarray(0.0)))
    start = np.array([3.0, 1.0])
    memory, _, pay = right.imagine(start, state, waste, np.asarray(False))
    assert (memory.tolist(), float(pay)) == ([3.0, 1.0], 0.0)
    # Doughnuts: whoever was chosen has one more, even where it was wasted; the pay is right.
    memory, _, pay = wrong.imagine(start, state, waste, np.asarray(False))
    assert (memory.tolist(), float(pay)) == ([3.0, 2.0], 0.0)
    bank = Lending(horizon=5)
    right = Problem(bank, bank.parity_scheme(), bank.recipe().memories["fairqcm"])
    wrong = with_script_mistakes(right)
    state = right.initial(jax.random.key(0)).scheme_state
    granted = Step(0, np.eye(4)[0], None, Override(np.asarray(False), np.asarray(0.0)))
    start = np.array([0.0, 2.0])
    memory, _, pay = right.imagine(start, state, granted, np.asarray(False))
    assert (memory.tolist(), float(pay)) == ([0.0, 1.0], -1.0)
    # Lending: the memory goes on rightly, and the pay is of the one before the step.
    memory, _, pay = wrong.imagine(start, state, granted, np.asarray(False))
    assert (memory.tolist(), float(pay)) == ([0.0, 1.0], -2.0)
