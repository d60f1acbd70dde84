"""Whoever changes a row of the log is found out, whatever the row and the column."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.serve.store.decision_store import Append
from evenhand.serve.store.log_entry import FIRST, next_entry
from evenhand.serve.store.verification import verify_store
from serving import new_store

LENGTH = 6


@pytest.fixture
def store(tmp_path):
    found = new_store(tmp_path)
    before, entries = FIRST, []
    for number in range(1, LENGTH + 1):
        entries.append(next_entry("p", number, 10 * number, "me", "k", f'{{"n":{number}}}', before))
        before = entries[-1].digest
    found.append([Append(entries, new_pool="p")])
    found.save_snapshot("p", LENGTH, entries[-1].digest, b"", 3)
    yield found
    found.close()


def changed(store, statement, *values):
    with sqlite3.connect(store.path) as other:
        assert other.execute(statement, values).rowcount
    other.close()
    (found,) = verify_store(store)
    return found


def test_a_log_as_it_was_written_is_whole(store):
    (found,) = verify_store(store)
    assert found.is_whole
    assert (found.entries, found.digest) == (LENGTH, store.entry("p", LENGTH).digest)
    assert "6 entries, none changed" in found.sentence
    assert found.digest.hex() in found.sentence


@pytest.mark.parametrize("number", [1, 3, LENGTH])
@pytest.mark.parametrize(
    ("column", "value"),
    [("recorded", 1), ("actor", "you"), ("kind", "l"), ("body", '{"n":9}'), ("digest", bytes(32))],
)
def test_a_changed_row_is_found(store, number, column, value):
    found = changed(store, f"UPDATE entries SET {column} = ? WHERE number = ?", value, number)
    assert found.wrong == number
    assert f"entry {number} was changed" in found.sentence


@pytest.mark.parametrize("number", range(1, LENGTH + 1))
def test_a_row_that_was_taken_out_is_found(store, number):
    """The last one too, as the snapshot knows of it."""
    assert changed(store, "DELETE FROM entries WHERE number = ?", number).wrong == number


def test_a_row_that_was_put_in_is_found(store):
    row = next_entry("p", LENGTH + 1, 0, "me", "k", "{}", FIRST)
    values = (row.pool, row.number, row.recorded, row.actor, row.kind, row.body, row.digest)
    assert changed(store, "INSERT INTO entries VALUES (?,?,?,?,?,?,?)", *values).wrong == 7


texts = st.text(max_size=4)


@given(
    one=st.tuples(texts, st.integers(0, 99), st.integers(0, 99), texts, texts, texts),
    other=st.tuples(texts, st.integers(0, 99), st.integers(0, 99), texts, texts, texts),
)
def test_two_entries_have_one_digest_only_if_they_are_one(one, other):
    """Wherever the text of one field ends and that of the next begins."""
    entries = [next_entry(*fields, FIRST) for fields in (one, other)]
    assert (entries[0].digest == entries[1].digest) == (one == other)
    assert entries[0].follows(FIRST)
    assert not entries[0].follows(entries[0].digest)
