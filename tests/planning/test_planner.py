"""Tests of planning.planner."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from statistics import fmean
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import brute_force as bf
import three_rooms as rooms
from evenhand import (
    AfterEach,
    BalancedUnfairness,
    Decayed,
    Discounted,
    FairnessScheme,
    FiniteMDP,
    GeneralisedGini,
    GroupTotals,
    LogNash,
    Mean,
    Nash,
    NegativeVariance,
    Parity,
    PerEntitlement,
    Rawls,
    TimepointFirst,
    Total,
    Trace,
    Utilitarian,
    WaitingTime,
    Window,
    Worst,
    anytime,
    bounded,
    periodic,
)
from evenhand._util.saved import read_tensors, write_tensors
from evenhand.envs import (
    Doughnuts,
    Environment,
    GaussianLending,
    Lending,
    Outcomes,
    State,
    Vaccines,
    WaitingList,
)
from evenhand.errors import (
    BadFile,
    BadParameter,
    CannotPlan,
    MemoryDoesNotPay,
    NegativeStatus,
    TooLarge,
)
from evenhand.fairness.status import StateStatus
from evenhand.fairness.trace import Override
from evenhand.memory.memory import Full, GroupDifference, Min
from evenhand.planning import load_plan, planner, save_plan
from evenhand.planning.evaluation import Evaluation, evaluate
from evenhand.planning.planner import (
    ARRAYS,
    TurnTakingCheck,
    best,
    check_turn_taking,
    effect_values,
    plan,
    uniform,
)
from evenhand.problem.problem import Problem
from three_rooms import Rooms, ThreeRooms

# Plans of the three rooms against expectimax over whole histories, and against each other.

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


# Plans as files: what comes back, and arrays that belong to no plan.

ENDLESS = anytime(LogNash(), Discounted(0.5), Window(1))


@pytest.fixture(scope="module")
def found():
    return plan(Problem(Doughnuts(2, 3, 0.5), NASH))


@pytest.fixture
def path(tmp_path, found):
    save_plan(found, tmp_path / "plan")
    return tmp_path / "plan"


def rewrite(path, header=None, **changes):
    """The file with some of its arrays, or of what it says, changed."""
    said, arrays = read_tensors(path, "plan", ARRAYS)
    arrays = dict(arrays)
    for name, change in changes.items():
        arrays[name] = np.ascontiguousarray(change(arrays[name]))
    write_tensors(path, "plan", {**said, **(header or {})}, arrays)


def with_cell(place, value):
    def change(array):
        array = array.copy()
        array[place] = value(array)
        return array

    return change


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (Problem(Doughnuts(2, 1, 0.5), NASH), {}),  # one state is expanded
        (Problem(Doughnuts(2, 3, 0.5), ENDLESS), {}),  # all are
        (Problem(Doughnuts(2, 3, 0.5), ENDLESS), {"horizon": math.inf}),
    ],
)
def test_a_plan_comes_back_as_it_was(problem, options, tmp_path):
    found = plan(problem, **options)
    save_plan(found, tmp_path / "plan")
    again = load_plan(tmp_path / "plan")
    assert (again.value, again.error, again.states) == (found.value, found.error, found.states)
    assert again.table.model == found.table.model
    assert again.table.within == found.table.within
    for one, other in zip(again.values, found.values, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_file_that_says_nothing_of_the_step_number_did_not_keep_it(path, found):
    said, arrays = read_tensors(path, "plan", ARRAYS)
    del said["keep_time"]
    write_tensors(path, "plan", said, dict(arrays))
    assert load_plan(path).table.model == found.table.model


def test_a_plan_for_another_horizon_is_refused(path):
    rewrite(path, {"horizon": 4})
    with pytest.raises(BadFile, match="planned for 4 decisions, and its environment has 3"):
        load_plan(path)


FORMS = {
    "rows of float32": ("rows", lambda rows: rows.astype(np.float32)),
    "a column fewer": ("rows", lambda rows: rows[:, 1:]),
    "a step fewer": ("within", lambda within: within[:-1]),
    "two steps fewer": ("within", lambda within: within[:-2]),
    "an effect fewer": ("following", lambda following: following[1:]),
    "wider numbers": ("following", lambda following: following.astype(np.int64)),
    "an outcome more": ("probability", lambda part: np.concatenate((part, part), axis=1)),
    "pay of fewer states": ("pay", lambda pay: pay[:, 1:]),
    "last pay of fewer states": ("last_pay", lambda pay: pay[:, 1:]),
    "values in a table": ("values", lambda values: values[:, None]),
    "an end fewer": ("ends", lambda ends: ends[1:]),
    "two ends fewer": ("ends", lambda ends: ends[2:]),
}


@pytest.mark.parametrize("name", FORMS)
def test_arrays_of_another_form_are_refused(name, path):
    part, change = FORMS[name]
    rewrite(path, **{part: change})
    with pytest.raises(BadFile, match=f"'{part}'|'following'"):
        load_plan(path)


NUMBERS = {
    "no number": {"rows": with_cell((1, 0), lambda rows: np.nan)},
    "nothing at the start": {"within": with_cell(0, lambda within: 0)},
    "fewer states later": {"within": with_cell(-1, lambda within: within[-2] - 1)},
    "more states than there are": {"within": with_cell(-1, lambda within: within[-1] + 1)},
    "before the first state": {"following": with_cell((0, 0, 0), lambda following: -1)},
    "after the last state": {"following": with_cell((0, 0, 0), lambda part: part.max() + 1)},
    "an end too late": {"ends": lambda ends: ends + (np.arange(len(ends)) == len(ends) - 1)},
    "a value too many": {
        "values": lambda values: np.append(values, 0.0),
        "ends": lambda ends: ends + (np.arange(len(ends)) == len(ends) - 1),
    },
    "values at other steps": {"ends": with_cell(0, lambda ends: ends[0] + 1)},
    "all values at other steps": {"ends": lambda ends: np.append(ends[1:] - 1, ends[-1])},
    "no state with anything after it": {
        part: lambda array: array[..., :0] for part in ("following", "probability", "pay")
    }
    | {"last_pay": lambda array: array[..., :0]},
}


@pytest.mark.parametrize("name", NUMBERS)
def test_states_that_no_plan_numbers_so_are_refused(name, path):
    rewrite(path, **NUMBERS[name])
    with pytest.raises(BadFile, match="numbered in a way that no plan"):
        load_plan(path)


# What must hold of plans, whatever the problem; and what is refused, in words.

PAIR = {"A": [0], "B": [1]}
SUPPLY = {"supplies": (2, 5), "supply_chances": (0.4, 0.6)}


def test_the_two_small_values_of_the_rules():
    doughnuts = plan(Problem(Doughnuts(2, 2, 0.5), NASH))
    assert doughnuts.value == pytest.approx(27 / 16 * math.log(2) + 3 / 16 * math.log(3), **NEAR)
    bank = Lending(horizon=10)
    lending = plan(Problem(bank, bank.parity_scheme()))
    assert lending.value == pytest.approx(-9.956349, abs=5e-7)


# Canonical order

TWO_EQUAL = Vaccines(
    (3, 3, 2), transport_cost=(1, 1, 0), delay=(0.2, 0.2, 0.5), horizon=3, **SUPPLY
)
SELDOM = Lending(applying=(0.9, 0.4, 0.9, 0.9), horizon=4)
ORDERED = {
    "doughnuts": (Problem(Doughnuts(3, 5, 0.7), NASH), True),
    "partly equal": (Problem(Doughnuts(3, 5, (0.4, 0.9, 0.4)), NASH), True),
    "mean": (
        Problem(
            Doughnuts(3, 4, (0.5, 0.5, 0.9)), anytime(LogNash(), Mean()), augment_with_score=True
        ),
        True,
    ),
    "balanced": (
        Problem(
            Doughnuts(3, 4, 0.7, wasted=None),
            FairnessScheme(aggregation=BalancedUnfairness()),
            augment_with_score=True,
        ),
        True,
    ),
    "window": (Problem(Doughnuts(3, 5, 0.7), anytime(LogNash(), Total(), Window(2))), True),
    "waiting time": (
        Problem(Doughnuts(3, 5, 0.7), anytime(Rawls(), Total(), WaitingTime())),
        True,
    ),
    "groups of people": (
        Problem(Doughnuts(3, 5, 0.7), anytime(Parity({"A": [0, 2], "B": [1]}), Total())),
        True,
    ),
    "gini, periodic": (
        Problem(Doughnuts(3, 5, 0.7), periodic(2, GeneralisedGini((3, 2, 1)), Total())),
        True,
    ),
    "entitlements": (
        Problem(Doughnuts(3, 5, 0.7), anytime(LogNash(), Total(), PerEntitlement((1, 2, 1)))),
        True,
    ),
    "lending": (Problem(Lending(horizon=5), Lending(horizon=5).parity_scheme()), True),
    "lending, one seldom applies": (Problem(SELDOM, SELDOM.parity_scheme()), True),
    "vaccines": (Problem(TWO_EQUAL, TWO_EQUAL.same_rate_scheme()), True),
    "waiting list": (
        Problem(
            WaitingList((0.5, 0.5, 0.3), 1.0, 2, horizon=4),
            WaitingList((0.5, 0.5, 0.3), 1.0, 2, horizon=4).waiting_scheme(),
        ),
        False,  # what it reads off the state may tell anyone apart
    ),
}


@pytest.mark.parametrize("name", ORDERED)
def test_canonical_order_changes_no_value(name):
    problem, merges = ORDERED[name]
    ordered, plain = plan(problem), plan(problem, canonical=False)
    assert ordered.value == pytest.approx(plain.value, **NEAR)
    assert ordered.random_value() == pytest.approx(plain.random_value(), **NEAR)
    assert (ordered.states < plain.states) == merges


def test_unequal_people_are_not_merged():
    unequal = Problem(Doughnuts(2, 4, (0.3, 0.9)), NASH)
    assert plan(unequal).states == plan(unequal, canonical=False).states
    entitled = Problem(Doughnuts(2, 4, 0.7), anytime(LogNash(), Total(), PerEntitlement((1, 3))))
    assert plan(entitled).value == pytest.approx(plan(entitled, canonical=False).value, **NEAR)


# Noise integrated out, or in the state


class Held(NamedTuple):
    """A world together with the noise that has been drawn, by its number."""

    inner: Any
    drawn: Any
    time: Any


@dataclass(frozen=True)
class NoiseInWorld(Environment):
    """The same environment with its noise among the outcomes. The first one drawn is given."""

    env: Environment = Doughnuts()
    first: int = 0

    @property
    def num_stakeholders(self):
        return self.env.num_stakeholders

    @property
    def num_actions(self):
        return self.env.num_actions

    @property
    def horizon(self):
        return self.env.horizon

    @property
    def may_override(self):
        return self.env.may_override

    def start(self):
        zero = jnp.zeros((), dtype=jnp.int32)
        return Held(self.env.start(), zero + self.first, zero)

    def draw(self, key):
        return jnp.zeros(())

    def noises(self):
        return jnp.zeros(1), jnp.ones(1)

    def outcomes(self, world, noise, action):
        now, inner = self.env.outcomes(world.inner, self._drawn(world), action)
        chances = self.env.noises()[1]
        worlds = len(now)
        repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf, len(chances), axis=0), inner)
        drawn = jnp.tile(jnp.arange(len(chances), dtype=jnp.int32), worlds)
        ticks = jnp.full(len(drawn), world.time + 1)
        return Outcomes((now[:, None] * chances).ravel(), Held(repeated, drawn, ticks))

    def rewards(self, state, action, world):
        return self.env.rewards(self._seen(state), action, world.inner)

    def override(self, state, action, world):
        return self.env.override(self._seen(state), action, world.inner)

    def observation(self, state):
        return self.env.observation(self._seen(state))

    def _drawn(self, world):
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[world.drawn], self.env.noises()[0])

    def _seen(self, state):
        return State(state.world.inner, self._drawn(state.world))


SMALL_BANK = Lending(start_credit=(0.5, 0.9), groups=PAIR, horizon=4)


@pytest.mark.parametrize(
    ("env", "scheme", "fold"),
    [
        (Doughnuts(2, 4, (0.3, 0.9)), NASH, False),
        (Doughnuts(3, 3, (1.0, 0.6, 0.6)), NASH, False),
        (Doughnuts(2, 4, 0.6), anytime(LogNash(), Mean()), True),
        (Doughnuts(2, 5, 0.6), periodic(2, Parity(), Worst()), True),
        (SMALL_BANK, SMALL_BANK.parity_scheme(), False),
        (
            Vaccines((3, 2), transport_cost=(0, 1), delay=(0.3, 0.1), horizon=3, **SUPPLY),
            anytime(NegativeVariance(), Total(), PerEntitlement((3, 2))),
            False,
        ),
    ],
    ids=["unequal", "three", "mean", "worst", "lending", "vaccines"],
)
def test_noise_in_the_state_changes_no_value(env, scheme, fold):
    """The first noise is drawn before the first decision, so the starts are averaged."""
    out = plan(Problem(env, scheme, augment_with_score=fold))
    starts = [(chance, first) for first, chance in enumerate(chances_of(env)) if chance > 0]
    best = blind = 0.0
    for chance, first in starts:
        inside = plan(Problem(NoiseInWorld(env, first), scheme, augment_with_score=fold))
        best += chance * inside.value
        blind += chance * inside.random_value()
    assert out.value == pytest.approx(best, **NEAR)
    assert out.random_value() == pytest.approx(blind, **NEAR)


def chances_of(env):
    """The probability of each row of `env.noises()`, not taken from there."""
    if isinstance(env, Vaccines):
        return list(env.supply_chances)
    chances = env.presence if isinstance(env, Doughnuts) else env.applying
    rows = np.asarray(env.noises()[0])
    return [math.prod(c if x else 1 - c for x, c in zip(r, chances, strict=True)) for r in rows]


# A memory in place of the status


def test_a_memory_that_pays_gives_the_same_value_from_fewer_states():
    bank = Lending(horizon=5)
    shop = Doughnuts(3, 5, (0.4, 0.9, 0.4))
    for problem in (
        Problem(bank, bank.parity_scheme(), GroupDifference(bank.groups)),
        Problem(shop, anytime(Parity(), Worst()), Min(), augment_with_score=True),
    ):
        small, full = plan(problem, use_memory=True), plan(problem)
        assert small.value == pytest.approx(full.value, **NEAR)
        assert small.random_value() == pytest.approx(full.random_value(), **NEAR)
        assert small.states < full.states


def test_a_memory_that_does_not_determine_the_reward_cannot_stand_for_the_status():
    shop = Doughnuts(2, 3, 0.5)
    with pytest.raises(MemoryDoesNotPay, match="does not determine the reward"):
        plan(Problem(shop, shop.default_scheme(), Min()), use_memory=True)


# Without a horizon


def test_without_a_horizon_as_with_a_long_one():
    discount, steps = 0.8, 60
    scheme = anytime(LogNash(), Discounted(discount), Window(2))
    most = 2 * math.log(2)  # two doughnuts in the window, one each
    forever = plan(Problem(Doughnuts(2, 5, (0.4, 0.9)), scheme), horizon=math.inf)
    long = plan(Problem(Doughnuts(2, steps, (0.4, 0.9)), scheme))
    assert forever.error <= 1e-9
    assert long.value <= forever.value + forever.error
    tail = discount**steps / (1 - discount) * most
    assert forever.value - long.value <= tail + forever.error
    coarse = plan(Problem(Doughnuts(2, 5, (0.4, 0.9)), scheme), horizon=math.inf, tolerance=0.1)
    assert 1e-4 < abs(coarse.value - forever.value) <= coarse.error <= 0.1
    with pytest.raises(CannotPlan, match="discount below 1"):
        plan(Problem(Doughnuts(2, 5), anytime(LogNash(), Total(), Window(2))), horizon=math.inf)


def test_without_a_horizon_as_by_solving_linear_equations():
    """What is paid is the reward of the step alone, so a policy's value solves V = r + γPV."""
    finite = pytest.importorskip("evenhand.planning.model")
    rng = np.random.default_rng(3)
    transitions = rng.dirichlet(np.ones(3), size=(3, 2))
    rewards = rng.integers(0, 4, (3, 2, 3, 2)).astype(float)
    pay = np.einsum("sax,sax->sa", transitions, np.log(rewards + 1).sum(axis=-1))
    values = []
    for rule in itertools.product(range(2), repeat=3):
        moves = transitions[range(3), rule]
        values.append(np.linalg.solve(np.eye(3) - 0.9 * moves, pay[range(3), rule])[1])
    env = finite.MDPEnvironment(FiniteMDP(1, transitions, rewards), 7)
    scheme = anytime(LogNash(), Discounted(0.9), Window(1))
    assert plan(Problem(env, scheme), horizon=math.inf).value == pytest.approx(max(values), **NEAR)


