"""The hard-coded policies: what each chooses, under jit and vmap."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import (
    Doughnuts,
    GaussianLending,
    GreedyForBank,
    Lending,
    LongestWaitFirst,
    Random,
    RoundRobin,
    State,
    TurnTaking,
    WaitingList,
    to_trace,
)
from evenhand.envs.doughnuts import Shop
from evenhand.envs.episodes import rollout
from evenhand.envs.lending import GaussianLedger, Ledger
from evenhand.envs.waiting_list import Lists
from evenhand.memory.memory import Full

KEY = jax.random.key(0)


def score(env, scheme, act, runs=20):
    """Mean undiscounted score, overrides included."""
    keys = jax.random.split(jax.random.key(1), runs)
    return np.mean([scheme.score(to_trace(rollout(env, act, Full(), key))) for key in keys])


def test_the_oracle_serves_the_present_person_served_least():
    counts = (3.0, 1.0, 1.0, 0.0)
    act = jax.jit(TurnTaking())
    for present in itertools.product((False, True), repeat=4):
        chosen = int(act(KEY, State(Shop(0), jnp.array(present)), jnp.array(counts)))
        there = [i for i in range(4) if present[i]]
        assert chosen == (min(there, key=lambda i: (counts[i], i)) if there else 0)


def test_the_oracle_takes_turns_where_all_are_present():
    run = rollout(Doughnuts.for_children(), TurnTaking(), Full(), KEY)
    np.testing.assert_array_equal(run.steps.action, np.arange(24) % 3)


def test_the_oracle_never_wastes_a_doughnut_that_someone_could_have():
    run = rollout(Doughnuts(3, 500, 0.4), TurnTaking(), Full(), KEY)
    noise = np.concatenate((run.initial.noise[None], run.steps.next_state.noise[:-1]))
    np.testing.assert_array_equal(run.steps.override.applies, ~noise.any(axis=-1))
    assert np.any(run.steps.override.applies)


@pytest.mark.parametrize("number", [2, 5, 7])
def test_random_takes_every_action_with_the_same_probability(number):
    many = 20_000
    act = Random(number)
    actions = jax.vmap(lambda key: act(key, None, None))(jax.random.split(KEY, many))
    frequency = np.bincount(actions, minlength=number) / many
    assert len(frequency) == number
    chance = 1 / number
    assert (np.abs(frequency - chance) < 5 * np.sqrt(chance * (1 - chance) / many)).all()


def test_round_robin_goes_round_whoever_is_present():
    run = rollout(Doughnuts(), RoundRobin(5), Full(), KEY)
    np.testing.assert_array_equal(run.steps.action, np.arange(100) % 5)


def test_greedy_for_the_bank_lends_to_the_best_credit_among_those_who_applied():
    zero = jnp.asarray(0)
    levels, score = jnp.array([3, 6, 7, 6]), jnp.array([0.5, 0.8, 0.9, 0.8])
    for env, world in (
        (Lending(), Ledger(levels, zero, zero)),
        (GaussianLending(), GaussianLedger(score, zero, zero)),
    ):
        act = jax.jit(GreedyForBank(env))
        for applies in itertools.product((False, True), repeat=4):
            chosen = int(act(KEY, State(world, jnp.array(applies)), None))
            there = [i for i in range(4) if applies[i]]
            assert chosen == (max(there, key=lambda i: (levels[i], -i)) if there else 0)


@pytest.mark.system  # takes seconds
def test_greedy_for_the_bank_earns_more_than_taking_turns():
    env = Lending()

    def profit(act):
        runs = [rollout(env, act, Full(), key) for key in jax.random.split(KEY, 20)]
        return np.mean([run.steps.next_state.world.net[-1] for run in runs])

    assert profit(GreedyForBank(env)) > profit(TurnTaking()) + 2


def test_longest_wait_first_treats_the_class_with_the_largest_mean_wait():
    clinic = WaitingList(arrivals=(0.5,) * 3, urgencies=1.0)
    world = Lists(*(jnp.array(part) for part in ([1, 2, 0], [4, 9, 30], [4, 3, 3], 5)))
    act = jax.jit(LongestWaitFirst(clinic))
    none, third = jnp.zeros(3, dtype=bool), jnp.array([False, False, True])
    assert act(KEY, State(world, none), None) == 1  # mean waits 1, 3, and 10 with nobody waiting
    assert act(KEY, State(world, third), None) == 2  # somebody has come
    assert act(KEY, State(clinic.start(), none), None) == 0  # nobody waits anywhere
    assert act(KEY, State(clinic.start(), third), None) == 2


def test_longest_wait_first_is_fairer_to_the_worst_off_class_than_chance():
    clinic = WaitingList()

    scheme = clinic.waiting_scheme()
    assert score(clinic, scheme, LongestWaitFirst(clinic)) > 0.5 * score(clinic, scheme, Random(4))


def test_turn_taking_is_better_than_going_round_and_that_than_chance():
    env, scheme = Doughnuts(), Doughnuts().nash_scheme()
    turns, around, chance = (
        score(env, scheme, act) for act in (TurnTaking(), RoundRobin(5), Random(5))
    )
    assert turns > around > chance


def test_being_greedy_for_the_bank_is_unfair():
    env = Lending()
    scheme = env.parity_scheme()
    assert score(env, scheme, GreedyForBank(env)) < score(env, scheme, TurnTaking())
