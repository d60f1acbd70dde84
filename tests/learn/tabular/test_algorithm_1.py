"""Algorithm 1 step by step against plain Python, in a world of three rooms."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import brute_force as bf
import three_rooms as rooms
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.trace import Override
from evenhand.fairness.welfare import LogNash
from evenhand.learn.imagined_memories import (
    Above,
    Everything,
    NoProposal,
    Proposal,
    ProposalContext,
    ReachableNow,
    Visited,
)
from evenhand.learn.schedules import Constant, Exploration, Watkins
from evenhand.learn.tabular.algorithm_1 import (
    Algorithm1,
    Tables,
    TabularState,
    _greedy_or_not,
    draw,
)
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.learn.tabular.tabular_model import TabularModel
from evenhand.memory.memory import Full
from evenhand.problem.problem import Problem
from three_rooms import Goals, Happened, ThreeRooms

SCHEME = anytime(LogNash(), Total())
PROBLEM = Problem(ThreeRooms(), SCHEME, Full())
HORIZON = PROBLEM.environment.horizon
LEARNERS, STEPS = 12, 8  # into a third episode

Cell = tuple[int, rooms.Counts]  # a room and what is remembered


def cells(agent) -> list[Cell]:
    """What every row of the agent's table stands for."""
    world, carried = agent.table.model.from_rows(agent.table.rows, 0)
    memory = carried.status if agent.imagines else carried.memory
    return [
        (int(room), tuple(map(float, counts)))
        for room, counts in zip(world.room, memory, strict=True)
    ]


@cache
def reached_by(steps: int) -> frozenset[Cell]:
    """The cells that can be reached with so many steps behind one."""
    if steps == 0:
        return frozenset({(0, (0.0, 0.0))})
    return frozenset(
        (after, rooms.plus(counts, rooms.received(room, coin, action)))
        for room, counts in reached_by(steps - 1)
        for coin, action in itertools.product(range(2), repeat=2)
        for _, after in rooms.moves(room, action)
    )


def reached_within(steps: int) -> set[Cell]:
    return set().union(*(reached_by(t) for t in range(steps + 1)))


def above(agent, time, cell, visits):
    """One more each: wherever the table still knows what follows."""
    room, counts = cell
    known = reached_within(HORIZON + 2)
    return [one for one in [(room, (counts[0] + 1.0, counts[1] + 1.0))] if one in known]


def everything(agent, time, cell, visits):
    known = reached_within(HORIZON - 1)
    return [other for other in known if other[0] == cell[0] and other != cell]


def reachable_now(agent, time, cell, visits):
    return [other for other in everything(agent, time, cell, visits) if other in reached_by(time)]


def nothing(agent, time, cell, visits):
    return []


def q_learning(**settings):
    return Tabular(PROBLEM, **settings), nothing


AGENTS = {
    "q-learning, cut off": lambda: q_learning(discount=0.9, exploration=Exploration(0.5, 0.5, 0.2)),
    "q-learning, shaped to the end": lambda: q_learning(
        discount=1.0,
        rate=Watkins(0.6),
        horizon_terminates=True,
        shaping=True,
        exploration=Exploration(0.9, 0.5, 0.1),
    ),
    "above, shaped for ever": lambda: (
        Tabular(PROBLEM, Above(1), discount=0.9, rate=Watkins(1.0), shaping=True),
        above,
    ),
    "reachable now, shaped, ends": lambda: (
        Tabular(
            PROBLEM,
            ReachableNow(),
            discount=0.8,
            rate=Constant(0.3),
            horizon_terminates=True,
            shaping=True,
        ),
        reachable_now,
    ),
}


def goals(agent) -> Goals:
    return Goals(HORIZON, agent.discount, agent.horizon_terminates, agent.shaping)


def rate(agent, updates: float) -> float:
    kind = agent.rate
    return kind.value if isinstance(kind, Constant) else 1.0 / (updates + 2.0) ** kind.power


