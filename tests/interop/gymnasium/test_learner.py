"""Tests of interop.gymnasium.learner."""

from __future__ import annotations

import dataclasses

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium import spaces

import own_environments as own
from evenhand import AlphaFair, LogNash
from evenhand import anytime as anytime_learner
from evenhand._util.saved import write_tensors
from evenhand.envs import Doughnuts
from evenhand.errors import (
    BadFile,
    BadParameter,
    CannotCarry,
    MemoryDoesNotPay,
    NegativeStatus,
    NotDiscrete,
    NotFinite,
    NotReset,
    UnequalLengths,
)
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Rawls
from evenhand.interop import (
    FairnessWrapper,
    FromInfo,
    export_policy,
    gymnasium_learner,
    save_learner,
    score_episodes,
    train,
)
from evenhand.interop.gymnasium.external import GymnasiumProcess, gymnasium_world
from evenhand.interop.gymnasium.learner import (
    KIND,
    HostTraining,
    make_environment,
    require_gymnasium,
    saved_training,
)
from evenhand.interop.trackers import Sink
from evenhand.learn.deep.networks import MLP
from evenhand.learn.imagined_memories import Above
from evenhand.learn.schedules import Exploration
from evenhand.memory.memory import Full, Min
from evenhand.planning.planner import plan
from evenhand.problem.problem import Problem

# A Gymnasium class by its place: learned, stopped, gone on with, and scored by its file alone.

COUNTER = HostTraining("own_environments:Counter", None, steps=300, seeds=(3, 4))


class Stopped(Exception):
    pass


def stop(done: int, score: float) -> None:
    if done >= 150:
        raise Stopped


@pytest.mark.system
def test_stopped_it_goes_on_to_the_same_numbers_and_its_file_says_what_it_is(tmp_path):
    whole, parts = tmp_path / "whole.learner", tmp_path / "parts.learner"
    loop = COUNTER.learner(whole)
    COUNTER.train(loop, whole)
    with pytest.raises(Stopped):
        COUNTER.train(COUNTER.learner(parts), parts, show=stop)
    COUNTER.train(COUNTER.learner(parts), parts)
    assert whole.read_bytes() == parts.read_bytes()
    saved = saved_training(parts)
    assert (saved.name, saved.steps, saved.seeds) == (COUNTER.name, 300, (3, 4))
    assert saved.judged_by == own.NASH
    again = saved.learner(parts)
    assert again.steps == 300
    np.testing.assert_array_equal(saved.scores(again, 5, 9), COUNTER.scores(loop, 5, 9))
    longer = HostTraining(COUNTER.name, None, steps=400, seeds=(3, 4))
    with pytest.raises(BadFile, match="another environment, scheme, number of steps"):
        longer.learner(parts)


def test_the_scheme_is_the_one_given_or_the_environments_own_or_log_nash():
    rawls = anytime(Rawls(), Total())
    assert HostTraining(COUNTER.name, rawls, 10).judged_by == rawls
    assert COUNTER.judged_by == own.NASH
    assert HostTraining(f"{__name__}:Fair", None, 10).judged_by == rawls


class Fair(own.Counter):
    def default_scheme(self):
        return anytime(Rawls(), Total())


class Demanding(own.Counter):
    def __init__(self, needed):
        super().__init__()


def test_what_cannot_be_made_is_a_sentence():
    with pytest.raises(BadParameter, match="cannot be built without arguments"):
        make_environment(f"{__name__}:Demanding")
    with pytest.raises(BadParameter, match="is not a Gymnasium environment"):
        require_gymnasium(f"{__name__}:Stopped")


@pytest.mark.system
def test_a_learner_that_was_saved_from_python_does_not_say_what_it_is_of(tmp_path):
    save_learner(tmp_path / "own.learner", gymnasium_learner(own.Counter(), own.NASH, steps=100))
    with pytest.raises(BadFile, match="does not say which environment"):
        saved_training(tmp_path / "own.learner")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"steps": "many"}, "'steps' is 'many', and must be a whole number"),
        ({"seeds": ["x"]}, "cannot be read as a learner"),
        ({"scheme": "welfare = 1"}, "cannot be read as a learner"),
    ],
)
def test_what_a_file_says_of_itself_is_looked_at(tmp_path, changed, words):
    path = tmp_path / "own.learner"
    about = {"environment": "own:Counter", "scheme": "", "steps": 100, "seeds": [0], **changed}
    write_tensors(path, KIND, {"about": about}, {})
    with pytest.raises(BadFile, match=words):
        saved_training(path)


