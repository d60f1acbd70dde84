"""Workbooks as offices publish them: the same numbers as the tidy table, and nothing runs."""

from __future__ import annotations

import datetime
import re
import zipfile

import pandas as pd
import pytest

from binary_workbooks import write_xlsb
from evenhand.auditing.compare_logs import compare
from evenhand.errors import BadParameter
from evenhand.log.layout import FileLayout
from evenhand.log.workbooks import read_workbook
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, write
from read_alone import audit, rows_read

xlsxwriter = pytest.importorskip("xlsxwriter")
TITLES = ["Table 1: doses by country"], ["Published 2021"], []
DAYS = ("2021-01-31", "2021-02-28")
HEADER = ["date", "country", "doses"]
DATED = [(datetime.date.fromisoformat(day), *rest) for day, *rest in FIRST_A_THEN_B]


def workbook(path, **sheets):
    """A workbook with rows on each sheet; a name that ends in _ is of a hidden one."""
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            if name.endswith("_"):
                sheet.hide()
            for place, row in enumerate(rows):
                sheet.write_row(place, 0, row)
    return str(path)


def test_a_sheet_and_its_header_are_found(tmp_path):
    sheets = {
        "Cover": [["Doses"], ["Contents"]],
        "Old_": [HEADER, ["2020-01-01", "A", 5]],
        "Data": [*TITLES, HEADER, *DATED, [], ["Source: the office"]],
    }
    found = audit(workbook(tmp_path / "log.xlsx", **sheets), **MAPPED, every="month")
    assert {one.name: one.final for one in found.by_stakeholder} == {"A": 40_000, "B": 40_000}
    assert found.over_time.times == ("2021-01", "2021-02", "2021-03", "2021-04")
    said = " ".join(found.notes)
    assert "taken from row 4" in said
    assert "1 row below the table" in said
    assert found.origin["files"][0]["path"].endswith("log.xlsx")
    assert found.label.endswith("(sheet 'Data')")


def test_a_sheet_and_a_header_that_are_named(tmp_path, refuses):
    two = {"North": [HEADER, *DATED], "South": [HEADER, *DATED[:2]], "Old_": [HEADER, *DATED]}
    path = workbook(tmp_path / "log.xlsx", **two)
    refuses(("2 sheets that may be meant ('North' and 'South')", "--sheet North"), path, *OPTIONS)
    refuses(("no sheet 'Nort'", "did you mean 'North'?"), path, *OPTIONS, "--sheet", "Nort")
    for sheet, name in ((" north ", "North"), (2, "South"), (3, "Old_")):
        assert read_workbook(path, FileLayout(sheet=sheet))[1].endswith(f"(sheet {name!r})")
    assert rows_read(path, **MAPPED, sheet="South").rows == FIRST_A_THEN_B[:2]
    headed = workbook(tmp_path / "two.xlsx", Data=[["date", "x", "doses"], HEADER, *DATED])
    assert rows_read(headed, **MAPPED, header_row=2).rows == FIRST_A_THEN_B
    refuses(("nothing in row 9", "--header-row"), headed, *OPTIONS, "--header-row", "9")
    refuses(("--header-row is 'x'",), headed, *OPTIONS, "--header-row", "x")


def test_of_a_table_beside_the_log_no_sheet_can_be_named(tmp_path, refuses):
    """--sheet is of the log, and so no help where a roster has two sheets."""
    sheets = {"Log": [HEADER, *DATED], "Staff": [["country", "size"], ["A", 1], ["B", 2]]}
    path = workbook(tmp_path / "log.xlsx", **sheets)
    refuses(
        ("2 sheets that may be meant ('Log' and 'Staff'): save the one that is meant as a file",),
        *(path, *OPTIONS, "--sheet", "Log", "--roster", path),
    )


