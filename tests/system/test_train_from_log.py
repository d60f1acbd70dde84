"""A policy is learned from the earlier part of a log and judged on the later part; killed on the
way, it goes on to the numbers of a run that was not.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys

import pytest

from places import ROOT
from waiting import group_is_over, wait_until

pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]

READ = ("--stakeholder", "clinic", "--time", "day", "--amount", "doses")
JUDGED = ("--every", "week", "--welfare", "parity")
# Saving more often than anybody needs, so that there is something to go on from.
OFTEN = """
from evenhand.lab import runs
runs.SAVE_EVERY, runs.SAVING_SHARE = 0.05, 1.0
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("logs") / "deliveries.csv"
    spec = importlib.util.spec_from_file_location(
        "weekly_deliveries", ROOT / "examples" / "weekly_deliveries.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write(path, weeks=60, seed=1)
    return path


def started(*arguments):
    code = f"{OFTEN}\nfrom evenhand.cli import main\nmain()"
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def training(log, out):
    asked = ("--until", "2023-12-31", "--steps", "2000", "--seeds", "2", "--out", out, "--json")
    return started("train", log, *READ, *JUDGED, *asked)


def ended(process):
    out, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(out)


@pytest.fixture(scope="module")
def undisturbed(log, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "fair.policy"
    return path, ended(training(log, path))


def test_killed_it_goes_on_to_the_same_numbers(log, undisturbed, tmp_path):
    out = tmp_path / "fair.policy"
    process = training(log, out)
    assert wait_until(lambda: any(tmp_path.glob("fair.policy.block*")))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert wait_until(lambda: group_is_over(process.pid))
    assert not out.exists()
    _, expected = undisturbed
    found = ended(training(log, out))
    for part in ("final_scores", "curve", "random", "spec", "world"):
        assert found[part] == expected[part]


def replayed(log, policy, *more):
    asked = ("--rule", policy, "--json", *more)
    return ended(started("replay", log, *READ, *JUDGED, *asked))


def test_the_policy_is_judged_on_what_came_later_beside_least_served(log, undisturbed):
    policy, trained = undisturbed
    assert trained["world"]["blocks"] == 52
    answer = replayed(log, policy, "--since", "2024-01-01")
    ours, simple = answer["rules"]
    assert [one["rule"] for one in (ours, simple)] == [str(policy), "least_served"]
    (sentence,) = answer["learned"]
    better = "is better than" if ours["score"] > simple["score"] else "is not better than"
    assert f"{better} least_served here" in sentence
    assert answer["best"]["score"] >= ours["score"]
    assert not answer["asks"]


def test_a_replay_of_what_it_learned_from_says_so(log, undisturbed):
    answer = replayed(log, undisturbed[0])
    assert "is not judged on what it was learned from" in " ".join(answer["asks"])
