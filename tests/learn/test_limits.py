"""What every setting is if left out, and where it stops being allowed."""

from __future__ import annotations

import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter
from evenhand.fairness.filters import AfterEach
from evenhand.fairness.scheme import anytime, bounded
from evenhand.fairness.temporal import Total, Worst
from evenhand.fairness.welfare import LogNash
from evenhand.learn import fairqcm, host, recipe
from evenhand.learn.deep import dqn as dqn_agent
from evenhand.learn.deep.agent import EPISODES, HardUpdate, Huber, PolyakUpdate, Squared
from evenhand.learn.deep.dqn import DQN, RecurrentDQN
from evenhand.learn.deep.encoders import Raw
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Recurrent, StakeholderNetwork
from evenhand.learn.host import HostLoop
from evenhand.learn.imagined_memories import (
    Above,
    Around,
    NoProposal,
    Replayed,
    SomeAbove,
    SomeAround,
    Visited,
)
from evenhand.learn.schedules import (
    Constant,
    Exploration,
    ExplorationBySteps,
    Watkins,
    require_shaping,
)
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Full
from evenhand.problem import checks
from evenhand.problem.problem import Problem

SHOP = Doughnuts(2, 2, 0.8)
PROBLEM = Problem(SHOP, SHOP.nash_scheme(), Full())
PARTS = {"problem": PROBLEM, "encoder": Raw(), "network": MLP((2,))}


@pytest.fixture(autouse=True)
def _only_made(monkeypatch):
    """Agents are made and not run: no table is built."""
    monkeypatch.setattr(Tabular, "tables", None)


def dqn(**settings):
    return DQN(**PARTS | settings)


def recurrent(**settings):
    sizes = {"capacity": 6, "length": 4, "burn_in": 2}
    return RecurrentDQN(**PARTS | {"network": Recurrent((2,), 2)} | sizes | settings)


def test_what_is_left_out_is_as_in_the_appendix():
    agent = dqn()
    assert (agent.discount, agent.learning_rate, agent.halved_after) == (0.95, 1e-4, None)
    assert (agent.batch, agent.capacity, agent.warm_up) == (64, 400, None)
    assert agent.exploration == Exploration(1.0, 0.999, 0.2)
    assert (agent.target, agent.double, agent.loss) == (HardUpdate(1000), False, Squared())
    assert (agent.horizon_terminates, agent.shaping, agent.scale) == (False, False, 1.0)
    assert (agent.updates_per_step, agent.acts_with_target) == (1, True)
    assert (agent.proposal, agent.lookahead) == (NoProposal(), 1)
    assert (RecurrentDQN.length, RecurrentDQN.burn_in) == (16, 8)
    table = Tabular(PROBLEM)
    assert (table.discount, table.rate) == (0.99, Constant(0.1))
    assert table.exploration == Exploration(1.0, 0.95, 0.2) == Exploration()
    assert (table.horizon_terminates, table.shaping, table.initial_value) == (False, False, 0.0)
    assert table.proposal == NoProposal()
    assert (MLP(), EquivariantMLP()) == (MLP((32, 16, 8)), EquivariantMLP((32, 32), None, ()))
    assert Recurrent() == Recurrent((32, 16), 16)
    assert (HardUpdate(), PolyakUpdate(), Huber()) == (
        *(HardUpdate(1000), PolyakUpdate(0.005), Huber(1.0)),
    )
    assert StakeholderNetwork() == StakeholderNetwork((32, 32), (), 5.0)
    assert (Above(), Around(), Visited()) == (Above(2), Around(5), Visited(8))
    assert (SomeAbove(), SomeAround(), Replayed()) == (
        *(SomeAbove(8, 2), SomeAround(8, 5), Replayed(8, 4)),
    )
    assert (Constant(), Watkins()) == (Constant(0.1), Watkins(0.7))
    assert ExplorationBySteps(7) == ExplorationBySteps(7, 1.0, 0.05)
    assert (EPISODES, fairqcm.EPISODES, host.CHECKED) == (100, 1000, 500)
    assert (recipe.RANDOM_EPISODES, checks.LONGEST_LOOK, dqn_agent.RECALLED) == (
        32,
        256,
        1000,
    )
    assert (HostLoop.seed, HostLoop.beside, HostLoop.learn_every) == (0, (), 1)
    assert dict(fairqcm.DEEP_SETTINGS) == {
        "learning_rate": 1e-3,
        "batch": 128,
        "capacity": 50_000,
        "warm_up": 1000,
        "target": PolyakUpdate(0.005),
        "double": True,
    }


