"""A log opened as the options say: encoding, table, engine and layout, of which none is forgotten.

Whoever reads the log that options speak of opens it here, so that an audit, the best there was, a
replay and an import all read the same table.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from evenhand.auditing.options import AuditOptions
from evenhand.auditing.sources.log_table import LogTable
from evenhand.auditing.sources.open_source import opened


def opened_log(log: Any, options: AuditOptions) -> AbstractContextManager[LogTable]:
    """The log of an audit, for as long as it is needed.

    Args:
        log: As for `audit`; a table that was opened already stays as it is, and open.
        options: Which say how it is read.
    """
    return opened(log, options.encoding, options.table, options.engine, options.layout)
