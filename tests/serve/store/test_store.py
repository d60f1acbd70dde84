"""The chain of a log: two entries have one digest only if they are one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from evenhand.serve.store.store import FIRST, next_entry

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