# Monte Carlo

NUMBER = 1000  # of episodes: within one chunk of 1,024 rows

CLINIC = WaitingList((0.6, 0.4), (1.0, 3.0), 2, horizon=6)
SHIPPING = Vaccines((3, 2), transport_cost=(0, 1), delay=(0.3, 0.1), horizon=6, **SUPPLY)


def per_head(history):
    return [x / y for x, y in zip(bf.received(history), (3, 2), strict=True)]


SAMPLED = {
    "doughnuts": (Problem(Doughnuts(3, 6, (0.8, 0.4, 0.8)), NASH), bf.Scheme()),
    "lending": (
        Problem(Lending(horizon=6), Lending(horizon=6).parity_scheme()),
        bf.Scheme(bf.parity, status=bf.by_group(((0, 1), (2, 3)))),
    ),
    "vaccines": (
        Problem(SHIPPING, SHIPPING.same_rate_scheme()),
        bf.Scheme(bf.minus_variance, status=per_head),
    ),
    "waiting list": (Problem(CLINIC, CLINIC.urgency_scheme()), None),
    "worst": (
        Problem(Doughnuts(2, 6, 0.6), anytime(Parity(), Worst()), augment_with_score=True),
        bf.Scheme(bf.parity, min),
    ),
}


def compiled(problem):
    """The first states and the steps of many episodes, compiled once for several policies."""

    def begin(key):
        return jax.vmap(problem.initial)(jax.random.split(key, NUMBER))

    def step(key, augmented, actions):
        return jax.vmap(problem.step)(jax.random.split(key, NUMBER), augmented, actions)

    return jax.jit(begin), jax.jit(step)


