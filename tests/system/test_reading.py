"""What is read of logs as offices publish them, where it takes long to try."""

from __future__ import annotations

import pytest

from evenhand.errors import EvenhandError
from logs import MAPPED, OPTIONS, write
from read_alone import audit

pytestmark = pytest.mark.system
DAYS = ("2021-01-31", "2021-02-28")


@pytest.mark.parametrize(
    "how", [{"by": "group", "group": "team"}, {"entitlement": {"A": 1, "B": 2}}]
)
def test_suppressed_amounts_with_groups_and_sizes(tmp_path, how):
    rows = [(day, who, got, f"t{who}") for day in DAYS for who, got in (("A", 10), ("B", "c"))]
    path = write(tmp_path / "log.csv", rows, columns=("date", "country", "doses", "team"))
    found = audit(path, **MAPPED, **how)
    assert "not judged" in found.verdict
    assert found.overall.unequal_assessments == 0  # A alone
    with pytest.raises(EvenhandError):
        audit(path, **MAPPED, **how, only=["C"])


def test_a_workbook_with_one_cell_far_away(tmp_path, refuses):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    far = tmp_path / "far.xlsx"
    with xlsxwriter.Workbook(str(far)) as book:  # which makes a sheet of 17 billion cells
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["date", "country", "doses"])
        sheet.write(1_048_575, 16_383, 1)
    refuses(("far.xlsx is damaged, or takes more than",), str(far), *OPTIONS)
