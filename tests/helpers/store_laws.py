"""What every store does, whichever database it is in.

`store` is an empty one, `again` opens it anew, and `bare` is one without tables.

The tests of a kind of store take these in with `from store_laws import *` and make the fixtures.
"""

from __future__ import annotations

import pytest

from evenhand.errors import BadStore, StoreConflict
from evenhand.serve.pools.imports import first_entries
from evenhand.serve.pools.pool import LivePool, PoolDefinition, Wish
from evenhand.serve.pools.state import PoolSnapshot, load_pool
from evenhand.serve.store.open_store import verify_store
from evenhand.serve.store.store import (
    CURRENT,
    FIRST,
    VERSIONS,
    Append,
    DecisionStore,
    KeptAnswer,
    LogEntry,
    StoredToken,
    next_entry,
)
from serving import forget_snapshots

LENGTH = 6


def entries(*numbers: int, pool: str = "p", kind: str = "join") -> list[LogEntry]:
    """Entries of a log that follow each other."""
    before, found = FIRST, []
    for number in numbers:
        body = f'{{"n":{number},"ä":"✓"}}'
        found.append(next_entry(pool, number, 10 * number, "me", kind, body, before))
        before = found[-1].digest
    return found


def run(store: DecisionStore, statement: str, *values: object) -> None:
    """Change the database behind the store's back."""
    with store.transaction() as cursor:
        store.run(cursor, statement, values)


def test_what_was_appended_is_read_in_order(store, again):
    written = entries(1, 2, 3)
    store.append([Append(written[:2], new_pool="p"), Append(written[2:])])
    assert store.entries("p") == written
    assert store.entries("p", after=1, most=1) == written[1:2]
    assert list(store.all_entries("p", 0, up_to=2)) == written[:2]
    assert store.entry("p", 3) == written[2]
    assert store.entry("p", 4) is None
    assert (store.head("p"), store.head("other"), store.pools()) == (3, 0, ["p"])
    other = again()
    assert other.entries("p") == written
    other.close()


def test_entries_by_their_kind(store):
    store.append([Append(entries(1, 2, pool="p"), new_pool="p")])
    undone = [
        next_entry("p", number, 0, "me", kind, "{}", FIRST)
        for number, kind in ((3, "undo"), (4, "ask"), (5, "undo"))
    ]
    store.append([Append(undone)])
    assert [one.number for one in store.undos("p")] == [3, 5]
    assert [one.number for one in store.latest("p", "join", None, 5)] == [2, 1]
    assert [one.number for one in store.latest("p", "join", 2, 5)] == [1]
    assert [one.number for one in store.entries_of("p", ("join", "ask"), 9)] == [1, 2, 4]
    assert [one.number for one in store.entries_of("p", ("ask", "undo"), 4)] == [3, 4]


def test_a_batch_of_which_one_is_there_already_is_not_written_at_all(store):
    one, two, three = entries(1, 2, 3)
    store.append([Append([one], new_pool="p")])
    with pytest.raises(StoreConflict) as conflict:
        store.append([Append([two]), Append([one]), Append([three])])
    assert conflict.value.table == "entries"
    assert store.entries("p") == [one]
    kept = KeptAnswer("p", "me", "key", b"r", b"{}")
    store.append([Append([two], kept)])
    with pytest.raises(StoreConflict) as conflict:
        store.append([Append([three], kept)])
    assert conflict.value.table == "answers"
    assert store.head("p") == 2
    assert store.kept_answer("p", "me", "key") == kept
    assert store.kept_answer("p", "you", "key") is None
    with pytest.raises(StoreConflict):
        store.append([Append([], new_pool="p")])


def test_of_two_who_write_one_number_one_is_refused(store, again):
    other = again()
    one, two = entries(1, 2)
    store.append([Append([one], new_pool="p")])
    other.append([Append([two])])
    with pytest.raises(StoreConflict):
        store.append([Append([two])])
    assert store.entries("p") == other.entries("p") == [one, two]
    other.close()


def test_only_the_latest_snapshots_are_kept(store):
    store.append([Append(entries(1), new_pool="p")])
    for number in (1, 4, 9, 9):
        store.save_snapshot("p", number, b"d", b"%d" % number, kept=2)
    assert store.snapshot("p", 100) == (9, b"d", b"9")
    assert store.snapshot("p", 8) == (4, b"d", b"4")
    assert store.snapshot("p", 3) is None