def sampled_scores(problem, run, literal, choose, seed=0):
    """The scores of many episodes, by the literal definition where there is one."""
    begin, take = run
    start, *keys = jax.random.split(jax.random.key(seed), problem.environment.horizon + 1)
    augmented = begin(start)
    paid, happened = np.zeros(NUMBER), []
    for now, key in enumerate(keys):
        actions = np.asarray(choose(now, augmented), dtype=np.int32)
        augmented, step, pay = take(key, augmented, actions)
        paid += np.asarray(pay)
        happened.append(jax.device_get((step.rewards, step.override)))
    if literal is None:
        return paid
    histories = zip(*([*_as_plain(*part)] for part in happened), strict=True)
    scores = [literal.score(history, problem.environment.horizon) for history in histories]
    assert paid == pytest.approx(scores, abs=1e-4, rel=1e-5)  # the learner is paid the same
    return np.asarray(scores)


def _as_plain(rewards, override):
    for i, row in enumerate(rewards.tolist()):
        stands_in = override is not None and bool(override.applies[i])
        yield bf.DecisionRecord(tuple(row), float(override.value[i]) if stands_in else None, ())


def require_within_interval(scores, exact):
    error = scores.std(ddof=1) / math.sqrt(len(scores))
    assert abs(scores.mean() - exact) <= 4 * error


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_episodes_agree_with_the_exact_values(name):
    problem, literal = SAMPLED[name]
    found, run = plan(problem), compiled(problem)
    best = sampled_scores(problem, run, literal, lambda now, state: found.act_many(now, state)[0])
    require_within_interval(best, found.value)
    rng = np.random.default_rng(1)
    size = problem.environment.num_actions
    blind = sampled_scores(
        problem, run, literal, lambda now, state: rng.integers(size, size=NUMBER)
    )
    require_within_interval(blind, found.random_value())
    # The two are far enough apart for the intervals to tell them from each other.
    error = math.hypot(best.std(), blind.std()) / math.sqrt(NUMBER)
    assert found.value - found.random_value() > 8 * error


