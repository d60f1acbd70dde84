"""Plans of the three rooms against expectimax over whole histories, and against each other."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import brute_force as bf
import three_rooms as rooms
from evenhand import Discounted, LogNash, PerEntitlement, Total, anytime
from evenhand.memory.memory import Full
from evenhand.planning.backward_induction import best, effect_values, uniform
from evenhand.planning.evaluation import Evaluation, evaluate
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from three_rooms import Rooms, ThreeRooms

NEAR = {"abs": 1e-9, "rel": 0}
NASH = anytime(LogNash(), Total())


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_the_best_and_the_blind_value_of_three_rooms(horizon):
    found = plan(Problem(ThreeRooms(horizon), NASH))
    assert found.value == pytest.approx(bf.best_value(Rooms(horizon), bf.Scheme()), **NEAR)
    assert found.random_value() == pytest.approx(
        bf.random_value(Rooms(horizon), bf.Scheme()), **NEAR
    )


def test_a_discounted_plan_of_three_rooms():
    problem = Problem(ThreeRooms(), anytime(LogNash(), Discounted(0.7)))
    literal = bf.Scheme(over_time=bf.discounted(0.7))
    found = plan(problem)
    assert found.value == pytest.approx(bf.best_value(Rooms(), literal), **NEAR)
    assert found.random_value() == pytest.approx(bf.random_value(Rooms(), literal), **NEAR)


def test_what_each_action_is_worth_after_every_first_step():
    problem = Problem(ThreeRooms(), NASH)
    found, first = plan(problem), problem.initial(jax.random.key(0))
    literal = bf.Scheme()
    for coin, action, next_coin in itertools.product(range(2), repeat=3):
        for outcome, (_, after) in enumerate(rooms.moves(0, action)):
            world = first.state.world._replace(
                room=jnp.asarray(after, jnp.int32), time=jnp.asarray(1, jnp.int32)
            )
            received = np.asarray(rooms.received(0, coin, action))
            status = first.scheme_state.status._replace(total=received)
            at = first._replace(
                state=first.state._replace(world=world, noise=jnp.asarray(next_coin, jnp.int32)),
                scheme_state=first.scheme_state._replace(status=status),
            )
            what = Rooms().outcomes(1, 0, coin, action)[outcome][1]
            so_far = literal.score((what,), 3)
            exact = bf.action_values(Rooms(), literal, (what,), after, next_coin)
            reasons = found.explain(at)
            assert reasons.values == pytest.approx([q - so_far for q in exact], **NEAR)
            assert exact[reasons.action] == pytest.approx(max(exact), **NEAR)


POLICIES = {
    "always 0": (lambda room, coin, counts: 0, lambda state, memory: jnp.asarray(0)),
    "as the coin says": (lambda room, coin, counts: coin, lambda state, memory: state.noise),
    "for who has less": (
        lambda room, coin, counts: int(counts[0] > counts[1]),
        lambda state, memory: (memory[0] > memory[1]).astype(int),
    ),
    "by room": (
        lambda room, coin, counts: int(room == 1),
        lambda state, memory: (state.world.room == 1).astype(int),
    ),
}


def scores_of(rule, horizon=3):
    """Every score of an episode under a rule, with its probability, by going through all."""
    found: dict[float, float] = {}

    def go_on(time, room, counts, score, chance):
        if time == horizon:
            found[round(score, 9)] = found.get(round(score, 9), 0.0) + chance
            return
        for tossed, coin in Rooms().noises():
            action = rule(room, coin, counts)
            then = rooms.plus(counts, rooms.received(room, coin, action))
            for probability, after in rooms.moves(room, action):
                instead = rooms.override(room, coin, after, time == horizon - 1)
                pay = rooms.welfare(then) if instead is None else instead
                go_on(time + 1, after, then, score + pay, chance * tossed * probability)

    go_on(0, 0, (0.0, 0.0), 0.0, 1.0)
    return found


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_is_worth_what_going_through_everything_says(name):
    rule, policy = POLICIES[name]
    problem = Problem(ThreeRooms(), NASH, Full())
    expected = scores_of(rule)
    found = evaluate(
        problem, lambda key, state, memory: policy(state, memory), with_distribution=True
    )
    mean = sum(score * chance for score, chance in expected.items())
    assert found.exact
    assert found.score == pytest.approx(mean, **NEAR)
    assert (found.interval, found.episodes) == ((found.score, found.score), 0)
    scores, chances = found.distribution
    assert dict(zip(np.round(scores, 6), chances, strict=True)) == pytest.approx(
        {round(score, 6): chance for score, chance in expected.items()}
    )
    best = plan(problem)
    assert found.score <= best.value + 1e-9
    assert evaluate(problem, best) == Evaluation(best.value, (best.value,) * 2, "exact", 0, None)


@dataclass(frozen=True)
class Relabelled(ThreeRooms):
    """Everyone receives what the other one does in the three rooms."""

    def rewards(self, state, action, world):
        return super().rewards(state, action, world)[::-1]


def test_relabelled_stakeholders_relabel_the_plan():
    for scheme, other in (
        (NASH, NASH),
        (
            anytime(LogNash(), Total(), PerEntitlement((1, 3))),
            anytime(LogNash(), Total(), PerEntitlement((3, 1))),
        ),
    ):
        one, two = plan(Problem(ThreeRooms(), scheme)), plan(Problem(Relabelled(), other))
        assert one.value == pytest.approx(two.value, **NEAR)
        assert one.random_value() == pytest.approx(two.random_value(), **NEAR)
        assert one.states == two.states


def test_one_backup_by_hand():
    """Two states, three effects of which noises allow some, two outcomes; γ = 1/2."""
    model = SimpleNamespace(
        effects=np.array([[0, 1], [2, 2]]),
        noise=((), np.array([0.25, 0.75])),
        discount=0.5,
    )
    table = SimpleNamespace(
        model=model,
        pay=np.array([[1.0, 2.0], [3.0, 0.0], [0.0, 4.0]]),
        last_pay=np.array([[5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]),
        following=np.array([[[0, 1], [1, 1]], [[1, 0], [0, 0]], [[1, 1], [0, 1]]]),
        probability=np.array(
            [[[0.5, 1.0], [0.5, 0.0]], [[1.0, 1.0], [0.0, 0.0]], [[0.25, 0.5], [0.75, 0.5]]]
        ),
    )
    after = np.array([8.0, 4.0])
    q = effect_values(table, after, slice(0, 2), last=False)
    # In state 0: 1 + ½(½·8 + ½·4), 3 + ½·4, 0 + ½(¼·4 + ¾·8); in state 1: 2 + ½·4, ½·8, 4 + ½·4.
    assert q.tolist() == [[4.0, 4.0], [5.0, 4.0], [3.5, 6.0]]
    assert best(table, q, 0, 0).tolist() == [0.25 * 5 + 0.75 * 3.5, 0.25 * 4 + 0.75 * 6]
    blind = [0.25 * 4.5 + 0.75 * 3.5, 0.25 * 4 + 0.75 * 6]
    assert uniform(table, q, 0, 0) == pytest.approx(blind)
    last = effect_values(table, np.zeros(2), slice(1, 2), last=True)
    assert last.tolist() == [[6.0], [8.0], [10.0]]
