"""Tests of envs.episodes."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.envs import (
    Boosters,
    Crates,
    Doughnuts,
    GaussianLending,
    GreedyForBank,
    Jobs,
    Lending,
    LongestWaitFirst,
    Random,
    RoundRobin,
    Shifts,
    State,
    Triage,
    TurnTaking,
    Vaccines,
    WaitingList,
    as_policy,
    as_process,
    rollouts,
    to_trace,
)
from evenhand.envs.doughnuts import Shop
from evenhand.envs.episodes import rollout
from evenhand.envs.lending import GaussianLedger, Ledger
from evenhand.envs.waiting_list import Lists
from evenhand.errors import BadParameter
from evenhand.fairness.trace import Override
from evenhand.memory.memory import Clock, Full, GroupFull, Product
from evenhand.process import policy_score
from evenhand.process import rollout as host_rollout

# What holds of every environment, and of running it: compiled, as a trace, on the host.

MANY = 10_000
FINITE = [
    Doughnuts(3, 6, (0.2, 0.5, 0.9)),
    Lending(horizon=6, applying=(0.9, 0.5, 0.8, 0.3)),
    Vaccines(horizon=6),
    WaitingList(horizon=6, capacity=2),
    Shifts(((0, 4), (2, 6)), 0.7, 6),
    Crates(horizon=6),
    Boosters(horizon=6),
    Triage(horizon=6),
    Jobs(horizon=6),
]
STRICT = Lending(profit_margin=0.9)  # out of reach, so that the last step is overridden
finite = pytest.mark.parametrize("env", FINITE, ids=lambda env: type(env).__name__)
every = pytest.mark.parametrize(
    "env", [*FINITE, GaussianLending(horizon=6)], ids=lambda env: type(env).__name__
)


def rows(tree, axes=1):
    """A tree of arrays as one table, a row for each place along the leading axes."""
    leaves = [np.asarray(leaf, dtype=float) for leaf in jax.tree.leaves(tree)]
    return np.concatenate([leaf.reshape(*leaf.shape[:axes], -1) for leaf in leaves], axis=-1)


def require_frequencies(drawn, listed, probability):
    """The rows drawn are the rows listed, as often as said (five standard errors)."""
    seen = np.zeros(len(drawn), dtype=bool)
    for row in np.unique(listed, axis=0):
        chance = probability[(listed == row).all(axis=1)].sum()
        match = (drawn == row).all(axis=1)
        spread = 5 * np.sqrt(max(chance * (1 - chance), 0.0) / len(drawn)) + 1e-6
        assert abs(match.mean() - chance) <= spread
        seen |= match
    assert seen.all()


@pytest.mark.system  # takes seconds
@every
def test_noises_sum_to_one_and_agree_with_draw(env):
    noises, chances = env.noises()
    chances = np.asarray(chances, dtype=float)
    assert chances.sum() == pytest.approx(1.0, abs=1e-6)
    drawn = jax.vmap(env.draw)(jax.random.split(jax.random.key(0), MANY))
    require_frequencies(rows(drawn), rows(noises), chances)


@pytest.mark.system  # takes seconds
@finite
def test_outcomes_are_probabilities_and_sum_to_one_wherever_a_run_may_be(env):
    actions = jnp.arange(env.num_actions)
    run = rollout(env, Random(env.num_actions), Full(), jax.random.key(1))
    noises, _ = env.noises()

    def everywhere(world):
        return jax.vmap(lambda n: jax.vmap(lambda a: env.outcomes(world, n, a))(actions))(noises)

    listed = jax.jit(jax.vmap(everywhere))(run.steps.next_state.world)
    assert np.min(listed.probability) >= 0.0
    np.testing.assert_allclose(np.sum(listed.probability, axis=-1), 1.0, atol=1e-6)
    for leaf in jax.tree.leaves(listed.world):
        assert leaf.shape[:4] == listed.probability.shape


@pytest.mark.system  # takes seconds
@finite
def test_sampling_agrees_with_outcomes(env):
    run = rollout(env, Random(env.num_actions), Full(), jax.random.key(2))
    keys = jax.random.split(jax.random.key(3), MANY)

    @jax.jit
    def both(state, action):
        worlds = jax.vmap(lambda key: env.answer(key, *state, action))(keys)
        return worlds, env.outcomes(*state, action)

    for time in (0, 4):
        state = jax.tree.map(lambda leaf, t=time: leaf[t], run.steps.next_state)
        for action in range(env.num_actions):
            worlds, (probability, listed) = both(state, action)
            require_frequencies(rows(worlds), rows(listed), np.asarray(probability, dtype=float))


@pytest.mark.system  # takes seconds
@every
def test_the_step_number_counts_and_is_not_seen(env):
    run = rollout(env, Random(env.num_actions), Full(), jax.random.key(4))
    np.testing.assert_array_equal(run.steps.next_state.world.time, np.arange(1, 7))
    state = jax.tree.map(lambda leaf: leaf[2], run.steps.next_state)
    later = state._replace(world=state.world._replace(time=state.world.time + 2))
    np.testing.assert_array_equal(env.observation(state), env.observation(later))
    last = jax.tree.map(lambda leaf: leaf[-1], run.steps.next_state)
    assert env.is_over(last)
    assert not env.is_over(state)


@every
def test_an_environment_is_a_value(env):
    """Equal arguments make equal environments, so that compiled code is found again."""
    twin = type(env)(**{name: getattr(env, name) for name in env.__dataclass_fields__})
    assert twin == env
    assert hash(twin) == hash(env)


@every
def test_the_same_key_gives_the_same_run_and_another_key_another(env):
    act = Random(env.num_actions)
    first, again, other = (
        rows(rollout(env, act, Full(), jax.random.key(seed)).steps, 1) for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_many_runs_are_single_runs_side_by_side_and_a_trace_is_made_of_one():
    env = FINITE[1]
    runs = rollouts(env, Random(4), Full(), jax.random.key(7), 3)
    for i, key in enumerate(jax.random.split(jax.random.key(7), 3)):
        alone = rollout(env, Random(4), Full(), key)
        for many, one in zip(jax.tree.leaves(runs), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(many[i], one, rtol=1e-6)
    with pytest.raises(BadParameter, match=r"shape \(3, 6, 4\)"):
        to_trace(runs)


def test_the_memory_carried_is_what_update_gives_step_by_step():
    env, memory = STRICT, Product((GroupFull(STRICT.groups), Clock(7)))
    run = rollout(env, Random(4), memory, jax.random.key(8))
    value = memory.init(4)
    for t, step in enumerate(to_trace(run).steps()):
        value = memory.update(value, step)
        np.testing.assert_array_equal(value[0], run.memories[0][t])
        np.testing.assert_array_equal(value[1], run.memories[1][t])


@pytest.mark.parametrize("name", ["doughnuts", "lending"])
def test_a_trace_scores_what_the_run_paid_overrides_included(name):
    if name == "doughnuts":
        env = Doughnuts()
        scheme, memory = env.nash_scheme(), Full()
    else:
        env = STRICT
        scheme, memory = env.parity_scheme(), Product((GroupFull(env.groups), Clock(7)))
    for seed in range(5):
        run = rollout(env, Random(env.num_actions), memory, jax.random.key(seed))
        override = run.steps.override
        counts = run.memories if name == "doughnuts" else run.memories[0]
        pay = jnp.where(override.applies, override.value, scheme.welfare(counts))
        trace = to_trace(run)
        assert isinstance(trace.overrides, Override)
        assert scheme.score(trace) == pytest.approx(float(pay.sum()), rel=1e-5)
        assert len(trace.states) == env.horizon + 1
        np.testing.assert_array_equal(trace.actions, run.steps.action)
        if name == "lending":
            assert trace.overrides.value[-1] == -400.0


@pytest.mark.parametrize("env", [FINITE[1], FINITE[3]], ids=lambda env: type(env).__name__)
def test_a_host_process_runs_until_the_last_step(env):
    policy = as_policy(Random(env.num_actions), Full(), env)
    trace = host_rollout(as_process(env), policy, 100, np.random.default_rng(0))
    assert len(trace) == env.horizon
    assert trace.num_stakeholders == env.num_stakeholders
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(trace.states[-1]))
    assert isinstance(trace.states[-1], State)


def test_policy_score_of_turn_taking_for_the_children_by_hand():
    env = Doughnuts.for_children()
    score = policy_score(
        env.nash_scheme(), as_process(env), as_policy(TurnTaking(), Full(), env), 24, episodes=2
    )
    # After t doughnuts child i has (t + 2 − i) // 3 of them.
    expected = sum(math.log((t + 2 - i) // 3 + 1) for t in range(1, 25) for i in range(3))
    assert score.mean == pytest.approx(expected)
    assert score.interval == pytest.approx((expected, expected))


@pytest.mark.system  # takes seconds
def test_policy_score_of_chance_by_hand():
    """Two steps, two customers, each there half the time: half of all doughnuts are wasted."""
    env = Doughnuts(2, 2, 0.5)
    policy = as_policy(Random(2), Full(), env)
    score = policy_score(env.nash_scheme(), as_process(env), policy, 2, episodes=1000, seed=1)
    # First ln 2 or 0; then, if not wasted, ln 2 after a waste, else ln 3 or 2 ln 2.
    expected = math.log(2) + math.log(3) / 8
    spread = 0.7  # scores lie between 0 and 3 ln 2, half of the first steps paying nothing
    assert abs(score.mean - expected) < 5 * spread / math.sqrt(1000)


@pytest.mark.parametrize("action", [-1, 5])
def test_a_host_process_refuses_an_action_that_does_not_exist(action):
    process = as_process(Doughnuts())
    rng = np.random.default_rng(0)
    with pytest.raises(BadParameter, match="they run from 0 to 4"):
        process.step(process.initial(rng), action, rng)


# The hard-coded policies: what each chooses, under jit and vmap.

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
