"""Ask who is next, take the decision or another one, undo it, and ask why."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from evenhand.serve.api.context import PROBLEMS, as_json, asked_by, require_role, service_of
from evenhand.serve.api.known_query import KnownQuery
from evenhand.serve.api.models import (
    MOST,
    DecisionSent,
    DecisionShown,
    DecisionsShown,
    DecisionWhyShown,
    Name,
    NextShown,
    UndoSent,
    WhyShown,
)
from evenhand.serve.api.tokens import Role
from evenhand.serve.pools.live_pool import Wish

router = APIRouter(
    prefix="/v1/pools/{pool}", tags=["Decisions"], responses=PROBLEMS, route_class=KnownQuery
)
AmountAsked = Annotated[float, Query(gt=0, le=1e15, allow_inf_nan=False)]
Number = Annotated[int, Path(ge=1, le=1 << 53)]
PageSize = Annotated[int, Query(ge=1, le=1000)]
AtAsked = Annotated[str | None, Query(max_length=64, description="When; now by default.")]


@router.get("/next", response_model=NextShown)
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


@router.post("/decisions", response_model=DecisionShown, status_code=201)
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


@router.get("/decisions", response_model=DecisionsShown)
async def decisions(
    request: Request,
    pool: str,
    cursor: Annotated[int | None, Query(ge=1, le=1 << 53)] = None,
    limit: PageSize = 100,
) -> Response:
    """The decisions, the latest first. The next page begins at the `cursor` that is answered."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).decisions(pool, cursor, limit))


@router.get("/decisions/{number}", response_model=DecisionShown)
async def decision(request: Request, pool: str, number: Number) -> Response:
    """One decision: who was given what, what the rule said, who asked and when."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).decision(pool, number))


@router.get("/decisions/{number}/why", response_model=DecisionWhyShown)
async def why_then(
    request: Request, pool: str, number: Number, name: Annotated[Name | None, Query()] = None
) -> Response:
    """Why a decision was as it was; or why somebody else (`name`) was not chosen then.

    The state before it is made again from the log.
    """
    require_role(request, Role.READER)
    return as_json(await service_of(request).why_then(pool, number, name))


@router.post("/decisions/{number}/undo", response_model=DecisionShown, status_code=201)
async def undo(request: Request, pool: str, number: Number, sent: UndoSent) -> Response:
    """Let a decision count as not taken from now on. It stays in the log, and so does the undoing.

    Everything after it stays as it was decided; who is next is what it would be without it.
    """
    asked = await asked_by(request, Role.DECIDER)
    return as_json(await service_of(request).undo(pool, asked, number, sent.reason), 201)


@router.get("/why", response_model=WhyShown)
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
