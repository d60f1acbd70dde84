"""Pools: make them, see where everybody stands, and let people join, pause, ask and leave."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import BadParameter
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
from evenhand.serve.pools.views import pool_view

router = APIRouter(prefix="/v1/pools", tags=["Pools"], responses=PROBLEMS, route_class=KnownQuery)
BY_OWNERS = {"join", "leave", "entitle"}  # what only they may let happen; the rest deciders may
# Which field each event may have besides the name and the time.
FIELDS = {"join": "entitlement", "entitle": "entitlement", "ask": "amount"}


@router.get("", response_model=PoolsShown)
async def pools(request: Request) -> Response:
    """All pools of the store; `unreadable` are those that this process cannot read, and why."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).all_pools())


@router.post("", response_model=PoolShown, status_code=201)
async def make_pool(request: Request, sent: PoolSent) -> Response:
    """Make a pool: a rule, and those who are there from the start."""
    asked = await asked_by(request, Role.OWNER)
    people, service = sent.people(), service_of(request)
    definition = await asyncio.to_thread(sent.definition, service.pools.policies)
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
    return as_json(await service_of(request).standing(pool, cursor, limit))


@router.get("/{pool}/events", response_model=EntriesShown)
async def events(
    request: Request,
    pool: str,
    cursor: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The whole log of a pool in order, with who asked and when, and the digests that chain it."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).events(pool, cursor, limit))


@router.post("/{pool}/events", response_model=EntryShown, status_code=201)
async def happen(request: Request, pool: str, sent: HappeningSent) -> Response:
    """Let somebody join, leave, pause, resume, ask for more, or be entitled to another amount.

    Deciders may let people pause, resume and ask; owners all of it.
    """
    asked = await asked_by(request, role_for(sent.event))
    event = sent.model_dump(exclude={"at"}, exclude_none=True)
    for name in ("entitlement", "amount"):
        if name in event and FIELDS.get(sent.event) != name:
            raise BadParameter(f"a {sent.event} event has no {name!r}: leave it out.")
    return as_json(await service_of(request).happen(pool, asked, event, sent.at), 201)


def role_for(event: str) -> Role:
    """What somebody has to be to let it happen."""
    return Role.OWNER if event in BY_OWNERS else Role.DECIDER
