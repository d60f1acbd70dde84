"""Comparisons on a real Ray cluster of two CPUs: a worker killed, Ctrl-C, and what goes wrong."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evenhand.lab.executors import block_files
from evenhand.lab.runs import load_run
from waiting import HANG, wait_until

pytestmark = pytest.mark.system
pytest.importorskip("ray", reason="Ray is not installed: pip install 'evenhand[ray]'")

COMPARE = (
    *(sys.executable, "-m", "evenhand", "compare", "doughnuts", "--stakeholders", "2"),
    *("--horizon", "5", "--deep", "--methods", "full,random", "--recipe", "best"),
    *("--seeds", "2", "--steps", "24000", "--json", "--out"),
)
# Found before any other module: with the file beside it, there is no evenhand on this machine.
WITHOUT = """
import sys
from pathlib import Path

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "evenhand" and Path(__file__).with_name("without").exists():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What comes out without Ray."""
    folder = tmp_path_factory.mktemp("plain")
    subprocess.run([*COMPARE, str(folder)], check=True, stdout=subprocess.DEVNULL)
    return (folder / "curves.csv").read_text()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A cluster of two CPUs with a token of its own: its address, environment and folder."""
    folder = tmp_path_factory.mktemp("ray")
    (folder / "sitecustomize.py").write_text(WITHOUT)
    with socket.socket() as one, socket.socket() as other:
        one.bind(("", 0))
        other.bind(("", 0))
        port, clients = one.getsockname()[1], other.getsockname()[1]
    env = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    command = [
        *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
        *("--port", str(port), "--num-cpus", "2", "--include-dashboard", "false"),
        *("--ray-client-server-port", str(clients), "--disable-usage-stats"),
    ]
    with (folder / "log").open("w") as log:
        env_there = {**env, "PYTHONPATH": str(folder)}
        head = subprocess.Popen(command, env=env_there, stdout=log, stderr=log)
    started = wait_until(lambda: "Ray runtime started" in (folder / "log").read_text(), head)
    assert started, (folder / "log").read_text()
    yield f"127.0.0.1:{port}", env, folder
    head.terminate()
    try:
        head.wait(HANG)
    finally:
        head.kill()


def parents() -> dict[int, int]:
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return found


def workers_below(pid: int) -> list[int]:
    """The processes below this one that do a task."""
    parent = parents()
    found = []
    for one in parent:
        try:
            title = Path(f"/proc/{one}/cmdline").read_bytes()
        except OSError:
            continue
        above = one
        while above in parent and above != pid:
            above = parent[above]
        if above == pid and title.startswith(b"ray::do_one"):
            found.append(one)
    return found


def wait_for_blocks(folder: Path, process: subprocess.Popen, number: int) -> list[Path]:
    file = folder / "full.best.run"
    there = wait_until(lambda: len(block_files(file)) >= number, process)
    assert there, "it was too late, or nothing was saved"
    return block_files(file)


def test_a_killed_worker_changes_nothing(plain, tmp_path):
    process = subprocess.Popen(
        [*COMPARE, str(tmp_path), "--ray", "local"], stdout=subprocess.PIPE, text=True
    )
    (file, *_) = wait_for_blocks(tmp_path, process, 1)
    assert not load_run(file).finished, "it was too late to kill a worker in the middle"
    workers = workers_below(process.pid)
    assert len(workers) == 2
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    answer = json.loads(process.communicate(timeout=HANG)[0])
    assert process.returncode == 0
    assert len(answer["methods"]["full"]["scores"]) == 2
    assert (tmp_path / "curves.csv").read_text() == plain
    files = block_files(tmp_path / "full.best.run")
    assert [load_run(one).spec.seeds for one in files] == [(0,), (1,)]
    assert not list(tmp_path.glob(".*"))


