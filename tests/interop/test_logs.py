"""Traces in and out: the audit of a log is the scheme's score of the traces."""

from __future__ import annotations

import json
from types import SimpleNamespace

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

from evenhand import Rawls, Trace, anytime
from evenhand.auditing import audit
from evenhand.cli.app import app
from evenhand.envs import Doughnuts
from evenhand.errors import BadLog, BadParameter, MissingColumn
from evenhand.interop import FairnessWrapper, episode_traces, play, read_log, write_log
from evenhand.lab.run_spec import RunSpec
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import EquivariantMLP
from evenhand.learn.policy_files import save_policies
from evenhand.problem.problem import Problem

TRACES = [
    Trace(rewards=[[1, 0], [0, 0], [0, 2]], actions=[0, 1, 1]),
    Trace(rewards=[[0, 1], [0, 1], [0, 0]], actions=[1, 1, 0]),
]
NAMES = {"stakeholder": "stakeholder", "time": "step", "amount": "amount"}


def test_what_is_written_is_read(tmp_path):
    write_log(tmp_path / "log.parquet", TRACES)
    read = read_log(tmp_path / "log.parquet")
    assert [trace.rewards.tolist() for trace in read] == [t.rewards.tolist() for t in TRACES]
    assert read[0].stakeholders == ("0", "1")


def test_an_audit_of_the_log_has_the_score_of_the_traces(tmp_path):
    write_log(tmp_path / "log.parquet", TRACES)
    answer = audit(str(tmp_path / "log.parquet"), **NAMES, run="run", welfare="rawls")
    expected = np.mean([anytime(Rawls()).score(trace) for trace in TRACES])
    assert answer.score == pytest.approx(expected)  # 1/3 of a point in the first, none after
    assert expected == pytest.approx((1 / 3 + 0) / 2)


def test_runs_in_a_wrapped_environment_are_traced():
    shop = gymnasium.make("evenhand/Doughnuts-v0", num_stakeholders=2, horizon=5)
    env = FairnessWrapper(shop)
    traces = play(env, lambda seen: int(np.argmax(seen[:2])), runs=3, seed=1)
    assert [len(trace) for trace in traces] == [5, 5, 5]
    assert sum(trace.rewards.sum() for trace in traces) >= 10
    with pytest.raises(BadParameter, match="put a FairnessWrapper"):
        play(shop, lambda seen: 0)


@pytest.mark.system  # learns for long
def test_what_evaluate_writes_is_what_audit_takes(tmp_path):
    shop = Doughnuts(2, 4, 0.8)
    agent = DQN(
        problem=Problem(shop, shop.nash_scheme()), encoder=Relative(), network=EquivariantMLP((4,))
    )
    import jax

    weights = jax.vmap(lambda k: agent.network.init(k, agent.layout, 2))(
        jax.random.split(jax.random.key(0), 1)
    )
    spec = RunSpec(shop, "full", (0,), steps=4, every=4, recipe="best", deep=True)
    save_policies(tmp_path / "fair.policy", agent, weights, {"spec": spec.to_json()})
    log = str(tmp_path / "fair.parquet")
    run = CliRunner().invoke(
        app, ["evaluate", str(tmp_path / "fair.policy"), "--log", log, "--episodes", "10", "--json"]
    )
    assert run.exit_code == 0, run.output
    columns = ["--stakeholder", "stakeholder", "--time", "step", "--amount", "amount"]
    run = CliRunner().invoke(app, ["audit", log, *columns, "--run", "run", "--json"])
    assert run.exit_code == 0, run.output
    scores = [anytime().score(trace) for trace in read_log(log)]
    assert len(scores) == 100
    assert json.loads(run.stdout)["overall"]["score"] == pytest.approx(np.mean(scores))


