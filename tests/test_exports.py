"""What each folder exports: sorted, never under the name of a submodule, and without jax below."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import pytest

FOLDERS = ("fairness", "fairness.status", "process", "memory", "problem", "envs")


@pytest.mark.parametrize("name", [*FOLDERS, "planning"])
def test_exports_are_there_sorted_and_no_submodules(name):
    package = importlib.import_module(f"evenhand.{name}")
    submodules = {module.name for module in pkgutil.iter_modules(getattr(package, "__path__", []))}
    assert not submodules & set(package.__all__)
    order = sorted(package.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    assert package.__all__ == order
    for exported in package.__all__:
        assert getattr(package, exported) is not None


def test_fairness_process_and_memory_do_not_load_jax():
    code = (
        "import sys, evenhand.fairness, evenhand.process, evenhand.memory\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_log_is_public_and_does_without_jax():
    code = (
        "import sys, evenhand\n"
        "from evenhand.events import Give\n"
        "log = evenhand.Log.from_events([Give('A', at=1), Give('B', at=2)])\n"
        "assert log.audit(chance=False).label == 'the events'\n"
        "log.best()\n"
        "assert 'jax' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