def test_a_sheet_is_named_of_workbooks_alone(tmp_path, refuses):
    path = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    refuses(
        ("--sheet names a sheet of a workbook", "log.csv is not one"), path, *OPTIONS, "--sheet=2"
    )
    frame = pd.read_csv(path)
    frame.to_parquet(tmp_path / "log.parquet")
    for log, how, words in (
        (frame, {"sheet": 2}, "`sheet` names a sheet of a workbook, and a table in memory is not"),
        (frame, {"header_row": 2}, "a table in memory is neither: leave it out"),
        (str(tmp_path / "log.parquet"), {"header_row": 2}, r"log\.parquet is neither"),
        ("sqlite:///log.db", {"sheet": "Data"}, "a database is not one"),
    ):
        with pytest.raises(BadParameter, match=words):
            audit(log, **MAPPED, **how)
    two = workbook(tmp_path / "log.xlsx", North=[HEADER], South=[HEADER, *DATED])
    found = compare(two, path, **MAPPED, sheet="South", chance=False)
    assert found.first.score == found.second.score  # of the plain file there is no sheet to name


def test_a_header_of_two_rows_and_merged_cells(tmp_path):
    path = tmp_path / "log.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.merge_range(0, 1, 0, 2, "2021")
        sheet.merge_range(0, 3, 0, 4, "2022")
        sheet.write_row(1, 0, ["country", "Q1", "Q2", "Q1", "Q2"])
        sheet.write_row(2, 0, ["A", 20_000, 20_000, 0, 0])
        sheet.write_row(3, 0, ["B", 0, 0, 20_000, 20_000])
    found = rows_read(str(path), stakeholder="country", wide="time", header_row="1-2")
    ends = ("2021-03-31", "2021-06-30", "2022-03-31", "2022-06-30")
    given = {"A": (20_000, 20_000, 0, 0), "B": (0, 0, 20_000, 20_000)}
    assert found.rows == [(end, who, given[who][k]) for k, end in enumerate(ends) for who in "AB"]


def test_names_that_are_merged_downwards_hold_for_all_their_rows(tmp_path):
    path = tmp_path / "log.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["country", "date", "doses"])
        for k, (day, _, doses) in enumerate(FIRST_A_THEN_B, 1):
            sheet.write_row(k, 1, [day, doses])
        sheet.merge_range(1, 0, 2, 0, "A")
        sheet.merge_range(3, 0, 4, 0, "B")
    assert rows_read(str(path), **MAPPED).rows == FIRST_A_THEN_B


def test_four_troubles_at_once(tmp_path):
    """A wide sheet with suppressed amounts and decimal commas, some of them typed as numbers."""
    rows = [
        *TITLES,
        ["Region", "2023-Q1", "2023-Q2", "Total"],
        ["North", "1.234,5", 12.5, "x"],
        ["South", "2.000,25", "*", "x"],
        ["East", "c", "<5", "x"],
        [],
        ["c: confidential"],
    ]
    path = workbook(tmp_path / "log.xlsx", Data=rows)
    found = rows_read(path, stakeholder="Region", wide="time")
    told = [("2023-03-31", "North", 1234.5), ("2023-03-31", "South", 2000.25)]
    told += [("2023-06-30", "North", 12.5)]
    assert [row for row in found.rows if row[2] is not None] == told
    assert (found.hidden.rows, found.hidden.unknown) == (3, ("East",))


def xlsm(path):
    """A workbook with macros differs in what it calls itself, and in macros, which are not run."""
    plain = path.with_suffix(".xlsx")
    workbook(plain, Data=[HEADER, *DATED])
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            kind = b"application/vnd.ms-excel.sheet.macroEnabled.main+xml"
            part = source.read(name)
            if name == "[Content_Types].xml":
                part = re.sub(rb"application/[^\"]*sheet\.main\+xml", kind, part)
                assert kind in part
            target.writestr(name, part)


def xls(path):
    book = pytest.importorskip("xlwt").Workbook()
    sheet = book.add_sheet("Data")
    day = xlwt_style("YYYY-MM-DD")
    for place, row in enumerate([HEADER, *DATED]):
        for column, cell in enumerate(row):
            sheet.write(place, column, cell, *[day] * isinstance(cell, datetime.date))
    book.save(str(path))


