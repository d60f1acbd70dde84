"""Tests of learn.host."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import three_rooms as rooms
from evenhand.envs import Doughnuts
from evenhand.errors import (
    BadParameter,
    MemoryDoesNotPay,
    NegativeStatus,
    NotFinite,
    NotRewardLike,
    UnequalLengths,
)
from evenhand.fairness.scheme import anytime
from evenhand.fairness.status import Capped
from evenhand.fairness.temporal import Discounted, Mean, Total
from evenhand.fairness.trace import Override
from evenhand.fairness.welfare import LogNash, Rawls
from evenhand.learn.deep.agent import PolyakUpdate
from evenhand.learn.deep.dqn import DQN, RecurrentDQN
from evenhand.learn.deep.encoders import Raw, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Recurrent
from evenhand.learn.host import HostLoop, HostWorld, Walk
from evenhand.learn.imagined_memories import Above
from evenhand.learn.schedules import Exploration
from evenhand.memory.feature_layout import FeatureLayout
from evenhand.memory.memory import Full, Min, OfStatus
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem
from evenhand.process import Transition

# Agents in an environment that is not JAX: a shop in plain NumPy.

JAX_SHOP = Doughnuts(2, 6, 0.7)


class Shop:
    """The doughnut shop again, written with NumPy alone."""

    num_stakeholders = 2

    def __init__(self, rewards=2):
        self.rewards = rewards

    def initial(self, rng):
        return rng.random(2) < 0.7

    def step(self, state, action, rng):
        rewards = np.zeros(self.rewards)
        rewards[action] = state[action]
        return Transition(rng.random(2) < 0.7, rewards, Override(not state[action], 0.0))


def agent(process, memory=Full(), size=2, **settings):
    world = HostWorld(process, 2, 6, lambda state: state, size, may_override=True)
    parts = {
        "encoder": Relative(),
        "network": EquivariantMLP((16,)),
        "discount": 0.7,
        "learning_rate": 3e-3,
        "capacity": 4000,
        "warm_up": 100,
        "exploration": Exploration(1.0, 0.95, 0.1),
        "target": PolyakUpdate(0.02),
    }
    return DQN(problem=Problem(world, JAX_SHOP.nash_scheme(), memory), **parts | settings)


@pytest.mark.system  # learns for long
def test_it_learns_from_the_host_what_the_planner_knows():
    loop = HostLoop(agent(Shop(), proposal=Above(1), shaping=True), np.random.default_rng(0))
    loop.train_steps(900)
    learner = loop.learners
    # It learns from the hundredth step on: imagined items do not count.
    assert int(learner.updates[0]) == 900 - 99
    rng = np.random.default_rng(1)
    scores = [loop.episode(rng) for _ in range(300)]
    best = plan(Problem(JAX_SHOP, JAX_SHOP.nash_scheme())).value
    assert np.mean(scores) > 0.96 * best
    assert np.mean(scores) < best + 4 * np.std(scores) / np.sqrt(300)


def test_what_is_wrong_is_said():
    with pytest.raises(MemoryDoesNotPay, match="does not determine the reward"):
        HostLoop(agent(Shop(), memory=Min(), proposal=Above(1)), np.random.default_rng(0))
    with pytest.raises(UnequalLengths, match="2 numbers where 3 were announced"):
        HostLoop(agent(Shop(), size=3), np.random.default_rng(0))
    loop = HostLoop(agent(Shop(rewards=3)), np.random.default_rng(0))
    with pytest.raises(UnequalLengths, match=r"shape \(3,\) to 2 stakeholders"):
        loop.train_steps(1)
    jax_problem = Problem(JAX_SHOP, JAX_SHOP.nash_scheme())
    with pytest.raises(BadParameter, match="own `train_steps`"):
        HostLoop(
            DQN(problem=jax_problem, encoder=Relative(), network=EquivariantMLP((4,))),
            np.random.default_rng(0),
        )


# Step by step, in three rooms


class RoomsOnTheHost:
    """The three rooms without JAX: the first episode ends, the second is cut off, both after two
    steps; the others go on for as long as they are let.
    """

    num_stakeholders = 2

    def __init__(self, seed=3):
        self.rng = np.random.default_rng(seed)
        self.episodes, self.record = 0, []

    def initial(self, rng):
        self.episodes += 1
        self.record.append([])
        return 0, int(self.rng.random() < rooms.HEADS)

    def step(self, state, action, rng):
        room, coin = state
        chances = rooms.moves(room, action)
        after = chances[0 if self.rng.random() < chances[0][0] else 1][1]
        following = after, int(self.rng.random() < rooms.HEADS)
        instead = rooms.override(room, coin, after, last=False)
        now = self.record[-1]
        now.append((state, action, following))
        short = len(now) == 2
        return Transition(
            following,
            np.array(rooms.received(room, coin, action)),
            None if instead is None else Override(True, instead),
            terminated=short and self.episodes == 1,
            truncated=short and self.episodes == 2,
        )


@pytest.fixture(scope="module")
def walked():
    """A recurrent agent that has made nine decisions and has learned nothing yet."""
    world = HostWorld(
        RoomsOnTheHost(), 2, 3, lambda state: np.asarray(state, float), 2, may_override=True
    )
    agent = RecurrentDQN(
        problem=Problem(world, anytime(LogNash(), Discounted(0.5)), Full()),
        encoder=Raw(),
        network=Recurrent((), 3),
        discount=0.9,
        capacity=40,
        scale=2.0,
        length=4,
        burn_in=1,
        exploration=Exploration(0.8, 0.5, 0.1),
    )
    with pytest.MonkeyPatch.context() as patch:
        # What imagines nothing may remember what it likes, and is not asked.
        patch.setattr(HostLoop, "_require_memory_pays", lambda loop: pytest.fail("it was asked"))
        loop = HostLoop(agent, np.random.default_rng(0))
    loop.train_steps(9)
    return loop


def test_every_step_on_the_host_is_stored_as_it_happened(walked):
    loop, agent, process = walked, walked.agent, walked.world.process
    weights = jax.tree.map(lambda leaf: leaf[0], loop.learners.weights)
    look = jax.jit(lambda carry, x: agent.network.apply(weights, carry, x)[0])
    items = jax.tree.map(lambda leaf: np.asarray(leaf[0]), loop.learners.replay.items)
    assert [len(episode) for episode in process.record] == [2, 2, 3, 2]
    place = 0
    for number, episode in enumerate(process.record):
        counts, carry = (0.0, 0.0), np.zeros(3)
        for time, ((room, coin), action, (after, next_coin)) in enumerate(episode):
            moment = jax.tree.map(lambda leaf, place=place: leaf[place], items)
            # What each has stands together with what each of two numbers of the state is.
            shown = np.column_stack(((room, coin), counts)).ravel()
            assert moment.features.tolist() == shown.tolist()
            np.testing.assert_allclose(moment.carry, carry, atol=1e-5)
            assert (int(moment.action), bool(moment.first)) == (action, time == 0)
            carry = np.asarray(look(carry.astype(np.float32), shown.astype(np.float32)))
            counts = rooms.plus(counts, rooms.received(room, coin, action))
            following = np.column_stack(((after, next_coin), counts)).ravel()
            assert moment.following.tolist() == following.tolist()
            instead = rooms.override(room, coin, after, last=False)
            pay = rooms.welfare(counts) if instead is None else instead
            assert moment.reward == pytest.approx(2.0 * pay, abs=1e-5)
            # Only the first episode ended; the others were cut off and would have gone on.
            ended = number == 0 and time == 1
            assert moment.bootstrap == pytest.approx(0.0 if ended else 0.9)
            place += 1
    assert place == int(loop.learners.replay.stored[0]) == 9
    assert float(loop.learners.epsilon[0]) == pytest.approx(0.1)  # 0.8 halved three times
    assert int(loop.learners.time[0]) == 2
    assert (loop.steps, loop.planned, loop.errors()) == (9, 0, {})


def test_an_episode_on_the_host_is_greedy_for_the_target_network_and_discounted(walked):
    loop = copy(walked)
    before = len(loop.world.process.record)

    def always(action):
        """The network with a last layer that prefers one action, whatever it sees."""
        embed, cell, out = jax.tree.map(jnp.zeros_like, loop.learners.weights)
        return (
            embed,
            cell,
            eqx.tree_at(lambda layer: layer.bias, out, out.bias.at[:, action].set(1)),
        )

    loop.learners = loop.learners._replace(weights=always(0), target=always(1))
    process = RoomsOnTheHost(seed=9)
    scores = [loop.episode(np.random.default_rng(1), process) for _ in range(3)]
    assert len(loop.world.process.record) == before  # the one that is learned in goes on
    assert [len(episode) for episode in process.record] == [2, 2, 3]
    for episode, score in zip(process.record, scores, strict=True):
        counts, expected = (0.0, 0.0), 0.0
        for time, ((room, coin), action, (after, _)) in enumerate(episode):
            assert action == 1
            counts = rooms.plus(counts, rooms.received(room, coin, action))
            instead = rooms.override(room, coin, after, last=False)
            expected += 0.5**time * (rooms.welfare(counts) if instead is None else instead)
        assert score == pytest.approx(expected, abs=1e-5)


class Costly(Shop):
    """Each who is served has to pay."""

    def step(self, state, action, rng):
        return super().step(state, action, rng)._replace(rewards=-2.0 * np.eye(2)[action])


@pytest.mark.parametrize(
    ("settings", "when"),
    [({}, "a decision"), ({"proposal": Above(1)}, r"\d random decisions")],
    ids=["plain", "imagining"],
)
def test_a_status_without_welfare_is_refused_and_not_learned_from(settings, when):
    with pytest.raises(NegativeStatus, match=rf"stakeholder \d is -2 after {when}, .*no welfare"):
        HostLoop(agent(Costly(), **settings), np.random.default_rng(0)).train_steps(20)


def test_what_another_learned_is_not_put_on_a_level_again():
    """Values of random weights are, after the warm-up; those that were learned mean something."""
    loop = HostLoop(agent(Shop()), np.random.default_rng(0))
    assert loop.before_level > 0
    loop.start_from(jax.tree.map(jnp.copy, loop.learners.weights))
    assert loop.before_level < 0


def test_a_greedy_episode_refuses_it_too():
    loop = HostLoop(agent(Shop()), np.random.default_rng(0))
    with pytest.raises(NegativeStatus, match=r"is -2 after decision \d, which has no welfare"):
        loop.episode(np.random.default_rng(1), Costly())


def test_a_memory_is_asked_within_episodes_alone():
    """Counts up to 1 are enough where an episode is one step, and begins again after it."""

    def loop(horizon):
        world = HostWorld(Shop(), 2, horizon, lambda state: state, 2, may_override=True)
        problem = Problem(world, JAX_SHOP.nash_scheme(), OfStatus(Capped(1)))
        learner = replace(agent(Shop(), proposal=Above(1)), problem=problem)
        return HostLoop(learner, np.random.default_rng(0))

    with pytest.raises(MemoryDoesNotPay, match="does not determine the reward"):
        loop(horizon=2)
    scores = {loop(horizon=1).episode(np.random.default_rng(k)) for k in range(3)}
    assert all(min(abs(score), abs(score - np.log(2))) < 1e-6 for score in scores)


# Two learners side by side


def test_a_mean_is_not_learned_where_episodes_are_not_all_as_long():
    """It is a sum of rewards over six decisions, and not over two."""
    world = HostWorld(Counted(ends=2), 2, 6, lambda time: [float(time)], 1)
    problem = Problem(world, anytime(Rawls(), Mean()), Full())
    learner = DQN(problem=problem, encoder=Raw(), network=MLP((4,)), capacity=8, warm_up=4)
    loop = HostLoop(learner, np.random.default_rng(0))
    said = r"ended after 2 of 6 decisions, and Mean .*augment_with_score=True"
    with pytest.raises(NotRewardLike, match=said):
        loop.episode(np.random.default_rng(1))
    with pytest.raises(NotRewardLike, match=said):
        loop.train_steps(2)
    assert loop.episode(np.random.default_rng(1), Counted()) >= 0.0


class Counted:
    """Each action pays its own stakeholder one more than its number, until the episode ends."""

    num_stakeholders = 2

    def __init__(self, ends=99):
        self.ends = ends

    def initial(self, rng):
        return 0

    def step(self, state, action, rng):
        rewards = np.eye(2)[action] * (1.0 + action)
        return Transition(state + 1, rewards, terminated=state + 1 == self.ends)


@dataclass(frozen=True)
class Lifted(MLP):
    """One layer whose values can be put on a level, in a unit that is shown to it."""

    hidden: tuple[int, ...] = ()

    def unit(self, weights, features):
        return features[-2]

    def with_level(self, weights, level):
        (layer,) = weights
        return (eqx.tree_at(lambda inside: inside.bias, layer, layer.bias + level),)


SUMS = anytime(LogNash(), Total())


def side_by_side(**more):
    """Two learners that are shown a unit of 4, a number of no matter and the step number."""
    world = HostWorld(Counted(), 2, 6, lambda time: [7.0, 4.0, time], 3)
    learner = DQN(
        problem=Problem(world, SUMS, Full()),
        encoder=Raw(),
        network=Lifted(),
        discount=0.5,
        lookahead=2,
        capacity=12,
        batch=3,
        warm_up=5,
        learning_rate=0.1,
        target=PolyakUpdate(0.5),
        exploration=Exploration(1.0, 1.0, 1.0),
        double=True,
    )
    rng = np.random.default_rng(0)
    return HostLoop(learner, rng, seed=5, beside=(Counted(),), learn_every=2, **more)


@pytest.fixture(scope="module")
def pair():
    """Two learners before their first decision, and after the fourth and the seventh."""
    loop = side_by_side()
    states = [jax.tree.map(np.asarray, loop.learners._replace(key=()))]
    for steps in (4, 3):
        loop.train_steps(steps)
        states.append(jax.tree.map(np.asarray, loop.learners._replace(key=())))
    return loop, states


def test_each_learner_has_a_seed_of_its_own(pair):
    loop, (start, _, _) = pair
    assert len(loop.rngs) == 2
    fresh = np.random.default_rng(6)  # nothing is drawn in this world
    assert loop.rngs[1].bit_generator.state == fresh.bit_generator.state
    for k in range(2):
        _, weights_key = jax.random.split(jax.random.key(5 + k))
        (own,) = loop.agent.network.init(weights_key, loop.agent.layout, 2)
        np.testing.assert_allclose(start.weights[0].weight[k], own.weight, atol=1e-6)
    assert not np.array_equal(*start.weights[0].weight)


def test_before_the_first_update_values_are_put_on_the_level_of_the_rewards(pair):
    """After three decisions: the mean reward of a step, for as long as an episode goes on."""
    _, (start, fourth, _) = pair
    (before,), (after,) = start.weights, fourth.weights
    for k in range(2):
        # The fourth decision has stored a third experience; each gathers two steps at γ = 1/2.
        rewards = fourth.replay.items.reward[k]
        assert int(fourth.replay.stored[k]) == 3
        mean = np.mean(rewards[:2] / 4.0) / 1.5
        level = mean * sum(0.5**time for time in range(6))
        np.testing.assert_allclose(after.bias[k] - before.bias[k], level, rtol=1e-4)
        np.testing.assert_allclose(after.weight[k], before.weight[k], atol=0)
    np.testing.assert_array_equal(fourth.target[0].bias, after.bias)
    assert len(set(fourth.replay.items.reward[0][:3])) == 3


def test_without_an_experience_the_level_stays_where_it_is(pair):
    loop, _ = pair
    empty = loop.learners.replay._replace(stored=jnp.zeros(2, dtype=jnp.int32))
    found = loop._level(loop.learners._replace(replay=empty))
    np.testing.assert_array_equal(found.weights[0].bias, loop.learners.weights[0].bias)


def test_it_learns_after_every_second_decision_once_it_is_warm(pair):
    loop, (_, fourth, seventh) = pair
    assert loop.steps == 7
    assert fourth.updates.tolist() == [0, 0]
    assert seventh.updates.tolist() == [1, 1]  # after the sixth: the fifth and seventh only store
    assert seventh.steps.tolist() == [7, 7]


@pytest.mark.parametrize(("warm_up", "before"), [(None, -1), (1, 1), (3, 1), (4, 2), (100, 98)])
def test_how_many_decisions_come_before_the_level(pair, warm_up, before):
    loop = copy(pair[0])
    loop.agent = replace(loop.agent, warm_up=warm_up)
    assert loop._warm_up() == before


def test_errors_are_those_of_what_is_stored(pair):
    """With one experience stored, every batch is that one."""
    loop = copy(pair[0])
    one = loop.learners.replay._replace(stored=jnp.array([1, 1], dtype=jnp.int32))
    loop.learners = loop.learners._replace(replay=one)
    learners = jax.tree.map(np.asarray, loop.learners._replace(key=()))
    losses, best = [], []
    for k in range(2):
        item = jax.tree.map(lambda leaf, k=k: leaf[k, 0], learners.replay.items)
        own, target = (
            lambda x, layer=layer, k=k: layer.weight[k] @ x + layer.bias[k]
            for (layer,) in (learners.weights, learners.target)
        )
        ahead = target(item.following)[own(item.following).argmax()]
        error = own(item.features)[item.action] - (item.reward + item.bootstrap * ahead)
        losses.append((error / 4.0) ** 2)
        best.append(own(item.features).max())
    found = loop.errors()
    assert found == pytest.approx({"loss": np.mean(losses), "value": np.mean(best)}, rel=1e-4)
    some = one._replace(stored=jnp.array([1, 0], dtype=jnp.int32))
    loop.learners = loop.learners._replace(replay=some)
    assert loop.errors() == {}


def always(loop, actions):
    """Weights of each learner that prefer one action, whatever is shown."""
    (layer,) = jax.tree.map(jnp.zeros_like, loop.learners.weights)
    bias = jnp.asarray(np.eye(2, dtype=np.float32)[list(actions)])
    return (eqx.tree_at(lambda inside: inside.bias, layer, bias),)


def by_hand(action, steps):
    """The score of an episode of one action: Σ log(1 + what it has brought so far)."""
    return sum(np.log1p((1.0 + action) * time) for time in range(1, steps + 1))


def test_episodes_side_by_side_end_each_by_itself(pair):
    loop = copy(pair[0])
    processes, rngs = [Counted(2), Counted(4)], [np.random.default_rng(k) for k in range(2)]
    scores = loop.play(always(loop, (1, 0)), processes, rngs)
    np.testing.assert_allclose(scores, [by_hand(1, 2), by_hand(0, 4)], rtol=1e-5)
    # What was kept decides; else the target network, and that of the first learner.
    loop.learners = loop.learners._replace(target=always(loop, (1, 0)))
    assert loop.weights[0].bias.tolist() == [0.0, 1.0]
    rng = np.random.default_rng(0)
    assert loop.episode(rng, Counted(3)) == pytest.approx(by_hand(1, 3), rel=1e-5)
    loop.kept = always(loop, (0, 1))
    assert loop.episode(rng, Counted(3)) == pytest.approx(by_hand(0, 3), rel=1e-5)
    assert loop.episode(rng) == pytest.approx(by_hand(0, 6), rel=1e-5)  # in the world's own


def test_new_episodes_begin_and_what_was_learned_stays(pair):
    loop = copy(pair[0])
    loop._walks = [copy(walk) for walk in loop._walks]
    before = jax.tree.map(np.asarray, loop.learners._replace(key=()))
    assert before.time.tolist() == [1, 1]
    loop.begin_again()
    after = loop.learners
    assert [walk.decided for walk in loop._walks] == [0, 0]
    assert after.time.tolist() == [0, 0]
    assert after.augmented.state.tolist() == [[7.0, 4.0, 0.0]] * 2
    assert after.augmented.memory.tolist() == [[0.0, 0.0]] * 2
    assert (np.asarray(after.pending.age) == -1).all()
    np.testing.assert_array_equal(after.weights[0].weight, before.weights[0].weight)
    assert after.replay.stored.tolist() == before.replay.stored.tolist()


def test_learners_start_from_the_weights_of_one_or_of_each(pair):
    loop = copy(pair[0])
    one = jax.tree.map(lambda leaf: leaf[:1], always(loop, (1, 0)))
    for given, biases in (
        (one, [[0.0, 1.0]] * 2),
        (always(loop, (1, 0)), [[0.0, 1.0], [1.0, 0.0]]),
    ):
        loop.start_from(given)
        assert loop.learners.weights[0].bias.tolist() == biases
        assert loop.learners.target[0].bias.tolist() == biases
    with pytest.raises(BadParameter, match="a network of another form"):
        loop.start_from(jax.tree.map(lambda leaf: leaf[:, :1], always(loop, (1, 0))))


def test_weights_that_are_no_numbers_are_refused(pair):
    loop = copy(pair[0])
    loop._walks = [copy(walk) for walk in loop._walks]
    learners = jax.tree.map(jnp.copy, loop.learners)  # a step takes over what it is given
    lost = jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.nan), learners.weights)
    loop.learners = learners._replace(weights=lost)
    with pytest.raises(NotFinite, match="what is learned is no longer finite"):
        loop.train_steps(1)


# A process on the host, step by step: what happened as one vector, and back again.


class Counting:
    """The state is how many decisions were taken; each pays its action to the first of two."""

    num_stakeholders = 2

    def __init__(self, ends=99, override=None):
        self.ends, self.override = ends, override

    def initial(self, rng):
        return 0

    def step(self, state, action, rng):
        after = state + 1
        return Transition(after, [action, 0.0], self.override, terminated=after == self.ends)


def walk(process, **more):
    world = HostWorld(process, 3, 4, lambda state: [1.0, state], 2, **more)
    return world, Walk(world, process, np.random.default_rng(0))


def test_what_happened_is_a_vector_that_can_be_read_again():
    world, taken = walk(Counting(ends=3))
    assert world.outcome_size == 2 + 2 * 2 + 4
    rows = [world.unpack(taken.step(action)) for action in (2, 0, 1, 2)]
    assert [row[0].tolist() for row in rows] == [[2, 0], [0, 0], [1, 0], [2, 0]]
    assert [row[2].tolist() for row in rows] == [[1, 1], [1, 2], [1, 3], [1, 1]]
    # The third ends it: another episode begins, and the fourth is its first decision.
    assert [row[3].tolist() for row in rows] == [[1, 1], [1, 2], [1, 0], [1, 1]]
    assert [bool(row[4]) for row in rows] == [False, False, True, False]
    assert [bool(row[5]) for row in rows] == [False, False, True, False]
    assert all(row[1] is None for row in rows)


def test_at_the_horizon_it_is_over_and_has_not_ended():
    world, taken = walk(Counting())
    rows = [world.unpack(taken.step(0)) for _ in range(5)]
    assert [bool(row[4]) for row in rows] == [False, False, False, True, False]
    assert not any(row[5] for row in rows)
    stays = walk(Counting(ends=1))[1]
    stays.step(0, again=False)
    assert (stays.state, stays.decided) == (1, 1)


def test_a_reward_in_place_of_the_welfare():
    world, taken = walk(Counting(override=Override(True, -3.0)), may_override=True)
    override = world.unpack(taken.step(1))[1]
    assert (bool(override.applies), float(override.value)) == (True, -3.0)
    world, taken = walk(Counting(), may_override=True)
    none = world.unpack(taken.step(1))[1]
    assert (bool(none.applies), float(none.value)) == (False, 0.0)
    with pytest.raises(BadParameter, match="may_override=True"):
        walk(Counting(override=Override(True, -3.0)))[1].step(0)


def test_actions_that_are_not_possible_are_not_drawn():
    process = Counting()
    world = HostWorld(process, 3, 4, lambda state: [0.0, 1.0, state % 2, 9.0], 4, masked=True)
    taken, rng = Walk(world, process, np.random.default_rng(0)), np.random.default_rng(1)
    assert {taken.random_action(rng) for _ in range(20)} == {1}
    taken.step(1)
    assert {taken.random_action(rng) for _ in range(20)} == {1, 2}
    free = walk(process)[1]
    assert {free.random_action(rng) for _ in range(40)} == {0, 1, 2}
    nothing = HostWorld(process, 2, 4, lambda state: [0.0, 0.0], 2, masked=True)
    assert Walk(nothing, process, rng).random_action(rng) == 0


def test_lengths_that_change_are_refused():
    world = HostWorld(Counting(), 3, 4, lambda state: [1.0] * (1 + state), 1)
    taken = Walk(world, world.process, np.random.default_rng(0))
    with pytest.raises(UnequalLengths, match="2 numbers where 1 were announced"):
        taken.step(0)
    world = HostWorld(Counting(), 3, 4, lambda state: [0.0], 1)
    world.process.num_stakeholders = 3
    with pytest.raises(UnequalLengths, match=r"rewards of shape \(2,\) to 3 stakeholders"):
        Walk(world, world.process, np.random.default_rng(0)).step(0)


def test_it_runs_on_the_host_alone():
    world, _ = walk(Counting())
    assert not world.compiled
    assert world.initial(None).shape == (2,)
    for asked in (lambda: world.step(None, None, 0), lambda: world.is_over(None)):
        with pytest.raises(BadParameter, match="runs on the host"):
            asked()


def test_a_layout_says_which_numbers_are_whose_and_must_fit():
    layout = FeatureLayout.in_blocks(2, 1, shared=1)
    world = HostWorld(Counting(), 3, 4, lambda state: [1.0, state, 0.5], 3, layout=layout)
    parts = world.attributes(np.array([7.0, 8.0, 9.0]))
    assert [(part.values.tolist(), part.shared) for part in parts] == [
        *(([7.0, 8.0], False), ([9.0], True))
    ]
    (whole,) = walk(Counting())[0].attributes(np.array([7.0, 8.0]))
    assert whole.values.tolist() == [7.0, 8.0]
    with pytest.raises(UnequalLengths, match="observation of 2 numbers"):
        HostWorld(Counting(), 3, 4, lambda state: [1.0, state], 2, layout=layout)
