"""How much work a view of somebody else's file may cause: it is a program, and might never end."""

from __future__ import annotations

from evenhand._util.files import in_bytes
from evenhand.errors import BadLog

SECONDS = 30.0  # for each query of a view
MEMORY = 4 << 30  # bytes


def endless_view(label: str) -> BadLog:
    """What to say of a view that goes beyond these limits."""
    return BadLog(
        f"{label} is a view that takes more than {SECONDS:g} seconds or {in_bytes(MEMORY)}: make "
        "it a table (CREATE TABLE … AS SELECT …), and audit that."
    )