@pytest.mark.parametrize(
    ("scheme", "fold"),
    [(anytime(LogNash(), Mean()), True), (anytime(LogNash(), Total(), Decayed(3.0)), False)],
)
def test_the_policy_runs_where_what_is_carried_is_no_whole_number(scheme, fold):
    problem = Problem(Doughnuts(2, 4, 0.7), scheme, augment_with_score=fold)
    found = plan(problem)
    run = compiled(problem)
    scores = sampled_scores(problem, run, None, lambda now, state: found.act_many(now, state)[0])
    require_within_interval(scores, found.value)


# Turn taking


def turn_taking(world, scheme_state, noise):
    """Of those present, the one with least."""
    return jnp.argmax(jnp.where(noise, -scheme_state.status.total, -jnp.inf))


def rare_first(chances):
    """Turn taking that prefers, among equals, those who are seldom there."""

    def choose(world, scheme_state, noise):
        counts = scheme_state.status.total + 1e-3 * jnp.asarray(chances)
        return jnp.argmax(jnp.where(noise, -counts, -jnp.inf))

    return choose


@pytest.mark.parametrize("canonical", [True, False])
def test_turn_taking_is_optimal_in_every_reachable_state(canonical):
    found = plan(Problem(Doughnuts(3, 12, 0.8), NASH), canonical=canonical)
    assert found.is_best_everywhere(turn_taking, treats_alike=True) == (True, None)

    def greedy(world, scheme_state, noise):
        return jnp.argmax(jnp.where(noise, scheme_state.status.total, -jnp.inf))

    holds, witness = found.is_best_everywhere(greedy, treats_alike=True)
    assert not holds
    assert witness["values"][witness["chosen"]] < max(witness["values"]) - 1e-6


