"""Tests of problem.problem."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save

from evenhand import (
    AfterEach,
    BalancedUnfairness,
    Discounted,
    FairnessScheme,
    FeedbackScheme,
    Final,
    Last,
    LogNash,
    Mean,
    Parity,
    Rawls,
    Returns,
    Step,
    TimepointFirst,
    Total,
    Trace,
    Utilitarian,
    Window,
    Worst,
    anytime,
    bounded,
    long_term,
    over_time,
    periodic,
)
from evenhand._util import saved
from evenhand.envs import Doughnuts, Lending, State, WaitingList
from evenhand.errors import (
    BadFile,
    BadParameter,
    CannotStream,
    CounterfactualsRefused,
    MemoryDoesNotPay,
    NotRewardLike,
    OverridesRefused,
    SchemeFileError,
    TooLarge,
)
from evenhand.fairness import MatrixFunction, WhenPrefix
from evenhand.fairness.trace import Override
from evenhand.interop.deployed_policy import load_policy
from evenhand.learn.policy_files import load_policies
from evenhand.memory.memory import (
    Clock,
    Full,
    GroupDifference,
    GroupFull,
    LastWinner,
    Min,
    Nothing,
    OfStatus,
    Product,
    Reset,
)
from evenhand.planning import load_plan, save_plan
from evenhand.planning.planner import plan
from evenhand.problem.checks import along_random_episodes, determining
from evenhand.problem.problem import Problem, build_problem, describe_problem
from evenhand.problem.reward import bounded_reward_like, reward_like

# A problem pays what the scheme says of the trace, and pays imagined memories alike.

SHOP = Doughnuts(num_stakeholders=3, horizon=12, presence=0.6)
PLAIN = Doughnuts(num_stakeholders=3, horizon=12, presence=0.6, wasted=None)
BANK = Lending(horizon=12)
GROUPS = {"A": [0, 1], "B": [2, 3]}

PAID = [
    Problem(SHOP, anytime(LogNash(), Total())),
    Problem(SHOP, anytime(LogNash(), Discounted(0.9))),
    Problem(SHOP, periodic(4, LogNash(), Total())),
    Problem(SHOP, bounded(AfterEach(3), LogNash(), Total())),
    Problem(SHOP, bounded(Final(), LogNash(), Total())),
    # A mean of a fixed number of assessments is a sum.
    Problem(SHOP, anytime(LogNash(), Mean())),
    Problem(PLAIN, periodic(5, LogNash(), Mean())),
    Problem(PLAIN, long_term(LogNash())),
    Problem(SHOP, anytime(LogNash(), Mean()), augment_with_score=True),
    Problem(SHOP, anytime(LogNash(), Last()), augment_with_score=True),
    Problem(SHOP, anytime(Parity(), Worst()), augment_with_score=True),
    Problem(SHOP, long_term(Rawls()), augment_with_score=True),
    Problem(SHOP, periodic(5, LogNash(), Discounted(0.9)), augment_with_score=True),
    Problem(SHOP, anytime(LogNash(), over_time(LogNash())), augment_with_score=True),
    Problem(SHOP, anytime(LogNash(), Total()), augment_with_score=True),
    Problem(SHOP, anytime(LogNash(), Total(), status=Window(3)), OfStatus(Window(3))),
    Problem(PLAIN, FairnessScheme(aggregation=BalancedUnfairness()), augment_with_score=True),
    Problem(
        PLAIN,
        FairnessScheme(aggregation=BalancedUnfairness(), filter=AfterEach(2), empty=-1.0),
        augment_with_score=True,
    ),
    Problem(
        SHOP,
        FairnessScheme(Returns(), TimepointFirst(Rawls(), Worst()), AfterEach(30), empty=-5.0),
        augment_with_score=True,
    ),
    Problem(BANK, anytime(Parity(GROUPS), Total()), GroupDifference(GROUPS)),
    Problem(BANK, periodic(5, Parity(GROUPS), Total()), GroupFull(GROUPS)),
]


def episode(problem, key):
    """A random episode: its pays, and its steps as the scheme's trace."""

    def decide(augmented, key):
        act_key, step_key = jax.random.split(key)
        action = jax.random.randint(act_key, (), 0, problem.environment.num_actions)
        following, step, pay = problem.step(step_key, augmented, action)
        kept = step._replace(next_state=None, override=step.override or Override(False, 0.0))
        return following, (kept, pay)

    start, *rest = jax.random.split(key, problem.environment.horizon + 1)
    return jax.lax.scan(decide, problem.initial(start), jnp.stack(rest))[1]


