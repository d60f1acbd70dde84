"""What is kept on disk: read again with the same settings, made anew with others."""

from __future__ import annotations

import json

import pytest

from evenhand.errors import BadFile
from evenhand.experiments.running.rows_on_disk import kept_row


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


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ("{", "is not a result that evenhand wrote, or was cut short"),
        ("[]", "what it holds is a list, and must be a table"),
        ('{"settings": {"seeds": 1}}', "it holds values that do not fit together"),
        ('{"settings": {"seeds": 1}, "value": "x"}', "it holds values that do not fit together"),
    ],
)
def test_a_damaged_file_is_refused_by_its_name(tmp_path, kept, words):
    path = tmp_path / "one.json"
    path.write_text(kept)
    with pytest.raises(BadFile, match=words) as refused:
        kept_row(path, {"seeds": 1}, dict, lambda row: float(row["value"]))
    assert str(path) in str(refused.value)
    assert path.read_text() == kept