class Plain:
    """Algorithm 1 on dictionaries."""

    def __init__(self, agent, imagine, q, coin):
        self.agent, self.imagine = agent, imagine
        self.cells, self.seen = cells(agent), np.asarray(agent.model.seen)
        self.q = {
            (cell, coin): list(q[self.seen[row]][coin])
            for row, cell in enumerate(self.cells)
            for coin in range(2)
        }
        self.updates = {(key, a): 0.0 for key in self.q for a in range(2)}
        self.epsilon = dict.fromkeys(self.q, agent.exploration.start)
        self.visits = dict.fromkeys(self.cells, 0)
        self.cell, self.coin, self.time = (0, (0.0, 0.0)), coin, 0

    def step(self, dice):
        """One pass of the loop. The dice: explore, how, where to, the next coin, among equals."""
        agent, cell, coin = self.agent, self.cell, self.coin
        values = self.q[cell, coin]
        best = max((a for a in range(2) if values[a] == max(values)), key=lambda a: dice[4 + a])
        action = int(dice[1] * 2) if dice[0] < self.epsilon[cell, coin] else best
        chances = rooms.moves(cell[0], action)
        after = chances[0 if dice[2] < chances[0][0] else 1][1]
        next_coin = int(dice[3] >= 1 - rooms.HEADS)
        changes = []
        for one in [cell, *self.imagine(agent, self.time, cell, self.visits)]:
            step = Happened(self.time, one[0], coin, one[1], action, after, next_coin)
            # An imagined memory may lead out of the table where nothing can follow any more.
            ahead = max(self.q.get(((after, step.next_counts), next_coin), [0.0]))
            target = goals(agent).target(step, ahead)
            alpha = rate(agent, self.updates[(one, coin), action])
            changes.append((one, alpha * (target - self.q[one, coin][action])))
        for one, change in changes:
            self.q[one, coin][action] += change
            self.updates[(one, coin), action] += 1.0
        exploration = agent.exploration
        fallen = max(self.epsilon[cell, coin] * exploration.factor, exploration.floor)
        self.epsilon[cell, coin] = fallen
        self.visits[cell] += 1
        over = self.time == HORIZON - 1
        self.cell = (0, (0.0, 0.0)) if over else (after, step_counts(cell, coin, action))
        self.coin, self.time = next_coin, 0 if over else self.time + 1


def step_counts(cell, coin, action):
    return rooms.plus(cell[1], rooms.received(cell[0], coin, action))


def begun(agent, seed=0):
    """Learners in different coins that believe something already, so that what is ahead counts."""
    keys = jax.random.split(jax.random.key(seed), LEARNERS)
    learners = jax.jit(jax.vmap(agent.start))(keys)
    rng = np.random.default_rng(seed)
    # Few values, so that some are equal.
    return learners._replace(q=jnp.asarray(rng.integers(0, 4, learners.q.shape), jnp.float32))


def in_plain_python(agent, imagine, learners):
    q, coins = np.asarray(learners.q).tolist(), np.asarray(learners.noise).tolist()
    return [Plain(agent, imagine, *one) for one in zip(q, coins, strict=True)]


@pytest.mark.parametrize("name", AGENTS)
def test_every_step_is_that_of_plain_python(name):
    agent, imagine = AGENTS[name]()
    learners = begun(agent)
    plain = in_plain_python(agent, imagine, learners)
    step = jax.jit(jax.vmap(agent.algorithm.step, in_axes=(None, 0, 0)))
    rng = np.random.default_rng(7)
    for _ in range(STEPS):
        dice = rng.random((LEARNERS, 6), dtype=np.float32)
        learners = step(agent.tables, learners, dice)
        for one, row in zip(plain, dice, strict=True):
            one.step([float(die) for die in row])
    learners = jax.tree.map(np.asarray, learners._replace(key=()))
    for k, one in enumerate(plain):
        assert one.cells[int(learners.row[k])] == one.cell
        assert (int(learners.noise[k]), int(learners.time[k])) == (one.coin, one.time)
        assert [int(v) for v in learners.visits[k]] == [one.visits[c] for c in one.cells]
        for found, expected in (
            (learners.q, [one.q[key] for key in one.q]),
            (learners.updates, [[one.updates[key, a] for a in range(2)] for key in one.q]),
            (learners.epsilon, list(one.epsilon.values())),
        ):
            shown = found[k][one.seen].reshape(np.shape(expected))  # by row and coin
            np.testing.assert_allclose(shown, expected, atol=2e-5, rtol=1e-5)


def test_a_learner_starts_where_episodes_start():
    agent = Tabular(PROBLEM, initial_value=1.5, exploration=Exploration(0.7, 0.9, 0.2))
    learners = jax.jit(jax.vmap(agent.start))(jax.random.split(jax.random.key(3), 400))
    assert not np.asarray(learners.row).any()
    assert not np.asarray(learners.time).any()
    assert not np.asarray(learners.visits).any()
    assert not np.asarray(learners.updates).any()
    assert (np.asarray(learners.q) == 1.5).all()
    assert np.asarray(learners.epsilon) == pytest.approx(0.7)
    heads = np.asarray(learners.noise).mean()
    assert abs(heads - rooms.HEADS) < 5 * np.sqrt(rooms.HEADS * (1 - rooms.HEADS) / 400)


# The arrays that it learns in