def test_with_unequal_presence_it_matters_who_goes_first_among_equals():
    chances = (0.8, 0.8, 0.3)
    found = plan(Problem(Doughnuts(3, 12, chances), NASH), canonical=False)
    holds, witness = found.is_best_everywhere(turn_taking)
    assert not holds
    assert witness["values"][2] > witness["values"][0] + 1e-3  # who is seldom there goes first
    assert found.is_best_everywhere(rare_first(chances)) == (True, None)


@pytest.mark.parametrize(
    ("horizon", "chances", "rule"),
    [
        (3, (0.9, 0.2), turn_taking),
        # Here not even the order among equals mends it: a second one now for who is seldom there.
        (6, (0.1, 0.9), rare_first((0.1, 0.9))),
    ],
)
def test_where_turn_taking_is_not_optimal_brute_force_says_so_too(horizon, chances, rule):
    found = plan(Problem(Doughnuts(2, horizon, chances), NASH))
    holds, witness = found.is_best_everywhere(rule)
    assert not holds
    _, scheme_state = found.table.model.from_rows(np.array([witness["state"]]), 0)
    counts = scheme_state.status.total[0].astype(int).tolist()
    steps = [
        bf.DecisionRecord(bf.one_for(i, 2), None, ()) for i in (0, 1) for _ in range(counts[i])
    ]
    wasted = witness["time"] - 1 - len(steps)
    history = (*steps, *[bf.DecisionRecord((0.0, 0.0), 0.0, ())] * wasted)
    world, literal = bf.Shop(horizon, chances), bf.Scheme()
    so_far = literal.score(history, horizon) if history else 0.0
    (present,) = witness["noise"]
    exact = [q - so_far for q in bf.action_values(world, literal, history, (), present)]
    assert witness["values"] == pytest.approx(exact, **NEAR)
    assert exact[witness["chosen"]] < max(exact) - 1e-3