@pytest.mark.parametrize("problem", PAID, ids=lambda p: f"{p.scheme.describe()[-60:]}")
def test_an_episode_is_paid_the_score_of_its_trace(problem):
    keys = jax.random.split(jax.random.key(4), 25)
    steps, pays = jax.jit(jax.vmap(lambda key: episode(problem, key)))(keys)
    weights = problem.discount ** np.arange(pays.shape[1])
    different = set()
    for k in range(len(keys)):
        trace = Trace(
            rewards=steps.rewards[k],
            overrides=Override(np.array(steps.override.applies[k]), steps.override.value[k]),
        )
        paid = float(np.asarray(pays[k], dtype=float) @ weights)
        assert paid == pytest.approx(problem.scheme.score(trace), rel=2e-5, abs=2e-5)
        different.add(round(paid, 3))
    assert len(different) > 1 or problem.scheme.empty == -5.0  # the episodes do differ


def test_an_episode_without_assessment_and_without_a_name_for_it_is_paid_no_number():
    problem = Problem(PLAIN, bounded(AfterEach(30), LogNash(), Mean()), augment_with_score=True)
    _, pays = episode(problem, jax.random.key(0))
    assert np.isnan(pays[-1])
    assert not np.isnan(pays[:-1]).any()


@pytest.mark.parametrize(
    ("scheme", "words"),
    [
        (
            anytime(temporal=Worst()),
            r"Worst \(only the worst assessment counts\) is not a sum .*with a running minimum in "
            r"memory \(augment_with_score=True\)",
        ),
        (
            bounded(AfterEach(2), temporal=Mean()),
            r"Mean \(.*averaged\) .*a running total and count",
        ),
        (anytime(temporal=Last()), r"Last \(only the last assessment counts\)"),
        (periodic(3, temporal=Discounted(0.9)), r"Discounted \(.*the j-th discounted by 0.9"),
        (FairnessScheme(aggregation=BalancedUnfairness()), "everyone's running unfairness"),
    ],
)
def test_a_scheme_that_is_no_sum_is_refused_with_the_reason(scheme, words):
    with pytest.raises(NotRewardLike, match=words):
        Problem(PLAIN, scheme)
    Problem(PLAIN, scheme, augment_with_score=True)


def test_a_mean_is_no_sum_where_overrides_are_assessed_besides():
    with pytest.raises(NotRewardLike, match="Mean"):
        Problem(SHOP, periodic(3))
    assert Problem(SHOP, anytime()).discount == 1.0


def test_reward_like_and_bounded_reward_like_as_defined():
    total, discounted = anytime(temporal=Total()), anytime(temporal=Discounted(0.9))
    every, worst = periodic(3, temporal=Total()), anytime(temporal=Worst())
    balanced = FairnessScheme(aggregation=BalancedUnfairness())
    assert [reward_like(s).holds for s in (total, discounted, every, worst, balanced)] == [
        *(True, True, False, False, False)
    ]
    assert [bounded_reward_like(s).holds for s in (total, discounted, every, worst, balanced)] == [
        *(True, False, True, False, False)
    ]
    assert "after every 3 decisions" in reward_like(every).reason
    assert "not timepoint-first" in reward_like(balanced).reason
    # A period of 1 is every step, and a discount of 1 is none.
    assert reward_like(periodic(1, temporal=Discounted(0.9))).holds
    assert bounded_reward_like(periodic(3, temporal=Discounted(1.0))).holds


def test_a_filter_of_the_whole_history_is_not_bounded_reward_like():
    scheme = bounded(WhenPrefix(lambda trace: True), temporal=Total())
    found = bounded_reward_like(scheme)
    assert not found.holds
    assert "needs the whole history" in found.reason


def test_an_assessment_adds_its_share_of_the_sum():
    statuses = np.array([[1.0, 1.0, 0.0], [3.0, 0.0, 0.0]])
    logs = np.array([2 * np.log(2), np.log(4)])
    total, mean = (Problem(SHOP, anytime(LogNash(), one)) for one in (Total(), Mean()))
    assert total.welfare(statuses) == pytest.approx(logs)
    assert mean.welfare(statuses) == pytest.approx(logs / 12)  # of 12 steps
    seen = Problem(SHOP, anytime(LogNash(), Mean()), augment_with_score=True)
    assert seen.welfare(statuses) == pytest.approx(logs)  # which the running mean makes a score of


class Counter:
    """A world that counts steps; action 1 is paid −3 whatever the welfare, action 0 as it is."""

    num_stakeholders, num_actions, horizon, may_override, compiled = 2, 2, 3, True, True

    def initial(self, key):
        return 0

    def step(self, key, state, action):
        rewards = jnp.array([1.0, 2.0])
        return state + 1, Step(action, rewards, state + 1, Override(action == 1, -3.0))

    def is_over(self, state):
        return state == self.horizon


