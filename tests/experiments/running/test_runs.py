"""Deep runs: stopped, killed and interrupted ones end as they should; recipes are the paper's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from evenhand.envs import Doughnuts, Lending, Vaccines
from evenhand.errors import BadFile, BadParameter
from evenhand.experiments.paper.figures import FIGURES
from evenhand.experiments.recipes.deep_recipes import deep_learner, deep_methods
from evenhand.experiments.running import runs
from evenhand.experiments.running.blocks import train_in_blocks
from evenhand.experiments.running.compare_methods import compare
from evenhand.experiments.running.local_processes import LocalProcesses
from evenhand.experiments.running.run_spec import RunSpec
from evenhand.experiments.running.runs import load_run, train
from evenhand.experiments.running.tasks import BlockFailed
from evenhand.learn.deep.networks import MLP, Recurrent
from evenhand.learn.deep.targets import HardUpdate
from evenhand.learn.proposals import Above, Around
from waiting import HANG, group_is_over, wait_until

SHOP = Doughnuts(2, 5, 0.8)
SPEC = RunSpec(SHOP, "fairqcm", (0, 1), steps=600, every=100, recipe="best", deep=True)


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize(
    ("environment", "method", "numbers"),
    [
        (Doughnuts(), "fairqcm", (1e-4, 6400, 2048, 1000)),
        (Doughnuts(), "full", (1e-4, 400, 64, 1000)),
        (Doughnuts(), "reset", (1e-4, 400, 64, 1000)),
        (Doughnuts(), "rnn", (2e-3, 1000, 256, 1000)),
        (Lending(), "fairqcm", (1e-4, 8000, 512, 100)),
        (Lending(), "min", (1e-4, 1000, 64, 100)),
        (Lending(), "rnn", (5e-3, 2000, 512, 100)),
    ],
)
def test_the_papers_recipe_has_the_papers_numbers(environment, method, numbers):
    agent = deep_learner(environment, method, "paper")
    rate, capacity, batch, copied = numbers
    assert (agent.learning_rate, agent.capacity, agent.batch) == (rate, capacity, batch)
    assert agent.target == HardUpdate(copied)
    assert (agent.discount, agent.horizon_terminates, agent.double, agent.shaping) == (
        0.95,
        False,
        False,
        False,
    )
    assert (agent.exploration.start, agent.exploration.factor, agent.exploration.floor) == (
        *(1.0, 0.999, 0.2),
    )
    assert agent.warm_up is None
    if method == "rnn":
        assert agent.network == Recurrent((32, 16), 16)
        return
    doughnuts = isinstance(environment, Doughnuts)
    assert agent.network == (MLP((32, 16, 8)) if doughnuts else MLP((32, 8)))
    if method == "fairqcm":
        assert agent.proposal == (Above(2) if doughnuts else Around(5))
    assert agent.problem.memory == deep_methods(environment)[method]


@pytest.mark.system  # learns for long
def test_a_stopped_run_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    agent = SPEC.build()
    whole = train(agent, SPEC)
    assert whole.finished
    assert whole.scores.shape == (6, 2)
    monkeypatch.setattr(runs, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(runs, "SAVING_SHARE", 1.0)

    class Stop(Exception):
        pass

    def stop(done, of, score):
        if done == 300:
            raise Stop

    path = tmp_path / "a.run"
    with pytest.raises(Stop):
        train(agent, SPEC, path, stop)
    assert 0 < len(load_run(path).scores) < 6
    again = train(agent, SPEC, path)
    for name in ("score", "kept", "achieved"):
        np.testing.assert_array_equal(again.measures[name], whole.measures[name])
    one, other = (np.asarray(run.learners.weights.out.weight) for run in (again, whole))
    np.testing.assert_array_equal(one, other)

    def interrupt(done, of, score):
        if done == 200:
            raise KeyboardInterrupt

    partial = train(agent, SPEC, tmp_path / "b.run", interrupt)
    assert len(partial.scores) == 2
    assert len(load_run(tmp_path / "b.run").scores) == 2


COMMAND = (
    *(sys.executable, "-m", "evenhand", "train", "doughnuts", "--stakeholders", "2"),
    *("--horizon", "5", "--seeds", "2", "--json"),
)


@pytest.mark.system  # processes that compile anew: a minute each
def test_kill_9_and_ctrl_c_in_the_middle_of_training(tmp_path):
    command = [*COMMAND, "--episodes", "6000", "--out"]
    file = tmp_path / "a.policy"
    process = subprocess.Popen(
        [*command, str(file)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    blocks = [tmp_path / "a.policy.block0", tmp_path / "a.policy.block1"]
    assert wait_until(lambda: all(block.exists() for block in blocks), process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert wait_until(lambda: group_is_over(process.pid))  # its processes have nobody to tell
    reached = [len(load_run(block).scores) for block in blocks]
    assert all(0 < rows < 100 for rows in reached), "it was too late to kill it in the middle"
    assert not file.exists()
    before = [block.stat().st_mtime_ns for block in blocks]
    # Gone on with, and interrupted from the keyboard: there is an answer all the same.
    process = subprocess.Popen(
        [*command, str(file)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    wait_until(lambda: [block.stat().st_mtime_ns for block in blocks] != before, process)
    os.killpg(process.pid, signal.SIGINT)
    answer = json.loads(process.communicate(timeout=HANG)[0])
    assert process.returncode == (130 if not answer["finished"] else 0)
    assert len(answer["curve"]["scores"]) >= min(reached)


@pytest.mark.system  # processes that compile anew: a minute each
def test_train_writes_a_policy_that_evaluate_scores(tmp_path):
    file = tmp_path / "fair.policy"
    command = [*COMMAND, "--episodes", "150", "--out", str(file)]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(first.stdout)
    assert len(answer["final_scores"]) == 2
    assert {"optimum", "curve", "seconds", "compile_seconds"} <= answer.keys()
    assert min(answer["final_scores"]) > 0.97 * answer["optimum"]
    assert not list(tmp_path.glob("*.block*"))
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(again.stdout)["final_scores"] == answer["final_scores"]
    scored = subprocess.run(
        [sys.executable, "-m", "evenhand", "evaluate", str(file), "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    scores = json.loads(scored.stdout)["scores"]
    assert scores == pytest.approx(answer["final_scores"], abs=0.25)
    command[command.index("150")] = "160"
    other = subprocess.run(command, capture_output=True, text=True)
    assert (other.returncode, "other settings" in other.stderr) == (2, True)


@pytest.mark.system  # learns for long
def test_deep_methods_compared_with_settings_of_their_own(tmp_path):
    found = compare(
        SHOP,
        ["full", "random"],
        deep=True,
        recipe="best",
        seeds=2,
        steps=500,
        out=tmp_path,
        settings={"batch": 16},
        executor=LocalProcesses(1),
    )
    assert found.methods["full"].curve.shape == (100, 2)
    assert found.methods["random"].scores[0] == pytest.approx(found.random, abs=0.1)
    header = (tmp_path / "curves.csv").read_text().splitlines()[0]
    assert header == "method,seed,steps,score,kept,achieved,loss,value"
    agent = replace(SPEC, settings={"batch": 16, "script_mistakes": True}).build()
    assert agent.batch == 16
    import jax
    import jax.numpy as jnp

    # The scripts' mistake: a doughnut is counted even where it was wasted.
    before = agent.problem.initial(jax.random.key(0))
    absent = before._replace(state=before.state._replace(noise=jnp.zeros(2, dtype=bool)))
    _, step, _ = agent.problem.step(jax.random.key(0), absent, 0)
    memory, _, _ = agent.problem.imagine(jnp.ones(2), absent.scheme_state, step, jnp.array(False))
    assert memory.tolist() == [2, 1]


@pytest.mark.system  # takes seconds
def test_mistakes_are_named(tmp_path):
    with pytest.raises(BadParameter, match="'fairqcm' is not a deep method for this environment"):
        deep_learner(Vaccines(), "fairqcm")  # no memory is known to determine the reward
    with pytest.raises(BadParameter, match="'reset' is not a deep method"):
        deep_learner(Lending(), "reset")
    with pytest.raises(BadParameter, match="no recipe 'worst'"):
        deep_learner(SHOP, "full", "worst")
    with pytest.raises(BlockFailed, match="'fairqcm' is not a deep method"):
        train_in_blocks(
            replace(SPEC, environment=Vaccines(), recipe="paper"),
            tmp_path / "r",
            executor=LocalProcesses(1),
        )
    (tmp_path / "r.block0").write_bytes(b"no run")
    with pytest.raises(BadFile, match="not a run"):
        train_in_blocks(SPEC, tmp_path / "r", executor=LocalProcesses(1))
    with pytest.raises(BadFile):
        load_run(tmp_path / "r.block0")
    assert {"doughnuts", "lending", "lending-gaussian", "tabular"} <= FIGURES.keys()