@pytest.mark.parametrize("proposal", [NoProposal(), Everything(), Above(1)], ids=str)
def test_the_arrays_say_what_the_rooms_do(proposal):
    agent = Tabular(PROBLEM, proposal)
    model, known = agent.model, cells(agent)
    beyond = 3 if proposal == Above(1) else 0
    assert set(known) == reached_within(HORIZON + beyond)
    assert model.noise == pytest.approx([1 - rooms.HEADS, 1.0])
    expanded = agent.table.pay.shape[1]
    for row, (room, counts) in enumerate(known[:expanded]):
        for coin, action in itertools.product(range(2), repeat=2):
            effect = model.effects[coin, action]
            chances = rooms.moves(room, action)
            first = model.chance[effect, 0, row]
            assert first == pytest.approx(chances[0][0])
            assert model.chance[effect, -1, row] == pytest.approx(1.0)
            for outcome, (_, after) in enumerate(chances):
                step = Happened(0, room, coin, counts, action, after, 0)
                assert known[model.following[effect, outcome, row]] == (after, step.next_counts)
                for last in range(2):
                    at = step._replace(time=HORIZON - 1 if last else 0)
                    pay = model.pay[last, effect, outcome, row]
                    assert pay == pytest.approx(goals(agent).pay(at), rel=1e-6)
    alike = [
        {cell for cell, group in zip(known, model.group, strict=True) if group == number}
        for number in set(model.group.tolist())
    ]
    if agent.imagines:
        assert all(len({room for room, _ in group}) == 1 for group in alike)
        assert len(alike) == len({room for room, _ in known})
    for time, here in enumerate(model.reachable):
        assert {known[row] for row in np.flatnonzero(here)} == reached_by(time)


@dataclass(frozen=True)
class ClosedOnTheSecondDay(ThreeRooms):
    """The three rooms, in which the second step pays −7 whatever is done."""

    def override(self, state, action, world):
        return Override(world.time == 2, jnp.asarray(-7.0))


@pytest.mark.parametrize("proposal", [NoProposal(), Everything()], ids=str)
def test_where_rules_depend_on_the_step_number_each_row_pays_by_its_own(proposal):
    agent = Tabular(Problem(ClosedOnTheSecondDay(), SCHEME, Full()), proposal)
    model, table = agent.model, agent.table
    assert table.model.keep_time
    times = table.model.from_rows(table.rows, 0)[0].time
    rows = np.arange(table.pay.shape[1])
    for row, time in zip(rows, times[rows], strict=True):
        assert (model.pay[:, :, 0, row] == -7.0).all() == (time == 1)
        assert (model.kept[:, :, 0, row] == (time != 1)).all()
    # The step number is in the row and is not seen.
    alike = {}
    for row, (cell, number) in enumerate(zip(cells(agent), model.seen.tolist(), strict=True)):
        assert alike.setdefault(number, cell) == cell, row
    assert len(alike) == len(set(cells(agent)))


# The exact value of acting greedily


def greedy_value(agent, q, time=0, cell=(0, (0.0, 0.0))):
    """The score from a cell on, and the steps not overridden, by going through everything."""
    if time == HORIZON:
        return np.zeros(2)
    total = np.zeros(2)
    for chance, coin in rooms.Rooms().noises():
        values = q[cell, coin]
        best = [a for a in range(2) if values[a] == max(values)]
        for action in best:
            for probability, after in rooms.moves(cell[0], action):
                step = Happened(time, cell[0], coin, cell[1], action, after, 0)
                instead = rooms.override(step.room, coin, after, time == HORIZON - 1)
                here = np.array([goals(agent).pay(step), instead is None])
                ahead = greedy_value(agent, q, time + 1, (after, step.next_counts))
                total += chance / len(best) * probability * (here + ahead)
    return total


@pytest.mark.parametrize("name", ["q-learning, cut off", "above, shaped for ever"])
def test_the_evaluation_goes_through_everything(name):
    agent, imagine = AGENTS[name]()
    learners = begun(agent, seed=5)
    found = agent.evaluate(learners)
    for k, one in enumerate(in_plain_python(agent, imagine, learners)):
        score, kept = greedy_value(agent, one.q)
        assert float(found.score[k]) == pytest.approx(score, rel=1e-5)
        assert float(found.kept[k]) == pytest.approx(kept, rel=1e-5)
    best = bf.best_value(rooms.Rooms(), bf.Scheme())
    assert best >= max(np.asarray(found.score)) - 1e-5


# What is imagined of what was visited


