"""The tables of our own, small: what they hold, that they go on, and that they are printed."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from evenhand.cli.app import app
from evenhand.experiments.scaling import many_stakeholders, proposal_table
from evenhand.experiments.scaling.rows_on_disk import kept_row


def test_a_finished_row_is_not_made_again(tmp_path):
    made = []

    def make():
        made.append(1)
        return {"value": len(made)}

    path = tmp_path / "rows" / "one.json"
    assert kept_row(path, {"seeds": 1}, make)["value"] == 1
    assert kept_row(path, {"seeds": 1}, make)["value"] == 1
    assert kept_row(path, {"seeds": 2}, make) == {"settings": {"seeds": 2}, "value": 2}
    assert json.loads(path.read_text())["value"] == 2


def test_shares_are_printed_with_how_many_are_near():
    row = {
        "settings": {"number": 50},
        "turn_taking": 200.0,
        "learned": [1.0, 0.985],
        "learned_with_first": [0.99, 0.995],
    }
    assert many_stakeholders.in_words(row) == (
        *("50", "200.0", "99.25% (least 98.50%)", "1 of 2", "99.25% (least 99.00%)", "2 of 2"),
    )
    row = {
        "settings": {"world": "crates", "steps": 500, "updates_per_step": 4, "proposal": "none"},
        "shares": [0.9, 0.9],
    }
    assert proposal_table.in_words(row)[:4] == ("crates", "500 × 4", "none", "90.0%")


@pytest.mark.system  # learns, several times
def test_tables_are_made_and_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(many_stakeholders, "DECISIONS_SCORED", 100)
    rows = many_stakeholders.many_table(tmp_path / "many", 2, 200, (2, 3))
    assert [row["settings"]["number"] for row in rows] == [2, 3]
    assert all(len(row["learned"]) == len(row["learned_with_first"]) == 2 for row in rows)
    monkeypatch.setattr(proposal_table, "WORLDS_TRIED", {"crates": proposal_table.Crates()})
    words = "reproduce", "proposals", "--quick", "--seeds", "2", "--out", str(tmp_path)
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, done.output
    assert "SomeAbove(8)" in done.output
    assert len(list((tmp_path / "quick" / "proposals").glob("*.json"))) == 12
