"""Tasks: the same blocks whoever does them, none lost, none done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import BadFile
from evenhand.lab import executors as processes
from evenhand.lab import runs
from evenhand.lab.compare_methods import compare
from evenhand.lab.executors import (
    BlockFailed,
    CurvePoints,
    LocalProcesses,
    Task,
    merge,
    run_tasks,
    split_into_tasks,
)
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.runs import Run, load_run, save_run, train
from waiting import HANG

SHOP = Doughnuts(num_stakeholders=2, horizon=4, presence=0.8)
SPEC = RunSpec(SHOP, "full", (0, 1), steps=1_000, every=100)


def nobody(*_):
    pass


@pytest.mark.parametrize(
    ("deep", "seeds", "blocks"),
    [
        (True, 1, [1]),
        (True, 2, [1, 1]),  # two cores are common
        (True, 4, [2, 2]),
        (True, 10, [5, 5]),
        (True, 11, [4, 4, 3]),
        (True, 1000, [5] * 200),
        (False, 1, [1]),
        (False, 100, [100]),
        (False, 250, [84, 83, 83]),
    ],
)
def test_blocks_are_cut_by_the_number_of_seeds_alone(tmp_path, deep, seeds, blocks):
    spec = replace(SPEC, deep=deep, seeds=list(range(7, 7 + seeds)))
    tasks = split_into_tasks(spec, tmp_path / "a.run")
    assert [len(task.spec.seeds) for task in tasks] == blocks
    assert [s for task in tasks for s in task.spec.seeds] == list(spec.seeds)
    whole = [Path(tmp_path / "a.run")]
    parts = [Path(f"{tmp_path}/a.run.block{k}") for k in range(len(blocks))]
    assert [task.path for task in tasks] == (parts if deep or len(blocks) > 1 else whole)


@pytest.mark.system  # processes that compile anew
def test_two_processes_come_to_what_one_comes_to(tmp_path):
    options = {"seeds": 2, "steps": 500}
    heard = []
    two = compare(
        SHOP,
        ["full", "random", "min", "reset"],
        out=tmp_path,
        progress=lambda *now: heard.append(now),
        executor=LocalProcesses(2),
        **options,
    )
    one = compare(SHOP, ["full", "min", "reset"], executor=LocalProcesses(1), **options)
    assert list(two.methods) == ["full", "random", "min", "reset"]
    for method in one.methods:
        np.testing.assert_array_equal(one.methods[method].scores, two.methods[method].scores)
        told = [done for name, done, of, _ in heard if name == method]
        assert told == sorted(told)
        assert told[-1] == 500
    # A second time nothing is left to do, and every method says so.
    heard.clear()
    again = compare(
        SHOP,
        ["full", "min", "reset"],
        out=tmp_path,
        progress=lambda *now: heard.append(now),
        executor=Nowhere(),
        **options,
    )
    np.testing.assert_array_equal(again.methods["min"].scores, one.methods["min"].scores)
    assert [(name, done) for name, done, _, _ in heard] == [
        *(("full", 500), ("min", 500), ("reset", 500))
    ]


@pytest.mark.system  # processes that compile anew
def test_a_killed_process_is_replaced_and_its_task_goes_on(tmp_path, monkeypatch):
    pids = spy_on_processes(monkeypatch)
    spec = replace(SPEC, steps=100_000, every=1_000)
    task = Task(spec, tmp_path / "a.run")
    killed = []

    def heard(k, done, of, score):
        if not killed and task.path.exists():
            killed.append(done)
            os.kill(pids[0], signal.SIGKILL)

    # Small files are saved every two seconds, which is as long as this takes: save one at once.
    some = train(spec.build(), replace(spec, steps=10_000))
    save_run(Run(spec, some.learners, some.measures), task.path)
    run_tasks([task], LocalProcesses(1), heard)
    assert len(pids) == 2
    assert killed == [11_000]
    run = load_run(task.path)
    assert run.finished
    np.testing.assert_array_equal(run.scores, train(spec.build(), spec).scores)


@pytest.mark.system  # processes that compile anew
def test_one_that_is_killed_again_and_again_is_given_up(tmp_path, monkeypatch):
    pids = spy_on_processes(monkeypatch)

    def heard(k, *now):
        os.kill(pids[-1], signal.SIGKILL)

    with pytest.raises(BlockFailed, match=r"full, seeds 0 to 1 ended with code -9\. What it had"):
        run_tasks([Task(SPEC, tmp_path / "a.run")], LocalProcesses(1), heard)
    assert len(pids) == 3


@pytest.mark.system
@pytest.mark.parametrize("order", [1, -1])
def test_what_a_process_refuses_is_said_and_the_others_stop(tmp_path, order):
    long = replace(SPEC, steps=100_000_000, every=1_000_000)
    tasks = [
        Task(replace(SPEC, recipe="worst"), tmp_path / "a"),
        Task(long, tmp_path / "b"),
    ][::order]
    with pytest.raises(BlockFailed, match=r"^there is no recipe 'worst'"):
        run_tasks(tasks, LocalProcesses(2), nobody)


def spy_on_processes(monkeypatch):
    pids = []
    start = processes.ChildProcess.__init__

    def spied(self, *what, **more):
        start(self, *what, **more)
        pids.append(self.process.pid)

    monkeypatch.setattr(processes.ChildProcess, "__init__", spied)
    return pids


class Nowhere:
    """An executor that must not be asked."""

    def open(self):
        raise AssertionError

    def run(self, tasks, heard, stop):
        raise AssertionError


@dataclass
class Here:
    """An executor that does the tasks one after another, in this process."""

    done: list[str] = field(default_factory=list)

    def open(self):
        pass

    def run(self, tasks, heard, stop):
        for k, task in enumerate(tasks):
            if stop.wait(0.0):
                return
            train(task.spec.build(), task.spec, task.path, lambda *now, k=k: heard(k, *now))
            self.done.append(task.name)


@pytest.mark.system  # takes seconds
def test_only_what_is_left_is_done(tmp_path):
    tasks = [
        Task(replace(SPEC, seeds=[seed], method=method), tmp_path / f"{method}{seed}")
        for method in ("full", "min")
        for seed in (0, 1)
    ]
    train(tasks[1].spec.build(), tasks[1].spec, tasks[1].path)
    here, heard = Here(), []
    run_tasks(tasks, here, lambda k, done, of, score: heard.append((k, done)))
    assert here.done == ["full, seed 0", "min, seed 0", "min, seed 1"]
    assert heard[0] == (1, 1_000)  # what was there is told first
    assert heard[1:11] == [(0, done) for done in range(100, 1_001, 100)]
    assert heard[-1] == (3, 1_000)


def test_blocks_of_an_earlier_cut_are_refused_before_anything_is_begun(tmp_path):
    spec = replace(SPEC, deep=True, seeds=list(range(10)))
    other = replace(spec, seeds=[0, 1])
    save_run(Run(other, {}, {"score": np.zeros((1, 2))}), tmp_path / "a.run.block0")
    with pytest.raises(BadFile, match=r"a\.run\.block0 holds a run with other seeds \(0, 1\): ch"):
        run_tasks(split_into_tasks(spec, tmp_path / "a.run"), Nowhere(), nobody)
    (tmp_path / "a.run.block0").unlink()
    # A file of the whole run, as tables have it, is gone on with whatever the cut is now.
    save_run(Run(spec, {}, {"score": np.zeros((1, 10))}), tmp_path / "a.run")
    assert split_into_tasks(spec, tmp_path / "a.run") == [Task(spec, tmp_path / "a.run")]


def test_blocks_are_merged_in_order_and_none_twice(tmp_path):
    tasks = split_into_tasks(replace(SPEC, deep=True), tmp_path / "a.run")
    with pytest.raises(BlockFailed, match=r"block0 is gone, and with it full, seed 0"):
        tasks[0].result()
    for k, task in enumerate(tasks):
        run = Run(task.spec, {"w": np.array([k])}, {"score": np.full((k + 1, 1), float(k))})
        save_run(run, task.path)
    parts = [task.result() for task in tasks]
    assert merge(SPEC, parts).scores.tolist() == [[0.0, 1.0]]  # as far as both have come
    for wrong in ([parts[0], parts[0]], [parts[0]], parts[::-1], [*parts, parts[1]]):
        with pytest.raises(BlockFailed, match="not each of them once"):
            merge(SPEC, wrong)


def test_a_failure_meanwhile_stops_the_others(tmp_path):
    class Waits(Here):
        def run(self, tasks, heard, stop):
            assert stop.wait(HANG)
            self.done.append("stopped")

    class Trouble(Exception):
        pass

    def meanwhile():
        raise Trouble

    waits = Waits()
    with pytest.raises(Trouble):
        run_tasks([Task(SPEC, tmp_path / "a")], waits, nobody, meanwhile)
    assert waits.done == ["stopped"]
    assert threading.active_count() < 20


@pytest.mark.system
@pytest.mark.timeout(900)  # only a hang takes as long
def test_an_interrupted_process_keeps_what_it_has(tmp_path):
    task = Task(replace(SPEC, steps=100_000_000, every=10_000), tmp_path / "a.run")
    told = [0.0]

    def interrupt(k, done, of, score):
        # Pressed again after a while, as a person would: a key can be lost on a garbage collector.
        if task.path.exists() and time.monotonic() - told[-1] > 5.0:
            told.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

    # As from the keyboard: while this process waits for the others.
    with pytest.raises(KeyboardInterrupt):
        run_tasks([task], LocalProcesses(1), interrupt)
    assert 0 < len(load_run(task.path).scores) < 10_000
    assert not list(tmp_path.glob(".*"))  # nothing half-written


def test_a_run_interrupted_in_the_middle_of_a_stretch_is_what_was_saved(tmp_path, monkeypatch):
    learner = SPEC.build()
    train_steps = type(learner).train_steps

    stretches = []

    def interrupted(self, learners, steps):
        stretches.append(steps)
        if len(stretches) % 6 == 0:
            train_steps(self, learners, steps)  # the learners are given away
            raise KeyboardInterrupt
        return train_steps(self, learners, steps)

    monkeypatch.setattr(type(learner), "train_steps", interrupted)
    monkeypatch.setattr(runs, "SAVE_EVERY", 1e9)  # however long it takes to compile
    assert len(train(learner, SPEC, tmp_path / "a.run").scores) == 5
    assert not (tmp_path / "a.run").exists()
    monkeypatch.setattr(runs, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(runs, "SAVING_SHARE", 1e9)
    assert len(train(learner, SPEC, tmp_path / "a.run").scores) == 5
    assert len(load_run(tmp_path / "a.run").scores) == 5


def test_points_are_told_when_all_have_come_to_them(tmp_path):
    """What was saved first, then in order, each once: blocks of two seeds and of one."""
    tasks = [
        Task(replace(SPEC, seeds=seeds), tmp_path / str(k)) for k, seeds in enumerate(([0, 1], [2]))
    ]
    told = []
    points = CurvePoints(tasks, lambda *point: told.append(point))
    for now in ((0, 10, 30, 1.0), (0, 20, 30, 4.0), (1, 10, 30, 7.0), (1, 10, 30, 7.0)):
        points(*now)
    assert told == [(10, 3.0)]
    points(1, 20, 30, 1.0)
    assert told == [(10, 3.0), (20, 3.0)]
    run = train(tasks[0].spec.build(), tasks[0].spec, tasks[0].path)
    told.clear()
    points = CurvePoints(tasks, lambda *point: told.append(point))
    assert not told
    points(1, int(run.steps[0]), 30, 0.0)
    assert told == [(run.steps[0], pytest.approx(run.scores[0].sum() / 3))]


def test_a_process_loads_jax_only_once_it_keeps_to_one_core():
    code = (
        "import sys\n"
        "import evenhand.lab.worker, evenhand.lab.ray_cluster\n"
        "assert 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
