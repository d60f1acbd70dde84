"""Learners stop where what they learn is no number."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from evenhand import Doughnuts, LogNash, Problem, Total, anytime
from evenhand.envs.environment import MDPEnvironment
from evenhand.errors import NegativeStatus, NotFinite
from evenhand.learn.deep.networks import MLP
from evenhand.learn.fairqcm import FairQCM
from evenhand.learn.finite_values import require_finite_values
from evenhand.learn.proposals import NoProposal
from evenhand.process import FiniteMDP

REWARDS = np.array([[[[-2.0, 0.0]], [[0.0, -2.0]]]])
COSTLY = MDPEnvironment(FiniteMDP(0, np.ones((1, 2, 1)), REWARDS), horizon=4)


def test_values_that_are_no_numbers_are_refused():
    require_finite_values({"a": jnp.ones(2), "b": jnp.zeros((1, 2))})
    for bad in (np.nan, np.inf):
        with pytest.raises(NotFinite, match="no longer finite"):
            require_finite_values({"a": jnp.ones(2), "b": jnp.array([[0.0, bad]])})


@pytest.mark.parametrize("network", [None, MLP((4,))], ids=["table", "network"])
def test_a_problem_with_statuses_without_welfare_is_not_begun(network):
    problem = Problem(COSTLY, anytime(LogNash(), Total()))
    with pytest.raises(NegativeStatus, match=r"no welfare under LogNash|LogNash is undefined"):
        FairQCM(problem, NoProposal(), network=network)


def test_learning_that_diverges_stops():
    shop = Doughnuts(2, 4, 0.8)
    problem = Problem(shop, shop.default_scheme())
    learner = FairQCM(
        problem, NoProposal(), network=MLP((4,)), learning_rate=1e38, warm_up=2, batch=2, capacity=8
    )
    with pytest.raises(NotFinite, match="learning diverges"):
        learner.train(40)
