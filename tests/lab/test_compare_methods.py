"""Runs that are killed end as if they had not been; results are what the issue says they are."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from evenhand._util.numbers import interquartile_mean
from evenhand.envs import Doughnuts, Lending
from evenhand.errors import BadFile, BadParameter, CannotWrite
from evenhand.lab import runs
from evenhand.lab.compare_methods import compare, summarise
from evenhand.lab.recipes import tabular_learner
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.runs import load_run, train
from evenhand.learn.imagined_memories import Everything
from evenhand.memory.memory import Min
from waiting import wait_until

SHOP = Doughnuts(num_stakeholders=2, horizon=4, presence=0.8)


@pytest.mark.system
def test_a_comparison_has_everything_asked_for(tmp_path):
    methods = ["fairqcm", "full", "min", "oracle", "random"]
    found = compare(SHOP, methods, seeds=3, steps=2_000, out=tmp_path)
    answer = json.loads((tmp_path / "results.json").read_text())
    assert answer == json.loads(json.dumps(found.to_json()))
    assert list(answer["methods"]) == methods
    for result in answer["methods"].values():
        assert len(result["scores"]) == 3
        low, high = result["interval"]
        assert low <= result["iqm"] <= high
        assert result["regret"] == pytest.approx(answer["optimum"] - result["iqm"])
        assert {"seconds", "steps_to", "not_wasted"} <= result.keys()
    assert answer["methods"]["oracle"]["regret"] == pytest.approx(0.0, abs=1e-9)
    assert answer["methods"]["random"]["iqm"] == pytest.approx(answer["random"])
    assert answer["methods"]["random"]["not_wasted"] == pytest.approx(4 * 0.8)
    # Turn taking wastes a doughnut only when nobody is there.
    assert answer["methods"]["oracle"]["not_wasted"] == pytest.approx(4 * (1 - 0.2**2))
    rows = (tmp_path / "curves.csv").read_text().splitlines()
    assert len(rows) == 1 + 5 * 100 * 3
    table = (tmp_path / "table.csv").read_text().splitlines()
    assert table[0].startswith("method,iqm,interval_low,interval_high,mean,regret")
    assert [row.split(",")[0] for row in table[1:]] == methods


def test_every_seed_has_episodes_of_its_own_and_its_own_name():
    """So that the spread of what does not learn says how sure its score is, where it is sampled."""
    found = compare(SHOP, ["oracle", "random"], seeds=3, seed=5, steps=100, deep=True)
    for result in found.methods.values():
        assert len(set(result.final)) == 3
        low, high = summarise(result, found.against)["interval"]
        assert low < high
    again = compare(SHOP, ["random"], seeds=1, seed=6, steps=100, deep=True)
    assert again.methods["random"].final[0] == found.methods["random"].final[1]
    rows = list(csv.DictReader(io.StringIO(found.curves())))
    named = {(row["method"], int(row["seed"])): float(row["score"]) for row in rows}
    assert named == {
        (name, seed): score
        for name, result in found.methods.items()
        for seed, score in zip((5, 6, 7), result.final, strict=True)
    }


@pytest.mark.system  # takes seconds
def test_a_stopped_run_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    spec = RunSpec(SHOP, "fairqcm", (0, 1), steps=2_000, every=200)
    learner = spec.build()
    whole = train(learner, spec)
    monkeypatch.setattr(runs, "SAVE_EVERY", 0.0)

    class Stop(Exception):
        pass

    def stop(done, of, score):
        if done == 1_200:
            raise Stop

    path = tmp_path / "a.run"
    with pytest.raises(Stop):
        train(learner, spec, path, stop)
    assert 0 < len(load_run(path).scores) < 10
    again = train(learner, spec, path)
    np.testing.assert_array_equal(again.scores, whole.scores)
    np.testing.assert_array_equal(np.asarray(again.learners.q), np.asarray(whole.learners.q))
    assert train(learner, spec, path).scores.shape == (10, 2)  # finished: nothing more to do
    with pytest.raises(BadFile, match="other settings"):
        train(learner, replace(spec, steps=4_000), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadFile, match="cut short"):
        train(learner, spec, path)


@pytest.mark.system  # processes that compile anew
def test_kill_9_in_the_middle_of_a_compare_changes_nothing(tmp_path):
    command = [
        *(sys.executable, "-m", "evenhand", "compare", "doughnuts", "--methods", "fairqcm,full"),
        *("--proposal", "all", "--seeds", "4", "--steps", "30000", "--json", "--out"),
    ]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL)
    file = killed / "fairqcm.paper.run"
    assert wait_until(file.exists, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not load_run(file).finished, "it was too late to kill it in the middle"
    assert not (killed / "results.json").exists()
    subprocess.run([*command, str(killed)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*command, str(whole)], check=True, stdout=subprocess.DEVNULL)
    answers = [json.loads((folder / "results.json").read_text()) for folder in (killed, whole)]
    for method in ("fairqcm", "full"):
        scores = [answer["methods"][method]["scores"] for answer in answers]
        assert scores[0] == scores[1]
    assert (killed / "curves.csv").read_text() == (whole / "curves.csv").read_text()
    assert "vega" in (whole / "chart.html").read_text()


@pytest.mark.system  # learns for long
def test_the_best_recipe_beats_the_papers(tmp_path):
    paper = compare(SHOP, ["fairqcm"], seeds=5, steps=3_000, recipe="paper")
    best = compare(SHOP, ["fairqcm"], seeds=5, steps=3_000, recipe="best")
    assert best.methods["fairqcm"].final.min() > 0.99 * best.optimum
    assert best.methods["fairqcm"].final.mean() > paper.methods["fairqcm"].final.mean()
    assert None not in best.to_json()["methods"]["fairqcm"]["steps_to"]["90%"]


@pytest.mark.system  # learns for long
def test_another_proposal_is_fairqcms_alone():
    plain = compare(SHOP, ["full"], seeds=2, steps=500)
    varied = compare(SHOP, ["fairqcm", "full"], seeds=2, steps=500, proposal=Everything())
    np.testing.assert_array_equal(plain.methods["full"].scores, varied.methods["full"].scores)
    assert (varied.methods["fairqcm"].scores != varied.methods["full"].scores).any()


def test_the_interquartile_mean_leaves_a_quarter_out_at_either_end():
    assert interquartile_mean(np.array([100.0, 2.0, 1.0, -50.0])) == 1.5
    assert interquartile_mean(np.arange(10.0)) == 4.5
    assert interquartile_mean(np.array([3.0])) == 3.0


def test_mistakes_are_named(tmp_path):
    with pytest.raises(BadParameter, match="there is no method 'fairq'"):
        compare(SHOP, ["fairq"])
    with pytest.raises(BadParameter, match="no recipe 'worst'"):
        compare(SHOP, ["full"], recipe="worst")
    with pytest.raises(BadParameter, match="Lending has too many states for tables"):
        compare(Lending(), ["full"])
    with pytest.raises(BadParameter, match="at least 100"):
        compare(SHOP, ["full"], steps=10)
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="cannot be made"):
        compare(SHOP, ["random"], out=tmp_path / "file" / "folder")
    with pytest.raises(BadFile, match="no file"):
        load_run(tmp_path / "none")
    with pytest.raises(BadParameter, match="not a tabular method"):
        tabular_learner(SHOP, "oracle")
    assert tabular_learner(SHOP, "full", memory=Min()).problem.memory == Min()
