"""RULES.md, "Worlds", lending: sentence by sentence; and the Gaussian form of the appendix."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.envs import GaussianLending, Lending, OutcomesNotFinite, Random, State
from evenhand.envs.episodes import rollout
from evenhand.envs.lending import GaussianLedger, Ledger
from evenhand.errors import BadParameter, EvenhandError, GroupsDoNotFit, NotFinite, UnequalLengths
from evenhand.fairness.groups import Groups
from evenhand.fairness.trace import Trace
from evenhand.fairness.welfare import Parity
from evenhand.memory.memory import Full, GroupFull

EVERYONE = jnp.ones(4, dtype=bool)
MANY = 20_000
BOTH = pytest.mark.parametrize("env", [Lending(), GaussianLending()], ids=["discrete", "gaussian"])


def within(frequency, chance, number):
    """Five standard errors: about one in two million for a right program."""
    return np.abs(frequency - chance) <= 5 * np.sqrt(chance * (1 - chance) / number) + 1e-12


def answers(env, world, action, seed=0, noise=EVERYONE):
    keys = jax.random.split(jax.random.key(seed), MANY)
    return jax.vmap(lambda key: env.answer(key, world, noise, action))(keys)


def at(env, net, time):
    return env.start()._replace(net=jnp.asarray(net), time=jnp.asarray(time))


@BOTH
def test_the_papers_numbers_are_the_defaults(env):
    assert (env.num_stakeholders, env.num_actions, env.horizon) == (4, 4, 40)
    np.testing.assert_allclose(env.credit(env.start()), [0.5, 0.5, 0.9, 0.9], rtol=1e-6)
    assert env.applying == (0.9,) * 4
    assert env.groups == Groups.of({"A": [0, 1], "B": [2, 3]})
    assert env.least_net == 4
    assert (env.repayment, env.credit_range) == (1.0, (0.2, 0.9))


@pytest.mark.system  # takes seconds
@BOTH
def test_who_applies_is_drawn_afresh_before_every_step_the_first_included(env):
    first = jax.vmap(env.initial)(jax.random.split(jax.random.key(1), MANY)).noise
    assert within(np.mean(first, axis=0), 0.9, MANY).all()
    run = rollout(env, Random(4), Full(), jax.random.key(1), horizon=MANY)
    later = np.asarray(run.steps.next_state.noise)
    assert within(later.mean(axis=0), 0.9, MANY).all()
    # Afresh: twice running as often as two independent draws (every other pair, to be apart).
    twice = (later[0::2] & later[1::2]).mean(axis=0)
    assert within(twice, 0.81, MANY // 2).all()


def test_who_applies_is_seen_with_credit_and_profit():
    env = Lending(repayment=2.0)
    world = at(env, 3, 9)
    seen = env.observation(State(world, EVERYONE.at[1].set(False)))
    np.testing.assert_allclose(seen, [1, 0, 1, 1, 0.5, 0.5, 0.9, 0.9, 6.0], rtol=1e-6)


@BOTH
@pytest.mark.parametrize(("action", "group"), [(0, 0), (1, 0), (2, 1), (3, 1)])
def test_a_loan_to_someone_who_applied_counts_for_their_group(env, action, group):
    _, step = env.step(jax.random.key(0), State(env.start(), EVERYONE), action)
    np.testing.assert_array_equal(step.rewards, np.eye(4)[action])
    memory = GroupFull(env.groups)
    np.testing.assert_array_equal(memory.update(memory.init(4), step), np.eye(2)[group])
    assert not step.override.applies


@pytest.mark.system  # takes seconds
@BOTH
@pytest.mark.parametrize(("action", "chance"), [(0, 0.5), (2, 0.9)])
def test_repaid_with_probability_equal_to_the_credit_score_before_the_loan(env, action, chance):
    worlds = answers(env, env.start(), action)
    assert within(np.mean(worlds.net == 1), chance, MANY)
    assert set(np.unique(worlds.net)) == {-1, 1}


@pytest.mark.parametrize("level", range(8))
def test_the_chance_follows_the_level(level):
    env = Lending()
    world = Ledger(jnp.array([level, 0, 0, 0]), jnp.asarray(0), jnp.asarray(0))
    chance, _ = env.outcomes(world, EVERYONE, 0)
    np.testing.assert_allclose(chance, [0.2 + 0.1 * level, 0.8 - 0.1 * level], atol=1e-6)


@pytest.mark.parametrize(
    ("level", "up", "down"), [(3, 4, 2), (0, 1, 0), (7, 7, 6)], ids=["inside", "lowest", "highest"]
)
def test_repaid_credit_up_defaulted_credit_down_and_credit_stays_within(level, up, down):
    env = Lending()
    world = Ledger(jnp.array([5, level, 5, 5]), jnp.asarray(2), jnp.asarray(6))
    _, (levels, net, time) = env.outcomes(world, EVERYONE, 1)
    np.testing.assert_array_equal(levels, [[5, up, 5, 5], [5, down, 5, 5]])
    np.testing.assert_array_equal(net, [3, 1])
    np.testing.assert_array_equal(time, [7, 7])


def test_profit_moves_by_r_and_credit_by_c():
    env = Lending(repayment=2.5, credit_step=0.35, start_credit=(0.55, 0.2, 0.9, 0.9))
    _, worlds = env.outcomes(env.start(), EVERYONE, 0)
    np.testing.assert_allclose(env.profit(worlds), [2.5, -2.5])
    np.testing.assert_allclose(env.credit(worlds)[:, 0], [0.9, 0.2], rtol=1e-6)


@pytest.mark.system
@settings(max_examples=25)
@given(seed=st.integers(0, 2**31 - 1))
def test_credit_stays_within_its_range_and_never_drifts(seed):
    env = Lending()
    run = rollout(env, Random(4), Full(), jax.random.key(seed), horizon=MANY)
    levels = np.asarray(run.steps.next_state.world.level)
    assert np.issubdtype(levels.dtype, np.integer)
    assert levels.min() >= 0
    assert levels.max() <= env.top_level == 7
    # Where a step moves a level it moves it by one, for one applicant, who got the loan.
    moves = np.abs(np.diff(levels, axis=0))
    assert (moves <= np.asarray(run.steps.rewards)[1:]).all()
    assert moves.any()


@BOTH
def test_a_loan_to_someone_who_did_not_apply_changes_no_count_credit_or_profit(env):
    noise = EVERYONE.at[0].set(False)
    worlds = answers(env, env.start(), 0, noise=noise)
    np.testing.assert_allclose(env.credit(worlds), np.tile(env.start_credit, (MANY, 1)), rtol=1e-6)
    np.testing.assert_array_equal(worlds.net, 0)
    np.testing.assert_array_equal(worlds.time, 1)
    _, step = env.step(jax.random.key(0), State(env.start(), noise), 0)
    np.testing.assert_array_equal(step.rewards, np.zeros(4))


@BOTH
@pytest.mark.parametrize("time", [0, 20, 38])
def test_a_loan_to_someone_who_did_not_apply_is_overridden_by_minus_T(env, time):
    _, step = env.step(jax.random.key(0), State(at(env, 9, time), ~EVERYONE), 2)
    assert step.override.applies
    assert step.override.value == -40.0


@BOTH
@pytest.mark.parametrize(("net", "missed"), [(3, True), (4, False), (-40, True), (40, False)])
def test_at_the_last_step_a_profit_below_a_tenth_of_T_is_overridden_by_minus_10_T(env, net, missed):
    state, after = State(at(env, net, 39), EVERYONE), at(env, net, 40)
    override = env.override(state, 0, after)
    assert bool(override.applies) == missed
    if missed:
        assert override.value == -400.0
    for time in (38, 40):  # neither before nor after the last step
        elsewhere = env.override(State(at(env, net, time), EVERYONE), 0, at(env, net, time + 1))
        assert not elsewhere.applies


@BOTH
@pytest.mark.parametrize(("net", "value"), [(3, -400.0), (4, -40.0)])
def test_the_last_step_penalty_takes_precedence_over_the_wrong_loan_penalty(env, net, value):
    override = env.override(State(at(env, net, 39), ~EVERYONE), 0, at(env, net, 40))
    assert override.applies
    assert override.value == value


@pytest.mark.parametrize(
    ("margin", "horizon", "least"),
    [(0.1, 40, 4), (0.1, 10, 1), (0.1, 15, 2), (0.1, 1, 1), (0.07, 100, 7), (0.55, 100, 55)],
)
def test_a_profit_equal_to_the_target_is_not_below_it_whatever_the_rounding(margin, horizon, least):
    assert Lending(profit_margin=margin, horizon=horizon).least_net == least


def test_penalties_depend_on_the_step_alone_not_on_what_is_remembered():
    """So they hold for counterfactual memories: the override takes (s, a, s') and nothing else."""
    env = Lending()
    run = rollout(env, Random(4), Full(), jax.random.key(5), horizon=MANY)
    before = jax.tree.map(lambda leaf: leaf[:-1], run.steps.next_state)
    after = jax.tree.map(lambda leaf: leaf[1:], run.steps.next_state)
    again = jax.vmap(env.override)(before, run.steps.action[1:], after.world)
    np.testing.assert_array_equal(again.applies, run.steps.override.applies[1:])
    np.testing.assert_array_equal(again.value, run.steps.override.value[1:])
    assert again.applies.any()


def test_w_t_is_minus_the_gap_between_loans_to_A_and_to_B_after_the_step():
    scheme = Lending().parity_scheme()
    loans = np.eye(4)[[0, 1, 0, 2, 3, 3, 3]]
    # Gaps after each step: 1, 2, 3, 2, 1, 0, 1.
    for steps, total in ((1, -1), (3, -6), (5, -9), (7, -10)):
        assert scheme.score(Trace(rewards=loans[:steps])) == total


def test_one_step_optimum_by_hand():
    """T=1: lend to B if any applies (−1 or, defaulted, −10), else to A, else −10 in any case."""
    env = Lending(horizon=1)
    noises, chances = env.noises()
    welfare, world = Parity(env.groups), env.start()

    def pay(noise, action):
        probability, worlds = env.outcomes(world, noise, action)
        state = State(world, noise)

        def each(after):
            override = env.override(state, action, after)
            return jnp.where(
                override.applies, override.value, welfare(env.rewards(state, action, after))
            )

        return probability @ jax.vmap(each)(worlds)

    table = jax.vmap(lambda noise: jax.vmap(lambda a: pay(noise, a))(jnp.arange(4)))(noises)
    some = 0.9 * 2 - 0.81
    expected = some * -1.9 + (1 - some) * (some * -5.5 + (1 - some) * -10.0)
    assert float(chances @ table.max(axis=1)) == pytest.approx(expected, abs=1e-5)


def test_gaussian_change_has_the_papers_mean_and_spread():
    env = GaussianLending(credit_range=(0.0, 1.0))
    worlds = answers(env, env.start(), 0)
    change, repaid = np.asarray(worlds.score[:, 0]) - 0.5, np.asarray(worlds.net) == 1
    for group, mean in ((repaid, 0.05), (~repaid, -0.05)):
        number = group.sum()
        assert abs(change[group].mean() - mean) < 5 * 0.1 / np.sqrt(number)
        assert abs(change[group].std() - 0.1) < 5 * 0.1 / np.sqrt(2 * number)
    np.testing.assert_allclose(worlds.score[:, 1:], np.tile([0.5, 0.9, 0.9], (MANY, 1)), rtol=1e-6)


def test_gaussian_credit_is_clipped_to_the_range():
    env = GaussianLending()
    zero = jnp.asarray(0)
    world = GaussianLedger(jnp.array([0.21, 0.5, 0.89, 0.9]), zero, zero)
    for action, bound in ((0, 0.2), (2, 0.9)):
        score = np.asarray(answers(env, world, action).score[:, action])
        assert score.min() >= np.float32(0.2)
        assert score.max() <= np.float32(0.9)
        assert (score == np.float32(bound)).mean() > 0.2  # a clip, not a reflection


def test_gaussian_outcomes_cannot_be_listed():
    env = GaussianLending()
    with pytest.raises(OutcomesNotFinite, match="plan `Lending`"):
        env.outcomes(env.start(), EVERYONE, 0)
    assert issubclass(OutcomesNotFinite, EvenhandError)


def test_the_scripts_start_of_06_is_one_argument():
    env = Lending(start_credit=(0.6, 0.6, 0.9, 0.9))
    assert env.start_levels == (4, 4, 7, 7)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"horizon": 0}, BadParameter, "horizon is 0"),
        ({"repayment": 0.0}, BadParameter, "repayment is 0.0"),
        ({"credit_range": (0.9, 0.2)}, BadParameter, "credit_range"),
        ({"credit_range": (0.2, 1.1)}, BadParameter, "probabilities"),
        ({"start_credit": (0.1, 0.5, 0.9, 0.9)}, BadParameter, "start_credit of 0 is 0.1"),
        ({"start_credit": (0.55, 0.5, 0.9, 0.9)}, BadParameter, "not a whole number of steps"),
        ({"credit_step": 0.0}, BadParameter, "credit_step is 0.0"),
        ({"credit_step": 0.3}, BadParameter, "upper bound of credit_range"),
        ({"applying": 2.0}, BadParameter, "applying is 2"),
        ({"applying": (0.5,)}, UnequalLengths, "1 entries for 4"),
        ({"groups": {"A": [0], "B": [2, 3]}}, GroupsDoNotFit, "stakeholder 1 is in no group"),
        ({"profit_margin": float("nan")}, NotFinite, "margin"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        Lending(**arguments)
    assert isinstance(caught.value, EvenhandError)


def test_a_wrong_spread_is_refused_by_name():
    with pytest.raises(BadParameter, match="change_sigma is -1"):
        GaussianLending(change_sigma=-1)
