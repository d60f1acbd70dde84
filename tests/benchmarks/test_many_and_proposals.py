"""The tables of our own, small: what they hold, that they go on, and that they are printed."""

from __future__ import annotations

import json

import pytest
from benchmarks.studies import many, proposals
from typer.testing import CliRunner

from command_line import evenhand
from evenhand.cli import reproduce
from evenhand.cli.app import app
from evenhand.cli.reproduce import STUDIES
from evenhand.errors import BadParameter


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ("junk", "is not a result that evenhand wrote, or was cut short"),
        ("[1, 2]", "cannot be read: what it holds is a list"),
        ('{"turn_taking": "x"}', "cannot be read as a result: it holds values that do not fit"),
    ],
)
def test_a_damaged_row_is_refused_in_a_sentence(tmp_path, kept, words):
    settings = {"number": 5, "first": 5, "seeds": 5, "steps": many.STEPS // 10}
    path = tmp_path / "quick" / "many" / "5.json"
    path.parent.mkdir(parents=True)
    path.write_text(kept.replace("{", f'{{"settings": {json.dumps(settings)}, '))
    done = evenhand("reproduce", "many", "--quick", "--out", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


@pytest.mark.parametrize("table", ["many", "proposals", "parts"])
def test_what_is_made_in_one_process_is_not_spread(tmp_path, table):
    done = evenhand("reproduce", table, "--quick", "--ray", "nonsense", "--out", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"and {table} is made in one process: leave it out." in done.stderr


def test_shares_are_printed_with_how_many_are_near():
    row = {
        "settings": {"number": 50},
        "turn_taking": 200.0,
        "learned": [1.0, 0.985],
        "learned_with_first": [0.99, 0.995],
    }
    assert many.in_words(row) == (
        *("50", "200.0", "99.25% (least 98.50%)", "1 of 2", "99.25% (least 99.00%)", "2 of 2"),
    )
    row = {
        "settings": {"world": "crates", "steps": 500, "updates_per_step": 4, "proposal": "none"},
        "shares": [0.9, 0.9],
    }
    assert proposals.in_words(row)[:4] == ("crates", "500 × 4", "none", "90.0%")


@pytest.mark.system  # learns, several times
def test_tables_are_made_and_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(many, "DECISIONS_SCORED", 100)
    rows = many.many_table(tmp_path / "many", 2, 200, (2, 3))
    assert [row["settings"]["number"] for row in rows] == [2, 3]
    assert all(len(row["learned"]) == len(row["learned_with_first"]) == 2 for row in rows)
    monkeypatch.setattr(proposals, "WORLDS_TRIED", {"crates": proposals.Crates()})
    words = "reproduce", "proposals", "--quick", "--seeds", "2", "--out", str(tmp_path)
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, done.output
    assert "SomeAbove(8)" in done.output
    assert len(list((tmp_path / "quick" / "proposals").glob("*.json"))) == 12


@pytest.mark.parametrize("table", STUDIES)
def test_without_a_checkout_a_study_is_a_sentence(tmp_path, monkeypatch, table):
    """As in a wheel, beside which there is no folder of benchmarks."""
    monkeypatch.setattr(reproduce, "__file__", str(tmp_path / "lib/site/evenhand/cli/reproduce.py"))
    done = CliRunner().invoke(app, ["reproduce", table, "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, BadParameter)
    assert f"{table} is a study of ours" in str(done.exception)
    assert not (tmp_path / "out").exists()
