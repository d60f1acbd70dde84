"""Where a table begins and ends on a sheet."""

from __future__ import annotations

import pytest

from evenhand.log.layout import TIDY, FileLayout
from evenhand.log.workbooks import find_header, is_table, table_of
from logs import MAPPED
from read_alone import rows_read

HEADER = ["Region", "2021", "2022", "2023"]
ROWS = [["North", "1", "2", "3"], ["South", "4", "5", "6"]]


@pytest.mark.parametrize(
    ("above", "place"),
    [
        ([], 0),
        ([["A title"], []], 2),
        ([["A title", "", "", "Page 1"], ["in thousands"]], 2),
        ([["", "", "", ""], ["Note", "see below"]], 2),
    ],
)
def test_the_header_is_found_below_titles(above, place):
    assert find_header([*above, HEADER, *ROWS]) == place
    assert find_header([HEADER, *above, ["a", "b"], *ROWS], ["a", "b"]) == len(above) + 1


def test_what_stands_around_a_table_is_left_out_and_said():
    sheet = [["Title"], HEADER, *ROWS, [], ["Source: us"], ["* provisional"]]
    found = table_of(sheet, TIDY, "the sheet")
    assert (list(found.header), [list(row) for row in found.rows]) == (HEADER, ROWS)
    assert "2 rows below the table of the sheet were left out ('Source: us')." in found.notes
    assert "from row 2" in found.notes[1]


def test_columns_without_a_name_are_kept_if_they_hold_something():
    found = table_of(
        [["a", "", ""], ["1", "2", ""], ["3", "4", ""]], FileLayout(header_row=1), "it"
    )
    assert found.header == ("a", "column 2")


def test_a_cover_is_not_a_table():
    assert is_table([HEADER, *ROWS])
    assert not is_table([["Contents"], ["Table 1", "Grants"], ["Table 2", "Loans"]])


def test_the_header_row_of_a_csv_file(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("date,country,dose\n\ndate;country;doses\n2021-01-01;A;1\n2021-01-02;B;2,5\n")
    with pytest.raises(ValueError, match="no column"):
        rows_read(str(log), **{**MAPPED, "amount": "much"}, header_row=1)
    text = log.read_text().replace("date,country,dose\n", "Doses\n")
    log.write_text(text)
    tidy = [("2021-01-01", "A", 1.0), ("2021-01-02", "B", 2.5)]
    assert rows_read(str(log), **MAPPED, header_row=3).rows == tidy
