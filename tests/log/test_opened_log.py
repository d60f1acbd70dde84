"""Whoever reads the log of an audit reads the same table of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import evenhand
from evenhand import best_there_was, smallest_change
from evenhand.auditing.audit_log import audit_with
from evenhand.decide.replay.replay_log import replay
from evenhand.log.files import opened_log
from evenhand.log.options import AuditOptions
from logs import FIRST_A_THEN_B, MAPPED, SIDE_BY_SIDE, write

xlsxwriter = pytest.importorskip("xlsxwriter")
HEADER = ("date", "country", "doses")


@pytest.fixture
def two_sheets(tmp_path):
    """The even log on the first sheet; below two titles of the second, first A and then B."""
    path = tmp_path / "log.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        for name, rows in (
            ("Even", [HEADER, *SIDE_BY_SIDE]),
            ("Uneven", [("Doses",), ("date", "country", "given"), HEADER, *FIRST_A_THEN_B]),
        ):
            sheet = book.add_worksheet(name)
            for place, row in enumerate(rows):
                sheet.write_row(place, 0, row)
    return str(path)


LAID_OUT = {**MAPPED, "sheet": "Uneven", "header_row": 3, "welfare": "rawls", "at_end": False}
READERS = {
    "audit": lambda log, how: audit_with(log, AuditOptions(**how)).score,
    "best": lambda log, how: best_there_was(log, **how).actual,
    "lots": lambda log, how: best_there_was(log, lots=True, **how).actual,
    "change": lambda log, how: smallest_change(log, raise_worst_to=40_000, **how).total,
    "replay": lambda log, how: replay(log, **how).logged.score,
    "replay's best": lambda log, how: replay(log, **how).best.actual,
}


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("reader", READERS)
def test_a_workbook_is_read_as_it_is_laid_out(reader, two_sheets, tmp_path):
    tidy = {key: LAID_OUT[key] for key in (*MAPPED, "welfare", "at_end")}
    csv = write(tmp_path / "tidy.csv", FIRST_A_THEN_B)
    read = READERS[reader]
    assert read(two_sheets, LAID_OUT) == read(csv, tidy)


def test_a_wide_table_is_read_as_it_is_laid_out(tmp_path):
    wide = write(tmp_path / "wide.csv", [("A", 20, 0), ("B", 0, 20)], ("country", "2021", "2022"))
    tidy = write(tmp_path / "tidy.csv", [("2021", "A", 20), ("2022", "B", 20)])
    names = {"stakeholder": "country", "time": "year", "amount": "doses", "welfare": "rawls"}
    found = best_there_was(wide, wide="time", **names)
    expected = best_there_was(tidy, **{**names, "time": "date"})
    assert found == expected


def test_a_table_that_is_open_stays_as_it_is(two_sheets):
    options = AuditOptions(**LAID_OUT)
    with opened_log(two_sheets, options) as table:
        with opened_log(table, AuditOptions(**MAPPED)) as again:
            assert again is table
        assert audit_with(table, options).score == audit_with(two_sheets, options).score


@pytest.mark.system  # takes seconds
def test_nobody_else_opens_a_log_by_its_options():
    """A way of opening that leaves one of the options out would read another table."""
    package = Path(evenhand.__file__).parent
    for path in set(package.rglob("*.py")) - {package / "log/files.py"}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and "opened" in ast.unparse(node.func):
                assert "options.table" not in map(ast.unparse, node.args), f"{path}: opened_log"