def test_visited_memories_are_imagined_as_often_as_they_were_real_and_never_the_real_one():
    proposal = Visited(3)
    alike = jnp.array([True, True, False, True, True])
    visits = jnp.array([2.0, 1.0, 9.0, 0.0, 1.0])
    real = jnp.asarray(1)
    context = ProposalContext(real, jnp.zeros(0, int), alike, jnp.ones(5, bool), visits)
    drawn = jax.jit(jax.vmap(proposal.draw, in_axes=(None, 0)))
    # Rows 0, 1 and 4 hold shares of 1/2, 1/4 and 1/4 of the die.
    rows, exist = drawn(context, jnp.array([[0.1, 0.6, 0.8], [0.9, 0.99, 0.3], [0.55, 0.7, 0.74]]))
    assert rows.tolist() == [[0, 1, 4], [4, 4, 0], [1, 1, 1]]
    assert exist.tolist() == [[True, False, True], [True, False, True], [False, False, False]]
    rows, exist = drawn(context._replace(visits=jnp.zeros(5)), jnp.full((1, 3), 0.5))
    assert not exist.any()  # at the very first step nothing was visited
    assert (rows < 5).all()
    once = jnp.array([0.0, 0.0, 9.0, 0.0, 1.0])
    rows, exist = drawn(context._replace(visits=once), jnp.array([[0.0, 0.5, 0.99]]))
    assert (rows.tolist(), exist.tolist()) == ([[4, 4, 4]], [[True, False, False]])


@dataclass(frozen=True)
class Careless(Proposal):
    """Says of each row but the first that it exists, whatever it is."""

    def draw(self, context, dice):
        return context.listed, jnp.arange(3) > 0

    def describe(self):
        return "whatever is listed"


def test_a_row_below_0_is_never_imagined_whatever_a_proposal_says():
    model = TabularModel(*[None] * len(TabularModel._fields))
    model = model._replace(group=jnp.zeros(2, int), reachable=jnp.ones((1, 2), bool))
    tables = Tables(model, jnp.array([[1, 1, 1], [1, 0, -1]]), None)
    learner = TabularState(*[None] * 4, row=jnp.asarray(1), noise=None, time=0, key=None)
    algorithm = Algorithm1(Careless(), 0.9, Constant(), Exploration(), False, False, None)
    rows, exist = algorithm.propose(tables, learner, jnp.zeros(0))
    assert exist.tolist() == [False, True, False]
    assert rows[1] == 0
    assert (rows >= 0).all()


# By the dice


@dataclass(frozen=True)
class TwoDice(Careless):
    """Asks for two dice."""

    @property
    def num_dice(self):
        return 2

    def draw(self, context, dice):
        assert dice.shape == (2,)
        return super().draw(context, dice)


def test_a_proposal_gets_as_many_dice_as_it_asks_for():
    """In a table of one row with three actions: in shapes alone, so that nothing is compiled."""
    model = TabularModel(
        following=np.zeros((1, 1, 1), dtype=int),
        chance=np.ones((1, 1, 1)),
        pay=np.zeros((2, 1, 1, 1)),
        kept=np.ones((2, 1, 1, 1)),
        seen=np.zeros(1, dtype=int),
        effects=np.zeros((1, 3), dtype=int),
        noise=np.ones(1),
        starts=np.ones(1),
        reachable=np.ones((1, 1), dtype=bool),
        group=np.zeros(1, dtype=int),
    )
    tables = jax.tree.map(jnp.asarray, Tables(model, np.zeros((1, 3), dtype=int), np.zeros(1)))
    values, zero = jnp.zeros((1, 1, 3)), jnp.zeros((), dtype=jnp.int32)
    key = jax.random.key(0)
    learner = TabularState(values, values, values[..., 0], jnp.zeros(1), zero, zero, zero, key)
    algorithm = Algorithm1(TwoDice(), 0.9, Constant(), Exploration(), False, False, 5)
    after = jax.eval_shape(lambda *given: algorithm.train(*given, 4), tables, learner)
    assert after.q.shape == values.shape


def test_an_index_is_drawn_by_where_the_die_falls():
    cumulative = jnp.array([0.25, 0.5, 1.0])
    dice = (0.0, 0.2, 0.25, 0.4, 0.5, 0.99)
    assert [int(draw(cumulative, jnp.asarray(die))) for die in dice] == [0, 0, 1, 1, 2, 2]


def test_the_best_is_taken_unless_the_die_is_below_epsilon():
    def chosen(values, epsilon, explore, how, *order):
        dice = jnp.array([explore, how, 0.0, 0.0, *order])
        return int(_greedy_or_not(jnp.array(values), jnp.asarray(epsilon), dice))

    assert chosen([0.0, 1.0, 0.5], 0.5, 0.5, 0.0, 0.9, 0.0, 0.8) == 1  # not below it
    assert chosen([0.0, 1.0, 0.5], 0.5, 0.25, 0.9, 0.9, 0.0, 0.8) == 2
    assert chosen([0.0, 1.0, 0.5], 0.5, 0.25, 0.1, 0.9, 0.0, 0.8) == 0
    assert chosen([1.0, 1.0, 0.5], 0.5, 0.75, 0.9, 0.3, 0.4, 0.8) == 1  # one of two best
    assert chosen([1.0, 1.0, 0.5], 0.5, 0.75, 0.9, 0.4, 0.3, 0.8) == 0
