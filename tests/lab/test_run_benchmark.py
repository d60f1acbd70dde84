"""The benchmark from start to end, with methods of one's own: resumed, refused, and by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from evenhand.errors import BadFile, BadParameter, UnknownName
from evenhand.lab import BENCHMARK_METHODS, Method, executors, pairs_of, run_benchmark
from evenhand.lab.executors import InThisProcess, Task
from evenhand.lab.runs import load_run, save_run
from evenhand.lab.trials import JudgedEpisode, Trial, in_rounds, rounds_of

SHOP = {"name": "doughnuts", "num_stakeholders": 2, "horizon": 4, "presence": 1.0}
SMALL = {"seeds": 2, "steps": 100, "evaluations": 5, "episodes": 100, "final_episodes": 100}


@BENCHMARK_METHODS.register("test_first")
class FirstOnly(Method):
    """Everything to the first."""

    def act(self, seen, explore):
        return 0


@BENCHMARK_METHODS.register("test_turns")
class Turns(Method):
    """Whoever has received least; what it is shown is kept."""

    settings = ({"start": 0}, {"start": 1})

    def __init__(self, start):
        self.start = start
        self.learned = 0

    def begin(self, facts, seed):
        assert (facts.num_actions, facts.num_stakeholders, facts.horizon) == (2, 2, 4)
        assert facts.steps == 100
        self.seed = seed

    def act(self, seen, explore):
        assert seen.received.sum() == seen.time  # everybody is there, and nothing is wasted
        return int(np.argmin(seen.received)) if self.start == 0 else 1

    def learn(self, seen, action, rewards, after, over):
        self.learned += 1
        assert after.time == seen.time + 1
        assert (after.received - seen.received).tolist() == rewards.tolist()
        assert rewards[action] == 1.0
        assert over == (after.time == 4)


def run(methods, pairs=None, **more):
    pairs = pairs_of([SHOP], ["long-term"]) if pairs is None else pairs
    return run_benchmark(pairs, methods, executor=InThisProcess(), **{**SMALL, **more})


@pytest.mark.system  # takes seconds
def test_scores_are_those_by_hand():
    found = run([FirstOnly, Turns], pairs_of([SHOP]), search=1)
    name = found.runs[0].pair.split("/")[0]
    scores = {(run.pair, run.method): run.score for run in found.runs if run.seed == 0}
    log = math.log
    assert scores[f"{name}/long-term", "test_first"] == pytest.approx(log(5), rel=1e-5)
    assert scores[f"{name}/long-term", "test_turns"] == pytest.approx(2 * log(3), rel=1e-5)
    steps = [log(2), 2 * log(2), log(3) + log(2), 2 * log(3)]
    assert scores[f"{name}/anytime", "test_turns"] == pytest.approx(sum(steps), rel=1e-5)
    facts = found.pairs[f"{name}/anytime"]
    assert facts.optimum == pytest.approx(sum(steps))
    assert facts.share(facts.optimum) == 1.0
    assert [run.welfare_of_means for run in found.of(f"{name}/long-term", "test_turns")] == (
        pytest.approx([2 * log(3)] * 2, rel=1e-5)
    )
    assert found.of(f"{name}/anytime", "test_turns")[0].welfare_of_means is None


@pytest.mark.system  # takes seconds
def test_the_best_setting_is_taken_by_a_search_with_seeds_of_its_own():
    class Backwards(Turns):
        settings = ({"start": 1}, {"start": 0})

    found = run([Backwards], search=2)
    assert {run.setting["start"] for run in found.runs} == {0}
    assert [run.seed for run in found.runs] == [0, 1]
    kept = run([Backwards], search=1)
    assert {run.setting["start"] for run in kept.runs} == {1}


class _Killed(Exception):
    pass


@pytest.mark.system
def test_what_was_killed_goes_on_to_the_same_numbers(tmp_path):
    pairs = pairs_of([{**SHOP, "presence": 0.5}])
    whole = run(["test_first", "random"], pairs, search=1)

    for stop_after in (1, 4):
        out = tmp_path / str(stop_after)
        seen = []

        def stop(what, done, of, seen=seen, stop_after=stop_after):
            seen.append(what)
            if done >= stop_after:
                raise _Killed

        with pytest.raises(_Killed):
            run(["test_first", "random"], pairs, search=1, out=out, progress=stop)
        before = {path: path.read_bytes() for path in (out / "runs").glob("*.run")}
        again = run(["test_first", "random"], pairs, search=1, out=out)
        assert [(r.pair, r.method, r.curve) for r in again.runs] == [
            (r.pair, r.method, r.curve) for r in whole.runs
        ]
        assert all(path.read_bytes() == content for path, content in before.items())


def test_a_trial_of_another_version_is_refused_and_stays(tmp_path):
    run(["test_first"], out=tmp_path, search=1)
    (path,) = (tmp_path / "runs").glob("*.run")
    done = load_run(path, Trial)
    save_run(replace(done, spec=replace(done.spec, version=f"9.{done.spec.version}")), path)
    changed = path.read_bytes()
    with pytest.raises(BadFile, match=r"evenhand 9\..*, and this is"):
        run(["test_first"], out=tmp_path, search=1)
    assert path.read_bytes() == changed


def test_what_a_trial_came_to_is_a_run(tmp_path, monkeypatch):
    """All four to the first: ln 5 for each seed, and for the mean receipts as well."""
    monkeypatch.setattr(executors, "_claims", [None])  # this process keeps all its cores
    task = Task(
        Trial(pairs_of([SHOP], ["long-term"])[0], "test_first", {}, (3, 4), 20, 10),
        tmp_path / "a.run",
    )
    assert task.saved() is None
    task.spec.run(task.path, lambda *_: None)
    found = task.result()
    assert found.finished
    assert found.spec == task.spec
    assert task.name == f"test_first on {task.spec.pair.name}"
    np.testing.assert_allclose(found.scores, np.full((2, 2), math.log(5)), rtol=1e-5)
    assert found.about["welfare_of_means"] == pytest.approx([math.log(5)] * 2, rel=1e-5)
    assert found.steps.tolist() == [10, 20]
    sent = Task.from_json(json.loads(json.dumps(task.to_json())))
    assert sent == task
    with pytest.raises(BadFile, match=r"a\.run holds a run with other seeds \(3, 4\)"):
        replace(task, spec=replace(task.spec, seeds=(3, 5))).saved()
    with pytest.raises(BadFile, match=r"a\.run cannot be read as a run"):
        load_run(task.path)  # as something to be trained


@pytest.mark.parametrize(
    ("action", "words"),
    [(None, "gave no action"), (7, "gave 7"), (True, "gave true|gave True"), (0.5, "gave 0.5")],
)
def test_a_method_that_returns_no_action_is_a_sentence(tmp_path, action, words):
    class Odd(Method):
        def act(self, seen, explore):
            return action

    run(["test_first"], out=tmp_path, search=1)
    before = sorted(tmp_path.rglob("*.*"))
    with pytest.raises(BadParameter, match=f"{words} on doughnuts.* at time 0: .*from 0 to 1"):
        run([Odd], out=tmp_path, search=1)
    assert sorted(tmp_path.rglob("*.*")) == before  # what was there stays


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"methods": ["fairqc"]}, UnknownName, "did you mean 'fairqcm'"),
        ({"methods": []}, BadParameter, "nothing to run"),
        ({"methods": ["random", "random"]}, BadParameter, "named twice"),
        ({"methods": ["random"], "steps": 10}, BadParameter, "steps is 10"),
        ({"methods": ["random"], "seeds": 0}, BadParameter, "seeds is 0"),
        ({"methods": ["random"], "search": 9}, BadParameter, "search is 9"),
    ],
)
def test_what_cannot_be_run_is_a_sentence(arguments, error, words):
    with pytest.raises(error, match=words):
        run(**arguments)


def test_a_method_that_does_not_fit_is_left_out_with_its_reason():
    found = run(["least_served", "random"], pairs_of(["fish_wood"], ["anytime"]), search=1)
    assert {run.method for run in found.runs} == {"random"}
    assert found.skipped[0]["method"] == "least_served"
    assert "cannot be put into FishWood" in found.skipped[0]["why"]


@pytest.mark.parametrize("name", ["seeds", "evaluations", "episodes", "final_episodes"])
def test_a_number_of_nothing_is_refused(name):
    with pytest.raises(BadParameter, match=f"{name} is 0: it must be at least 1"):
        run([FirstOnly], **{name: 0})


def test_methods_of_all_kinds_play_the_same_number_of_episodes():
    played = []

    def play(number):
        played.append(number)
        return JudgedEpisode(np.float64(number), np.zeros(2))

    score, _ = in_rounds(play, 150)
    assert played == [0, 1]
    assert score == 0.5
    assert [rounds_of(k) for k in (1, 100, 101, 200)] == [1, 1, 2, 2]
