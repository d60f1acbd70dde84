"""Runs: saved as they go, continued to the same numbers, begun with policies; rows kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest

from evenhand.envs import Doughnuts, Lending, Vaccines
from evenhand.errors import BadFile, BadParameter
from evenhand.lab import runs
from evenhand.lab.compare_methods import compare
from evenhand.lab.executors import BlockFailed, LocalProcesses, train_in_blocks
from evenhand.lab.recipes import deep_learner, deep_methods
from evenhand.lab.reproduction import FIGURES
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.runs import kept_row, load_run, require_start, start_from_policies, train
from evenhand.lab.training import prepare
from evenhand.learn.deep.agent import HardUpdate
from evenhand.learn.deep.networks import MLP, Recurrent
from evenhand.learn.imagined_memories import Above, Around
from evenhand.learn.policy_files import save_policies
from evenhand.learn.schedules import seed_keys, start_learners
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
    assert found.methods["full"].scores.shape == (100, 2)
    assert found.methods["random"].final[0] == pytest.approx(found.random, abs=0.1)
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


WARM = RunSpec(
    Doughnuts(2, 3, 0.8), "fairqcm", (4, 7), steps=120, every=120, recipe="default", deep=True
)


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """A file of two policies, and their weights."""
    agent = WARM.build()
    learners = start_learners(agent, seed_keys(WARM.seeds))
    path = tmp_path_factory.mktemp("warm") / "fair.policy"
    save_policies(path, agent, agent.acting(learners), {"spec": WARM.to_json()})
    return path, [np.asarray(leaf) for leaf in jax.tree.leaves(learners.weights)]


@pytest.mark.system
def test_each_seed_begins_with_its_own_weights_or_with_those_of_the_first(policy):
    path, weights = policy
    agent = WARM.build()
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
    run = train(WARM.build(), replace(WARM, start=str(path)))
    assert run.finished
    assert set(run.measures) == {"score", "kept", "achieved", "loss", "value"}
    assert (run.measures["loss"] > 0).all()
    assert np.isfinite(run.measures["value"]).all()


@pytest.mark.system
def test_policies_that_do_not_fit_are_a_sentence(policy):
    path, _ = policy
    other = replace(WARM, environment=Doughnuts(2, 3, (0.8, 0.5))).build()
    with pytest.raises(BadParameter, match="another network or of other observations"):
        require_start(other, path)
    with pytest.raises(BadParameter, match="for networks"):
        replace(WARM, deep=False, start=str(path))


@pytest.mark.system
def test_another_run_does_not_write_over_it_and_is_told_how_to_go_on(policy):
    path, _ = policy
    with pytest.raises(BadFile, match="holds a policy with other settings") as refused:
        prepare(replace(WARM, steps=240), path)
    assert str(refused.value).endswith(f"name another output and add `start={str(path)!r}`.")


def test_a_finished_row_is_not_made_again(tmp_path):
    made = []

    def make():
        made.append(1)
        return {"value": len(made)}

    path = tmp_path / "rows" / "one.json"
    assert kept_row(path, {"seeds": 1}, make)["value"] == 1
    assert kept_row(path, {"seeds": 1}, make)["value"] == 1
    assert kept_row(path, {"seeds": 2}, make) == {"settings": {"seeds": 2}, "value": 2}
    assert json.loads(path.read_text())["value"] == 2


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ("{", "is not a result that evenhand wrote, or was cut short"),
        ("[]", "what it holds is a list, and must be a table"),
        ('{"settings": {"seeds": 1}}', "it holds values that do not fit together"),
        ('{"settings": {"seeds": 1}, "value": "x"}', "it holds values that do not fit together"),
    ],
)
def test_a_damaged_file_is_refused_by_its_name(tmp_path, kept, words):
    path = tmp_path / "one.json"
    path.write_text(kept)
    with pytest.raises(BadFile, match=words) as refused:
        kept_row(path, {"seeds": 1}, dict, lambda row: float(row["value"]))
    assert str(path) in str(refused.value)
    assert path.read_text() == kept
