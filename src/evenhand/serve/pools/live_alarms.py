"""Alarms of a pool: who is behind by more than a fair lottery explains, as `audit --alarm` says."""

from __future__ import annotations

from typing import Any

from evenhand._util.wording import as_beginning, join_names
from evenhand.events import Pause
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.exports import told_by
from evenhand.serve.pools.live_audit import audit_pool
from evenhand.serve.store.decision_store import DecisionStore


def alarms_of_pool(
    store: DecisionStore, definition: PoolDefinition, up_to: int, alpha: float
) -> dict[str, Any]:
    """The alarms, in a sentence and each by itself.

    Args:
        store: Where the log is.
        definition: What the pool is.
        up_to: The number of the last entry that counts.
        alpha: The probability of ever raising a false alarm.
    """
    finding = audit_pool(store, definition, up_to, alarm=alpha).alarm
    assert finding is not None
    pauses = told_by(store, definition.name, up_to, Pause.kind)
    paused = list(dict.fromkeys(event.name for _, event, _ in pauses))
    notes = []
    if paused:
        notes.append(
            f"{join_names(paused)} {'was' if len(paused) == 1 else 'were'} paused at some time: an "
            "audit knows from when until when somebody was there, and not of pauses in between, so "
            "turns that went by meanwhile count as passed over."
        )
    sentence = finding.sentence()
    return {
        "pool": definition.name,
        **finding.to_json(),
        "sentence": as_beginning(sentence),
        "notes": notes,
    }
