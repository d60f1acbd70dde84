"""The state is a fold over the log: with a snapshot or without, and without what was undone."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evenhand.errors import EvenhandError, UnknownPool
from evenhand.events import Join, MemberEvent, Pause, Resume, Undo
from evenhand.serve.pools.imports import first_entries
from evenhand.serve.pools.pool import Decision, LivePool, PoolDefinition, Wish, read_change
from evenhand.serve.pools.state import PoolSnapshot, load_pool
from evenhand.serve.store.store import Append
from serving import forget_snapshots, new_store

RULES = ("least_served", "half_life:5", "longest_wait", "round_robin", "lottery:3", "deadline:4")
happenings = st.lists(
    st.tuples(st.sampled_from(["decide", "other", "pause", "resume", "join", "undo", "save"]),
              st.integers(0, 9)),
    max_size=14,
)  # fmt: skip


def same(pool, other):
    return pool.allocator.snapshot() == other.allocator.snapshot() and (
        pool.turn,
        pool.decisions,
        pool.undone,
    ) == (other.turn, other.decisions, other.undone)


def happen(store, pool, kind, number):
    """Something that happens to a pool and is written; the state that follows from it."""
    names = pool.allocator.names
    name = names[number % len(names)]
    taken = [e.number for e in store.latest(pool.name, "decide", None, 99)]
    taken = [n for n in taken if n not in pool.undone]
    if kind == "save":
        PoolSnapshot.of(pool).save(store)
        return pool
    if kind == "undo":
        if not taken:
            return pool
        target = taken[number % len(taken)]
        pool = load_pool(store, pool.name, without=frozenset((target,)))
        pool.undone.add(target)
        change = Undo(target)
    elif kind == "decide":
        change = pool.decide(Wish(1.0 + number % 3, count=1 + number % 2), 0)
    elif kind == "other":
        change = Decision(((name, 2.0),), pool.moment(None, 0), reason="because")
    else:
        event = {"pause": Pause, "resume": Resume, "join": Join}[kind]
        who = f"N{len(names)}" if kind == "join" else name
        change = pool.require(event(who, pool.moment(None, 0)))
    store.append([Append([pool.record(change, "me", 0)])])
    return pool


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    store, number = new_store(tmp_path_factory.mktemp("store"), durable=False), itertools.count()
    yield store, lambda: f"p{next(number)}"
    store.close()


@given(rule=st.sampled_from(RULES), happened=happenings)
# The mean at which somebody joins, worked out again after others joined at it: 0.19999999999999998.
@example("least_served", [("join", 0), ("decide", 0), ("join", 0), ("save", 0), ("join", 0)])
def test_the_live_state_is_the_fold_and_an_undone_decision_never_was(stores, rule, happened):
    store, name = stores[0], stores[1]()
    pool = LivePool.new(PoolDefinition(name, rule=rule, dates=False))
    entries = first_entries(pool, [("A", 1.0), ("B", 2.0), ("C", 1.0)], "me", 0)
    store.append([Append(entries, new_pool=name)])
    for kind, number in happened:
        try:
            pool = happen(store, pool, kind, number)
        except EvenhandError:  # nobody is eligible, or it is so already
            assert kind in ("decide", "pause", "resume")
    assert same(pool, load_pool(store, name))
    # Without the snapshots; and with an allocator that was never told of what was undone.
    forget_snapshots(store, name)
    assert same(pool, load_pool(store, name))
    plain = pool.definition.allocator()
    for entry in store.all_entries(name):
        if entry.number not in pool.undone:
            change = read_change(entry)
            for event in change.gives() if isinstance(change, Decision) else [change]:
                if isinstance(event, MemberEvent):
                    plain.apply(event)
    assert plain.snapshot() == pool.allocator.snapshot()


def test_a_state_of_the_past_knows_nothing_of_later_undoing(tmp_path):
    store = new_store(tmp_path)
    pool = LivePool.new(PoolDefinition("p", dates=False))
    store.append([Append(first_entries(pool, [("A", 1.0)], "me", 0), new_pool="p")])
    pool = happen(store, pool, "decide", 0)  # entry 3
    PoolSnapshot.of(pool).save(store)
    pool = happen(store, pool, "undo", 0)  # entry 4
    assert pool.allocator.state.received == [0.0]
    then = load_pool(store, "p", up_to=3)
    assert (then.allocator.state.received, then.undone, then.decisions) == ([1.0], set(), 1)
    assert load_pool(store, "p").decisions == 0
    with pytest.raises(UnknownPool):
        load_pool(store, "q")
    store.close()