EDGES = {
    # name: (make, what is allowed at the edge, what is not)
    "deep discount": (lambda x: dqn(discount=x), (0.0, 1.0), (-0.01, 1.01)),
    "learning rate": (lambda x: dqn(learning_rate=x), (1e-9,), (0.0, -1.0)),
    "batch": (lambda x: dqn(batch=x), (1,), (0,)),
    "capacity": (lambda x: dqn(capacity=x), (1,), (0,)),
    "updates a step": (lambda x: dqn(updates_per_step=x), (1,), (0,)),
    "lookahead": (lambda x: dqn(lookahead=x), (1, 2), (0,)),
    "length": (lambda x: recurrent(length=x), (1, 4), (0, 5)),
    "burn-in": (lambda x: recurrent(burn_in=x), (0, 2), (-1, 3)),
    "warm-up of sequences": (lambda x: recurrent(warm_up=x), (6,), (5,)),
    "tabular discount": (lambda x: Tabular(PROBLEM, discount=x), (1e-6, 1.0), (0.0, 1.01)),
    "copies": (HardUpdate, (1, 2), (0, -1, True, 1.5)),
    "drift": (PolyakUpdate, (1e-9, 1.0), (0.0, 1.01)),
    "constant rate": (Constant, (1e-9, 0.999), (0.0, 1.0)),
    "falling rate": (Watkins, (0.51, 1.0), (0.5, 1.01)),
    "first epsilon": (lambda x: Exploration(start=x), (0.2, 1.0), (0.19, 1.01)),
    "last epsilon": (lambda x: Exploration(floor=x), (0.0, 1.0), (-0.01, 1.01)),
    "factor": (lambda x: Exploration(factor=x), (1e-9, 1.0), (0.0, 1.01)),
    "steps of exploration": (ExplorationBySteps, (1, 2), (0, -1)),
    "first epsilon by steps": (lambda x: ExplorationBySteps(3, x), (0.05, 1.0), (0.04, 1.01)),
    "last epsilon by steps": (
        *(lambda x: ExplorationBySteps(3, floor=x), (0.0, 1.0), (-0.01, 1.01)),
    ),
    "discount of sequences": (lambda x: recurrent(discount=x), (0.0, 1.0), (-0.01, 1.01)),
    "reach above": (Above, (1, 2), (0, True, 1.5)),
    "reach around": (Around, (1, 2), (0, True, 1.5)),
    "visited": (Visited, (1, 2), (0, True, 1.5)),
    "width": (lambda x: MLP((x,)), (1,), (0, True, 1.5)),
    "width of a GRU": (lambda x: Recurrent((1,), x), (1,), (0, True, 1.5)),
}


@pytest.mark.parametrize("name", EDGES)
def test_up_to_the_edge_and_no_further(name):
    make, allowed, refused = EDGES[name]
    for value in allowed:
        make(value)
    for value in refused:
        with pytest.raises(BadParameter):
            make(value)


def test_shaping_is_for_sums_at_every_step_that_come_to_something():
    require_shaping(PROBLEM, True, 1.0)
    require_shaping(PROBLEM, False, 0.99)
    with pytest.raises(BadParameter, match="discount below 1"):
        require_shaping(PROBLEM, False, 1.0)
    for problem in (
        Problem(SHOP, bounded(AfterEach(2), LogNash(), Total())),
        Problem(SHOP, anytime(LogNash(), Total()), augment_with_score=True),
        Problem(SHOP, anytime(LogNash(), Worst()), augment_with_score=True),
    ):
        with pytest.raises(BadParameter, match="sums of it"):
            require_shaping(problem, True, 1.0)
    # Asked wherever an agent is made with it.
    with pytest.raises(BadParameter, match="discount below 1"):
        dqn(shaping=True, discount=1.0)
    with pytest.raises(BadParameter, match="discount below 1"):
        Tabular(PROBLEM, shaping=True, discount=1.0)


def test_an_episode_has_as_many_steps_as_asked_for():
    assert Tabular(PROBLEM).steps_an_episode == 2
    assert Tabular(PROBLEM, horizon=1).steps_an_episode == 1
