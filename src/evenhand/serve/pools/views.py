"""Pools, decisions and people as JSON shows them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import orjson

from evenhand._util.moments import EPOCH
from evenhand.decide.allocator import RankedStakeholder
from evenhand.serve.pools.changes import Change, Decision, read_decision
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.store.log_entry import LogEntry


def moment_of(microseconds: int) -> str:
    """When, as ISO 8601 in UTC."""
    return (EPOCH + datetime.timedelta(microseconds=microseconds)).isoformat() + "Z"


def pool_view(pool: LivePool) -> dict[str, Any]:
    """A pool as it is now."""
    state = pool.allocator.state
    return {
        "name": pool.name,
        "rule": pool.allocator.state.rule.describe(),
        "definition": pool.definition.to_json(),
        "stakeholders": state.there.count(1),
        "eligible": len(state.heap),
        "decisions": pool.decisions,
        "entries": pool.number,
        "turn": pool.turn,
        "digest": pool.digest.hex(),
    }


def import_view(pool: LivePool, notes: Sequence[str]) -> dict[str, Any]:
    """What an import came to."""
    return {
        "pool": pool.name,
        "decisions": pool.decisions,
        "stakeholders": pool.allocator.state.there.count(1),
        "turn": pool.turn,
        "notes": notes,
    }


def proposal_view(pool: LivePool, proposed: Decision, amount: float) -> dict[str, Any]:
    """Who is next to be given lots of an amount, and why."""
    runner_up = None
    if proposed.runner_up is not None:
        name, reason = proposed.runner_up
        runner_up = {"name": name, "amount": amount, "reason": reason}
    return {
        "pool": pool.name,
        "turn": pool.turn,
        "at": proposed.at,
        "shares": _shares_view(proposed),
        "runner_up": runner_up,
        "rule": pool.allocator.state.rule.describe(),
    }


def _shares_view(taken: Decision) -> list[dict[str, Any]]:
    """How much goes to whom, and why."""
    because = taken.because or ("",) * len(taken.shares)
    return [
        {"name": name, "amount": amount, "reason": reason}
        for (name, amount), reason in zip(taken.shares, because, strict=True)
    ]


def decision_view(
    entry: LogEntry, undone: bool, turn: str | None = None, taken: Decision | None = None
) -> dict[str, Any]:
    """A decision of the log; `taken` is what the entry says, where that need not be read."""
    taken = taken or read_decision(entry)
    proposed = None
    if taken.proposed is not None:
        proposed = [{"name": name, "amount": amount} for name, amount in taken.proposed]
    runner_up = None
    if taken.runner_up is not None:
        runner_up = dict(zip(("name", "reason"), taken.runner_up, strict=True))
    return {
        "pool": entry.pool,
        "number": entry.number,
        "recorded": moment_of(entry.recorded),
        "actor": entry.actor,
        "at": taken.at,
        "shares": _shares_view(taken),
        "by_rule": taken.by_rule,
        "proposed": proposed,
        "reason": taken.reason,
        "among": None if taken.among is None else list(taken.among),
        "runner_up": runner_up,
        "undone": undone,
        "turn": turn,
    }


def entry_view(
    entry: LogEntry, turn: str | None = None, change: Change | None = None
) -> dict[str, Any]:
    """An entry of the log; `change` is what it says, where that need not be read."""
    return {
        "number": entry.number,
        "recorded": moment_of(entry.recorded),
        "actor": entry.actor,
        "digest": entry.digest.hex(),
        "body": orjson.loads(entry.body) if change is None else change.to_json(),
        "turn": turn,
    }


def stakeholder_view(pool: LivePool, ranked: RankedStakeholder) -> dict[str, Any]:
    """Where somebody stands, with what is known of it."""
    state, place = pool.allocator.state, pool.allocator.place_of(ranked.name)
    return {
        **ranked.to_json(),
        "received": state.received[place],
        "asked": state.asked[place],
        "entitlement": state.entitlement[place],
        "there": bool(state.there[place]),
        "paused": bool(state.paused[place]),
    }
