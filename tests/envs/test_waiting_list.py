"""The waiting list: arrivals, bounded queues, treatment, and waits as a status."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.envs import Random, State, WaitingList, to_trace
from evenhand.envs.episodes import rollout
from evenhand.envs.waiting_list import Lists
from evenhand.errors import BadParameter, EvenhandError, UnequalLengths
from evenhand.fairness.welfare import Utilitarian
from evenhand.memory.memory import Full

MANY = 20_000
STEPS = 15
CLINIC = WaitingList(arrivals=(0.5, 0.5), urgencies=(1.0, 3.0), capacity=(3, 2), horizon=STEPS)


def within(frequency, chance, number):
    """Five standard errors: about one in two million for a right program."""
    return np.abs(frequency - chance) <= 5 * np.sqrt(chance * (1 - chance) / number) + 1e-12


def after(env, world, noise, action):
    chance, worlds = env.outcomes(world, jnp.asarray(noise), action)
    assert chance.shape == (1,)
    return jax.tree.map(lambda leaf: leaf[0], worlds)


def lists(queue, waited, patients, time=0):
    return Lists(*(jnp.asarray(part) for part in (queue, waited, patients, time)))


@functools.partial(jax.jit, static_argnames="env")
def follow(env, noises, actions):
    """The worlds that given arrivals and actions lead to, with the rewards."""

    def one(world, both):
        noise, action = both
        _, worlds = env.outcomes(world, noise, action)
        following = jax.tree.map(lambda leaf: leaf[0], worlds)
        return following, (following, env.rewards(State(world, noise), action, following))

    return jax.lax.scan(one, env.start(), (noises, actions))[1]


def test_four_classes_by_default_with_their_own_rates_and_urgencies():
    env = WaitingList()
    assert (env.num_stakeholders, env.num_actions) == (4, 4)
    assert len(set(env.arrivals)) == len(set(env.urgencies)) == 4


def test_a_patient_of_each_class_arrives_with_its_probability_and_is_seen():
    env = WaitingList()
    drawn = np.asarray(jax.vmap(env.draw)(jax.random.split(jax.random.key(0), MANY)))
    assert within(drawn.mean(axis=0), np.array(env.arrivals), MANY).all()
    state = State(lists([2, 0], [6, 0], [3, 0]), jnp.array([True, True]))
    np.testing.assert_array_equal(CLINIC.observation(state), [3, 1, 1.5, 0.0, 4, 1])


@given(
    st.tuples(st.integers(0, 3), st.integers(0, 2)),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.booleans(), st.booleans()),
    st.integers(0, 1),
)
@settings(max_examples=20)
def test_what_is_seen_says_what_every_choice_leads_to(queue, waited, left, noise, action):
    """The next mean waits, worked out from the observation alone, are those of the world."""
    patients = np.add(queue, left)
    before = State(lists(queue, np.where(patients, waited, 0), patients), jnp.asarray(noise))
    waiting, mean, ever = np.asarray(CLINIC.observation(before), dtype=float).reshape(3, 2)
    world = after(CLINIC, *before, action)
    stay = waiting - np.where(np.arange(2) == action, np.minimum(waiting, 1), 0)
    np.testing.assert_allclose(
        CLINIC.negated_mean_wait(State(world, noise)),
        -(mean * ever + stay) / np.maximum(ever, 1),
        rtol=1e-5,
    )


def test_one_who_has_just_come_may_be_treated_and_waits_0_steps():
    world = after(CLINIC, CLINIC.start(), [True, False], 0)
    np.testing.assert_array_equal(world.queue, [0, 0])
    np.testing.assert_array_equal(world.waited, [0, 0])
    np.testing.assert_array_equal(world.patients, [1, 0])


def test_everyone_still_waiting_has_waited_one_step_more():
    world = after(CLINIC, lists([2, 1], [5, 1], [4, 1]), [False, True], 0)
    np.testing.assert_array_equal(world.queue, [1, 2])
    np.testing.assert_array_equal(world.waited, [6, 3])
    np.testing.assert_array_equal(world.patients, [4, 2])
    assert world.time == 1


def test_an_empty_class_has_nobody_to_treat_and_the_step_is_lost():
    before = lists([0, 2], [0, 4], [0, 2])
    state = State(before, jnp.array([False, False]))
    world = after(CLINIC, before, state.noise, 0)
    np.testing.assert_array_equal(world.queue, [0, 2])
    np.testing.assert_array_equal(world.waited, [0, 6])
    np.testing.assert_array_equal(CLINIC.rewards(state, 0, world), [0.0, 0.0])
    assert not CLINIC.override(state, 0, world).applies


def test_an_arrival_at_a_full_queue_is_turned_away_and_is_in_no_total():
    before = lists([3, 1], [4, 4], [5, 5])
    state = State(before, jnp.array([True, True]))
    np.testing.assert_array_equal(CLINIC.turned_away(state), [True, False])
    world = after(CLINIC, before, state.noise, 0)  # full when the patient came, though one leaves
    np.testing.assert_array_equal(world.queue, [2, 2])
    np.testing.assert_array_equal(world.patients, [5, 6])


def test_nobody_is_turned_away_who_did_not_come():
    state = State(lists([3, 2], [4, 4], [5, 5]), jnp.array([False, False]))
    assert not np.any(CLINIC.turned_away(state))


histories = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.integers(0, 1)), min_size=STEPS, max_size=STEPS
)


@given(history=histories, longest_first=st.booleans())
def test_queue_lengths_suffice_for_the_mean_wait_of_individual_patients(history, longest_first):
    """Patients by hand, first come first served: and last come first served gives the same."""
    noises = np.array([row[:2] for row in history])
    actions = np.array([row[2] for row in history])
    worlds, rewards = follow(CLINIC, noises, actions)
    queues: list[list[int]] = [[], []]
    treated: list[list[int]] = [[], []]
    for t in range(STEPS):
        for i in range(2):
            if noises[t, i] and len(queues[i]) < (3, 2)[i]:
                queues[i].append(0)
        chosen = actions[t]
        served = bool(queues[chosen])
        if served:
            treated[chosen].append(queues[chosen].pop(0 if longest_first else -1))
        queues = [[wait + 1 for wait in queue] for queue in queues]
        assert rewards[t].tolist() == [float(served and i == chosen) for i in range(2)]
        world = jax.tree.map(lambda leaf, t=t: np.asarray(leaf[t]), worlds)
        everyone = [queues[i] + treated[i] for i in range(2)]
        expected = [-np.mean(waits) if waits else 0.0 for waits in everyone]
        np.testing.assert_allclose(
            CLINIC.negated_mean_wait(State(world, None)), expected, rtol=1e-12
        )


@settings(max_examples=25)
@given(seed=st.integers(0, 2**31 - 1))
def test_queues_stay_within_their_bounds(seed):
    run = rollout(CLINIC, Random(2), Full(), jax.random.key(seed))
    queue = np.asarray(run.steps.next_state.world.queue)
    assert queue.min() >= 0
    assert (queue <= [3, 2]).all()
    world = run.steps.next_state.world
    np.testing.assert_array_equal(np.asarray(world.patients) - queue, run.memories)  # treated


def test_the_schemes_read_the_wait_off_the_state():
    env = CLINIC
    trace = to_trace(rollout(env, Random(2), Full(), jax.random.key(4)))
    worlds = [state.world for state in trace.states[1:]]
    waits = np.array([-world.waited / np.maximum(world.patients, 1) for world in worlds])
    assert env.waiting_scheme().score(trace) == pytest.approx(waits.min(axis=1).sum())
    urgent = waits * [1.0, 3.0]
    assert env.urgency_scheme().score(trace) == pytest.approx(urgent.min(axis=1).sum())
    summed = env.waiting_scheme(Utilitarian())
    assert summed.score(trace) == pytest.approx(waits.sum())
    assert waits.min() < 0


def test_a_class_without_patients_has_status_0():
    state = State(CLINIC.start(), jnp.zeros(2, dtype=bool))
    np.testing.assert_array_equal(CLINIC.negated_mean_wait(state), [0.0, 0.0])


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"horizon": 0}, BadParameter, "horizon is 0"),
        ({"arrivals": (), "urgencies": 1.0}, UnequalLengths, "arrivals is empty"),
        ({"arrivals": (0.5, 1.5), "urgencies": 1.0}, BadParameter, "arrivals of 1 is 1.5"),
        ({"urgencies": (1.0, 2.0)}, UnequalLengths, "2 entries for 4"),
        ({"urgencies": -1.0}, BadParameter, "urgencies is -1"),
        ({"capacity": 0}, BadParameter, "capacity is 0"),
        ({"capacity": 2.5}, BadParameter, "places are whole numbers"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        WaitingList(**arguments)
    assert isinstance(caught.value, EvenhandError)
