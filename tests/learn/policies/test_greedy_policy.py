"""A greedy policy's episodes against everything that can happen in three rooms."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import three_rooms as rooms
from evenhand.errors import BadFile, BadParameter, TooLarge
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Discounted
from evenhand.fairness.welfare import LogNash
from evenhand.learn.deep import agent as deep
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Raw
from evenhand.learn.deep.networks import MLP
from evenhand.learn.fairqcm import Learned
from evenhand.learn.policies import greedy_policy, policy_files
from evenhand.learn.policies.greedy_policy import Greedy, GreedyScore, require_room, score_greedy
from evenhand.learn.policies.policy_files import Saved
from evenhand.memory.memory import Full
from evenhand.problem.problem import Problem
from three_rooms import Rooms, ThreeRooms

PROBLEM = Problem(ThreeRooms(), anytime(LogNash(), Discounted(0.5)), Full())
NETWORK, EPISODES = MLP(()), 400
LAYOUT = Raw().layout(PROBLEM)


def constant(values):
    """A network that says the same of every state."""
    (layer,) = NETWORK.init(jax.random.key(0), LAYOUT, 2)
    return (type(layer)(jnp.zeros_like(layer.weight), jnp.asarray(values)),)


def episodes_of(action):
    """Every episode of one action: its score and the steps not overridden, with its chance."""
    found = {}

    def go_on(time, room, counts, score, kept, chance):
        if time == 3:
            key = round(score, 4), kept
            found[key] = found.get(key, 0.0) + chance
            return
        for tossed, coin in Rooms().noises():
            then = rooms.plus(counts, rooms.received(room, coin, action))
            for probability, after in rooms.moves(room, action):
                instead = rooms.override(room, coin, after, time == 2)
                pay = rooms.welfare(then) if instead is None else instead
                total = score + 0.5**time * pay
                go_on(
                    time + 1,
                    after,
                    then,
                    total,
                    kept + (instead is None),
                    chance * tossed * probability,
                )

    go_on(0, 0, (0.0, 0.0), 0.0, 0, 1.0)
    return found


def test_an_episode_is_one_of_those_that_can_be_each_as_often_as_it_should():
    policy = Greedy(PROBLEM, Raw(), NETWORK, constant([1.0, 2.0]))
    found = jax.jit(jax.vmap(policy.episode))(jax.random.split(jax.random.key(3), EPISODES))
    expected, counted = episodes_of(1), {}
    for score, kept in zip(np.asarray(found.score), np.asarray(found.kept), strict=True):
        key = round(float(score), 4), int(kept)
        near = min(expected, key=lambda one, key=key: abs(one[0] - key[0]) + abs(one[1] - key[1]))
        assert near == pytest.approx(key, abs=2e-4)
        counted[near] = counted.get(near, 0) + 1
    for key, chance in expected.items():
        error = np.sqrt(chance * (1 - chance) / EPISODES)
        assert abs(counted.get(key, 0) / EPISODES - chance) < 5 * error + 1 / EPISODES
    assert np.asarray(found.achieved).tolist() == [1.0] * EPISODES
    at = PROBLEM.initial(jax.random.key(0))
    assert policy.decide(policy.start(), at) == ((), 1)
    assert policy.values((), at).tolist() == [1.0, 2.0]
    assert int(policy.act(jax.random.key(0), at.state, at.memory)) == 1


def test_an_evaluation_is_the_mean_of_rounds_of_a_hundred(monkeypatch):
    asked = []

    def score_greedy(problem, encoder, network, weights, keys, episodes):
        asked.append(episodes)
        assert keys.shape == (2,)
        return GreedyScore(*(jnp.full(2, float(len(asked) + k)) for k in range(3)))

    monkeypatch.setattr(deep, "score_greedy", score_greedy)
    agent = DQN(problem=PROBLEM, encoder=Raw(), network=NETWORK)
    learners = SimpleNamespace(target=(), key=jax.random.split(jax.random.key(0), 2))
    for episodes, rounds in ((1, [1]), (100, [100]), (101, [100, 100]), (300, [100] * 3)):
        asked.clear()
        found = agent.evaluate(learners, episodes)
        assert asked == rounds
        mean = (len(rounds) + 1) / 2
        assert [float(part[0]) for part in found] == [mean, mean + 1, mean + 2]


def test_what_was_learned_goes_on_from_its_steps():
    trained = []

    def train_steps(learners, steps):
        trained.append(steps)
        return learners

    agent = SimpleNamespace(train_steps=train_steps, policy=lambda learner: learner)
    learned = Learned(agent, (4, 7), 10, np.array([[1.0], [2.0]]))
    assert learned.train(1).steps == 11
    assert learned.train(5).train(np.int64(2)).steps == 17
    assert trained == [1, 5, 2]
    for steps in (0, -1, 1.5, 2.0, "2", True):
        with pytest.raises(BadParameter, match="whole number from 1"):
            learned.train(steps)
    assert [float(learned.policy(seed)[0]) for seed in (None, 4, 7)] == [1.0, 1.0, 2.0]
    with pytest.raises(BadParameter, match="no seed 5"):
        learned.policy(5)


def test_a_file_holds_so_many_policies_and_no_more():
    saved = Saved({}, PROBLEM, Raw(), NETWORK, {"w": np.array([[1.0], [2.0]])})
    assert saved.num_policies == 2
    assert saved.policy().weights["w"] == [1.0]
    assert saved.policy(1).weights["w"] == [2.0]
    for which in (-1, 2):
        with pytest.raises(BadFile, match=f"no policy {which} in this file: they run to 1"):
            saved.policy(which)


def test_a_file_is_scored_on_a_thousand_episodes_of_seed_0(monkeypatch):
    asked = []
    monkeypatch.setattr(policy_files, "score_greedy", lambda *given: asked.append(given[4:]))
    saved = Saved({}, PROBLEM, Raw(), NETWORK, {"w": np.zeros((2, 1))})
    saved.evaluate()
    saved.evaluate(3, 7)
    for (keys, episodes), (seed, number) in zip(asked, ((0, 1000), (3, 7)), strict=True):
        expected = jax.random.split(jax.random.key(seed), 2)
        assert (jax.random.key_data(keys) == jax.random.key_data(expected)).all()
        assert episodes == number


def test_episodes_side_by_side_need_room():
    """At 32 bytes a decision, and one more for the start, 2²⁷ of them take all there is."""
    require_room(2**20 - 1, 2**7)
    for horizon, episodes in ((2**20, 2**7), (2**20 - 1, 2**7 + 1)):
        with pytest.raises(TooLarge, match="ask for fewer episodes"):
            require_room(horizon, episodes)


def test_the_episodes_of_all_seeds_need_room(monkeypatch):
    weights = jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), constant([1.0, 2.0]))
    keys = jax.random.split(jax.random.key(0), 2)
    monkeypatch.setattr(greedy_policy, "MOST_BYTES", 32 * 4 * 6 - 1)
    with pytest.raises(TooLarge, match="6 episodes of 3 decisions"):
        score_greedy(PROBLEM, Raw(), NETWORK, weights, keys, 3)