def test_tokens_have_names_of_their_own(store):
    one, two = (StoredToken(name, "reader", name.encode(), k) for k, name in enumerate("ab"))
    store.add_token(two)
    store.add_token(one)
    assert store.tokens() == [one, two]
    with pytest.raises(StoreConflict):
        store.add_token(one)
    store.drop_token("a")
    assert store.tokens() == [two]


def test_a_store_of_a_newer_version_is_refused(store):
    with store.transaction() as cursor:
        store.set_version(cursor, CURRENT + 1)
    with pytest.raises(BadStore, match="newer evenhand"):
        store.migrate()


@pytest.mark.parametrize("version", range(1, CURRENT))
def test_a_store_of_an_older_version_is_brought_up_to_date(bare, version):
    """`bare` is a store without tables."""
    with bare.transaction() as cursor:
        for step in VERSIONS[:version]:
            for statement in step:
                cursor.execute(statement.format(blob=bare.blob, tail=bare.tail))
        bare.set_version(cursor, version)
    written = entries(1, 2)
    bare.append([Append(written, new_pool="p")])
    bare.migrate()
    assert bare.version() == CURRENT
    assert bare.entries("p") == written
    kept = KeptAnswer("p", "me", "key", b"r", b"{}")  # which the first version had no table for
    bare.append([Append([], kept)])
    assert bare.kept_answer("p", "me", "key") == kept


@pytest.fixture
def chained(store):
    """A store with a whole log and a snapshot at its end."""
    written = entries(*range(1, LENGTH + 1))
    store.append([Append(written, new_pool="p")])
    store.save_snapshot("p", LENGTH, written[-1].digest, b"", 3)
    return store


def test_a_log_as_it_was_written_is_whole(chained):
    (found,) = verify_store(chained)
    assert found.is_whole
    assert (found.entries, found.digest) == (LENGTH, chained.entry("p", LENGTH).digest)
    assert "6 entries, none changed" in found.sentence
    assert found.digest.hex() in found.sentence


@pytest.mark.parametrize("number", [1, 3, LENGTH])
@pytest.mark.parametrize(
    ("column", "value"),
    [("recorded", 1), ("actor", "you"), ("kind", "l"), ("body", '{"n":9}'), ("digest", bytes(32))],
)
def test_a_changed_row_is_found(chained, number, column, value):
    run(chained, f"UPDATE entries SET {column} = ? WHERE number = ?", value, number)
    (found,) = verify_store(chained)
    assert found.wrong == number
    assert f"entry {number} was changed" in found.sentence


@pytest.mark.parametrize("number", range(1, LENGTH + 1))
def test_a_row_that_was_taken_out_is_found(chained, number):
    """The last one too, as the snapshot knows of it."""
    run(chained, "DELETE FROM entries WHERE number = ?", number)
    (found,) = verify_store(chained)
    assert found.wrong == number


def test_a_row_that_was_put_in_is_found(chained):
    row = next_entry("p", LENGTH + 1, 0, "me", "k", "{}", FIRST)
    chained.append([Append([row])])
    (found,) = verify_store(chained)
    assert found.wrong == LENGTH + 1


def test_a_pool_from_its_log_is_the_one_that_wrote_it(store):
    """With a snapshot in the middle, without it, and as it was at any entry."""
    pool = LivePool.new(PoolDefinition("p", "half_life:2", dates=False))
    people = [("Ann", 1.0), ("Ben", 2.0), ("Zoë ✓", 0.5)]
    store.append([Append(first_entries(pool, people, "me", 0), new_pool="p")])
    states = {pool.number: pool.allocator.snapshot()}
    for _ in range(8):
        taken = pool.decide(Wish(), 0)
        store.append([Append([pool.record(taken, "me", 0)])])
        states[pool.number] = pool.allocator.snapshot()
        if pool.number == 8:
            PoolSnapshot.of(pool).save(store)
    for number, state in states.items():
        assert load_pool(store, "p", number).allocator.snapshot() == state
    forget_snapshots(store, "p")
    assert load_pool(store, "p").allocator.snapshot() == states[pool.number]