def test_an_episode_says_where_the_welfare_was_kept():
    problem = Problem(Counter(), anytime(Utilitarian(), Total()))
    keys = jnp.zeros(3)
    with jax.disable_jit():
        found = problem.episode(lambda key, now, turn: (1 - turn, turn), 0, None, (keys, keys))
    assert found.kept.tolist() == [1, 0, 1]
    assert found.rewards.tolist() == [3, -3, 9]
    assert found.last.memory.tolist() == [3, 6]


def test_a_problem_is_printed_without_what_follows_from_it():
    assert "pay" not in repr(Problem(SHOP, anytime(LogNash(), Total())))


def test_filters_and_folds_are_seen_without_being_asked_for():
    key = jax.random.key(0)
    plain = Problem(SHOP, anytime(temporal=Total())).initial(key).seen
    assert (plain.filter, plain.fold) == ((), ())
    periodic_problem = Problem(SHOP, periodic(4, temporal=Total()))
    augmented = periodic_problem.initial(key)
    for expected in (1, 2, 3, 0):
        augmented, _, _ = periodic_problem.step(key, augmented, 0)
        assert augmented.seen.filter == expected
    counting = Problem(SHOP, bounded(AfterEach(2), temporal=Total())).initial(key).seen
    assert len(counting.filter) == 2
    minimum = Problem(SHOP, anytime(Parity(), Worst()), augment_with_score=True).initial(key).seen
    assert minimum.fold == np.inf


@pytest.mark.parametrize(
    ("problem", "holds"),
    [
        (Problem(SHOP, anytime(LogNash(), Total()), Full()), True),
        (Problem(SHOP, anytime(LogNash(), Total()), Product((Clock(13), Full()))), True),
        (Problem(SHOP, anytime(LogNash(), Total()), Min()), False),
        (Problem(SHOP, anytime(Parity(), Total()), Min()), True),
        (Problem(SHOP, anytime(LogNash(), Total()), Reset()), None),
        (Problem(SHOP, anytime(LogNash(), Total()), LastWinner()), None),
        (Problem(SHOP, anytime(LogNash(), Total()), Nothing()), None),
        (Problem(SHOP, anytime(LogNash(), Total(), status=Window(2)), Full()), False),
        (Problem(BANK, BANK.parity_scheme(), GroupDifference(GROUPS)), True),
        (Problem(BANK, BANK.parity_scheme(), GroupFull(GROUPS)), True),
        (Problem(SHOP, anytime(Parity(), Worst()), Min(), augment_with_score=True), True),
    ],
)
def test_a_memory_is_checked_against_the_true_pay(problem, holds):
    if holds:
        problem.require_memory_pays()
        return
    words = "does not say which status" if holds is None else "at step .* it would give"
    with pytest.raises(MemoryDoesNotPay, match=words):
        problem.require_memory_pays()


@pytest.mark.parametrize(
    ("status", "memory", "advice"),
    [
        (Returns(), Min(), "Full()"),
        (Returns(), Full(), "OfStatus(Returns(…)), of the scheme's own status"),
        (Window(2), Min(), "OfStatus(Window(…)), of the scheme's own status"),
        (Window(2), Full(), "OfStatus(Window(…)), of the scheme's own status"),
    ],
)
def test_a_memory_that_would_do_is_advised(status, memory, advice):
    assert determining(Problem(SHOP, anytime(Rawls(), Total(), status), memory)) == advice


def test_a_memory_of_groups_is_not_a_memory_of_people():
    problem = Problem(BANK, anytime(Parity(GROUPS), Total()), GroupDifference(GROUPS))
    with pytest.raises(MemoryDoesNotPay, match=r"knows 2 numbers where the status .* has 4"):
        problem.require_memory_pays()


def test_the_error_shows_the_first_step_where_memory_and_pay_part():
    shop = Doughnuts(num_stakeholders=2, horizon=4, presence=1.0)
    problem = Problem(shop, anytime(LogNash(), Total()), Min())
    with pytest.raises(MemoryDoesNotPay, match=r"at step 2 .*\[0.0, 0.0\].*\[1.0, 1.0\]") as caught:
        problem.require_memory_pays(seed=2, episodes=1)  # one that serves each of the two once
    assert "it would give 0, but the reward is 1.38629" in str(
        caught.value
    )  # Min says (0, 0), log-Nash of (1, 1) is 1.386
    assert "1.38629" in str(caught.value)


