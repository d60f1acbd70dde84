"""A log with a roster as the history of a pool: who was there when."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.log.options import AuditOptions
from evenhand.serve.pools.asked_changes import AskedChange
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.history_import import import_history, read_history
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.pool_file import first_entries
from evenhand.serve.store.decision_store import Append
from serving import new_store


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
