"""How the file of a log is laid out, as far as the user says it: what a tidy file needs none of."""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.errors import BadParameter, argument

TIME, STAKEHOLDER = "time", "stakeholder"  # what the columns of a wide table may each be


@dataclass(frozen=True)
class FileLayout:
    """Which sheet and row to begin with, and what the names of columns and files mean."""

    sheet: str | int | None = None  # of a workbook, by its name or its number from 1
    header_row: int | str | None = None  # the row of the columns' names from 1, or two such as 3-4
    wide: str | None = None  # each column is a time, or a stakeholder
    time_from_name: bool = False  # the time of a file's rows stands in its name
    stakeholder: str = ""  # what the columns of the tidy table are called
    time: str = ""
    amount: str = ""
    named: tuple[str, ...] = ()  # columns that must be there, by which the header is found
    can_name_sheet: bool = True  # whether the user could have said which sheet is meant

    def __post_init__(self) -> None:
        if self.wide not in (None, TIME, STAKEHOLDER):
            raise BadParameter(
                f"{argument('wide')} is {self.wide!r}: it must be {TIME}, if each column is a "
                f"time, or {STAKEHOLDER}, if each column is a stakeholder."
            )
        if self.header_row is not None:
            first, last = self.header_rows
            if not 1 <= first <= last <= first + 3:
                raise BadParameter(
                    f"{argument('header_row')} is {self.header_row!r}: it must be the number of a "
                    "row, counted from 1, or of the rows of a header such as 3-4."
                )

    @property
    def header_rows(self) -> tuple[int, int]:
        """The first and the last row of the header that is named."""
        first, _, last = str(self.header_row).partition("-")
        try:
            return int(first), int(last or first)
        except ValueError:
            return 0, 0

    def refuse_rows(self, label: str) -> None:
        """Refuse to name a sheet or a row of what has no sheets, or whose columns have names."""
        self.refuse_sheet(label)
        if self.header_row is not None:
            raise BadParameter(
                f"{argument('header_row')} is for workbooks and text files, and {label} is "
                "neither: leave it out."
            )

    def refuse_sheet(self, label: str) -> None:
        """Refuse to name a sheet of what is not a workbook."""
        if self.sheet is not None:
            raise BadParameter(
                f"{argument('sheet')} names a sheet of a workbook, and {label} is not one: leave "
                "it out."
            )


# Of a table beside the log, such as a roster: the options about a layout are of the log alone.
TIDY = FileLayout(can_name_sheet=False)