def test_no_more_of_an_episode_is_looked_at_than_there_is():
    def shape(horizon):
        problem = Problem(Doughnuts(2, horizon, 0.5), anytime(LogNash(), Total()))
        return along_random_episodes(problem, lambda decision: decision.reward, 5).shape

    assert shape(3) == (5, 3)
    assert shape(1000) == (5, 256)  # enough, and compiled at once


def test_random_decisions_show_what_came_before_and_after():
    problem = Problem(Doughnuts(2, 4, 1.0), anytime(LogNash(), Total()), Full())

    def look(one):
        return one.before.memory, one.action, one.step.rewards, one.after.memory, one.reward

    before, action, received, after, reward = along_random_episodes(problem, look, 20, seed=3)
    assert set(action.ravel().tolist()) == {0, 1}
    assert (before[:, 0] == 0).all()
    assert (before[:, 1:] == after[:, :-1]).all()
    assert (after == before + received).all()
    assert (received == (np.arange(2) == action[..., None])).all()
    assert reward == pytest.approx(np.log1p(after).sum(axis=-1), rel=1e-6)


def test_a_scheme_that_cannot_say_other_rewards_is_asked_first():
    class BlackBox(FairnessScheme):
        """A scheme that says the score of what happened, and of nothing else."""

        def require_counterfactuals(self):
            FeedbackScheme().require_counterfactuals()

    problem = Problem(SHOP, BlackBox(aggregation=TimepointFirst(Rawls(), Total())), Nothing())
    with pytest.raises(CounterfactualsRefused, match="black box"):
        problem.require_memory_pays()


def test_a_counterfactual_of_a_wasted_doughnut_pays_nothing_and_remembers_nothing():
    problem = Problem(SHOP, anytime(LogNash(), Total()))
    augmented = problem.initial(jax.random.key(1))
    absent = State(augmented.state.world, jnp.array([False, True, True]))
    augmented = augmented._replace(state=absent)
    following, step, pay = problem.step(jax.random.key(2), augmented, 0)
    assert (pay, following.memory.tolist()) == (0.0, [0, 0, 0])
    imagined = jnp.array([3.0, 1.0, 2.0])
    memory, _, pay = problem.imagine(imagined, augmented.scheme_state, step, jnp.array(False))
    assert (pay, memory.tolist()) == (0.0, [3, 1, 2])


def test_an_imagined_memory_is_paid_what_the_environment_would_have_paid_it():
    """Put the imagined memory in, replay the step with the same randomness: the same comes out."""
    problem = Problem(SHOP, anytime(LogNash(), Total()))

    def both(key):
        start_key, memory_key, action_key, step_key = jax.random.split(key, 4)
        augmented = problem.initial(start_key)
        imagined = jax.random.randint(memory_key, (3,), 0, 9).astype(float)
        action = jax.random.randint(action_key, (), 0, 3)
        following, step, _ = problem.step(step_key, augmented, action)
        memory, _, told = problem.imagine(
            imagined, augmented.scheme_state, step, problem.environment.is_over(following.state)
        )
        status = augmented.scheme_state.status._replace(total=imagined)
        put_in = augmented._replace(
            memory=imagined, scheme_state=augmented.scheme_state._replace(status=status)
        )
        replayed, _, pay = problem.step(step_key, put_in, action)
        return (memory, told), (replayed.memory, pay)

    told, replayed = jax.vmap(both)(jax.random.split(jax.random.key(0), 500))
    jax.tree.map(np.testing.assert_array_equal, told, replayed)
    assert np.unique(told[1]).size > 50


def test_problems_that_cannot_be_are_named():
    with pytest.raises(OverridesRefused, match="BalancedUnfairness"):
        Problem(SHOP, FairnessScheme(aggregation=BalancedUnfairness()), augment_with_score=True)
    with pytest.raises(BadParameter, match="there are only 12"):
        Problem(SHOP, periodic(13), augment_with_score=True)
    with pytest.raises(CannotStream, match="MatrixFunction"):
        Problem(PLAIN, FairnessScheme(aggregation=MatrixFunction(np.mean)), augment_with_score=True)
    Problem(SHOP, periodic(13, temporal=Total()))  # a sum of nothing is 0


# A problem as a file: whatever is registered, and files of earlier versions.