def test_a_rule_that_depends_on_who_is_who_is_not_shown_optimal_in_canonical_order():
    """Whoever stands first is, in canonical order, the one with least."""
    first_come = lambda world, scheme_state, noise: jnp.argmax(noise)  # noqa: E731
    with pytest.raises(CannotPlan, match="who is who"):
        plan(Problem(Doughnuts(3, 6, 0.8), NASH)).is_best_everywhere(first_come)
    holds, _ = plan(Problem(Doughnuts(3, 6, 0.8), NASH), canonical=False).is_best_everywhere(
        first_come
    )
    assert not holds


def test_without_a_horizon_a_bad_rule_is_not_shown_optimal():
    scheme = anytime(LogNash(), Discounted(0.9), Window(2))
    found = plan(Problem(Doughnuts(2, 6, 0.8), scheme), horizon=math.inf, canonical=False)
    holds, _ = found.is_best_everywhere(lambda world, scheme_state, noise: jnp.argmin(noise))
    assert not holds


# What is refused


def test_a_scheme_that_can_end_unassessed_is_refused_with_a_witness():
    shop = Doughnuts(2, 3, 0.5, wasted=None)
    unsure = bounded(AfterEach(3), LogNash(), Mean())
    with pytest.raises(CannotPlan, match=r"can end without any assessment.*comes to \[.*empty="):
        plan(Problem(shop, unsure, augment_with_score=True))
    named = FairnessScheme(aggregation=TimepointFirst(LogNash(), Mean()), filter=AfterEach(3))
    named = FairnessScheme(named.status, named.aggregation, named.filter, empty=-1.0)
    literal = bf.Scheme(over_time=fmean, assessed=bf.after_each(3), empty=-1.0)
    found = plan(Problem(shop, named, augment_with_score=True))
    assert found.value == pytest.approx(
        bf.best_value(bf.Shop(3, (0.5, 0.5), None), literal), **NEAR
    )
    # A waste is paid for, and so is an assessment: then nothing ends unassessed.
    plan(Problem(Doughnuts(2, 3, 0.5), unsure, augment_with_score=True))


