"""Tests of serve.pools.imports."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.errors import EvenhandError
from evenhand.log.options import AuditOptions
from evenhand.serve.pools.imports import (
    first_entries,
    import_history,
    make_missing_pools,
    read_history,
    read_pool_file,
)
from evenhand.serve.pools.pool import AskedChange, LivePool, PoolDefinition
from evenhand.serve.pools.state import load_pool
from evenhand.serve.store.store import Append
from serving import new_store

# A log with a roster as the history of a pool: who was there when.


def imported(folder, people):
    """The events of a pool of a log with the times 0 and 10; `people` have dates of their own."""
    log = pd.DataFrame({"at": [0, 10], "who": ["A", "B"]})
    both = pd.DataFrame({"name": ["A", "B"], "from": [None, None], "until": [None, None]})
    more = pd.DataFrame(people, columns=["name", "from", "until"])
    pd.concat([both, more]).to_csv(folder / "roster.csv", index=False)
    options = AuditOptions(stakeholder="who", time="at", roster=str(folder / "roster.csv"))
    store = new_store(folder, durable=False)
    pool = LivePool.new(PoolDefinition("p", dates=False))
    store.append([Append(first_entries(pool, (), "me", 0), new_pool="p")])
    import_history(store, pool, lambda: read_history(log, options), AskedChange("me"), 0)
    found = [(e.kind, e.body) for e in store.all_entries("p") if e.kind in ("join", "leave")]
    store.close()
    return pool, [(kind, name) for kind, body in found for name in "ABC" if f'"{name}"' in body]


@pytest.mark.parametrize(("comes", "goes"), [(5, 7), (-9, -1)])
def test_whoever_was_there_at_none_of_the_times_is_left_out(tmp_path, comes, goes):
    pool, happened = imported(tmp_path, [("C", comes, goes)])
    assert pool.decisions == 2
    assert happened == [("join", "A"), ("join", "B")]


@pytest.mark.parametrize(
    ("comes", "goes", "expected"),
    [
        (0, 0, [("join", "C"), ("leave", "C")]),
        (-5, 7, [("join", "C"), ("leave", "C")]),
        (5, 10, [("join", "C")]),  # and is still there at the last time
        (10, 12, [("join", "C")]),
    ],
)
def test_whoever_was_there_at_one_of_the_times_joins(tmp_path, comes, goes, expected):
    _, happened = imported(tmp_path, [("C", comes, goes)])
    assert [one for one in happened if one[1] == "C"] == expected


# Pools from TOML: made once, left alone after, refused in a sentence.

FILE = """
[reviews]
rule = "half_life:7d"
stakeholders = ["Ann", {name = "Ben", entitlement = 0.5}]

[reviews.audit]
every = "month"

[rooms]
rule = {name = "lottery", seed = 7}
ties = {name = "draw", seed = 1}
dates = false
"""


def written(folder, text):
    path = folder / "pools.toml"
    path.write_text(text)
    return path


def test_pools_are_made_once(tmp_path):
    store, wanted = new_store(tmp_path), read_pool_file(written(tmp_path, FILE))
    make_missing_pools(store, wanted)
    reviews, rooms = load_pool(store, "reviews"), load_pool(store, "rooms")
    assert reviews.allocator.names == ["Ann", "Ben"]
    assert reviews.allocator.state.entitlement == [1.0, 0.5]
    assert reviews.definition.audit == {"every": "month"}
    assert rooms.allocator.rule.seed == 7
    before = {name: store.head(name) for name in store.pools()}
    make_missing_pools(store, wanted)
    assert (
        before == {name: store.head(name) for name in store.pools()} == {"reviews": 3, "rooms": 1}
    )
    store.close()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no pools"),
        ("[a", "not TOML"),
        ("rule = 'x'", "outside of a pool"),
        ("[a]\nrule = 'least'", "no rule called 'least'"),
        ("[a]\nrule = 3", "name a rule"),
        ("[a]\nruel = 'lottery'", "no 'ruel'"),
        ("['a b']", "cannot be called 'a b'"),
        ("[a]\nties = 'coin'", "no way to break ties called 'coin'"),
        ("[a]\ndates = 'yes'", "true or false"),
        ("[a]\naudit = {amount = 'x'}", "says 'amount'"),
        ("[a]\naudit = {every = 'moon'}", "moon"),
        ("[a]\naudit = 3", "table of options"),
        ("[a]\nstakeholders = 'Ann'", "list of names"),
        ("[a]\nstakeholders = ['Ann', 'Ann']", "twice"),
        ("[a]\nstakeholders = [3]", "write a name"),
        ("[a]\nstakeholders = [{name = 'A', entitlement = true}]", "write a name"),
        ("[a]\nstakeholders = [{name = 'A', entitlement = -1}]", "above 0"),
        ("[a]\nrule = 'first_come'\nby_request = false", "needs requests"),
    ],
)
def test_what_is_not_a_pool(tmp_path, text, words):
    store = new_store(tmp_path)
    with pytest.raises(EvenhandError, match=words):
        make_missing_pools(store, read_pool_file(written(tmp_path, text)))
    assert store.pools() == []
    store.close()
