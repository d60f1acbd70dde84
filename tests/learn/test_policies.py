"""Tests of learn.policies."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import three_rooms as rooms
from evenhand import Clock, Doughnuts, Full, Problem, Product, Total, anytime
from evenhand.envs import Lending, State, WaitingList
from evenhand.errors import BadFile, BadParameter, EvenhandError, TooLarge
from evenhand.fairness.scheme import anytime as anytime_greedy_policy
from evenhand.fairness.status import PerEntitlement
from evenhand.fairness.temporal import Discounted
from evenhand.fairness.welfare import LogNash, Rawls
from evenhand.learn import policies, policy_files
from evenhand.learn.deep import agent as deep
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Binary, Raw, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP
from evenhand.learn.fairqcm import Learned
from evenhand.learn.policies import (
    Greedy,
    GreedyScore,
    problem_for,
    require_room,
    score_greedy,
    usable_for,
)
from evenhand.learn.policy_files import Saved, load_policies, save_policies
from evenhand.learn.schedules import seed_keys, start_learners
from three_rooms import Rooms, ThreeRooms

# Learned once, used for any number: the same decisions whoever is who, or a sentence why not.

SHOP = Doughnuts(num_stakeholders=5, horizon=10)
ALIKE = EquivariantMLP((6, 6))


def policy_of(problem, network=ALIKE, encoder=Relative(), seed=3):
    layout = encoder.layout(problem)
    weights = network.init(jax.random.key(seed), layout, problem.environment.num_actions)
    return Greedy(problem, encoder, network, weights)


def learned(memory=Full(), **how):
    return policy_of(Problem(SHOP, SHOP.nash_scheme(), memory), **how)


def values(policy, present, counts):
    """What the policy expects of each action, where these are present and have had so many."""
    at = policy.problem.initial(jax.random.key(0))
    state = State(at.state.world, jnp.asarray(present, dtype=bool))
    at = at._replace(state=state, memory=jnp.asarray(counts, dtype=jnp.float32))
    return np.asarray(policy.values(policy.start(), at))


@functools.cache
def deciding_for(number):
    """The learned policy for so many, as a compiled function of who is present and their counts."""
    policy = learned().for_stakeholders(number)
    first = policy.problem.initial(jax.random.key(0))

    @jax.jit
    def expects(present, counts):
        at = first._replace(state=State(first.state.world, present), memory=counts)
        return policy.values(policy.start(), at)

    return lambda present, counts: np.asarray(
        expects(np.asarray(present, dtype=bool), np.asarray(counts, dtype=np.float32))
    )


SITUATIONS = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.lists(st.integers(0, 30), min_size=n, max_size=n),
        st.permutations(range(n)),
    )
)


@given(SITUATIONS)
def test_who_is_who_makes_no_difference_for_any_number(situation):
    """π(σx) = σπ(x): the values of exchanged customers are exchanged, and nothing else changes."""
    present, counts, order = situation
    order = list(order)
    expects = deciding_for(len(counts))
    found = expects(present, counts)
    moved = expects(np.array(present)[order], np.array(counts)[order])
    np.testing.assert_allclose(moved, found[order], rtol=1e-4, atol=1e-4)


def test_for_as_many_as_it_learned_with_it_decides_the_same_to_the_last_digit():
    policy = learned()
    again = policy.for_stakeholders(5)
    assert again.problem == policy.problem
    assert jax.tree.structure(again.weights) == jax.tree.structure(policy.weights)
    for counts in ([0, 0, 0, 0, 0], [3, 1, 4, 1, 5], [30, 0, 9, 2, 2]):
        present = [True, False, True, True, counts[0] > 3]
        assert values(again, present, counts).tolist() == values(policy, present, counts).tolist()


@given(st.integers(2, 3), st.lists(st.integers(0, 30), min_size=2, max_size=3))
def test_everyone_several_times_is_worth_the_same_to_each(times, counts):
    """Means do not notice that everyone is there several times, so that neither does the policy."""
    present = [i % 2 == 0 for i in range(len(counts))]
    one = deciding_for(len(counts))(present, counts)
    many = deciding_for(times * len(counts))(present * times, counts * times)
    np.testing.assert_allclose(many, np.tile(one, times), rtol=1e-3, atol=1e-3)


def test_the_problem_for_another_number_is_the_one_that_would_be_built():
    scheme = SHOP.nash_scheme()
    problem = Problem(SHOP, scheme, Product((Full(), Clock(11))))
    other = problem_for(problem, 50, 1000)
    assert other.environment == Doughnuts(num_stakeholders=50, horizon=1000)
    assert other.memory == Product((Full(), Clock(1001, shown_as=11)))
    assert problem_for(other, 5, 10).memory == Product((Full(), Clock(11, shown_as=11)))
    # A clock of another period, or of the same horizon, stays; so does a scheme for any number.
    ticking = Problem(SHOP, anytime(Rawls(), Total()), Product((Clock(5), Clock(11))))
    assert problem_for(ticking, 7, 20).memory == Product((Clock(5), Clock(21, shown_as=11)))
    assert problem_for(ticking, 7).memory == ticking.memory
    assert problem_for(ticking, 7).scheme == ticking.scheme
    alike = WaitingList(arrivals=(0.2, 0.2), urgencies=1.0)
    clinic = problem_for(Problem(alike, alike.default_scheme(), Full()), 3)
    assert clinic.environment == WaitingList(arrivals=(0.2,) * 3, urgencies=1.0)
    assert clinic.scheme == clinic.environment.default_scheme()


def test_a_longer_clock_is_seen_as_the_share_of_the_episode_that_is_over():
    long = Clock(1001, shown_as=11)
    shown = [long.attributes(np.asarray(t), 1000, 5)[0] for t in (0, 99, 100, 550, 1000)]
    assert [part.values.tolist() for part in shown] == [0, 0, 1, 5, 10]
    assert (shown[0].least, shown[0].most) == (0, 10)
    assert Clock(11, shown_as=11).attributes(np.asarray(7), 10, 5)[0].values.tolist() == 7


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (learned(network=MLP((4,))), "MLP has weights of its own for each of the 5 stakeholders"),
        (learned(network=EquivariantMLP((4,), kinds=(0, 0, 1, 1, 1))), "by their kind or group"),
    ],
)
def test_a_network_that_knows_who_is_who_is_refused(policy, said):
    with pytest.raises(BadParameter, match=said):
        policy.for_stakeholders(6)
    # For as many as it learned with, any will do.
    assert policy.for_stakeholders(5).problem == policy.problem


def test_a_policy_that_would_see_another_number_of_features_is_refused():
    policy = learned(encoder=Binary())  # ten decisions are counted in four bits, a thousand in ten
    assert policy.for_stakeholders(7).problem.environment.num_stakeholders == 7
    with pytest.raises(BadParameter, match="sees 5 numbers of each stakeholder and 0 of the whole"):
        policy.for_stakeholders(7, horizon=1000)


def test_stakeholders_that_differ_do_not_say_how_others_would_be():
    odd = Doughnuts(num_stakeholders=2, presence=(0.5, 0.9))
    with pytest.raises(BadParameter, match="are not alike"):
        problem_for(Problem(odd, odd.nash_scheme()), 3)
    assert problem_for(Problem(odd, odd.nash_scheme()), horizon=7).environment.horizon == 7
    shares = anytime(LogNash(), Total(), PerEntitlement((1.0, 1.0, 1.0, 1.0, 2.0)))
    with pytest.raises(EvenhandError, match=r"5 .*6"):
        problem_for(Problem(SHOP, shares), 6)
    with pytest.raises(BadParameter, match="does not treat all stakeholders alike"):
        problem_for(Problem(SHOP, shares), horizon=7)
    for number in (0, -1, True, 2.5):
        with pytest.raises(BadParameter, match="whole number from 1"):
            SHOP.resized(number)
    with pytest.raises(BadParameter, match=r"not alike|does not say how"):
        Lending().resized(7)


def test_one_more_is_tried_to_say_for_whom_a_policy_can_be_used():
    single = Doughnuts(num_stakeholders=1, horizon=4)
    for shop, network, any_number in (
        (SHOP, ALIKE, True),
        (single, ALIKE, True),
        (SHOP, MLP((4,)), False),
    ):
        policy = policy_of(Problem(shop, anytime(Rawls(), Total())), network)
        found = usable_for(policy.problem, policy.network, policy.encoder, policy.weights)
        assert found.any_number is any_number
        assert any_number or "learn with EquivariantMLP" in found.reason


@dataclass(frozen=True)
class Pair(Doughnuts):
    """A shop for two, whatever is asked."""

    def __post_init__(self):
        object.__setattr__(self, "num_stakeholders", 2)
        super().__post_init__()


def test_an_environment_that_cannot_grow_is_refused():
    with pytest.raises(BadParameter, match="Pair does not say how it would be with 3"):
        Pair(2).resized(3)


@pytest.mark.system
def test_files_say_for_whom_they_can_be_used(tmp_path):
    for network, any_number in ((ALIKE, True), (MLP((4,)), False)):
        problem = Problem(SHOP, anytime(Rawls(), Total()))
        agent = DQN(problem=problem, encoder=Raw(), network=network)
        weights = agent.acting(start_learners(agent, seed_keys([0, 1])))
        save_policies(tmp_path / "a.policy", agent, weights, {})
        saved = load_policies(tmp_path / "a.policy")
        said = saved.header["stakeholders"]
        assert (said["learned_with"], said["any_number"]) == (5, any_number)
        assert said["any_number"] or "learn with EquivariantMLP" in said["reason"]
        if any_number:
            many = saved.for_stakeholders(9, 12)
            assert many.num_policies == 2
            assert many.evaluate(episodes=3).score.shape == (2,)
            one, other = many.policy(1), saved.policy(1).for_stakeholders(9, 12)
            counts = np.arange(9.0)
            assert values(one, counts > 2, counts).tolist() == (
                values(other, counts > 2, counts).tolist()
            )
    policy = learned()
    parts = policy.problem, policy.network, policy.encoder, policy.weights
    assert usable_for(*parts).any_number


# A greedy policy's episodes against everything that can happen in three rooms.

PROBLEM = Problem(ThreeRooms(), anytime_greedy_policy(LogNash(), Discounted(0.5)), Full())
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
    monkeypatch.setattr(policies, "MOST_BYTES", 32 * 4 * 6 - 1)
    with pytest.raises(TooLarge, match="6 episodes of 3 decisions"):
        score_greedy(PROBLEM, Raw(), NETWORK, weights, keys, 3)