SHOP_PROBLEM_FILE = Doughnuts(2, 3, (0.8, 0.5))
PROBLEMS = [
    Problem(SHOP_PROBLEM_FILE, SHOP_PROBLEM_FILE.default_scheme()),
    Problem(SHOP_PROBLEM_FILE, anytime(temporal=Mean()), Full(), augment_with_score=True),
    Problem(SHOP_PROBLEM_FILE, SHOP_PROBLEM_FILE.default_scheme(), Product((Full(), Clock(4)))),
    Problem(
        SHOP_PROBLEM_FILE,
        SHOP_PROBLEM_FILE.default_scheme(),
        Product((Product((Clock(2), LastWinner())), Full())),
    ),
    Problem(SHOP_PROBLEM_FILE, SHOP_PROBLEM_FILE.default_scheme(), OfStatus(Window(2))),
    Problem(Lending(), Lending().default_scheme(), GroupDifference(Lending().groups)),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.memory.describe())
def test_a_problem_is_built_again_from_what_json_keeps_of_it(problem):
    again = build_problem(json.loads(json.dumps(describe_problem(problem))))
    assert again == problem
    assert hash(again) == hash(problem)  # lists are tuples again: it can be compiled


def test_a_plan_of_a_product_memory_is_saved_and_loaded(tmp_path):
    problem = Problem(
        SHOP_PROBLEM_FILE, SHOP_PROBLEM_FILE.default_scheme(), Product((Full(), Clock(4)))
    )
    found = plan(problem, use_memory=True)
    save_plan(found, tmp_path / "a.plan")
    again = load_plan(tmp_path / "a.plan")
    assert again.problem == problem
    assert (
        again.value
        == found.value
        == plan(Problem(SHOP_PROBLEM_FILE, SHOP_PROBLEM_FILE.default_scheme())).value
    )


def test_no_more_is_carried_than_there_is_room_for():
    """A step of two stakeholders is 16 bytes, and 2^22 of them are the 64 MB that there are."""

    def header(length):
        return describe_problem(
            Problem(SHOP_PROBLEM_FILE, SHOP_PROBLEM_FILE.default_scheme(), OfStatus(Window(length)))
        )

    fits = build_problem(header(2**22 - 8))
    assert fits.memory == OfStatus(Window(2**22 - 8))
    with pytest.raises(TooLarge, match=r"carry 64 MB from step to step, and may carry 64 MB"):
        build_problem(header(2**22))


def test_what_has_no_name_cannot_be_written():
    class Nameless(Clock):
        """A memory that nobody registered."""

    problem = Problem(
        SHOP_PROBLEM_FILE, SHOP_PROBLEM_FILE.default_scheme(), Product((Full(), Nameless(3)))
    )
    with pytest.raises(SchemeFileError, match=r"Nameless is Python code .*named memory \(full"):
        describe_problem(problem)


def write_as_version_0_1(path, kind, header, arrays):
    """A file as evenhand 0.1 wrote it: the header does not say its format."""
    header = {**header, "kind": kind}
    header["digest"] = saved._digest(header, arrays)
    path.write_bytes(save(arrays, metadata={"evenhand": json.dumps(header)}))


@pytest.mark.parametrize(
    ("kind", "load"),
    [("plan", load_plan), ("policy", load_policies), ("numpy policy", load_policy)],
)
def test_a_file_of_an_earlier_version_is_refused_in_a_sentence(kind, load, tmp_path):
    old = {"version": "0.1.0", "environment": "doughnuts", "scheme": "", "memory": "full"}
    path = tmp_path / "old"
    write_as_version_0_1(path, kind, {**old, "remember_fold": False}, {"rows": np.zeros(2)})
    expected = f"old holds a {kind} of evenhand 0.1, which this version does not read: make the "
    with pytest.raises(BadFile, match=expected):
        load(path)


def test_a_file_of_a_later_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "FORMAT", saved.FORMAT + 1)
    save_plan(plan(PROBLEMS[0]), tmp_path / "later")
    monkeypatch.undo()
    with pytest.raises(BadFile, match="of another version of evenhand"):
        load_plan(tmp_path / "later")


def test_a_scheme_that_is_code_is_known_as_the_environments_own():
    """The waiting list's scheme reads the state by a method: no file could say it otherwise."""
    clinic = WaitingList(arrivals=(0.5, 0.5), urgencies=1.0, capacity=2, horizon=4)
    scheme = clinic.default_scheme()
    problem = Problem(clinic, scheme, Product((OfStatus(scheme.status), Clock(5))))
    header = json.loads(json.dumps(describe_problem(problem)))
    assert (header["scheme"], header["memory"][0]) == ("default", "scheme_status")
    again = build_problem(header)
    assert again.environment == clinic
    assert again.scheme == again.environment.default_scheme()
    assert again.memory.parts[0] == OfStatus(again.scheme.status)
    with pytest.raises(SchemeFileError, match="Python code"):
        describe_problem(Problem(clinic, clinic.urgency_scheme(), Full()))
