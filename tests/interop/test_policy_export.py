"""Policies out: the network's own values without jax, refusals, and reasons."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest

from evenhand._util.saved import write_tensors
from evenhand.envs import Doughnuts, Lending, WaitingList
from evenhand.errors import BadFile, BadParameter, UnequalLengths
from evenhand.interop import export_policy, load_policy
from evenhand.interop.deployed_policy import KIND, NumpyProgram
from evenhand.learn.deep.encoders import Binary, Raw, Relative
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Recurrent
from evenhand.learn.policies import Greedy
from evenhand.memory.memory import Clock, Full, GroupFull, Product
from evenhand.problem.problem import Problem

SHOP = Doughnuts(3, 12, 0.8)
BANK = Lending()


def greedy(
    env=SHOP, memory=Full(), encoder=Relative(), network=EquivariantMLP((8, 8)), scheme=None
):
    problem = Problem(env, env.default_scheme() if scheme is None else scheme, memory)
    weights = network.init(jax.random.key(1), encoder.layout(problem), env.num_actions)
    return Greedy(problem, encoder, network, weights)


@pytest.mark.system
@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"encoder": Binary(), "network": MLP((8,))},
        {
            "env": BANK,
            "memory": Product((GroupFull(BANK.groups), Clock(41))),
            "network": EquivariantMLP((8,), BANK.groups),
        },
        {"env": WaitingList(), "encoder": Raw(), "network": MLP((8, 4))},
    ],
    ids=["doughnuts", "bits", "lending", "waiting list"],
)
def test_values_are_those_of_the_network(parts, tmp_path):
    learned = greedy(**parts)
    policy = export_policy(learned)
    policy.save(tmp_path / "policy")
    loaded = load_policy(tmp_path / "policy")
    augmented = learned.problem.initial(jax.random.key(0))
    decide = jax.jit(learned.problem.step)
    for time in range(6):
        state, memory = jax.device_get((augmented.state, augmented.memory))
        values = loaded.values(state, memory)
        expected = np.asarray(learned.values((), augmented))
        assert np.allclose(values, expected, rtol=1e-5, atol=1e-5)
        assert loaded(state, memory) == int(learned.decide((), augmented)[1])
        augmented, step, _ = decide(jax.random.key(time), augmented, time % 3)
        told = loaded.remember(memory, step.rewards)
        assert np.allclose(jax.tree.leaves(told)[0], jax.tree.leaves(augmented.memory)[0])


@pytest.mark.system  # takes seconds
def test_no_jax_is_needed(tmp_path):
    export_policy(greedy()).save(tmp_path / "policy")
    code = (
        "import sys\n"
        "sys.modules['jax'] = sys.modules['gymnasium'] = None  # to import either is an error\n"
        "from evenhand.interop import load_policy\n"
        f"policy = load_policy({str(tmp_path / 'policy')!r})\n"
        "memory = policy.remember(policy.start(), rewards=[1, 0, 0])\n"
        "print(policy([1, 0, 1], memory), policy.needs)\n"
        "print(policy.reasons({'noise': [1, 0, 1]}, memory))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = run.stdout.splitlines()
    assert first.endswith("('noise',)")
    assert "has the highest value" in second
    assert "all that each stakeholder has received: [1.0, 0.0, 0.0]" in second


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(BadParameter, match="recurrent network"):
        export_policy(greedy(network=Recurrent((4,), 4)))
    policy = export_policy(greedy())
    with pytest.raises(UnequalLengths, match=r"state.noise has shape \(2,\)"):
        policy([1, 0], policy.start())
    with pytest.raises(UnequalLengths, match="for 3 stakeholders"):
        policy.remember(policy.start(), [1, 0])
    with pytest.raises(BadParameter, match=r"lacks state.noise"):
        policy({"present": [1, 0, 1]}, policy.start())
    lending = export_policy(greedy(BANK, GroupFull(BANK.groups), network=MLP((4,))))
    with pytest.raises(BadParameter, match="give a mapping"):
        lending([1, 0, 1, 0], lending.start())
    policy.save(tmp_path / "policy")
    content = (tmp_path / "policy").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-9])
    with pytest.raises(BadFile, match="cut short"):
        load_policy(tmp_path / "cut")


def test_an_observation_of_parts_is_refused_where_one_vector_is_needed():
    """As of an environment whose observations are dictionaries, which are learned from flat."""
    policy = replace(export_policy(greedy()), program=NumpyProgram(("state",), (), (), 0, {}))
    with pytest.raises(BadParameter, match=r"a mapping of 'free', 'worth', .*spaces\.flatten"):
        policy({"free": [1, 0, 1], "worth": [3.0]}, policy.start())


def test_a_policy_is_shown_without_its_arrays():
    assert repr(export_policy(greedy())) == (
        "<NumpyPolicy of 3 actions for 3 stakeholders, which remembers all that each stakeholder "
        "has received>"
    )


def test_what_a_newer_version_wrote_says_so(tmp_path):
    path = tmp_path / "newer"
    write_tensors(path, KIND, {"operations": [{"do": "erf"}, {"do": "add"}]}, {})
    words = r"newer uses operations that this version does not know \(erf\): install a newer even"
    with pytest.raises(BadFile, match=words):
        load_policy(path)