def test_ctrl_c_keeps_what_is_there_and_a_second_run_goes_on(plain, cluster, tmp_path):
    address, env, _ = cluster
    command = [*COMPARE, str(tmp_path), "--ray", address]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )
    files = wait_for_blocks(tmp_path, process, 2)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANG)
    said = "evenhand: stopped. What was saved before is kept.\n"
    assert (process.returncode, out, err) == (130, "", said)
    reached = [load_run(one) for one in files]
    assert all(len(run.scores) for run in reached)
    assert not all(run.finished for run in reached), "it was too late to interrupt it"
    assert not (tmp_path / "results.json").exists()
    assert not list(tmp_path.glob(".*"))
    again = subprocess.run(command, capture_output=True, text=True, env=env, timeout=HANG)
    assert (again.returncode, again.stderr) == (0, "")
    assert (tmp_path / "curves.csv").read_text() == plain


SMALL = (
    *(sys.executable, "-m", "evenhand", "compare", "doughnuts", "--stakeholders", "2"),
    *("--horizon", "4", "--methods", "full", "--seeds", "2", "--steps", "500", "--json"),
)


def refused(env, *more):
    started = time.monotonic()
    run = subprocess.run([*SMALL, *more], capture_output=True, text=True, env=env, timeout=HANG)
    assert (run.returncode, run.stdout) == (2, ""), run.stderr
    (sentence,) = run.stderr.splitlines()
    return sentence, time.monotonic() - started


def test_a_worker_without_evenhand_is_named(cluster):
    address, env, folder = cluster
    (folder / "without").touch()
    try:
        # A worker that has imported it has it: these are new ones.
        sentence, _ = refused(env, "--ray", address)
    finally:
        (folder / "without").unlink()
    assert "a machine of the Ray cluster has no evenhand, or an old one" in sentence


def test_a_wrong_token_and_somebody_else_at_the_port_are_said(cluster):
    address, env, _ = cluster
    wrong = secrets.token_hex(32)
    sentence, _ = refused({**env, "RAY_AUTH_TOKEN": wrong}, "--ray", address)
    assert f"the Ray cluster at {address} does not let us in" in sentence
    assert wrong not in sentence
    with socket.create_server(("127.0.0.1", 0)) as other:
        elsewhere = f"127.0.0.1:{other.getsockname()[1]}"
        sentence, took = refused(env, "--ray", elsewhere)
    assert f"no Ray cluster answers at {elsewhere}" in sentence
    assert took < 300  # and does not wait for an answer that never comes


FULL = """
import ray, sys, time
ray.init(address=sys.argv[1], logging_level="ERROR", log_to_driver=False)
hold = ray.remote(num_cpus=2)(lambda: time.sleep(3600))
task = hold.remote()
while ray.available_resources().get("CPU", 0) > 0:
    time.sleep(0.1)
print("held", flush=True)
ray.get(task)
"""
IMPATIENT = """
import sys
from evenhand.envs import Doughnuts
from evenhand.errors import EvenhandError
from evenhand.lab import ray_cluster as on_ray
from evenhand.lab import run_spec
from evenhand.lab.compare_methods import compare

def tried(ray):
    try:
        compare(Doughnuts(2, 4), ["full"], seeds=2, steps=500, executor=ray)
    except EvenhandError as error:
        print(error)
    ray.close()

tried(on_ray.OnRay(sys.argv[1], patience=3.0))
run_spec.PROCESS_BYTES = 10**15
tried(on_ray.OnRay(sys.argv[1]))
"""


def test_a_full_cluster_and_one_with_too_little_memory_are_said(cluster):
    address, env, _ = cluster
    holder = subprocess.Popen(
        [sys.executable, "-c", FULL, address], stdout=subprocess.PIPE, text=True, env=env
    )
    try:
        assert holder.stdout.readline().strip() == "held"
        run = subprocess.run(
            [sys.executable, "-c", IMPATIENT, address],
            capture_output=True,
            text=True,
            env=env,
            timeout=HANG,
        )
    finally:
        holder.kill()
        holder.communicate()
    assert (run.returncode, run.stderr) == (0, "")
    full, small = run.stdout.splitlines()
    assert "the Ray cluster has no free CPU (of 2), and that for 3 seconds" in full
    assert "full, seeds 0 to 1 needs about 1000000.0 GB of memory, and no machine" in small
