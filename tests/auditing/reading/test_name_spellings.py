"""Names that differ only in capitals, spaces or accents."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from evenhand.auditing.reading.name_spellings import alike, one_spelling, plain_name
from logs import MAPPED, OPTIONS, write
from read_alone import audit, rows_read

ROWS = [
    ("2021-01-01", "São Paulo", 1),
    ("2021-01-02", "SAO  PAULO ", 2),
    ("2021-01-03", "sao paulo", 4),
    ("2021-01-04", "São Paulo", 8),
    ("2021-01-05", "Rio", 15),
]


def test_what_counts_as_the_same():
    assert len({plain_name(name) for _, name, _ in ROWS}) == 2
    assert plain_name("ＡＢＣ") == "abc"
    assert plain_name("Straße") == plain_name("STRASSE")
    assert alike(["a", "A ", "b"]) == [["a", "A "]]
    assert one_spelling({"a": 1, "A": 1}) == {"a": "A"}  # of equals, the first
    assert one_spelling({"a": 1, "A": 1}, ["Á"]) == {"a": "Á", "A": "Á"}


def test_they_are_noticed_and_merged(tmp_path, run):
    path = write(tmp_path / "log.csv", ROWS)
    apart = audit(path, **MAPPED)
    assert len(apart.by_stakeholder) == 4
    assert any("spaces or accents" in ask and "`merge_names`" in ask for ask in apart.asks)
    one = [(day, "Rio" if name == "Rio" else "São Paulo", doses) for day, name, doses in ROWS]
    assert rows_read(path, **MAPPED, merge_names=True).rows == one
    code, out, _ = run(path, *OPTIONS, "--merge-names", "--no-chance", "--json")
    merged = json.loads(out)
    assert (code, len(merged["stakeholders"])) == (0, 2)
    assert any("2 names were merged" in note for note in merged["notes"])
    assert not any("spaces or accents, and" in ask for ask in merged["asks"])


def test_the_spelling_of_the_roster_and_of_entitlements(tmp_path):
    found = audit(
        write(tmp_path / "log.csv", ROWS),
        **MAPPED,
        merge_names=True,
        roster=["SÃO PAULO", "Rio", "Acre"],
        entitlement={"sao paulo": 5, "RIO": 15, "acre": 1},
    )
    assert {one.name: one.final for one in found.by_stakeholder} == {
        "SÃO PAULO": 3,
        "Rio": 1,
        "Acre": 0,
    }


@pytest.mark.parametrize("names", [["A", "B"], ["x", None]])
def test_nothing_to_merge_changes_nothing(names):
    frame = pd.DataFrame({"country": names, "date": [1, 2], "doses": [1, 2]}).dropna()
    assert rows_read(frame, **MAPPED, merge_names=True) == rows_read(frame, **MAPPED)
