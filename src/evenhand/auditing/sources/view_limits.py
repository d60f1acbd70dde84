"""How much work a view of somebody else's file may cause: it is a program, and might never end."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evenhand._util.files import in_bytes
from evenhand.errors import BadLog

SECONDS = 30.0  # for each query of a view
MEMORY = 4 << 30  # bytes
VIEWS = 1000  # that a view may be made of, each counted as often as it is named
AS = re.compile(r"\bas\b", re.IGNORECASE)  # after which the query of a view begins
NAME = re.compile(r'"[^"]+"|\[[^]]+\]|`[^`]+`|\w+')


def endless_view(label: str) -> BadLog:
    """What to say of a view that goes beyond these limits."""
    return BadLog(
        f"{label} is a view that takes more than {SECONDS:g} seconds or {in_bytes(MEMORY)}: make "
        "it a table (CREATE TABLE … AS SELECT …), and audit that."
    )


def too_many_views(views: Mapping[str, str], name: str) -> bool:
    """Whether a view, given the SQL of each, is made of too many for a query even to be planned.

    A view of a view twice, of which there is a view twice, and so on, is soon of billions.

    >>> twice = {f"v{k}": f"… AS FROM v{k - 1} UNION ALL FROM v{k - 1}" for k in range(20)}
    >>> too_many_views(twice, "v5"), too_many_views(twice, "v15")
    (False, True)
    """
    inside = {
        view.lower(): [word.strip('"[]`').lower() for word in NAME.findall(AS.split(sql, 1)[-1])]
        for view, sql in views.items()
    }
    rest, count = [name.lower()], 0
    while rest and count <= VIEWS:
        count += 1
        rest += [word for word in inside.get(rest.pop(), ()) if word in inside]
    return count > VIEWS
