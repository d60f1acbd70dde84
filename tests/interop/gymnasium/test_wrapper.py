"""The fairness wrapper: the scheme's own score, the memory in the observation, plain refusals."""

from __future__ import annotations

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

from evenhand import (
    Discounted,
    Every,
    FairnessScheme,
    LogNash,
    Mean,
    Min,
    Rawls,
    TimepointFirst,
    Total,
    Trace,
    anytime,
    periodic,
)
from evenhand.errors import (
    BadParameter,
    CannotCarry,
    NegativeStatus,
    NoStakeholderRewards,
    NotReset,
    NotRewardLike,
    UnequalLengths,
)
from evenhand.interop import DictObservation, FairnessWrapper, FromInfo, FromReward, fairness_of
from evenhand.learn.deep.encoders import Relative
from evenhand.memory.memory import Clock, Full, Product

NASH = anytime(LogNash(), Total())


class Kitchen(gymnasium.Env):
    """Not ours: two pots, a number for what stands where, and a reward for each cook."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(2)

    def __init__(self, rewards=2, worth=1.0):
        self.rewards, self.worth = rewards, worth

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return 0, {}

    def step(self, action):
        self.time += 1
        reward = np.zeros(self.rewards)
        reward[action] = self.worth
        return self.time % 3, float(reward.sum()), False, self.time == 5, {"each": reward}


def played(env, seed=0):
    """One episode of random decisions: its steps, and the last info."""
    env.action_space.seed(seed)
    env.reset(seed=seed)
    first = getattr(env.unwrapped, "state", None)
    steps, paid, is_over, info = [], [], False, {}
    while not is_over:
        _, pay, terminated, truncated, info = env.step(env.action_space.sample())
        steps.append(info["step_context"].step)
        paid.append(pay)
        is_over = terminated or truncated
    return Trace.from_steps(steps, first), paid, info


@pytest.mark.parametrize(
    "name", ["Doughnuts", "Lending", "Vaccines", "WaitingList", "Crates", "Jobs"]
)
def test_what_is_paid_adds_up_to_the_scheme_of_the_trace(name):
    env = FairnessWrapper(gymnasium.make(f"evenhand/{name}-v0"))
    trace, paid, info = played(env)
    score = env.fairness.problem.scheme.score(trace)
    assert np.isclose(sum(paid), score)
    assert np.isclose(info["score"], score)


@pytest.mark.parametrize(
    ("scheme", "fold"),
    [
        (anytime(Rawls(), Mean()), True),
        (FairnessScheme(aggregation=TimepointFirst(Rawls(), Total()), filter=Every(2)), False),
    ],
)
def test_counters_and_folds_are_seen_where_the_scheme_needs_them(scheme, fold):
    shop = gymnasium.make("evenhand/Doughnuts-v0", num_stakeholders=2, horizon=7, wasted=None)
    env = FairnessWrapper(shop, scheme, augment_with_score=fold)
    trace, paid, info = played(env)
    assert np.isclose(info["score"], scheme.score(trace))
    assert np.isclose(sum(paid), scheme.score(trace))
    assert env.fairness.size > 2


@pytest.mark.parametrize("scheme", [anytime(Rawls(), Mean()), periodic(2, Rawls(), Mean())])
def test_a_mean_is_paid_only_where_all_episodes_have_as_many_assessments(scheme):
    """The kitchen closes after five decisions, whatever was said of its horizon."""
    how = {"stakeholder_rewards": FromInfo("each"), "num_stakeholders": 2}
    with pytest.raises(NotRewardLike, match=r"nothing says after how many .*or use a sum"):
        FairnessWrapper(Kitchen(), scheme, **how)
    with pytest.raises(NotRewardLike, match="an episode ended after 5 of 9 decisions, and Mean"):
        played(FairnessWrapper(Kitchen(), scheme, horizon=9, **how))
    for more in ({"horizon": 5}, {"augment_with_score": True}):
        trace, paid, info = played(FairnessWrapper(Kitchen(), scheme, **how, **more))
        assert np.isclose(sum(paid), scheme.score(trace))
        assert np.isclose(info["score"], scheme.score(trace))


def test_one_step_by_hand():
    env = FairnessWrapper(Kitchen(), NASH, stakeholder_rewards=FromInfo("each"), num_stakeholders=2)
    observation, info = env.reset(seed=0)
    assert observation.tolist() == [1, 0, 0, 0, 0]  # one of three places, two counts
    assert info["status"].tolist() == [0, 0]
    observation, pay, _, _, info = env.step(1)
    assert observation.tolist() == [0, 1, 0, 0, 1]
    assert pay == pytest.approx(np.log(2))  # log 1 + log 2
    assert info["raw_reward"] == 1.0
    assert info["status"].tolist() == [0, 1]
    _, pay, _, _, info = env.step(0)
    assert pay == pytest.approx(2 * np.log(2))
    assert info["score"] == pytest.approx(3 * np.log(2))
    assert env.memory.tolist() == [1, 1]
    for _ in range(2):
        env.step(0)
    assert env.step(0)[3]  # cut off, not ended


def test_a_function_of_what_was_told_may_say_what_each_received():
    share = lambda told: [told.reward, told.reward * told.observation]  # noqa: E731
    env = FairnessWrapper(Kitchen(), NASH, stakeholder_rewards=share, num_stakeholders=2)
    env.reset(seed=0)
    assert env.step(0)[4]["stakeholder_rewards"].tolist() == [1, 0]
    assert env.step(0)[4]["stakeholder_rewards"].tolist() == [1, 1]


def test_a_vector_reward_is_a_stakeholder_reward():
    env = FairnessWrapper(
        gymnasium.make(
            "evenhand/MO-Doughnuts-v0", num_stakeholders=2, presence=1.0, disable_env_checker=True
        ),
        NASH,
        stakeholder_rewards=FromReward(),
    )
    env.reset(seed=0)
    _, pay, _, _, info = env.step(1)
    assert pay == pytest.approx(np.log(2))
    assert info["raw_reward"].tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore:.*infinity:UserWarning")
@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version:UserWarning")
@pytest.mark.parametrize("more", [{}, {"join": DictObservation()}, {"encoder": Relative()}])
def test_gymnasiums_own_checks_pass_with_the_memory_joined(more):
    env = FairnessWrapper(gymnasium.make("evenhand/Doughnuts-v0"), **more)
    check_env(env, skip_render_check=True)


def test_the_memory_stands_beside_or_behind():
    shop = gymnasium.make("evenhand/Doughnuts-v0", num_stakeholders=2, presence=1.0)
    beside = FairnessWrapper(shop, NASH, Product((Full(), Clock(9))), join=DictObservation())
    beside.reset(seed=0)
    observation = beside.step(0)[0]
    assert observation["observation"].tolist() == [1, 1]
    assert observation["memory"].tolist() == [1, 0, 1]
    assert beside.observation_space.contains(observation)
    flat = FairnessWrapper(shop, NASH, Min())
    flat.reset(seed=0)
    assert flat.step(1)[0].tolist() == [1, 1, 0, 1]  # who is there, then the memory
    kept = pickle.loads(pickle.dumps(fairness_of(flat)))
    assert kept.size == 2
    assert kept.problem == flat.fairness.problem


def test_what_is_wrong_is_said():
    with pytest.raises(NoStakeholderRewards, match="one reward for all"):
        FairnessWrapper(Kitchen(), NASH)
    with pytest.raises(NoStakeholderRewards, match="give num_stakeholders"):
        FairnessWrapper(Kitchen(), NASH, stakeholder_rewards=FromInfo("each"))
    with pytest.raises(BadParameter, match="no scheme of its own"):
        FairnessWrapper(Kitchen())
    with pytest.raises(BadParameter, match="put a FairnessWrapper around it"):
        fairness_of(Kitchen())
    two = {"num_stakeholders": 2}
    env = FairnessWrapper(Kitchen(), NASH, stakeholder_rewards=FromInfo("all"), **two)
    with pytest.raises(NotReset, match="call reset"):
        env.step(0)
    env.reset()
    with pytest.raises(NoStakeholderRewards, match=r"info has no .all. .it has each."):
        env.step(0)
    env = FairnessWrapper(Kitchen(3), NASH, stakeholder_rewards=FromInfo("each"), **two)
    env.reset()
    with pytest.raises(UnequalLengths, match=r"shape \(3,\) to 2 stakeholders"):
        env.step(0)
    env = FairnessWrapper(Kitchen(worth=-3.0), NASH, stakeholder_rewards=FromInfo("each"), **two)
    env.reset()
    with pytest.raises(NegativeStatus, match="has no welfare"):
        env.step(0)


def test_an_episode_that_is_over_must_be_reset():
    env = FairnessWrapper(Kitchen(), NASH, stakeholder_rewards=FromInfo("each"), num_stakeholders=2)
    env.reset()
    for _ in range(5):
        env.step(0)
    with pytest.raises(NotReset, match="is over: call reset"):
        env.step(0)
    with pytest.raises(NotReset, match="between episodes"):
        _ = env.memory
    env.reset()
    env.step(0)


@pytest.mark.parametrize(
    ("space", "join", "sentence"),
    [
        (spaces.Sequence(spaces.Discrete(2)), {}, "not vectors of one length"),
        (spaces.Box(0, 255, (8, 8, 3), np.uint8), {}, "observations are pictures"),
        (
            spaces.Dict({"memory": spaces.Discrete(2)}),
            {"join": DictObservation()},
            "called 'memory' already",
        ),
    ],
)
def test_an_observation_space_that_cannot_carry_the_memory_is_refused(space, join, sentence):
    env = Kitchen()
    env.observation_space = space
    with pytest.raises(CannotCarry, match=sentence):
        FairnessWrapper(env, NASH, stakeholder_rewards=FromInfo("each"), num_stakeholders=2, **join)


def test_a_discounted_score_is_the_discounted_sum_of_what_is_paid():
    env = FairnessWrapper(
        Kitchen(), anytime(LogNash(), Discounted(0.5)), Full(), FromInfo("each"), num_stakeholders=2
    )
    for _ in range(2):  # a second episode begins with the full weight again
        _, info = env.reset()
        assert info["score"] == 0.0
        counts, expected = np.zeros(2), 0.0
        for time, action in enumerate((0, 1, 0, 0, 1)):
            _, pay, _, _, info = env.step(action)
            counts[action] += 1.0
            assert pay == pytest.approx(np.log1p(counts).sum())
            expected += 0.5**time * pay
            assert info["score"] == pytest.approx(expected)
            assert info["status"].tolist() == counts.tolist()


def test_a_horizon_cuts_episodes_off_as_it_does_for_a_learner():
    env = FairnessWrapper(Kitchen(), NASH, Full(), FromInfo("each"), num_stakeholders=2, horizon=3)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(NotReset):
        env.step(0)
