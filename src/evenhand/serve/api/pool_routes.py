"""Pools: make them, see where everybody stands, and let people join, pause, ask and leave."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import BadParameter
from evenhand.events import MemberEvent
from evenhand.serve.api.context import PROBLEMS, as_json, asked_by, require_role, service_of
from evenhand.serve.api.known_query import KnownQuery
from evenhand.serve.api.models import (
    EntriesShown,
    EntryShown,
    HappeningSent,
    PoolSent,
    PoolShown,
    PoolsShown,
    StateShown,
)
from evenhand.serve.api.tokens import Role
from evenhand.serve.pools.changes import Change, Happened
from evenhand.serve.pools.definition import PoolDefinition
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.views import entry_view, pool_view, stakeholder_view
from evenhand.serve.store.log_entry import LogEntry

router = APIRouter(prefix="/v1/pools", tags=["Pools"], responses=PROBLEMS, route_class=KnownQuery)
BY_OWNERS = {"join", "leave", "entitle"}
# Which field each event may have besides the name and the time.
FIELDS = {"join": "entitlement", "entitle": "entitlement", "ask": "amount"}


@router.get("", response_model=PoolsShown)
async def pools(request: Request) -> Response:
    """All pools of the store; `unreadable` are those that this process cannot read, and why."""
    require_role(request, Role.READER)
    found = service_of(request).pools
    readable = sorted(found.by_name.keys() - found.unreadable.keys())
    reasons = sorted(found.unreadable.items())
    return as_json(
        {
            "pools": [pool_view(found.by_name[name].pool) for name in readable],
            "unreadable": [{"name": name, "reason": reason} for name, reason in reasons],
        }
    )


@router.post("", response_model=PoolShown, status_code=201)
async def make_pool(request: Request, sent: PoolSent) -> Response:
    """Make a pool: a rule, and those who are there from the start."""
    asked = await asked_by(request, Role.OWNER)
    table = sent.model_dump(exclude={"stakeholders"})
    people = [
        (one, 1.0) if isinstance(one, str) else (one.name, one.entitlement)
        for one in sent.stakeholders
    ]
    names = [name for name, _ in people]
    if len(set(names)) < len(names):
        raise BadParameter("'stakeholders' names somebody twice: name everybody once.")
    service = service_of(request)
    # A learned policy is a file to be read.
    definition = await asyncio.to_thread(PoolDefinition.from_json, table, service.pools.policies)
    return as_json(await service.make_pool(definition, asked, people), 201)


@router.get("/{pool}", response_model=PoolShown)
async def pool(request: Request, pool: str) -> Response:
    """One pool: its rule, how many are there, and the turn that it is."""
    require_role(request, Role.READER)
    return as_json(pool_view(await service_of(request).live(pool)))


@router.get("/{pool}/state", response_model=StateShown)
async def state(
    request: Request,
    pool: str,
    cursor: Annotated[int, Query(ge=0, le=1 << 31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Where everybody stands, whoever is next first; those who are not eligible come last."""
    require_role(request, Role.READER)
    live = await service_of(request).live(pool)
    ranked = live.allocator.ranking(most=cursor + limit + 1)
    shown = [stakeholder_view(live, one) for one in ranked[cursor : cursor + limit]]
    return as_json(
        {
            "pool": pool,
            "turn": live.turn,
            "eligible": len(live.allocator.state.heap),
            "stakeholders": shown,
            "cursor": cursor + limit if len(ranked) > cursor + limit else None,
        }
    )


@router.get("/{pool}/events", response_model=EntriesShown)
async def events(
    request: Request,
    pool: str,
    cursor: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The whole log of a pool in order, with who asked and when, and the digests that chain it."""
    require_role(request, Role.READER)
    service = service_of(request)
    service.room(pool)
    found = await asyncio.to_thread(service.store.entries, pool, cursor, limit + 1)
    shown = [entry_view(entry) for entry in found[:limit]]
    more = found[limit - 1].number if len(found) > limit else None
    return as_json({"entries": shown, "cursor": more})


@router.post("/{pool}/events", response_model=EntryShown, status_code=201)
async def happen(request: Request, pool: str, sent: HappeningSent) -> Response:
    """Let somebody join, leave, pause, resume, ask for more, or be entitled to another amount.

    Deciders may let people pause, resume and ask; owners all of it.
    """
    asked = await asked_by(request, Role.OWNER if sent.event in BY_OWNERS else Role.DECIDER)
    said = {
        name: value
        for name in ("entitlement", "amount")
        if (value := getattr(sent, name)) is not None
    }
    for name in said:
        if FIELDS.get(sent.event) != name:
            raise BadParameter(f"a {sent.event} event has no {name!r}: leave it out.")

    def make(live: LivePool, moment: int) -> Change:
        at = live.moment(sent.at, moment)
        table: dict[str, Any] = {"event": sent.event, "name": sent.name, "at": at, **said}
        return Happened(MemberEvent.from_json(table))

    return as_json(await service_of(request).change(pool, asked, make, _happened), 201)


def _happened(live: LivePool, entry: LogEntry) -> dict[str, Any]:
    return entry_view(entry, live.turn)