def test_episodes_as_minari_keeps_them():
    kept = SimpleNamespace(
        rewards=np.ones(2), actions=[0, 1], infos={"stakeholder_rewards": [[0, 0], [1, 0], [0, 1]]}
    )
    assert episode_traces([kept])[0].rewards.tolist() == [[1, 0], [0, 1]]
    vector = SimpleNamespace(rewards=np.eye(2), actions=[0, 1])
    assert episode_traces([vector])[0].rewards.tolist() == [[1, 0], [0, 1]]
    with pytest.raises(BadLog, match="record_infos=True"):
        episode_traces([SimpleNamespace(rewards=np.ones(2), actions=[0, 1], infos=None)])


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(BadParameter, match="no traces"):
        write_log(tmp_path / "log.parquet", [])
    other = Trace(rewards=[[1, 0]], stakeholders=("A", "B"))
    with pytest.raises(BadParameter, match="run 1 has the stakeholders A, B"):
        write_log(tmp_path / "log.parquet", [TRACES[0], other])
    with pytest.raises(BadLog, match="no file"):
        read_log(tmp_path / "log.parquet")
    (tmp_path / "text.parquet").write_text("text")
    with pytest.raises(BadLog, match="cannot be read as Parquet"):
        read_log(tmp_path / "text.parquet")
    import duckdb

    duckdb.sql("SELECT 1 AS run").write_parquet(str(tmp_path / "other.parquet"))
    with pytest.raises(MissingColumn, match="no column 'step', 'stakeholder', 'amount': it has"):
        read_log(tmp_path / "other.parquet")


def written(path, rows: str) -> str:
    """A Parquet file of run, step, stakeholder and amount that somebody else wrote."""
    import duckdb

    duckdb.sql(f"SELECT * FROM (VALUES {rows}) AS t(run, step, stakeholder, amount)").write_parquet(
        str(path)
    )
    return str(path)


def test_runs_and_stakeholders_may_be_texts_or_numbers(tmp_path):
    rows = "('b', 1, 8, 3.0), ('a', 1, 7, 1.0), ('a', 2, 8, 2.0)"
    first, second = read_log(written(tmp_path / "log.parquet", rows))
    assert first.stakeholders == second.stakeholders == ("7", "8")
    assert (first.rewards.tolist(), second.rewards.tolist()) == ([[1, 0], [0, 2]], [[0, 3]])


@pytest.mark.parametrize("column", ["run", "step", "stakeholder", "amount"])
def test_an_empty_place_is_refused(tmp_path, column):
    whole = {"run": "0", "step": "1", "stakeholder": "'A'", "amount": "1.0"}
    empty = {**whole, column: "NULL"}
    rows = ", ".join(f"({', '.join(row.values())})" for row in (whole, empty))
    with pytest.raises(BadLog, match=f"has rows without {column}: fill them in"):
        read_log(written(tmp_path / "log.parquet", rows))


def test_the_file_that_was_named_is_read_and_no_other(tmp_path):
    write_log(tmp_path / "run1.parquet", TRACES[:1])
    write_log(tmp_path / "run[1].parquet", TRACES[1:])  # a pattern that the first one fits
    assert read_log(tmp_path / "run[1].parquet")[0].rewards.tolist() == TRACES[1].rewards.tolist()


def test_a_log_is_written_whatever_the_temporary_folder_is_called(tmp_path, monkeypatch):
    import tempfile

    odd = tmp_path / "it's"
    odd.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(odd))
    write_log(tmp_path / "log.parquet", TRACES)
    assert len(read_log(tmp_path / "log.parquet")) == 2


def test_actions_of_several_numbers_are_written_as_texts(tmp_path):
    several = Trace(rewards=[[1, 0], [0, 1]], actions=[np.array([0, 1]), np.array([2, 0])])
    write_log(tmp_path / "log.parquet", [several])
    import duckdb

    found = duckdb.read_parquet(str(tmp_path / "log.parquet")).project("step, action").distinct()
    assert sorted(found.fetchall()) == [(1, "[0, 1]"), (2, "[2, 0]")]
    one = Trace(rewards=[[1, 0]], actions=[np.array([0.5])])  # a space with one axis of one number
    write_log(tmp_path / "log.parquet", [one])
    found = duckdb.read_parquet(str(tmp_path / "log.parquet")).project("action").distinct()
    assert found.fetchall() == [(0.5,)]
