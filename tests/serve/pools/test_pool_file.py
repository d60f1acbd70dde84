"""Pools from TOML: made once, left alone after, refused in a sentence."""

from __future__ import annotations

import pytest

from evenhand.errors import EvenhandError
from evenhand.serve.pools.pool_file import make_missing_pools, read_pool_file
from evenhand.serve.pools.state_from_log import load_pool
from serving import new_store

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
