"""Pools, decisions and people as JSON shows them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import orjson

from evenhand._util.moments import EPOCH
from evenhand.decide.allocator import RankedStakeholder, Share
from evenhand.errors import UnknownDecision
from evenhand.serve.pools.changes import DecisionTaken, read_change
from evenhand.serve.pools.live_pool import LivePool, ProposedShares
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


def proposal_view(pool: LivePool, proposal: ProposedShares) -> dict[str, Any]:
    """Who is next, and why."""
    return {
        "pool": pool.name,
        "turn": proposal.turn,
        "at": proposal.at,
        "shares": [share_view(share) for share in proposal.shares],
        "runner_up": None if proposal.runner_up is None else share_view(proposal.runner_up),
        "rule": pool.allocator.state.rule.describe(),
    }


def share_view(share: Share) -> dict[str, Any]:
    """How much goes to whom, and why."""
    return {"name": share.name, "amount": share.amount, "reason": share.reason}


def decision_view(entry: LogEntry, undone: bool, turn: str | None = None) -> dict[str, Any]:
    """A decision of the log."""
    taken = read_change(entry)
    if not isinstance(taken, DecisionTaken):
        raise UnknownDecision(
            f"entry {entry.number} of the pool {entry.pool!r} is not a decision, but "
            f"{entry.kind!r}: GET /v1/pools/{entry.pool}/decisions shows those."
        )
    because = taken.because or ("",) * len(taken.shares)
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
        "shares": [
            {"name": name, "amount": amount, "reason": reason}
            for (name, amount), reason in zip(taken.shares, because, strict=True)
        ],
        "by_rule": taken.by_rule,
        "proposed": proposed,
        "reason": taken.reason,
        "among": None if taken.among is None else list(taken.among),
        "runner_up": runner_up,
        "undone": undone,
        "turn": turn,
    }


def entry_view(entry: LogEntry, turn: str | None = None) -> dict[str, Any]:
    """An entry of the log as it was written."""
    return {
        "number": entry.number,
        "recorded": moment_of(entry.recorded),
        "actor": entry.actor,
        "digest": entry.digest.hex(),
        "body": orjson.loads(entry.body),
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
