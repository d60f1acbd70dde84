"""Learning that begins with a policy file: its weights, its seeds, and what does not fit."""

from __future__ import annotations

from dataclasses import replace

import jax
import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import BadFile, BadParameter
from evenhand.experiments.running.run_spec import RunSpec
from evenhand.experiments.running.runs import train
from evenhand.experiments.running.train_method import prepare
from evenhand.experiments.running.warm_start import require_start, start_from_policies
from evenhand.learn.policies.policy_files import save_policies
from evenhand.learn.seeds import seed_keys, start_learners

pytestmark = pytest.mark.system  # each begins with what was trained

SPEC = RunSpec(
    Doughnuts(2, 3, 0.8), "fairqcm", (4, 7), steps=120, every=120, recipe="default", deep=True
)


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """A file of two policies, and their weights."""
    agent = SPEC.build()
    learners = start_learners(agent, seed_keys(SPEC.seeds))
    path = tmp_path_factory.mktemp("warm") / "fair.policy"
    save_policies(path, agent, agent.acting(learners), {"spec": SPEC.to_json()})
    return path, [np.asarray(leaf) for leaf in jax.tree.leaves(learners.weights)]


@pytest.mark.system
def test_each_seed_begins_with_its_own_weights_or_with_those_of_the_first(policy):
    path, weights = policy
    agent = SPEC.build()
    fresh = start_learners(agent, seed_keys((7, 0)))
    begun = start_from_policies(agent, fresh, path, (7, 0))
    for wanted, found, target in zip(
        weights, jax.tree.leaves(begun.weights), jax.tree.leaves(begun.target), strict=True
    ):
        np.testing.assert_array_equal(found, wanted[[1, 0]])
        np.testing.assert_array_equal(target, wanted[[1, 0]])
    assert np.asarray(begun.epsilon).tolist() == pytest.approx([0.05, 0.05])


@pytest.mark.system
def test_a_run_goes_on_from_it_and_says_how_learning_goes(policy):
    path, _ = policy
    run = train(SPEC.build(), replace(SPEC, start=str(path)))
    assert run.finished
    assert set(run.measures) == {"score", "kept", "achieved", "loss", "value"}
    assert (run.measures["loss"] > 0).all()
    assert np.isfinite(run.measures["value"]).all()


@pytest.mark.system
def test_policies_that_do_not_fit_are_a_sentence(policy):
    path, _ = policy
    other = replace(SPEC, environment=Doughnuts(2, 3, (0.8, 0.5))).build()
    with pytest.raises(BadParameter, match="another network or of other observations"):
        require_start(other, path)
    with pytest.raises(BadParameter, match="for networks"):
        replace(SPEC, deep=False, start=str(path))


def test_another_run_does_not_write_over_it_and_is_told_how_to_go_on(policy):
    path, _ = policy
    with pytest.raises(BadFile, match="holds a policy with other settings") as refused:
        prepare(replace(SPEC, steps=240), path)
    assert str(refused.value).endswith(f"name another output and add `start={str(path)!r}`.")
