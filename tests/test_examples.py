"""Every example script runs. What README and docs/ show is run by `test_blocks`."""

from __future__ import annotations

import runpy
import subprocess
import sys

import pandas as pd
import pytest

from places import ROOT, SERVING


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_scripts_run(script):
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
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
