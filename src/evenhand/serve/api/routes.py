"""Routes of pools, decisions and tokens: who is next, what happened, and why."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import BadParameter
from evenhand.serve.api.middleware import (
    PROBLEMS,
    KnownQuery,
    Role,
    as_json,
    asked_by,
    make_token,
    require_role,
    service_of,
)
from evenhand.serve.api.models import (
    MOST,
    DecisionSent,
    DecisionShown,
    DecisionsShown,
    DecisionWhyShown,
    EntriesShown,
    EntryShown,
    HappeningSent,
    Name,
    NextShown,
    PoolSent,
    PoolShown,
    PoolsShown,
    StateShown,
    TokenSent,
    TokenShown,
    TokensShown,
    UndoSent,
    WhyShown,
)
from evenhand.serve.pools.pool import Wish, moment_of, pool_view
from evenhand.serve.store.store import StoredToken

# Pools: make them, see where everybody stands, and let people join, pause, ask and leave.

pool_router = APIRouter(
    prefix="/v1/pools", tags=["Pools"], responses=PROBLEMS, route_class=KnownQuery
)
BY_OWNERS = {"join", "leave", "entitle"}  # what only they may let happen; the rest deciders may
# Which field each event may have besides the name and the time.
FIELDS = {"join": "entitlement", "entitle": "entitlement", "ask": "amount"}


@pool_router.get("", response_model=PoolsShown)
async def pools(request: Request) -> Response:
    """All pools of the store; `unreadable` are those that this process cannot read, and why."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).all_pools())


@pool_router.post("", response_model=PoolShown, status_code=201)
async def make_pool(request: Request, sent: PoolSent) -> Response:
    """Make a pool: a rule, and those who are there from the start."""
    asked = await asked_by(request, Role.OWNER)
    people, service = sent.people(), service_of(request)
    definition = await asyncio.to_thread(sent.definition, service.pools.policies)
    return as_json(await service.make_pool(definition, asked, people), 201)


@pool_router.get("/{pool}", response_model=PoolShown)
async def pool(request: Request, pool: str) -> Response:
    """One pool: its rule, how many are there, and the turn that it is."""
    require_role(request, Role.READER)
    return as_json(pool_view(await service_of(request).live(pool)))


