"""The command line as a person meets it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenhand", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_demo_shows_equal_at_the_end_and_unequal_on_the_way():
    scores = json.loads(run("demo", "--json").stdout)["scores"]
    at_end, monthly, gap = scores.values()
    assert at_end == {"A first, then B": 1.0, "side by side": 1.0}
    assert monthly == {"A first, then B": 0.25, "side by side": 1.0}
    assert gap == {"A first, then B": -20_000.0, "side by side": 0.0}
    words = run("demo").stdout
    assert "leaves B behind for three months of four" in words


def test_list_has_a_line_for_every_registered_name():
    from evenhand.registry import FILTERS, STATUSES, TEMPORALS, WELFARES

    parts = json.loads(run("list", "--json").stdout)
    for registry in (STATUSES, WELFARES, TEMPORALS, FILTERS):
        assert set(parts[registry.kind]) == set(registry.classes)
        assert all(line.endswith(".") for line in parts[registry.kind].values())
    assert "log_nash" in run("list").stdout


def test_version():
    assert run("--version").stdout.startswith("evenhand 0.")


@pytest.mark.parametrize(
    ("arguments", "words"), [(("demoo",), "demo"), (("demo", "--jsn"), "--json")]
)
def test_a_typo_is_answered_with_the_nearest_and_exit_code_2(arguments, words):
    answer = run(*arguments)
    assert answer.returncode == 2
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_users_mistake_is_one_sentence_and_exit_code_2(monkeypatch, capsys):
    from evenhand import cli
    from evenhand.errors import BadParameter

    def mistaken() -> None:
        raise BadParameter("period is 0: it must be a whole number from 1.")

    monkeypatch.setattr(cli, "app", mistaken)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "evenhand: period is 0: it must be a whole number from 1.\n"
