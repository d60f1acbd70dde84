"""One method: whether it fits into memory, and what is saved of it scored again."""

from __future__ import annotations

import json

import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from evenhand._util.saved import write_tensors
from evenhand.cli.app import app
from evenhand.envs import Doughnuts
from evenhand.errors import BadFile, BadParameter, TooLarge
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.training import bytes_of_learner, check_memory_fits, prepare, score_saved
from evenhand.learn.policy_files import save_policies
from evenhand.learn.schedules import seed_keys, start_learners

SMALL = Doughnuts(num_stakeholders=2, horizon=4)


def spec(environment=SMALL, seeds=1, **more) -> RunSpec:
    return RunSpec(environment, "full", tuple(range(seeds)), steps=100, every=100, **more)


class Fixed:
    """An agent of 3 · 5 floats and two bytes."""

    def start(self, key):
        return jnp.zeros((3, 5), dtype=jnp.float32), jnp.zeros(2, dtype=jnp.int8)


def test_the_estimate_is_what_a_learner_takes():
    assert bytes_of_learner(Fixed()) == 62


def test_as_many_learners_as_there_is_room_for():
    small = spec(deep=True)
    agent = small.build()
    check_memory_fits(small, agent, side_by_side=10)
    with pytest.raises(TooLarge, match=r"1,000,000 learners of full would take .* GB"):
        check_memory_fits(small, agent, side_by_side=1_000_000)


@pytest.mark.system  # takes seconds
def test_a_run_without_room_is_refused_before_it_begins():
    with pytest.raises(
        TooLarge, match=r"the episodes that score it 298\.0 GB .* a shorter horizon"
    ):
        prepare(spec(Doughnuts(num_stakeholders=2, horizon=10**6), deep=True))
    with pytest.raises(TooLarge, match="ask for fewer stakeholders"):
        prepare(spec(Doughnuts(num_stakeholders=100_000, horizon=4), deep=True, recipe="best"))


def saved(path, recipe):
    spec = RunSpec(Doughnuts(3, 6), "full", (4,), steps=12, every=6, recipe=recipe, deep=True)
    agent = spec.build()
    weights = agent.acting(start_learners(agent, seed_keys(spec.seeds)))
    save_policies(path, agent, weights, {"spec": spec.to_json()})
    return path


@pytest.mark.system
def test_a_policy_is_scored_for_another_number(tmp_path):
    path = saved(tmp_path / "fair.policy", "best")
    found = score_saved(path, episodes=4, num_stakeholders=30, horizon=8)
    assert found.against.optimum is None  # 2^30 combinations of who is there
    assert found.scores[0] >= 0
    assert (found.details["stakeholders"], found.details["horizon"]) == (30, 8)
    # Eight doughnuts for eight of thirty, who are nearly always among those present.
    assert found.details["turn_taking"] == pytest.approx(0.6931 * 36, rel=1e-3)
    words = "evaluate", str(path), "--episodes", "4", "--stakeholders", "30", "--horizon", "8"
    done = CliRunner().invoke(app, [*words])
    assert (
        "Learned with 3 stakeholders over 6 decisions, it decides here for 30 over" in done.output
    )
    answer = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert (answer["stakeholders"], answer["scores"]) == (30, found.scores)
    log = CliRunner().invoke(app, [*words, "--log", str(tmp_path / "a.parquet")])
    assert "leave --stakeholders" in str(log.exception)


@pytest.mark.system  # takes seconds
def test_what_cannot_be_used_for_another_number_says_why(tmp_path):
    path = saved(tmp_path / "fair.policy", "paper")
    with pytest.raises(BadParameter, match="learn with EquivariantMLP"):
        score_saved(path, episodes=4, num_stakeholders=7)
    with pytest.raises(BadParameter, match="whole number from 1"):
        score_saved(path, episodes=4, num_stakeholders=0)
    run = tmp_path / "fair.run"
    write_tensors(run, "run", {}, {"nothing": np.zeros(1)})
    with pytest.raises(BadFile, match=r"only finished policies of networks.*with `deep`\.$"):
        score_saved(run, num_stakeholders=7)
