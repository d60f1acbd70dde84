"""Which column probably says what, on headers as people write them."""

from __future__ import annotations

import pytest

from evenhand.serve.pages.column_guess import guess_columns


@pytest.mark.parametrize(
    ("columns", "row", "guess"),
    [
        (["date", "who", "hours"], ["2026-01-01", "Ann", "2"], ("who", "date", "hours")),
        (["Shift_Date", "Assigned To"], ["1/2/26", "Ann"], ("Assigned To", "Shift_Date", "")),
        (["Tag", "Wer", "Wieviel"], ["3.1.2026", "Ann", "2"], ("Wer", "Tag", "")),
        (["id", "updated", "candidate"], ["7", "x", "Ann"], ("updated", "", "")),
        (["Name", "Name 2"], ["Ann", "Ben"], ("Name", "", "")),
        (["", "when"], ["Ann", "1"], ("", "when", "")),
        ([], [], ("", "", "")),
    ],
)
def test_guesses(columns, row, guess):
    assert tuple(guess_columns(columns, [row])) == guess
