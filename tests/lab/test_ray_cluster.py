"""Tasks on Ray without Ray: what is given, taken, lost and refused. The real one: tests/system."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, CannotConnect, MissingExtra
from evenhand.lab import executors as cores
from evenhand.lab import ray_cluster as cluster
from evenhand.lab import worker as away
from evenhand.lab.executors import Task
from evenhand.lab.ray_cluster import Failed, OnRay, Sweep, _order
from evenhand.lab.run_spec import PROCESS_BYTES, RunSpec
from evenhand.lab.runs import load_run, train, versions

SPEC = RunSpec(Doughnuts(2, 4), "full", (0,), steps=500, every=100)


class FakeRay:
    """A cluster of this process: `plan` says how each try of a task ends."""

    class RayError(Exception):
        pass

    class RayTaskError(RayError):
        pass

    class OutOfMemoryError(RayError):
        pass

    class GetTimeoutError(RayError):
        pass

    def __init__(self, plan, cpus=2.0, memory=10e9, free=2.0):
        self.plan, self.cpus, self.memory, self.free = plan, cpus, memory, free
        self.given, self.cancelled, self.on_cancel = [], [], iter(())
        self.exceptions = self

    def remote(self, **_):
        return lambda what: ProgressActor() if isinstance(what, type) else Worker(self)

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": self.cpus, "memory": self.memory}}]

    def cluster_resources(self):
        return {"CPU": self.cpus}

    def available_resources(self):
        return {"CPU": self.free}

    def wait(self, answers, num_returns, timeout):
        ready = [one for one in answers if one.end is not None]
        return ready[:num_returns], []

    def get(self, answer, timeout=None):
        if isinstance(answer, dict):
            return answer
        if isinstance(answer.end, Exception):
            raise answer.end
        return answer.end

    def cancel(self, answer):
        self.cancelled.append(answer)
        answer.end = next(self.on_cancel, None)


class Answer:
    def __init__(self, end):
        self.end = end


class Worker:
    def __init__(self, ray):
        self.ray = ray

    def options(self, num_cpus, memory):
        assert num_cpus == 1
        assert memory > 0
        return self

    def remote(self, order, content, listener):
        self.ray.given.append((order["k"], content))
        ends = self.ray.plan[order["k"]]
        return Answer(ends.pop(0) if ends else None)


class ProgressActor:
    def remote(self):
        return SimpleNamespace(all=SimpleNamespace(remote=dict))


def tasks_in(folder, number):
    shape = {"spec": SPEC.to_json(), "memory": 1e9}
    return [{**shape, "name": f"task {k}", "path": str(folder / f"{k}.run")} for k in range(number)]


def done(score=1.0, content=None):
    return {"finished": True, "score": score, "content": content}


def sweep(ray, tasks, patience=60.0, stopped=lambda: False):
    Sweep(ray, tasks, patience).run(stopped)


def heard(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_lost_task_is_given_again_from_what_was_saved_and_counts_once(tmp_path, capsys):
    lost = FakeRay.RayError("worker died")
    ray = FakeRay([[done(1.0)], [lost, lost, done(2.0, b"whole")], [done(3.0)]])
    (tmp_path / "1.run").write_bytes(b"half")
    sweep(ray, tasks_in(tmp_path, 3))
    said = heard(capsys)
    assert sorted(one["now"] for one in said if "now" in one) == [
        *([0, 500, 500, 1.0], [1, 500, 500, 2.0], [2, 500, 500, 3.0])
    ]
    assert [one["lost"] for one in said if "lost" in one] == [1, 1]
    assert sorted(ray.given) == [(0, None), *[(1, b"half")] * 3, (2, None)]
    assert (tmp_path / "1.run").read_bytes() == b"whole"  # sent back: the folder is not shared
    assert not list(tmp_path.glob(".shared*"))


def test_one_that_is_lost_too_often_is_given_up_and_the_others_save(tmp_path):
    plan = [[FakeRay.RayError("died")] * 9, []]
    ray = FakeRay(plan)
    with pytest.raises(Failed, match="task 0 was given up after 3 tries: each time its worker was"):
        sweep(ray, tasks_in(tmp_path, 2))
    assert len(ray.cancelled) == 1
    ray = FakeRay([[FakeRay.OutOfMemoryError("full")] * 9])
    with pytest.raises(Failed, match="each time its machine ran out of memory"):
        sweep(ray, tasks_in(tmp_path, 1))


def test_what_a_cluster_cannot_do_is_said(tmp_path):
    tasks = tasks_in(tmp_path, 1)
    small = FakeRay([[]], memory=0.5e9)
    with pytest.raises(Failed, match=r"task 0 needs about 1\.0 GB of memory, and no .* 0\.5 GB"):
        sweep(small, tasks)
    with pytest.raises(Failed, match=r"has no free CPU \(of 2\), and that for 0 seconds"):
        sweep(FakeRay([[]], free=0.0), tasks, patience=0.0)
    with pytest.raises(Failed, match="begins no task"):
        sweep(FakeRay([[]]), tasks, patience=0.0)
    with pytest.raises(Failed, match="a machine of the Ray cluster has no evenhand"):
        sweep(FakeRay([[{"refused": "has no evenhand"}]]), tasks)
    with pytest.raises(Failed, match=r"task 0 could not be trained on the Ray cluster: Bad: it$"):
        sweep(FakeRay([[FakeRay.RayTaskError("a traceback\nBad: it")]]), tasks)
    with pytest.raises(Failed, match=r"^some sentence$"):
        sweep(FakeRay([[{"failed": "some sentence"}]]), tasks)
    with pytest.raises(Failed, match="cannot be written to"):
        sweep(FakeRay([[]]), tasks_in(tmp_path / "none", 1))


def test_told_to_stop_it_recalls_what_runs_and_keeps_what_comes_back(tmp_path):
    ray = FakeRay([[], [], []])
    saved = {"finished": False, "score": 1.0, "content": b"half"}
    ray.on_cancel = iter([saved, FakeRay.RayError("nothing yet"), {**saved, "content": None}])
    calls = iter([False, True])
    sweep(ray, tasks_in(tmp_path, 3), stopped=lambda: next(calls))
    assert len(ray.cancelled) == 3
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"0.run": b"half"}


def test_a_lost_listener_is_replaced_and_what_runs_is_not_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "POLL", 0.0)
    ray, polls = FakeRay([[]]), iter(range(5))

    def lost(*_, **__):
        raise FakeRay.RayError("its machine is gone")

    monkeypatch.setattr(ray, "get", lost)
    sweep(ray, tasks_in(tmp_path, 1), patience=0.0, stopped=lambda: next(polls) == 4)
    assert len(ray.given) == 1


def test_a_machine_without_evenhand_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "evenhand.lab.worker", None)
    kept = SimpleNamespace(remote=lambda **_: lambda what: what)
    do_one, actor = cluster.remote_parts(kept)
    listener = actor()
    remote = SimpleNamespace(report=SimpleNamespace(remote=listener.report))
    assert do_one({"k": 3}, None, remote) == {"refused": "has no evenhand, or an old one"}
    assert listener.all() == {3: None}
    assert listener.all() == {}


@pytest.mark.system  # takes seconds
def test_away_the_file_is_sent_back_unless_the_folder_is_shared(tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "_claims", [None])  # this process keeps all its cores
    monkeypatch.setattr(away, "REPORT_EVERY", 0.0)
    whole = train(SPEC.build(), SPEC).scores
    path = tmp_path / "a.run"
    order = _order(Task(SPEC, path)) | {"marker": str(tmp_path / "marker")}
    assert order["memory"] > PROCESS_BYTES
    said = []
    answer = away.do_away(order, None, said.append)
    assert answer["finished"]
    assert not path.exists()
    path.write_bytes(answer["content"])
    np.testing.assert_array_equal(load_run(path).scores, whole)
    assert [one[0] for one in said] == [100, 200, 300, 400, 500]
    # It goes on from the content it is given; this is at its end.
    said.clear()
    assert away.do_away(order, answer["content"], said.append)["finished"]
    assert said == []
    path.unlink()
    (tmp_path / "marker").write_text("")
    assert away.do_away(order, None, said.append)["content"] is None
    np.testing.assert_array_equal(load_run(path).scores, whole)
    path.write_bytes(b"no run")
    assert "not a run" in away.do_away(order, None, said.append)["failed"]
    order["versions"] = {"evenhand": "0.0", "jax": versions()["jax"]}
    refused = away.do_away(order, None, said.append)["refused"]
    assert refused.startswith(f"has evenhand {versions()['evenhand']} and jax")
    assert "evenhand 0.0 and jax" in refused


def test_words_are_seldom():
    said = []
    report = away._seldom(said.append)
    for done_steps in range(1000):
        report(done_steps, 1000, 0.0)
    assert len(said) == 1


@pytest.mark.parametrize(
    "address", ["", "cluster", "http://a:1", "a:b", "a b:1", "ray://", ":6379", "local:"]
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(BadParameter, match="is not the address of a Ray cluster"):
        OnRay(address)


def test_a_missing_ray_and_an_empty_address_are_said_at_once(monkeypatch):
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'evenhand\[ray\]'"):
        OnRay("local")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "ray" or known(name))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = time.monotonic()
    for one in (address, f"ray://{address}", "127.0.0.1:99999"):
        with pytest.raises(CannotConnect, match=f"no Ray cluster answers at {one}"):
            OnRay(one).open()
    assert time.monotonic() - started < 60  # and not as long as Ray itself waits, three times


def test_why_a_cluster_was_not_joined():
    mismatch = RuntimeError("Version mismatch: The cluster was started with …")
    assert "another version of Ray or Python" in cluster.why_not("a:1", mismatch)
    assert "no Ray cluster runs on this machine" in cluster.why_not("auto", ConnectionError())
    said = cluster.why_not("a:1", RuntimeError("This node\nhas an address"))
    assert "cannot be joined (This node has an address)" in said


@pytest.mark.system
def test_ray_is_not_loaded_unasked():
    code = (
        "import sys\n"
        "import evenhand.cli.compare, evenhand.lab.compare_methods\n"
        "import evenhand.lab.ray_cluster, evenhand.lab.worker\n"
        "assert 'ray' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
