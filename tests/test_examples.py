"""Every example script runs. What README and docs/ show is run by `test_blocks`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from places import ROOT


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_scripts_run(script):
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
