"""What all tests share: how JAX compiles, and `evenhand audit` as the shell runs it."""

from __future__ import annotations

import gc
import json
import signal
import sys

import hypothesis
import pytest

from fast_compiling import compile_fast
from places import SYSTEM

compile_fast()

# What was compiled stays: to look through all of it for garbage again and again is waste.
gc.set_threshold(200_000, 20, 50)

# How many examples a law is tried on: `make test-system` runs the laws again with `thorough`.
# A test says a number of its own only where each example is costly, as when it is compiled.
# Both draw the same examples each time, so that a red test is the work of the change before it;
# `make laws` draws others.
hypothesis.settings.register_profile("quick", max_examples=40, deadline=None, derandomize=True)
hypothesis.settings.register_profile("thorough", max_examples=300, deadline=None, derandomize=True)
hypothesis.settings.register_profile("anew", max_examples=1000, deadline=None, print_blob=True)
# `make mutate` asks only whether a law is broken, not by how small an example.
hypothesis.settings.register_profile(
    "unshrunk",
    hypothesis.settings.get_profile("quick"),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    database=None,
)
hypothesis.settings.load_profile("quick")


def pytest_ignore_collect(collection_path, config):
    """The system tests load torch, Spark and more at once: only if they are asked for."""
    if collection_path == SYSTEM and config.getoption("markexpr") == "not system":
        return True
    return None


@pytest.fixture
def run(monkeypatch, capsys):
    """`evenhand audit …` as the shell runs it: exit code, output, errors."""

    from evenhand import cli

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["evenhand", "audit", *arguments])
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def refuses(run):
    """One plain sentence on standard error, exit code 2, nothing on standard output."""

    def refuses(words: tuple[str, ...], *arguments: str) -> None:
        code, out, err = run(*arguments)
        assert code == 2, out
        assert out == ""
        assert err.startswith("evenhand: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        for word in words:
            assert word in err, err

    return refuses


@pytest.fixture
def notes(run):
    """The notes of an audit that went through."""

    def notes(*arguments: str) -> str:
        code, out, err = run(*arguments, "--json")
        assert code == 0, err
        return " ".join(json.loads(out)["notes"])

    return notes


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_interrupts():
    """The processes of a parallel test run ignore Ctrl-C, and whatever they start would too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