def xlwt_style(form):
    return pytest.importorskip("xlwt").easyxf(num_format_str=form)


def ods(path):
    pytest.importorskip("odf")
    pd.DataFrame(DATED, columns=HEADER).to_excel(path, index=False, engine="odf")


def xlsb(path):
    write_xlsb(path, [HEADER, *(list(row) for row in FIRST_A_THEN_B)])


@pytest.mark.parametrize("write_as", [xlsm, xls, ods, xlsb], ids=lambda kind: kind.__name__)
def test_every_kind_of_workbook(tmp_path, write_as):
    path = tmp_path / f"log.{write_as.__name__}"
    write_as(path)
    assert rows_read(str(path), **MAPPED).rows == FIRST_A_THEN_B


def test_an_error_among_numbers_is_unknown_and_nobody_is_called_so(tmp_path):
    """As it is in the CSV file that Excel makes of the sheet; not 0 for B."""
    path = tmp_path / "log.xlsx"
    errors = {(2, 2): "#N/A", (4, 2): "#DIV/0!", (5, 1): "#REF!"}
    with xlsxwriter.Workbook(str(path)) as book:
        book.add_worksheet("Empty")
        sheet = book.add_worksheet("Doses & more")
        rows = [HEADER, *((day, who, 5) for day in DAYS for who in "AB"), ("2021-02-28", "", 5)]
        for place, row in enumerate(rows):
            sheet.write_row(place, 0, row)
        for (row, column), text in errors.items():
            sheet.write_formula(row, column, "=1/0", None, text)
    found = rows_read(str(path), **MAPPED)
    assert found.hidden.marks == (("#DIV/0!", 1, 0.0, 5.0), ("#N/A", 1, 0.0, 5.0))
    assert found.hidden.unknown == ("B",)
    assert [row for row in found.rows if row[1] not in "AB"] == [("2021-02-28", "None", 5.0)]


def test_formulas_and_serial_numbers(tmp_path):
    path = tmp_path / "log.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, HEADER)
        for k, (day, who, doses) in enumerate(DATED, 1):
            sheet.write_row(k, 0, [(day - datetime.date(1899, 12, 30)).days, who])
            sheet.write_formula(k, 2, "=1+1", None, doses)  # the value it had when it was saved
    found = audit(str(path), **MAPPED, every="month")
    assert [one.final for one in found.by_stakeholder] == [40_000, 40_000]
    assert found.over_time.times == ("2021-01", "2021-02", "2021-03", "2021-04")
    assert any("as Excel counts them" in note for note in found.notes)


def test_a_workbook_is_data_and_a_bad_one_a_sentence(tmp_path, refuses):
    path = tmp_path / "log.xlsx"
    path.write_text("date,country,doses\n")
    refuses(("not a workbook that can be read",), str(path), *OPTIONS)
    refuses(("empty",), workbook(path, Data=[]), *OPTIONS)
    refuses(("no column",), workbook(path, Data=[["only a title"]]), *OPTIONS)
    whole = (tmp_path / "whole.xlsx", workbook(tmp_path / "whole.xlsx", Data=[HEADER, *DATED]))[0]
    path.write_bytes(whole.read_bytes()[:2000])
    refuses(("log.xlsx",), str(path), *OPTIONS)
    roster = workbook(tmp_path / "roster.xlsx", People=[["country"], ["A"], ["B"], ["C"]])
    log = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    assert audit(log, **MAPPED, roster=roster).stakeholder("C").final == 0


def test_a_workbook_that_is_packed_to_fill_the_memory(tmp_path, refuses, monkeypatch):
    path = workbook(tmp_path / "log.xlsx", Data=[HEADER, *DATED])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/media/zeros", bytes(3 << 20))
    monkeypatch.setattr("evenhand.log.workbooks.ALWAYS_FINE", 1 << 20)
    refuses(("unpacks to more than",), path, *OPTIONS)