def test_the_witness_of_an_unassessed_end_can_come_about():
    """Everybody is always there, so two of three doughnuts are given before the last decision."""
    shop = Doughnuts(2, 3, 1.0, wasted=None)
    with pytest.raises(CannotPlan) as caught:
        plan(Problem(shop, bounded(AfterEach(9), LogNash(), Mean()), augment_with_score=True))
    assert "comes to [0.0, 0.0, 0.0, 1.0, 0.0," not in str(caught.value)  # the start


def test_an_unreachable_end_is_no_reason_to_refuse():
    """A default of probability 0 leads nowhere, whatever nothing assessed would be worth."""
    bank = Lending(horizon=3)
    scheme = periodic(2, Parity(), Mean(), GroupTotals(bank.groups))
    assert math.isfinite(plan(Problem(bank, scheme, augment_with_score=True)).value)


def test_too_large_is_said_before_memory_runs_out():
    started = time.perf_counter()
    with pytest.raises(TooLarge, match=r"about [\d.e+]+ states.* GB .*alike.*horizon.*learner"):
        plan(Problem(Doughnuts(12, 200), NASH), canonical=False, memory_limit=2**28)
    assert time.perf_counter() - started < 120  # it takes about a second


def test_what_cannot_be_listed_is_refused_in_words():
    bank = GaussianLending(horizon=3)
    with pytest.raises(CannotPlan, match="outcomes cannot be listed"):
        plan(Problem(bank, bank.parity_scheme()))


@dataclass(frozen=True)
class Careless(Doughnuts):
    """Doughnuts with one thing wrong."""

    wrong: str = ""

    def effects(self):
        declared = super().effects()
        if self.wrong == "effects":
            declared[declared == 1] = 0  # giving to the one is giving to the other
        return declared

    def noises(self):
        values, chances = super().noises()
        factor = {"noise": 0.9, "no number": jnp.nan}.get(self.wrong, 1.0)
        return values, chances * factor

    def outcomes(self, world, noise, action):
        chances, worlds = super().outcomes(world, noise, action)
        factor = {"outcomes": 0.9, "outcomes no number": jnp.nan}.get(self.wrong, 1.0)
        if self.wrong == "negative":
            twice = jax.tree.map(lambda leaf: jnp.concatenate((leaf, leaf)), worlds)
            return Outcomes(jnp.asarray([1.5, -0.5]), twice)
        if self.wrong == "outcomes of one action":
            factor = jnp.where(action == 1, 0.9, 1.0)
        return Outcomes(chances * factor, worlds)


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ("effects", CannotPlan, "effects says .* and they do not"),
        ("noise", BadParameter, "sum to 0.9"),
        ("no number", BadParameter, "sum to nan"),
        ("outcomes", CannotPlan, "sum to 0.9"),
        ("outcomes of one action", CannotPlan, "sum to 0.9"),
        ("outcomes no number", CannotPlan, "sum to nan"),
        ("negative", CannotPlan, "at least 0"),
    ],
)
def test_models_that_contradict_themselves_are_refused(wrong, error, words):
    with pytest.raises(error, match=words):
        plan(Problem(Careless(2, 3, 0.5, wrong=wrong), NASH))
    assert plan(Problem(Careless(2, 2, 0.5), NASH)).value == pytest.approx(1.37568, abs=5e-6)


