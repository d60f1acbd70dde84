"""Tests of learn.deep.agent."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, MemoryDoesNotPay
from evenhand.fairness.filters import AfterEach
from evenhand.fairness.scheme import FairnessScheme, anytime, periodic
from evenhand.fairness.temporal import Total, Worst
from evenhand.fairness.welfare import LogNash
from evenhand.learn.deep.agent import HardUpdate, Huber, PolyakUpdate, Squared, _one_of
from evenhand.learn.deep.dqn import DQN, RecurrentDQN
from evenhand.learn.deep.encoders import Raw, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP, MaskedNetwork, Recurrent
from evenhand.learn.host import HostWorld
from evenhand.learn.imagined_memories import Above, Everything
from evenhand.learn.schedules import Exploration, start_learners
from evenhand.memory.memory import Clock, Full, Min, Nothing, Product, Reset
from evenhand.planning.evaluation import evaluate
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from probes import Paid

# Deep agents against worlds with known answers, the exact planner, and arithmetic.

QUICK = {
    "network": MLP((32,)),
    "encoder": Raw(),
    "learning_rate": 1e-2,
    "batch": 32,
    "capacity": 2000,
    "warm_up": 100,
    "target": PolyakUpdate(0.05),
    "exploration": Exploration(1.0, 0.99, 0.2),
}


def trained(agent, steps, seeds=1, first=0):
    keys = jax.vmap(jax.random.key)(jnp.arange(first, first + seeds, dtype=jnp.uint32))
    return agent.train_steps(start_learners(agent, keys), steps)


def values(agent, learners, augmented):
    @jax.jit
    def first(weights, augmented):
        one = jax.tree.map(lambda leaf: leaf[0], weights)
        return agent.network.apply(one, agent.network.start(), agent.encode(augmented))[1]

    return np.asarray(first(learners.weights, augmented))


@pytest.mark.parametrize(
    ("world", "settings", "expected"),
    [
        # One step that pays 1: terminated it is worth 1, cut off it goes on for ever at γ = 1/2.
        (Paid(), {"horizon_terminates": True}, (1.0, 1.0)),
        (Paid(blind=True), {"horizon_terminates": False}, (2.0, 2.0)),
        # Two steps of which the second pays: γ; and with a choice, of which the better counts.
        (Paid(2), {"horizon_terminates": True}, (0.5, 0.5)),
        (Paid(2, late=(-1.0, 3.0)), {"horizon_terminates": True}, (1.5, 1.5)),
        # What an action pays is its own.
        (Paid(1, late=(-1.0, 1.0)), {"horizon_terminates": True}, (-1.0, 1.0)),
        # Both steps gathered into one experience: the discount within it counts too.
        (
            Paid(2, early=(1.0, 0.0), late=(4.0, 4.0)),
            {"horizon_terminates": True, "lookahead": 2},
            (3.0, 2.0),
        ),
    ],
)
def test_values_that_are_known(world, settings, expected):
    problem = Problem(world, anytime(LogNash(), Total()), Nothing())
    agent = DQN(problem=problem, discount=0.5, **QUICK, **settings)
    learners = trained(agent, 1500)
    found = values(agent, learners, problem.initial(jax.random.key(3)))
    assert found == pytest.approx(expected, abs=0.1)


def test_values_that_depend_on_memory():
    """Two who are always there, two doughnuts: the second goes to the one who had none."""
    shop = Doughnuts(2, 2, 1.0)
    problem = Problem(shop, shop.nash_scheme(), Full())
    agent = DQN(problem=problem, discount=1.0, horizon_terminates=True, proposal=Above(1), **QUICK)
    learners = trained(agent, 3000)
    first = problem.initial(jax.random.key(0))
    assert values(agent, learners, first) == pytest.approx([3 * math.log(2)] * 2, abs=0.15)
    second, _, _ = problem.step(jax.random.key(0), first, 0)
    expected = [math.log(3), 2 * math.log(2)]
    assert values(agent, learners, second) == pytest.approx(expected, abs=0.15)


@pytest.mark.system  # learns for long
def test_a_recurrent_agent_remembers_what_it_saw():
    problem = Problem(Paid(3, recall=True), anytime(LogNash(), Total()), Nothing())
    settings = QUICK | {"network": Recurrent((16,), 16), "batch": 64}
    agent = RecurrentDQN(
        problem=problem, discount=1.0, horizon_terminates=True, length=6, burn_in=3, **settings
    )
    learners = trained(agent, 4000)
    assert float(agent.evaluate(learners).score[0]) > 0.97  # without memory it is 0.5


@pytest.mark.parametrize(
    "settings", [{"shaping": True, "horizon_terminates": True}, {"horizon_terminates": False}]
)
def test_imagined_experiences_are_what_the_world_would_have_done(settings):
    """Put the imagined memory in, replay the step with the same randomness: the same comes out."""
    shop = Doughnuts(3, 6, 0.6)
    problem = Problem(shop, shop.nash_scheme(), Product((Full(), Clock(7))))
    agent = DQN(problem=problem, proposal=Above(2), discount=0.9, **QUICK, **settings)
    plain = DQN(problem=problem, discount=0.9, **QUICK, **settings)
    imagining, copying = (jax.jit(a.experience) for a in (agent, plain))
    seen_waste = False
    learner, start = (jax.jit(a.start)(jax.random.key(5)) for a in (agent, plain))
    for _ in range(8):  # over the end of an episode
        before = jax.device_get(learner)
        place = int(learner.replay.place)
        learner = imagining(learner)
        stored = jax.tree.map(
            lambda leaf, p=place: leaf[p : p + 9], jax.device_get(learner.replay.items)
        )
        assert int(learner.replay.place) == place + 9  # the real one and 2^3 imagined
        memories = [before.augmented.memory[0] + np.array(m) for m in np.ndindex(2, 2, 2)]
        for k, memory in enumerate([before.augmented.memory[0], *(m + 1 for m in memories)]):
            augmented = before.augmented
            status = augmented.scheme_state.status._replace(total=jnp.asarray(memory))
            put_in = augmented._replace(
                memory=(jnp.asarray(memory), augmented.memory[1]),
                scheme_state=augmented.scheme_state._replace(status=status),
            )
            # The same key and an agent that explores: the same action and the same outcome.
            fresh = start._replace(augmented=put_in, key=before.key, time=before.time)
            item = jax.tree.map(lambda leaf: leaf[0], jax.device_get(copying(fresh).replay.items))
            theirs = jax.tree.map(lambda leaf, k=k: leaf[k], stored)
            for name in ("features", "action", "reward", "bootstrap", "following"):
                own, other = getattr(item, name), getattr(theirs, name)
                np.testing.assert_allclose(own, other, rtol=1e-6, err_msg=name)
        seen_waste |= bool(learner.augmented.memory[0].sum() == before.augmented.memory[0].sum())
    assert seen_waste


def test_experiences_of_several_steps_by_hand():
    """γ = 1/2, lookahead 3, an episode of four doughnuts: what each experience gathers."""
    shop = Doughnuts(1, 4, 1.0)  # one customer: paid log 2, log 3, log 4, log 5
    problem = Problem(shop, shop.nash_scheme(), Full())
    agent = DQN(problem=problem, discount=0.5, lookahead=3, horizon_terminates=True, **QUICK)
    learner = trained(agent, 4)
    items = jax.tree.map(lambda leaf: np.asarray(leaf[0, :4]), learner.replay.items)
    pay = np.log([2.0, 3.0, 4.0, 5.0])
    gathered = {
        0: pay[0] + pay[1] / 2 + pay[2] / 4,
        1: pay[1] + pay[2] / 2 + pay[3] / 4,
        2: pay[2] + pay[3] / 2,  # the episode is over before the third step
        3: pay[3],
    }
    counts = items.features[:, -1]
    assert sorted(counts.tolist()) == [0, 1, 2, 3]
    for count, reward, bootstrap, ahead in zip(
        counts, items.reward, items.bootstrap, items.following[:, -1], strict=True
    ):
        assert reward == pytest.approx(gathered[int(count)], rel=1e-5)
        assert bootstrap == (0.125 if count == 0 else 0.0)
        assert ahead == min(count + 3, 4)
    assert int(learner.replay.stored[0]) == 4
    assert learner.pending.age.tolist() == [[-1, -1, -1]]


def test_values_stored_with_the_items_are_the_target_networks():
    shop = Doughnuts(2, 4, 0.8)
    problem = Problem(shop, shop.nash_scheme(), Full())
    settings = QUICK | {"target": HardUpdate(7), "capacity": 60, "warm_up": None}
    agent = DQN(problem=problem, proposal=Above(1), **settings)
    learner = jax.tree.map(lambda leaf: leaf[0], trained(agent, 100))
    items = learner.replay.items
    expected = jnp.max(agent._values(learner.target, items.following), axis=-1)
    np.testing.assert_allclose(items.ahead, expected, rtol=1e-5)
    # Full after 30 steps of two items each: updates follow the 30th step, copies every 7th of them.
    assert int(learner.updates) == 71
    copied = jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), *learner[:2]))
    assert not all(copied)  # one update after the last copy
    one_less = jax.tree.map(lambda leaf: leaf[0], trained(agent, 99))
    same = jax.tree.map(lambda a, b: bool((a == b).all()), one_less.weights, one_less.target)
    assert all(jax.tree.leaves(same))


def test_double_targets_and_losses_by_hand():
    error = jnp.array([0.5, -3.0])
    assert Squared()(error).tolist() == [0.25, 9.0]
    assert Huber(1.0)(error).tolist() == [0.125, 2.5]
    shop = Doughnuts(2, 4, 0.8)
    problem = Problem(shop, shop.nash_scheme(), Full())
    agent = DQN(problem=problem, double=True, **QUICK)
    learner = jax.jit(agent.start)(jax.random.key(0))
    other = agent.network.init(jax.random.key(9), agent.layout, 2)
    learner = learner._replace(target=other)
    following = jax.random.normal(jax.random.key(1), (50, agent.layout.size))
    own, theirs = (np.asarray(agent._values(w, following)) for w in (learner.weights, other))
    expected = theirs[np.arange(50), own.argmax(axis=1)]
    np.testing.assert_allclose(agent._ahead(learner, following), expected, rtol=1e-6)
    assert (expected < theirs.max(axis=1)).any()


@pytest.mark.system
def test_a_seed_is_the_same_alone_and_among_others():
    """To a relative 1e-3 of the weights after 60 updates: batched sums may be rounded otherwise."""
    shop = Doughnuts(2, 6, 0.8)
    problem = Problem(shop, shop.nash_scheme(), Full())
    settings = QUICK | {"learning_rate": 1e-3}
    agent = DQN(problem=problem, proposal=Above(2), **settings)
    among = trained(agent, 80, seeds=4)
    alone = trained(agent, 80, seeds=1, first=2)
    np.testing.assert_array_equal(among.replay.items.action[2], alone.replay.items.action[0])
    np.testing.assert_allclose(
        among.replay.items.reward[2], alone.replay.items.reward[0], rtol=1e-6
    )
    for one, other in zip(
        jax.tree.leaves(among.weights), jax.tree.leaves(alone.weights), strict=True
    ):
        np.testing.assert_allclose(one[2], other[0], rtol=1e-3, atol=1e-5)
    assert not np.allclose(
        jax.tree.leaves(among.weights)[0][0], jax.tree.leaves(alone.weights)[0][0]
    )


SHOP = Doughnuts(2, 6, 0.8)
PLAIN = Doughnuts(2, 6, 0.8, wasted=None)


@pytest.mark.system  # learns for long
@pytest.mark.parametrize(
    ("problem", "proposal"),
    [
        (Problem(SHOP, periodic(3, LogNash(), Total()), Product((Full(), Clock(7)))), Above(1)),
        (
            Problem(
                SHOP,
                FairnessScheme(
                    aggregation=anytime(LogNash(), Total()).aggregation, filter=AfterEach(2)
                ),
                Product((Full(), Clock(7))),
            ),
            Above(1),
        ),
        (
            Problem(
                PLAIN,
                periodic(2, LogNash(), Worst()),
                Product((Full(), Clock(7))),
                augment_with_score=True,
            ),
            None,
        ),
    ],
    ids=["periodic", "bounded", "fold"],
)
def test_filters_and_folds_are_learned_to_near_the_exact_optimum(problem, proposal):
    imagine = {} if proposal is None else {"proposal": proposal}
    settings = QUICK | {
        "network": EquivariantMLP((32, 32)),
        "encoder": Relative(),
        "learning_rate": 3e-3,
        "batch": 64,
        "capacity": 20_000,
        "exploration": Exploration(1.0, 0.995, 0.2),
    }
    agent = DQN(
        problem=problem, discount=1.0, horizon_terminates=True, double=True, **settings, **imagine
    )
    learners = trained(agent, 6 * 800, seeds=2)
    found = plan(replace(problem, memory=Full()))
    scores = np.asarray(agent.evaluate(learners, 1000).score)
    assert (scores - found.random_value() > 0.85 * (found.value - found.random_value())).all()
    assert (scores < found.value + 0.2).all()


@pytest.mark.system
def test_a_learned_policy_has_its_exact_score():
    shop = Doughnuts(2, 5, 0.7)
    problem = Problem(shop, shop.nash_scheme(), Full())
    settings = QUICK | {"network": EquivariantMLP((16,)), "encoder": Relative()}
    agent = DQN(problem=problem, discount=0.7, shaping=True, proposal=Above(1), **settings)
    learners = trained(agent, 1500)
    from evenhand.learn.policies import Greedy

    weights = jax.tree.map(lambda leaf: leaf[0], agent.acting(learners))
    exact = evaluate(problem, Greedy(problem, agent.encoder, agent.network, weights).act).score
    sampled = float(agent.evaluate(learners, 2000).score[0])
    assert sampled == pytest.approx(exact, abs=0.15)
    assert exact > 0.98 * plan(problem).value


def test_of_the_possible_each_is_as_likely():
    possible = jnp.array([False, True, False, True, True])
    dice = (0.0, 0.32, 0.34, 0.65, 0.68, 0.999)
    assert [int(_one_of(possible, jnp.asarray(die))) for die in dice] == [1, 1, 3, 3, 4, 4]


def test_what_a_mask_rules_out_is_not_explored():
    process = SimpleNamespace(num_stakeholders=2)
    world = HostWorld(process, 3, 4, lambda state: state, 3, masked=True)
    problem = Problem(world, anytime(LogNash(), Total()), Nothing())
    agent = DQN(problem=problem, encoder=Raw(), network=MaskedNetwork(MLP(())))
    weights = agent.network.init(jax.random.key(0), agent.layout, 3)
    at = problem.initial(jax.random.key(0))._replace(state=jnp.array([1.0, 0.0, 1.0]))
    learner = SimpleNamespace(weights=weights, carry=(), epsilon=1.0)
    keys = jax.random.split(jax.random.key(1), 200)
    chosen = jax.vmap(lambda key: agent.choose(learner, at, key)[1])(keys)
    counts = np.bincount(np.asarray(chosen), minlength=3)
    assert counts[1] == 0
    assert abs(counts[0] - 100) < 40


def test_mistakes_are_named():
    shop = Doughnuts(2, 4, 0.8)
    problem = Problem(shop, shop.nash_scheme(), Full())
    parts = {"problem": problem, "encoder": Raw(), "network": MLP((4,))}
    with pytest.raises(BadParameter, match="discount is 1"):
        DQN(**parts, discount=1.5)
    with pytest.raises(BadParameter, match="batch is 0"):
        DQN(**parts, batch=0)
    with pytest.raises(BadParameter, match="lookahead is 0"):
        DQN(**parts, lookahead=0)
    with pytest.raises(BadParameter, match="needs a list of all memories"):
        DQN(**parts, proposal=Everything())
    with pytest.raises(MemoryDoesNotPay, match="does not say which status"):
        DQN(**parts | {"problem": Problem(shop, shop.nash_scheme(), Reset())}, proposal=Above(1))
    with pytest.raises(MemoryDoesNotPay, match="does not determine the reward"):
        DQN(**parts | {"problem": Problem(shop, shop.nash_scheme(), Min())}, proposal=Above(1))
    with pytest.raises(BadParameter, match="not assessed at every step needs a horizon"):
        DQN(**parts | {"problem": Problem(shop, periodic(2, LogNash(), Total()))}, shaping=True)
    with pytest.raises(BadParameter, match="do not fit"):
        RecurrentDQN(**parts | {"network": Recurrent()}, capacity=10)
    with pytest.raises(BadParameter, match="carries nothing"):
        RecurrentDQN(**parts)


# How the target follows and what an error costs, by hand.


def test_a_copy_every_so_many_updates():
    update = HardUpdate(3)
    assert update.copies_rarely
    assert update.is_due(jnp.arange(1, 8)).tolist() == [False, False, True] * 2 + [False]
    assert update.apply(1.0, 5.0) == 1.0  # between the copies it stays


def test_a_share_of_the_way_with_every_update():
    update = PolyakUpdate(0.25)
    assert not update.copies_rarely
    assert not update.is_due(jnp.arange(9)).any()
    moved = update.apply({"a": jnp.array([0.0, 8.0])}, {"a": jnp.array([4.0, 0.0])})
    assert moved["a"].tolist() == [1.0, 6.0]
    assert PolyakUpdate(1.0).apply(2.0, 5.0) == 5.0


def test_what_an_error_costs():
    errors = jnp.array([-3.0, -1.0, 0.0, 0.5, 2.0, 4.0])
    assert Squared()(errors).tolist() == [9.0, 1.0, 0.0, 0.25, 4.0, 16.0]
    # Half the square up to 2, and from there on 2 more for each.
    np.testing.assert_allclose(Huber(2.0)(errors), [4.0, 0.5, 0.0, 0.125, 2.0, 6.0])
    np.testing.assert_allclose(Huber()(errors), [2.5, 0.5, 0.0, 0.125, 1.5, 3.5])


@pytest.mark.parametrize("threshold", [0.0, -1, "x", True, float("nan"), float("inf")])
def test_a_threshold_is_above_0(threshold):
    with pytest.raises(BadParameter) as refused:
        Huber(threshold)
    assert str(refused.value) == f"threshold is {threshold!r}: it must be a number above 0."


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.01, "x", float("nan")])
def test_a_rate_is_a_share(rate):
    with pytest.raises(BadParameter, match=r"it must lie in \(0, 1\]"):
        PolyakUpdate(rate)


@pytest.mark.parametrize("every", [0, -1, 2.5, True])
def test_updates_are_counted_in_whole_numbers(every):
    with pytest.raises(BadParameter, match="it must be a whole number from 1"):
        HardUpdate(every)
    assert HardUpdate(1).is_due(jnp.array([1, 2])).all()
