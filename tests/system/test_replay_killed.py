"""A replay that is killed at any moment leaves the old file or the new one, and runs again."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.system
KILLS = 20


def test_killed_at_20_random_moments_it_runs_again_to_the_same_file(tmp_path):
    rng = random.Random(0)
    rows = [f"{day},{rng.choice('ABCDEFGH')},{rng.randint(1, 9)}" for day in range(4000)]
    log, out = tmp_path / "log.csv", tmp_path / "new.parquet"
    log.write_text("day,to,doses\n" + "\n".join(rows) + "\n")
    command = [
        *(sys.executable, "-m", "evenhand", "replay", str(log), "--stakeholder", "to"),
        *("--time", "day", "--amount", "doses", "--rule", "half_life:30", "--at-end"),
        *("--seed", "4", "--out", str(out)),
    ]
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    took = time.monotonic() - started
    whole = out.read_bytes()
    killed = 0
    for turn in range(KILLS):
        if turn % 2:
            out.unlink(missing_ok=True)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 1.0) * took)
        process.kill()
        killed += process.wait() != 0
        assert not out.exists() or out.read_bytes() == whole
    assert killed > KILLS // 2  # else nothing was tried
    out.unlink(missing_ok=True)
    subprocess.run(command, check=True, capture_output=True)
    assert out.read_bytes() == whole
