"""Every example script runs. What README and docs/ show is run by `test_blocks`."""

from __future__ import annotations

import random
import runpy
import subprocess
import sys

import pandas as pd
import pytest

from places import ROOT, SERVING


@pytest.mark.system
@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_scripts_run(script, tmp_path):
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()


# The largest and the mean service difference that the authors of the study print for each log.
PRINTED = {
    "first_come": (759.97, 433.53),
    "least_counter": (750.49, 323.82),
    "virtual_tokens": (368.40, 251.66),
    "rate_limit_5": (143.86, 83.58),
}


@pytest.mark.skipif(not SERVING.exists(), reason="the logs of the study are not here")
@pytest.mark.parametrize("name", PRINTED)
def test_the_serving_example_gives_the_study_s_figures(name):
    measure = runpy.run_path(str(ROOT / "examples" / "serving.py"))["service_difference"]
    found = measure(pd.read_csv(SERVING / f"{name}.csv"))
    assert found == pytest.approx(PRINTED[name], abs=0.005)


def test_the_serving_example_by_hand():
    """One window's worth of service, written out: B waits, and A is served what B is not."""
    measure = runpy.run_path(str(ROOT / "examples" / "serving.py"))["service_difference"]
    log = pd.DataFrame(
        {
            "client": ["A", "B", "C"],
            "asked_at": [30.0, 30.0, 30.0],
            "first_token_at": [30.0, 300.0, None],
            "finished_at": [60.0, 360.0, None],
            "prompt_tokens": [600, 600, 600],
            "output_tokens": [0, 0, 0],
            "aborted": [0, 0, 1],
        }
    )
    # Centred on 58.5 s, from 28.5 to 88.5: A asked for 10 a second and got it; B asked for as much
    # and got nothing. In every later window nobody falls short of what it asked for there: nothing.
    assert measure(log) == pytest.approx((10.0, 10.0 / 19))


SERVING_SCRIPT = ROOT / "examples" / "serving.py"


def written_out(log, seconds=600.0):
    """The largest and the mean difference of a log, in plain Python over its rows."""
    rows = [row for row in log.to_dict("records") if not row["aborted"]]
    clients = sorted({row["client"] for row in rows})
    found = []
    for k in range(1, 20):
        middle = 30 + (seconds - 30) / 20 * k
        low, high = middle - 30, middle + 30
        service, asked = dict.fromkeys(clients, 0.0), dict.fromkeys(clients, 0.0)
        for row in rows:
            cost = row["prompt_tokens"] + 2 * row["output_tokens"]
            if low <= row["asked_at"] <= high:
                asked[row["client"]] += cost / 60
            start, end = row["first_token_at"], row["finished_at"]
            if start == start and end == end and end >= 1 and end - start >= 1e-5:
                part = max(0.0, min(end, high) - max(start, low)) / (end - start)
                service[row["client"]] += cost * part / 60
        best = max(service.values())
        found.append(sum(min(best - service[c], abs(asked[c] - service[c])) for c in clients))
    return max(found), sum(found) / len(found)


def served(clients, rows, seed, seconds=600.0):
    """A log with aborted and unfinished requests, of clients who ask unequally often."""
    chance = random.Random(seed)
    made = []
    for _ in range(rows):
        asked = chance.uniform(0, seconds)
        first = asked + chance.expovariate(0.1)
        aborted = chance.random() < 0.2
        unfinished = chance.random() < 0.1
        made.append(
            {
                "client": f"c{min(chance.randrange(clients), chance.randrange(clients))}",
                "asked_at": asked,
                "first_token_at": None if aborted else first,
                "finished_at": None if aborted or unfinished else first + chance.expovariate(0.05),
                "prompt_tokens": chance.randrange(1, 500),
                "output_tokens": chance.randrange(0, 300),
                "aborted": int(aborted),
            }
        )
    return pd.DataFrame(made)


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize(
    ("clients", "rows", "seconds"), [(1, 3, 600), (2, 50, 300), (40, 300, 900)]
)
def test_the_serving_example_takes_any_log_of_its_kind(clients, rows, seconds, tmp_path):
    log = served(clients, rows, seed=clients, seconds=float(seconds))
    path = tmp_path / "log.csv"
    log.to_csv(path, index=False)
    command = [sys.executable, SERVING_SCRIPT, "--seconds", str(seconds), path]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    largest, mean = written_out(log, seconds)
    assert run.stdout == f"{path}: largest {largest:.2f}, mean {mean:.2f}\n", run.stderr
    measure = runpy.run_path(str(SERVING_SCRIPT))["service_difference"]
    assert measure(log, seconds) == pytest.approx((largest, mean), rel=1e-9)


def test_the_serving_example_says_what_is_wrong_with_a_log():
    measure = runpy.run_path(str(SERVING_SCRIPT))["service_difference"]
    log = served(3, 20, seed=1)
    with pytest.raises(ValueError, match="no column finished_at"):
        measure(log.drop(columns="finished_at"))
    with pytest.raises(ValueError, match="no request that was not turned away"):
        measure(log.assign(aborted=1))
    with pytest.raises(ValueError, match="has no asked_at"):
        measure(log.assign(asked_at=None))
    known = log[(log["aborted"] == 1) | log["finished_at"].notna()]
    assert measure(known.drop(columns="aborted")) == measure(known)