@pool_router.get("/{pool}/state", response_model=StateShown)
async def state(
    request: Request,
    pool: str,
    cursor: Annotated[int, Query(ge=0, le=1 << 31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Where everybody stands, whoever is next first; those who are not eligible come last."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).standing(pool, cursor, limit))


@pool_router.get("/{pool}/events", response_model=EntriesShown)
async def events(
    request: Request,
    pool: str,
    cursor: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The whole log of a pool in order, with who asked and when, and the digests that chain it."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).events(pool, cursor, limit))


@pool_router.post("/{pool}/events", response_model=EntryShown, status_code=201)
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


# Ask who is next, take the decision or another one, undo it, and ask why.

decision_router = APIRouter(
    prefix="/v1/pools/{pool}", tags=["Decisions"], responses=PROBLEMS, route_class=KnownQuery
)
AmountAsked = Annotated[float, Query(gt=0, le=1e15, allow_inf_nan=False)]
Number = Annotated[int, Path(ge=1, le=1 << 53)]
PageSize = Annotated[int, Query(ge=1, le=1000)]
AtAsked = Annotated[str | None, Query(max_length=64, description="When; now by default.")]


@decision_router.get("/next", response_model=NextShown)
async def who_is_next(
    request: Request,
    pool: str,
    amount: AmountAsked = 1.0,
    count: Annotated[int, Query(ge=1, le=MOST)] = 1,
    distinct: bool = False,
    among: Annotated[list[Name] | None, Query(max_length=MOST)] = None,
    without: Annotated[list[Name] | None, Query(max_length=MOST)] = None,
    at: AtAsked = None,
) -> Response:
    """Who is next, and why. Nothing changes: take the decision with the `turn` that is answered.

    `among` (may be repeated) says who could take it, `without` who could not: so "who would be next
    if Ana is away?" is `?without=Ana`.
    """
    require_role(request, Role.READER)
    wish = Wish(amount, count, distinct, tuple(among) if among else None, tuple(without or ()), at)
    return as_json(await service_of(request).who_is_next(pool, wish))


@decision_router.post("/decisions", response_model=DecisionShown, status_code=201)
async def take(request: Request, pool: str, sent: DecisionSent) -> Response:
    """Take the decision of the rule, or another one with a `reason`; answered once it is on disk.

    With the `turn` of `GET …/next`, it is refused with 409 if anything else happened since; without
    it, whoever is next at that moment is taken. A retry with the same `Idempotency-Key` header
    gets the same answer, and nothing happens twice.
    """
    asked = await asked_by(request, Role.DECIDER)
    return as_json(await service_of(request).decide(pool, asked, _wish(sent)), 201)


def _wish(sent: DecisionSent) -> Wish:
    """What a program asks of the pool."""
    return Wish(
        sent.amount,
        sent.count,
        sent.distinct,
        tuple(sent.among) if sent.among else None,
        tuple(sent.without),
        sent.at,
        tuple((one.name, one.amount) for one in sent.shares) if sent.shares else None,
        sent.reason,
        sent.turn,
    )


@decision_router.get("/decisions", response_model=DecisionsShown)
async def decisions(
    request: Request,
    pool: str,
    cursor: Annotated[int | None, Query(ge=1, le=1 << 53)] = None,
    limit: PageSize = 100,
) -> Response:
    """The decisions, the latest first. The next page begins at the `cursor` that is answered."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).decisions(pool, cursor, limit))


@decision_router.get("/decisions/{number}", response_model=DecisionShown)
async def decision(request: Request, pool: str, number: Number) -> Response:
    """One decision: who was given what, what the rule said, who asked and when."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).decision(pool, number))


@decision_router.get("/decisions/{number}/why", response_model=DecisionWhyShown)
async def why_then(
    request: Request, pool: str, number: Number, name: Annotated[Name | None, Query()] = None
) -> Response:
    """Why a decision was as it was; or why somebody else (`name`) was not chosen then.

    The state before it is made again from the log.
    """
    require_role(request, Role.READER)
    return as_json(await service_of(request).why_then(pool, number, name))


@decision_router.post("/decisions/{number}/undo", response_model=DecisionShown, status_code=201)
async def undo(request: Request, pool: str, number: Number, sent: UndoSent) -> Response:
    """Let a decision count as not taken from now on. It stays in the log, and so does the undoing.

    Everything after it stays as it was decided; who is next is what it would be without it.
    """
    asked = await asked_by(request, Role.DECIDER)
    return as_json(await service_of(request).undo(pool, asked, number, sent.reason), 201)


@decision_router.get("/why", response_model=WhyShown)
async def why(
    request: Request,
    pool: str,
    name: Annotated[Name, Query()],
    amount: AmountAsked = 1.0,
    among: Annotated[list[Name] | None, Query(max_length=MOST)] = None,
    at: AtAsked = None,
) -> Response:
    """Why somebody is next now, or why not, and what would have to differ."""
    require_role(request, Role.READER)
    wish = Wish(amount, among=tuple(among) if among else None, at=at)
    return as_json(await service_of(request).why(pool, name, wish))


# Tokens: who may ask, with which role. Owners hand them out and take them back.

token_router = APIRouter(
    prefix="/v1/tokens", tags=["Tokens"], responses=PROBLEMS, route_class=KnownQuery
)


@token_router.get("", response_model=TokensShown)
async def tokens(request: Request) -> Response:
    """Who may ask. Secrets are not shown: the store does not have them."""
    require_role(request, Role.OWNER)
    found = await asyncio.to_thread(service_of(request).store.tokens)
    return as_json({"tokens": [_shown(token) for token in found]})


@token_router.post("", response_model=TokenShown, status_code=201)
async def make(request: Request, sent: TokenSent) -> Response:
    """A new token. Its `secret` is shown this once."""
    require_role(request, Role.OWNER)
    service = service_of(request)
    secret = await asyncio.to_thread(make_token, service.store, sent.name, Role.read(sent.role))
    await service.refresh_tokens()
    token = next(one for one in service.tokens if one.name == sent.name)
    return as_json({**_shown(token), "secret": secret}, 201)


@token_router.delete("/{name}", status_code=204)
async def drop(request: Request, name: str) -> Response:
    """Take a token back; at least one owner's stays."""
    require_role(request, Role.OWNER)
    service = service_of(request)
    await service.refresh_tokens()
    if name not in [token.name for token in service.tokens]:
        raise BadParameter(f"there is no token {name!r}: GET /v1/tokens shows which there are.")
    owners = [token.name for token in service.tokens if token.role == Role.OWNER.word]
    if owners == [name]:
        raise BadParameter(f"{name!r} is the only owner's token: make another one first.")
    await asyncio.to_thread(service.store.drop_token, name)
    await service.refresh_tokens()
    return Response(status_code=204)


def _shown(token: StoredToken) -> dict[str, Any]:
    return {"name": token.name, "role": token.role, "created": moment_of(token.created)}