# evenhand.learn in Gymnasium environments, ours and one that nobody here wrote in JAX.

SHOP = Doughnuts(2, 6, 0.7)
NASH = SHOP.nash_scheme()


class Counter(gymnasium.Env):
    """The doughnut shop in plain NumPy, its observation one number, its actions from 1."""

    may_override = True

    def __init__(self, number=2):
        self.observation_space = spaces.Discrete(4)
        self.action_space = spaces.Discrete(2, start=1)
        self.number = number

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._look(), {}

    def _look(self):
        self.there = self.np_random.random(2) < 0.7
        return int(self.there @ [1, 2])

    def step(self, action):
        served = np.zeros(self.number)
        served[action - 1] = self.there[action - 1]
        info = {"served": served} if served.any() else {"served": served, "override": 0.0}
        self.time += 1
        return self._look(), 0.0, self.time == 6, False, info


class Refilled(gymnasium.Env):
    """Its observations are one array, filled again at every step; its actions begin at 1."""

    observation_space = spaces.Box(0.0, 100.0, (2,))
    action_space = spaces.Discrete(2, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.had, self.time = np.zeros(2, dtype=np.float32), 0
        return self.had, {}

    def step(self, action):
        self.had[action - 1] += 1
        self.time += 1
        return self.had, 0.0, False, self.time == 4, {}


def told_rewards(told):
    """Twice what was gained, if it was gained by the action that is told."""
    return 2 * (told.following - told.observation) * (np.arange(1, 3) == told.action)


def test_rewards_are_told_of_the_same_steps_with_and_without_a_wrapper():
    process = GymnasiumProcess(Refilled(), 2, told_rewards)
    state = process.initial(np.random.default_rng(0))
    env = FairnessWrapper(Refilled(), NASH, stakeholder_rewards=told_rewards, num_stakeholders=2)
    env.reset()
    for action in (0, 1, 1, 0):
        answer = process.step(state, action, np.random.default_rng(0))
        state = answer.next_state
        told = env.step(action + 1)[-1]["stakeholder_rewards"]
        assert answer.rewards.tolist() == told.tolist() == (2 * np.eye(2)[action]).tolist()


def learner(env, **settings):
    parts = {
        "stakeholder_rewards": FromInfo("served"),
        "num_stakeholders": 2,
        "horizon": 6,
        "network": MLP((32,)),
        "warm_up": 100,
        "exploration": Exploration(1.0, 0.95, 0.1),
    }
    return gymnasium_learner(env, NASH, **parts | settings)


class Kept(Sink):
    def __init__(self):
        self.rows = []

    def log(self, step, values):
        self.rows.append((step, dict(values)))


@pytest.mark.system
def test_it_learns_with_counterfactuals_what_the_planner_knows():
    loop, kept = learner(Counter(), proposal=Above(1)), Kept()
    curve = train(loop, 1500, test_env=Counter(), checkpoints=2, episodes=20, sinks=[kept])
    assert [row[0] for row in kept.rows] == [750, 1500]
    assert [row[1]["score"] for row in kept.rows] == curve.tolist()
    scores = score_episodes(loop, Counter(), 300, seed=1)
    best = plan(Problem(SHOP, NASH)).value
    assert scores.mean() > 0.95 * best
    assert scores.mean() < best + 4 * scores.std() / np.sqrt(300)
    assert (
        score_episodes(loop, Counter(), 5, seed=2) == score_episodes(loop, Counter(), 5, 2)
    ).all()


def test_an_environment_is_only_stepped_from_where_it_is():
    process = GymnasiumProcess(Counter(), 2, FromInfo("served"))
    rng = np.random.default_rng(0)
    first = process.initial(rng)
    answer = process.step(first, 0, rng)
    assert answer.rewards.shape == (2,)
    with pytest.raises(NotReset, match="moved on"):
        process.step(object(), 0, rng)
    state = answer.next_state
    while not answer.terminated:
        answer = process.step(state, 0, rng)
        state = answer.next_state
    with pytest.raises(NotReset, match="is over"):
        process.step(state, 0, rng)


def test_what_is_wrong_is_said():
    with pytest.raises(MemoryDoesNotPay, match="does not determine the reward"):
        learner(Counter(), memory=Min(), proposal=Above(1))
    with pytest.raises(UnequalLengths, match=r"shape \(3,\) to 2 stakeholders"):
        learner(Counter(3)).train_steps(1)
    env = Counter()
    env.action_space = spaces.Box(0, 1, (2,))
    with pytest.raises(NotDiscrete, match="of the kind Box"):
        learner(env)
    env = Counter()
    env.observation_space = spaces.Sequence(spaces.Discrete(2))
    with pytest.raises(CannotCarry, match="kind Sequence"):
        learner(env)
    with pytest.raises(BadParameter, match="give the horizon"):
        gymnasium_world(Counter(), FromInfo("served"), num_stakeholders=2)
    loop = learner(Counter())
    with pytest.raises(BadParameter, match="checkpoints in 2 steps"):
        train(loop, 2, test_env=Counter(), checkpoints=3)


def test_ours_says_by_itself_what_each_received():
    env = gymnasium.make("evenhand/Doughnuts-v0", num_stakeholders=2, horizon=6)
    world = gymnasium_world(env)
    assert (world.num_stakeholders, world.horizon, world.size) == (2, 6, 2)
    assert world.may_override
    assert Problem(world, NASH, Full()).environment is world


class Costly(Counter):
    """Each who is served has to pay."""

    def step(self, action):
        *answer, _ = super().step(action)
        return *answer, {"served": -2.0 * np.eye(2)[action - 1]}


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize(
    "scheme", [anytime_learner(LogNash(), Total()), anytime_learner(AlphaFair(0.5), Total())]
)
def test_a_status_without_welfare_is_refused_as_the_wrapper_refuses_it(scheme):
    parts = {"stakeholder_rewards": FromInfo("served"), "num_stakeholders": 2, "horizon": 6}
    sentence = r"the status of stakeholder \d is -2.* which has no welfare under"
    loop = gymnasium_learner(Costly(), scheme, network=MLP((4,)), warm_up=10, **parts)
    with pytest.raises(NegativeStatus, match=sentence):
        train(loop, 20, test_env=Costly(), checkpoints=1)
    env = FairnessWrapper(Costly(), scheme, **parts)
    env.reset()
    with pytest.raises(NegativeStatus, match=sentence):
        env.step(1)


# With all defaults


@pytest.mark.system  # takes seconds
def test_it_begins_as_what_is_best_at_once_and_says_what_it_measured():
    """Pairs of four, log-Nash: before anything is learned, it decides by the largest gain."""
    loop = gymnasium_learner(own.Pairs(), NASH, steps=600)
    assert loop.steps == 120  # a fifth: random decisions count
    env, total = own.Pairs(), 0.0
    env.reset(seed=int(np.random.default_rng(5).integers(2**31)))
    received = np.zeros(4)
    for _ in range(5):
        gains = [
            np.log1p(received + np.isin(np.arange(4), (i, 2 + j)) * 2 * env.size).sum()
            for i in range(2)
            for j in range(2)
        ]
        best = int(np.argmax(gains))
        *_, told = env.step((best // 2, best % 2))
        received += told["stakeholder_rewards"]
        total += np.log1p(received).sum()
    process = GymnasiumProcess(own.Pairs(), 4, FromInfo())
    assert loop.episode(np.random.default_rng(5), process) == pytest.approx(total, rel=1e-5)


@pytest.mark.system
def test_it_never_takes_what_a_mask_rules_out():
    env, tested = own.Counter(masks=True), own.Counter(masks=True)
    loop = gymnasium_learner(env, NASH, steps=300)
    loop.train_steps(80)
    score_episodes(loop, tested, 5)
    assert env.impossible == tested.impossible == 0
    policy = export_policy(loop)
    memory = policy.start()
    # What is shown begins with the mask; then comes who is there.
    assert policy([0, 1, 0, 1], memory) == 1
    assert policy([1, 0, 1, 0], memory) == 0
    wrong = own.Counter(masks=True)
    wrong.action_space = spaces.Discrete(3)
    with pytest.raises(UnequalLengths, match="has 2 numbers for 3 actions"):
        gymnasium_learner(wrong, NASH, steps=300)


@pytest.mark.system
def test_train_goes_on_counting_and_tracks_losses_and_values():
    loop, kept = gymnasium_learner(own.Counter(), NASH, steps=300), Kept()
    start = loop.steps
    for _ in range(2):
        train(loop, 50, test_env=own.Counter(), checkpoints=2, episodes=2, sinks=[kept])
    assert [step - start for step, _ in kept.rows] == [25, 50, 75, 100]
    assert all({"score", "epsilon", "loss", "value"} == set(row) for _, row in kept.rows)
    falling = [row["epsilon"] for _, row in kept.rows]
    assert falling == sorted(falling, reverse=True)


@pytest.mark.system
def test_what_is_kept_is_the_best_on_the_same_episodes(monkeypatch):
    loop = gymnasium_learner(own.Counter(), NASH, steps=200)
    good = loop.learners.target

    def forget(steps):
        """Training that makes it worse: every value is turned round."""
        loop.kept = None
        bad = jax.tree.map(jnp.zeros_like, good)
        serving = dataclasses.replace(bad.serving, bias=bad.serving.bias.at[:, 0].set(-2.0))
        loop.learners = loop.learners._replace(target=dataclasses.replace(bad, serving=serving))

    before = score_episodes(loop, own.Counter(), 30)
    monkeypatch.setattr(loop, "train_steps", forget)
    curve = train(loop, 2, test_env=own.Counter(), checkpoints=1, episodes=30)
    assert curve[0] < before.mean()
    assert score_episodes(loop, own.Counter(), 30).tolist() == before.tolist()
    train(loop, 2, test_env=own.Counter(), checkpoints=1, episodes=30, keep_best=False)
    assert score_episodes(loop, own.Counter(), 30).mean() == pytest.approx(curve[0])


def test_rewards_that_are_wrong_are_refused_in_a_sentence():
    class Wrong(own.Counter):
        def __init__(self, rewards):
            super().__init__()
            self.wrong = rewards

        def step(self, action):
            *answer, told = super().step(action)
            late = {"stakeholder_rewards": self.wrong} if self.time > 3 else told
            return *answer, late

    with pytest.raises(NotFinite, match=r"rewards .*nan.* must be numbers"):
        gymnasium_learner(Wrong([np.nan, 0.0]), NASH, steps=200)
    with pytest.raises(UnequalLengths, match=r"shape \(3,\) to 2 stakeholders"):
        gymnasium_learner(Wrong([0.0, 0.0, 0.0]), NASH, steps=200)
    with pytest.raises(NegativeStatus, match="has no welfare under LogNash"):
        gymnasium_learner(Wrong([-5.0, 0.0]), NASH, steps=200)


def test_vector_environments_are_refused_with_the_reason():
    several = gymnasium.vector.SyncVectorEnv([own.Counter, own.Counter])
    with pytest.raises(BadParameter, match="vector environment, of several at once"):
        gymnasium_learner(several, NASH)


def test_a_limit_is_found_wherever_it_is_stated():
    class Endless(Refilled):
        num_stakeholders = 2

    limited = gymnasium.wrappers.TimeLimit(Endless(), 9)
    rewards = {"stakeholder_rewards": told_rewards}
    outside = gymnasium.wrappers.TransformReward(limited, float)
    assert gymnasium_world(outside, **rewards).horizon == 9
    inside = Endless()
    inside.max_steps = 7
    assert gymnasium_world(gymnasium.wrappers.TimeLimit(inside, 9), **rewards).horizon == 7
    many = Endless()
    many.action_space = spaces.MultiDiscrete([100, 100])
    with pytest.raises(NotDiscrete, match="2 choices at once make 10,000 actions"):
        gymnasium_world(many, horizon=3, **rewards)
