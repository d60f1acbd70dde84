"""What stakeholders are to be called in place of the codes that the log has for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from evenhand._util.checks import first_repeated
from evenhand._util.wording import join_names, pluralise
from evenhand.auditing.notes import Notes
from evenhand.auditing.sources.engines import fetch
from evenhand.auditing.sources.open_source import open_table
from evenhand.errors import BadRoster, argument


def read_display_names(source: Any, stakeholder: str, encoding: str = "utf-8") -> Mapping[str, str]:
    """The name to show for each code.

    Args:
        source: A table of two columns (the code and the name), its path, or a mapping; None if
            names are shown as they are in the log.
        stakeholder: The column of codes, if the table has one of this name; otherwise it is the
            first.
        encoding: How a text file is written.
    """
    if source is None:
        return {}
    if isinstance(source, Mapping):
        return {str(code): str(name) for code, name in source.items()}
    table = open_table(source, encoding)
    if len(table.columns) != 2:
        raise BadRoster(
            f"{table.label} has {len(table.columns)} columns: a table of names to show has two, "
            "the code and the name."
        )
    code = stakeholder if stakeholder in table.columns else table.columns[0]
    table.refuse_doubled(code, "display_names")
    name = next(column for column in table.columns if column != code)
    frame = table.load([code, name], as_text=[code, name]).frame
    found = fetch(frame.select(nw.col(code).cast(nw.String), nw.col(name).cast(nw.String)))
    pairs = [
        (str(one), str(other))
        for one, other in zip(found[code], found[name], strict=True)
        if one is not None and other is not None and other == other
    ]
    twice = first_repeated(one for one, _ in pairs)
    if twice is not None:
        raise BadRoster(f"{table.label} names {twice!r} twice: one row each.")
    return dict(pairs)


def fitted(shown: Mapping[str, str], codes: Sequence[str], notes: Notes) -> dict[str, str]:
    """The names to show for these codes, no two of which may be alike.

    Args:
        shown: The names that were given.
        codes: Those in the log.
        notes: Where it is noted who has no name.
    """
    if not shown:
        return {}
    unnamed = [code for code in codes if code not in shown]
    if len(unnamed) == len(codes):
        raise BadRoster(
            f"{argument('display_names')} has a name for none of the stakeholders "
            f"({join_names([repr(code) for code in codes], 3)}): its codes must be written as in "
            "the log."
        )
    names = {code: shown.get(code, code) for code in codes}
    for name, count in Counter(names.values()).items():
        if count > 1:
            same = [repr(code) for code in codes if names[code] == name]
            raise BadRoster(
                f"{join_names(same, 3)} would all be shown as {name!r}: give each its own name in "
                f"{argument('display_names')}."
            )
    if unnamed:
        notes.add(
            f"{pluralise(len(unnamed), 'stakeholder has', 'stakeholders have')} no name in "
            f"{argument('display_names')} and {'is' if len(unnamed) == 1 else 'are'} shown as in "
            f"the log: {join_names(unnamed)}."
        )
    return names
