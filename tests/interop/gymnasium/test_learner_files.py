"""Learners as files: saved and loaded they go on alike, and what does not fit is said."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from gymnasium import spaces

import own_environments as own
from evenhand import Rawls, Total, anytime
from evenhand.errors import BadFile, BadParameter
from evenhand.interop import gymnasium_learner, load_learner, save_learner

pytestmark = pytest.mark.system  # a learner of its own is compiled for most of them


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("learner") / "fair.learner"
    loop = gymnasium_learner(own.Counter(), own.NASH, steps=400)
    loop.train_steps(130)
    save_learner(path, loop)
    return path, loop


def test_saved_and_loaded_they_go_on_alike(saved):
    path, loop = saved
    loaded = load_learner(path, own.Counter(), own.NASH)
    assert (
        loaded.steps == loop.steps == 80 + 130
    )  # the random ones, and those that were learned from
    loop.train_steps(60)
    loaded.train_steps(60)
    for ours, theirs in zip(
        jax.tree.leaves(loop.learners.weights),
        jax.tree.leaves(loaded.learners.weights),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert float(loaded.learners.epsilon[0]) < 1.0


def test_what_does_not_fit_is_said(saved, tmp_path):
    path, _ = saved
    with pytest.raises(BadParameter, match="whose discount is"):
        load_learner(path, own.Counter(), own.NASH, discount=0.5)
    # Long settings are shown where they differ.
    with pytest.raises(BadParameter, match=r"scheme is .*LogNash.*, and here it is .*Rawls"):
        load_learner(path, own.Counter(), anytime(Rawls(), Total()))
    with pytest.raises(BadParameter, match="1 learners side by side and there are 2"):
        load_learner(path, own.Counter(), own.NASH, beside=[own.Counter()])
    other = tmp_path / "other"
    other.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadFile, match="cut short"):
        load_learner(other, own.Counter(), own.NASH)


def test_a_warm_start_begins_with_what_another_learned(saved):
    _, loop = saved
    warm = gymnasium_learner(own.Counter(), own.NASH, steps=400, warm_start=loop)
    for ours, theirs in zip(
        jax.tree.leaves(warm.learners.weights), jax.tree.leaves(loop.acting), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    wider = own.Counter()
    wider.observation_space = spaces.Box(0.0, 1.0, (2, 2))
    wider.look = lambda there: np.stack((there, there), axis=1)
    with pytest.raises(BadParameter, match="network of another form"):
        gymnasium_learner(wider, own.NASH, steps=400, warm_start=loop)
