"""Names that differ only in capitals, spaces or accents: noticed, and merged where asked for."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

import narwhals as nw

from evenhand._util.wording import join_names, pluralise
from evenhand.auditing.sources.engines import Frame, engine_of, fetch
from evenhand.errors import BadParameter, argument

INTO = "evenhand: merged name"


def plain_name(name: str) -> str:
    """A name without capitals, accents and spaces that are too many.

    >>> plain_name("  São   PAULO ")
    'sao paulo'
    """
    if name.isascii():  # most names, of which there may be very many
        return " ".join(name.lower().split())
    parts = unicodedata.normalize("NFKD", name.casefold())
    letters = "".join(part for part in parts if not unicodedata.combining(part))
    return " ".join(letters.split())


def alike(names: Iterable[str]) -> list[list[str]]:
    """The names of which several are one when written plainly."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(plain_name(name), []).append(name)
    return [spellings for spellings in found.values() if len(spellings) > 1]


def one_spelling(rows: Mapping[str, int], known: Sequence[str] = ()) -> dict[str, str]:
    """The spelling that each name is to have: that of the roster, or the one of most rows.

    >>> one_spelling({"north": 1, "North": 5, "South": 2})
    {'north': 'North'}
    """
    chosen = {plain_name(name): name for name in reversed(known)}
    for name in sorted(rows, key=lambda name: (-rows[name], name)):
        chosen.setdefault(plain_name(name), name)
    return {name: chosen[plain_name(name)] for name in rows if chosen[plain_name(name)] != name}


def merge_names(frame: Frame, column: str, known: Sequence[str]) -> tuple[Frame, tuple[str, ...]]:
    """The frame with one spelling of each name, and a note on those that were changed.

    Args:
        frame: The log.
        column: The column of names.
        known: Names whose spelling is right, such as those of a roster.
    """
    engine = engine_of(frame)
    if not engine.looks_up:
        raise BadParameter(
            f"{argument('merge_names')} is for files and for tables in memory: fix the names where "
            "they are, or make a view."
        )
    name = nw.col(column).cast(nw.String)
    named = frame.select(name=name).filter(~nw.col("name").is_null())
    found = fetch(named.group_by("name").agg(rows=nw.len()))
    rows = {str(one): int(count) for one, count in zip(found["name"], found["rows"], strict=True)}
    spelt = one_spelling(rows, known)
    if not spelt:
        return frame, ()
    trimmed = {old.strip(" "): new for old, new in spelt.items()}
    frame = engine.looked_up(frame, column, list(trimmed), {INTO: list(trimmed.values())})
    merged = nw.coalesce(nw.col(INTO), name).alias(column)
    shown = [f"{old!r} into {new!r}" for old, new in sorted(spelt.items())]
    note = (
        f"{pluralise(len(spelt), 'name was', 'names were')} merged with others that differ only in "
        f"capitals, spaces or accents ({join_names(shown, 3)})."
    )
    return frame.with_columns(merged).drop(INTO), (note,)
