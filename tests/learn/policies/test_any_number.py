"""Learned once, used for any number: the same decisions whoever is who, or a sentence why not."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import Clock, Doughnuts, Full, Problem, Product, Total, anytime
from evenhand.envs import Lending, State, WaitingList
from evenhand.errors import BadParameter, EvenhandError
from evenhand.fairness.status import PerEntitlement
from evenhand.fairness.welfare import LogNash, Rawls
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Binary, Raw, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP
from evenhand.learn.policies.any_number import problem_for, usable_for
from evenhand.learn.policies.greedy_policy import Greedy
from evenhand.learn.policies.policy_files import load_policies, save_policies
from evenhand.learn.seeds import seed_keys, start_learners

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
