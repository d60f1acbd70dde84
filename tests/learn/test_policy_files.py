"""Policies as files: the same after a round trip, and refused when anything was changed."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from evenhand._util.saved import read_tensors, write_tensors
from evenhand.envs import Doughnuts, Lending
from evenhand.errors import BadFile
from evenhand.lab.recipes import deep_learner
from evenhand.learn.policy_files import load_policies, save_policies


@pytest.fixture(scope="module")
def lending(tmp_path_factory):
    agent = deep_learner(Lending(horizon=8), "fairqcm", "best")
    learners = jax.jit(jax.vmap(agent.start))(jax.random.split(jax.random.key(0), 2))
    path = tmp_path_factory.mktemp("saved") / "bank.policy"
    save_policies(path, agent, learners.weights, {"scores": [1.0, 2.0]})
    return agent, learners.weights, path


def test_a_policy_is_the_same_after_a_round_trip(lending):
    agent, weights, path = lending
    saved = load_policies(path)
    assert saved.header["scores"] == [1.0, 2.0]
    said = saved.header["stakeholders"]
    assert (said["learned_with"], said["any_number"]) == (4, False)
    assert said["reason"].startswith("the stakeholders of this Lending are not alike")
    assert saved.problem == agent.problem
    assert (saved.encoder, saved.network) == (agent.encoder, agent.network)
    assert saved.num_policies == 2
    for one, other in zip(jax.tree.leaves(saved.weights), jax.tree.leaves(weights), strict=True):
        np.testing.assert_array_equal(one, other)
    first = agent.problem.initial(jax.random.key(1))
    values = saved.policy(1).values((), first)
    own = jax.tree.map(lambda leaf: leaf[1], weights)
    expected = agent.network.apply(own, (), agent.encode(first))[1]
    np.testing.assert_array_equal(values, expected)
    assert int(saved.policy(1).act(jax.random.key(0), first.state, first.memory)) == int(
        np.argmax(expected)
    )
    with pytest.raises(BadFile, match="they run to 1"):
        saved.policy(2)


def test_a_changed_or_cut_file_is_refused(lending, tmp_path):
    _, _, path = lending
    content = path.read_bytes()
    bad = tmp_path / "bad.policy"
    for at in (len(content) // 2, len(content) - 3, 200):
        bad.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(BadFile):
            load_policies(bad)
    bad.write_bytes(content[: len(content) // 2])
    with pytest.raises(BadFile, match="cut short"):
        load_policies(bad)
    bad.write_bytes(b"not a policy")
    with pytest.raises(BadFile):
        load_policies(bad)
    header, arrays = read_tensors(path, "policy")
    for change, match in (
        ({"encoder": "morse"}, "morse"),
        ({"environment": "casino"}, "casino"),
        ({"network": {"name": "layers", "hidden": [3]}}, "missing|shape"),
        ({"memory": None}, "memory"),
    ):
        write_tensors(bad, "policy", {**header, **change}, arrays)
        with pytest.raises(BadFile, match=match):
            load_policies(bad)
    name, array = next(iter(arrays.items()))
    for wrong, match in (
        ({name: array[:1]}, "different numbers of seeds"),
        ({name: np.full_like(array, np.nan)}, "finite|number"),
        ({key: one[:0] for key, one in arrays.items()}, "of none"),
    ):
        write_tensors(bad, "policy", header, {**arrays, **wrong})
        with pytest.raises(BadFile, match=match):
            load_policies(bad)
    del header["scheme"]
    write_tensors(bad, "policy", header, arrays)
    with pytest.raises(BadFile, match="lacks"):
        load_policies(bad)


def test_every_recipe_can_be_saved(tmp_path):
    shop = Doughnuts(3, 6, (0.9, 0.5, 0.5))
    for method in ("full", "reset", "rnn"):
        for recipe in ("paper", "best"):
            agent = deep_learner(shop, method, recipe)
            shape = jax.eval_shape(agent.start, jax.random.key(0)).weights
            weights = jax.tree.map(lambda leaf: np.ones((1, *leaf.shape), leaf.dtype), shape)
            save_policies(tmp_path / "p", agent, weights, {})
            saved = load_policies(tmp_path / "p")
            assert (saved.problem, saved.network) == (agent.problem, agent.network)
