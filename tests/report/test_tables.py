"""A workbook, read as the XML it is: no cell is a formula, whatever the names are."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
import zipfile

import pandas as pd
import pytest

from evenhand.auditing import audit, compare
from evenhand.errors import CannotWrite, MissingExtra
from evenhand.report import tables as excel
from evenhand.report.tables import workbook

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
HOSTILE = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2",
    "@SUM(A1)",
    '=HYPERLINK("http://example.org")',
    "http://example.org",
    "\t=1",
    "<f>1</f>",
    "00123",
    "x" * 40_000,
    "no letter",
)
MAPPED = {"stakeholder": "who", "time": "date", "amount": "amount"}


def log_of(names):
    rows = [(time, name, 10 * k + time) for time in (1, 2) for k, name in enumerate(names)]
    return pd.DataFrame(rows, columns=["date", "who", "amount"])


def sheets_of(content: bytes) -> dict[str, dict[str, object]]:
    """The cells of each sheet by their places: text as text, numbers as numbers."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    shared = [
        "".join(t.text or "" for t in item.iter(f"{MAIN}t"))
        for item in ET.fromstring(parts["xl/sharedStrings.xml"])
    ]
    names = [s.get("name") for s in ET.fromstring(parts["xl/workbook.xml"]).iter(f"{MAIN}sheet")]
    found = {}
    for number, name in enumerate(names, 1):
        root = ET.fromstring(parts[f"xl/worksheets/sheet{number}.xml"])
        assert not list(root.iter(f"{MAIN}f"))  # no cell is a formula
        assert not list(root.iter(f"{MAIN}hyperlink"))
        cells = {}
        for cell in root.iter(f"{MAIN}c"):
            value = cell.find(f"{MAIN}v")
            if value is not None:
                is_text = cell.get("t") == "s"
                cells[cell.get("r")] = shared[int(value.text)] if is_text else float(value.text)
        found[name] = cells
    return found


def test_the_tables_are_those_of_the_answer():
    answer = audit(log_of(["A", "B"]), **MAPPED, title="Who got what", unit="loaves")
    sheets = sheets_of(workbook(answer))
    assert list(sheets) == ["Summary", "Stakeholders", "Over time", "Distances", "Questions"]
    assert sheets["Summary"]["A1"] == "Who got what"
    assert answer.summary in sheets["Summary"].values()
    people = sheets["Stakeholders"]
    heads = {people[place]: place[0] for place in people if place[1:] == "1"}
    assert [people[f"{heads['name']}{row}"] for row in (2, 3)] == ["A", "B"]
    # A got 1 and 2, B 11 and 12: A is below by 5, then by 10.
    assert people[f"{heads['overall_unfairness']}2"] == -15.0
    assert "entitlement" not in heads  # nothing is known of it
    distances = sheets["Distances"]
    assert [distances[place] for place in ("A2", "B2", "C2", "B3")] == ["A", -5.0, -10.0, 5.0]
    course = sheets["Over time"]
    assert [course[place] for place in ("A1", "B1", "C1", "D1")] == [
        *("time", "welfare", "welfare of an even log", "mean"),
    ]
    assert course["D3"] == 13.0


def test_hostile_names_are_text():
    answer = audit(log_of(HOSTILE), **MAPPED, display_names={"no letter": "\ud800"})
    sheets = sheets_of(workbook(answer))
    shown = set(sheets["Stakeholders"].values())
    for name in HOSTILE[:-2]:
        assert name in shown
    assert "x" * 32_767 in shown  # as long as a cell can be
    assert "?" in shown  # what is no letter at all


def test_the_same_answer_is_the_same_file():
    answer = audit(log_of(["A", "B"]), **MAPPED)
    assert workbook(answer) == workbook(answer)


def test_two_logs():
    found = compare(log_of(["A", "B"]), log_of(["A", "=B"]), **MAPPED)
    sheets = sheets_of(workbook(found))
    assert list(sheets)[:3] == ["Comparison", "Side by side", "1 Summary"]
    assert found.verdict in sheets["Comparison"].values()
    assert "=B" in sheets["2 Stakeholders"].values()


def test_harms_are_shown_as_logged():
    sheets = sheets_of(workbook(audit(log_of(["A", "B"]), **MAPPED, lower_is_better=True)))
    assert sheets["Distances"]["B2"] == -5.0
    assert sheets["Over time"]["D3"] == 13.0


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(excel, "MOST_ROWS", 2)
    with pytest.raises(CannotWrite, match="an Excel sheet has 2 rows"):
        workbook(audit(log_of(["A", "B"]), **MAPPED))


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setattr(excel.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'evenhand\[excel\]'"):
        workbook(audit(log_of(["A", "B"]), **MAPPED))
