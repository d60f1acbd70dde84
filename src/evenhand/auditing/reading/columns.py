"""Which column of a log means what, and a column that is not there refused by name."""

from __future__ import annotations

import os

from evenhand._util.wording import nearest
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.sources import csv_files
from evenhand.auditing.sources.open_source import LogTable
from evenhand.errors import BadParameter, MissingColumn, argument


def log_columns(table: LogTable, options: AuditOptions) -> dict[str, str]:
    """The columns that an audit looks at, by the argument that names each; all are there."""
    names = {
        "stakeholder": options.stakeholder,
        "time": options.time,
        "amount": options.amount,
        "group": options.group,
        "entitlement": options.entitlement if entitlement_is_column(table, options) else None,
    }
    columns = {given: name for given, name in names.items() if name is not None}
    for given, name in columns.items():
        require_column(table, name, given)
    return columns


def entitlement_is_column(table: LogTable, options: AuditOptions) -> bool:
    """Whether the entitlement is a column of the log; otherwise it is a table of its own."""
    given = options.entitlement
    if not isinstance(given, str) or given in table.columns:
        return isinstance(given, str)
    if os.path.exists(given):
        return False
    near = nearest(given, table.columns)
    hint = "check its name." if near is None else f"did you mean the column {near!r}?"
    raise BadParameter(
        f"{argument('entitlement')} is {given!r}, which is neither a column of {table.label} nor a "
        f"file: {hint}"
    )


def require_column(table: LogTable, name: str, given: str) -> None:
    """Refuse a column that is not there or there twice; `given` is the argument that names it."""
    csv_files.refuse_doubled(table.label, table.csv_paths, table.columns, name, given)
    if name in table.columns:
        return
    csv_files.refuse_lost_header(table.label, table.csv_paths, table.columns)
    raise MissingColumn(
        [name],
        table.label,
        known=table.columns,
        nearest=nearest(name, table.columns, least=0.5),
        argument=given,
    )
