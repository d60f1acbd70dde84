"""A trial: a mutant in a copy of a small project, whose tests notice it or not."""

from __future__ import annotations

import subprocess
import sys

import pytest
from mutation import trial
from mutation.covering import TestFile
from mutation.mutants import mutants_of_file

SOURCE = "def add(a, b):\n    return a + b\n"
TESTS = {
    "blind": "from evenhand.sums import add\n\ndef test(): add(1, 1)\n",
    "sharp": "from evenhand.sums import add\n\ndef test(): assert add(1, 1) == 2\n",
    "endless": "import time\n\ndef test(): time.sleep(600)\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package `evenhand` of one function, and three test files."""
    package = tmp_path / "src" / "evenhand"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "sums.py").write_text(SOURCE)
    (tmp_path / "tests").mkdir()
    for name, text in TESTS.items():
        (tmp_path / "tests" / f"test_{name}.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    bare = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "pytest_timeout"]
    monkeypatch.setattr(trial, "PYTEST", bare)
    return tmp_path


def only_mutant(project):
    package = project / "src" / "evenhand"
    (mutant,) = mutants_of_file(package, package / "sums.py")
    return mutant


def measured(*names: str) -> list[TestFile]:
    return [TestFile(f"tests/test_{n}.py", 1, {"sums.py": [1, 2]}, "") for n in names]


@pytest.mark.system  # takes seconds
def test_a_mutant_is_killed_by_a_test_that_fails_and_leaves_nothing(project):
    mutant = only_mutant(project)
    with trial.Laboratory(project, budget=100) as laboratory:
        assert laboratory.try_out(mutant, measured("blind")).outcome == trial.SURVIVED
        verdict = laboratory.try_out(mutant, measured("blind", "sharp"))
        assert (verdict.outcome, verdict.by) == (trial.KILLED, "tests/test_sharp.py")
        copy = laboratory.source / "evenhand" / "sums.py"
        assert copy.read_text() == SOURCE
        assert (project / "src" / "evenhand" / "sums.py").read_text() == SOURCE
    assert not copy.exists()


@pytest.mark.system  # takes seconds
def test_a_mutant_that_outlives_its_budget_has_survived(project):
    mutant = only_mutant(project)
    with trial.Laboratory(project, budget=1) as laboratory:
        verdict = laboratory.try_out(mutant, measured("endless"))
    assert verdict.outcome == trial.SURVIVED
    assert verdict.seconds < 50


def test_the_sample_can_be_listed():
    command = [sys.executable, "-m", "mutation", "--only", "fairness/groups.py", "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "fairness/groups.py:" in done.stdout
    assert " → " in done.stdout