@dataclass(frozen=True)
class Moody(Doughnuts):
    """A waste is paid −5, but only in the second step."""

    def override(self, state, action, world):
        waste = super().override(state, action, world)
        return Override(waste.applies, jnp.where(world.time == 2, -5.0, 0.0))


def test_rules_that_change_with_the_step_number_are_planned_or_refused():
    class MoodyShop(bf.Shop):
        def outcomes(self, time, state, present, action):
            self.wasted = -5.0 if time == 2 else 0.0
            return super().outcomes(time, state, present, action)

    try:
        found = plan(Problem(Moody(2, 3, 0.5), NASH))
    except CannotPlan:
        return
    exact = bf.best_value(MoodyShop(3, (0.5, 0.5)), bf.Scheme())
    assert found.value == pytest.approx(exact, **NEAR)


def test_a_status_that_reads_the_step_number_is_planned_or_refused():
    status = StateStatus(lambda state: jnp.stack([state.world.time * 1.0] * 2))
    try:
        found = plan(Problem(Doughnuts(2, 3, 0.5, None), anytime(Utilitarian(), Total(), status)))
    except CannotPlan:
        return
    assert found.value == pytest.approx(2 + 4 + 6, **NEAR)


def test_a_welfare_that_is_not_defined_is_refused_as_in_scoring():
    scheme = anytime(Nash(), Total(), WaitingTime())
    with pytest.raises(NegativeStatus):
        scheme.score(Trace(rewards=[[1, 0], [1, 0]]))
    with pytest.raises((NegativeStatus, CannotPlan)):
        plan(Problem(Doughnuts(2, 3, 0.5, wasted=None), scheme))


# Turn taking is compared with a plan where that means something, and said in words.


def test_it_is_optimal_among_equals_and_not_among_unequal():
    found = check_turn_taking(plan(Problem(Doughnuts(2, 4, 0.8), NASH)))
    assert found == TurnTakingCheck(True)
    assert found.to_json() == {"optimal": True}
    assert "of those present, serve the one who has had least" in found.describe()
    unequal = check_turn_taking(plan(Problem(Doughnuts(2, 3, (0.9, 0.2)), NASH)))
    assert not unequal.optimal
    witness = unequal.witness
    assert unequal.to_json() == {"optimal": False, "witness": witness}
    values, chosen = witness["values"], witness["chosen"]
    best = values.index(max(values))
    assert best != chosen
    assert (
        f"at step {witness['time']}, with [0, 1] present, it serves {chosen} (worth "
        f"{values[chosen]:.4f}) where serving {best} is worth {values[best]:.4f}."
    ) in unequal.describe()


def test_where_it_means_nothing_or_takes_long_nothing_is_said(monkeypatch):
    bank = Lending(horizon=2)
    entitled = anytime(LogNash(), Total(), PerEntitlement((1, 2)))
    for problem in (Problem(bank, NASH), Problem(Doughnuts(2, 2, 0.5), entitled)):
        assert check_turn_taking(SimpleNamespace(problem=problem, table=None)) is None
    found = plan(Problem(Doughnuts(2, 3, 0.5), NASH), canonical=False)
    # 1 + 3 + 6 states before each decision, 4 sets of who is there, 2 actions.
    looked_at = (1 + 3 + 6) * 4 * 2
    monkeypatch.setattr(planner, "MAX_CHECKED", looked_at)
    assert check_turn_taking(found) == TurnTakingCheck(True)
    monkeypatch.setattr(planner, "MAX_CHECKED", looked_at - 1)
    assert check_turn_taking(found) is None
