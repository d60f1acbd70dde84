"""The benchmark in processes of its own: killed at random moments, and on a Ray cluster."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]

SHOP = '{"name": "doughnuts", "num_stakeholders": 2, "horizon": 6}'
COMMAND = (
    *(sys.executable, "-m", "evenhand", "benchmark", "--worlds", SHOP),
    *("--methods", "random,least_served,welfare_q", "--seeds", "3", "--steps", "400"),
    *("--search", "2", "--json", "--out"),
)
KILLS = 5


def numbers(folder):
    """Every score of every run; how long it took is of the machine."""
    runs = json.loads((folder / "results.json").read_text())["runs"]
    return [(run["pair"], run["method"], run["seed"], run["setting"], run["curve"]) for run in runs]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    started = time.monotonic()
    subprocess.run([*COMMAND, str(folder)], check=True, stdout=subprocess.DEVNULL)
    return numbers(folder), time.monotonic() - started


def test_killed_at_any_moment_it_goes_on_to_the_same_numbers(undisturbed, tmp_path):
    expected, took = undisturbed
    rng = random.Random(0)
    for _ in range(KILLS):
        process = subprocess.Popen(
            [*COMMAND, str(tmp_path)], stdout=subprocess.DEVNULL, start_new_session=True
        )
        time.sleep(rng.uniform(0.2, 0.8) * took)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([*COMMAND, str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    assert numbers(tmp_path) == expected


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_on_a_ray_cluster_it_is_the_same(undisturbed, tmp_path):
    command = [*COMMAND, str(tmp_path), "--ray", "local"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    assert numbers(tmp_path) == undisturbed[0]
