"""A step without a reward: refused by name, before it is learned from or as soon as it is met."""

from __future__ import annotations

import contextlib

import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import AlphaFair, Doughnuts, LogNash, Problem, Rawls, Total, anytime
from evenhand.envs.environment import MDPEnvironment
from evenhand.errors import NegativeStatus, NotFinite
from evenhand.problem.checks import require_reward, require_rewards
from evenhand.process import FiniteMDP

SHOP = Doughnuts(2, 4, 0.8, wasted=None)


def nash(welfare=LogNash()):
    return Problem(SHOP, anytime(welfare, Total()))


def costly(worth):
    """A world of one state and two actions, the first of which costs one of two stakeholders."""
    rewards = np.zeros((1, 2, 1, 2))
    rewards[0, 0, 0, 0] = worth
    return MDPEnvironment(FiniteMDP(0, np.ones((1, 2, 1)), rewards), horizon=4)


def test_whose_status_it_is_and_what_helps():
    with pytest.raises(NegativeStatus) as caught:
        require_reward(nash(), -np.inf, np.array([2.0, -1.5]), " after step 3")
    assert str(caught.value) == (
        "the status of stakeholder 1 is -1.5 after step 3, which has no welfare under LogNash "
        f"(defined from {LogNash().least_status:g}), so that the step cannot be paid: use a "
        "welfare that takes such statuses, such as Rawls, put a floor under what is received, or "
        "have the environment override such steps."
    )
    require_reward(nash(), 0.5, np.array([2.0, -1.5]))
    with pytest.raises(NegativeStatus, match=r"AlphaFair \(defined above 0\)"):
        require_reward(nash(AlphaFair(1.0)), np.nan, np.array([0.0, 1.0]))


def test_a_reward_that_is_no_number_for_another_reason():
    with pytest.raises(NotFinite, match=r"reward of a step is nan, where the statuses are \[1.0"):
        require_reward(nash(), jnp.nan, np.array([1.0, 1.0]))
    # At 0 log-Nash is defined: it is not for the status that the reward is none.
    with pytest.raises(NotFinite, match="reward of a step is nan"):
        require_reward(nash(), jnp.nan, np.array([0.0, 1.0]))
    with pytest.raises(NotFinite, match="reward of a step is inf"):
        require_reward(nash(Rawls()), np.inf, np.array([-1.0, 1.0]))


def test_random_episodes_show_it_before_anything_is_learned():
    scheme = anytime(LogNash(), Total())
    with pytest.raises(NegativeStatus, match=r"status of stakeholder 0 is -.* of a random episode"):
        require_rewards(Problem(costly(-2.0), scheme))
    require_rewards(Problem(costly(2.0), scheme))
    require_rewards(Problem(costly(-2.0), anytime(Rawls(), Total())))
    # At least 0 is received in the shop, which is already too little here.
    with pytest.raises(NegativeStatus, match=r"status of stakeholder \d is 0 after step 1"):
        require_rewards(nash(AlphaFair(2.0)))


class LookedAt(Exception):
    """Somebody looked at an episode."""


class Unseen:
    """A world that says when it is looked at."""

    num_stakeholders, num_actions, horizon, may_override = 2, 2, 3, False

    def __init__(self, compiled=True, bounds=None):
        self.compiled = compiled
        if bounds is not None:
            self.reward_bounds = lambda: bounds

    def initial(self, key):
        raise LookedAt


@pytest.mark.parametrize(
    ("environment", "welfare", "looks"),
    [
        (Unseen(), LogNash(), True),
        (Unseen(), Rawls(), False),  # which is never undefined
        (Unseen(compiled=False), LogNash(), False),  # a world on the host is looked at as it runs
        (Unseen(bounds=(0.0, 1.0)), LogNash(), False),
        (Unseen(bounds=(0.0, 1.0)), AlphaFair(2.0), True),
        (Unseen(bounds=(-1.0, 1.0)), LogNash(), True),
    ],
)
def test_episodes_are_looked_at_only_where_they_can_do_harm(environment, welfare, looks):
    problem = Problem(environment, anytime(welfare, Total()))
    with pytest.raises(LookedAt) if looks else contextlib.nullcontext():
        require_rewards(problem)
