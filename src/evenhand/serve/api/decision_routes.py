"""Ask who is next, take the decision or another one, undo it, and ask why."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import UnknownDecision
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
from evenhand.serve.pools.changes import Change
from evenhand.serve.pools.explanation import explain
from evenhand.serve.pools.live_pool import LivePool, Wish
from evenhand.serve.pools.service import now
from evenhand.serve.pools.views import decision_view, proposal_view
from evenhand.serve.store.log_entry import LogEntry

router = APIRouter(
    prefix="/v1/pools/{pool}", tags=["Decisions"], responses=PROBLEMS, route_class=KnownQuery
)
AmountAsked = Annotated[float, Query(gt=0, le=1e15, allow_inf_nan=False)]
Number = Annotated[int, Path(ge=1, le=1 << 53)]
PageSize = Annotated[int, Query(ge=1, le=1000)]
AtAsked = Annotated[str | None, Query(max_length=64, description="When; now by default.")]
FURTHEST_BACK = 200_000  # entries that are read again to explain a decision of long ago


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
    live = await service_of(request).live(pool)
    wish = Wish(amount, count, distinct, tuple(among) if among else None, tuple(without or ()), at)
    return as_json(proposal_view(live, live.propose(wish, now())))


@router.post("/decisions", response_model=DecisionShown, status_code=201)
async def take(request: Request, pool: str, sent: DecisionSent) -> Response:
    """Take the decision of the rule, or another one with a `reason`; answered once it is on disk.

    With the `turn` of `GET …/next`, it is refused with 409 if anything else happened since; without
    it, whoever is next at that moment is taken. A retry with the same `Idempotency-Key` header
    gets the same answer, and nothing happens twice.
    """
    asked = await asked_by(request, Role.DECIDER)
    among = tuple(sent.among) if sent.among else None
    wish = Wish(sent.amount, sent.count, sent.distinct, among, tuple(sent.without), sent.at)
    shares = None if sent.shares is None else [(one.name, one.amount) for one in sent.shares]

    def make(live: LivePool, moment: int) -> Change:
        live.require_turn(sent.turn)
        return live.decision(wish, moment, shares, sent.reason)

    return as_json(await service_of(request).change(pool, asked, make, _taken), 201)


def _taken(live: LivePool, entry: LogEntry) -> dict[str, Any]:
    return decision_view(entry, undone=False, turn=live.turn)


@router.get("/decisions", response_model=DecisionsShown)
async def decisions(
    request: Request,
    pool: str,
    cursor: Annotated[int | None, Query(ge=1, le=1 << 53)] = None,
    limit: PageSize = 100,
) -> Response:
    """The decisions, the latest first. The next page begins at the `cursor` that is answered."""
    require_role(request, Role.READER)
    service = service_of(request)
    live = await service.live(pool)
    found = await asyncio.to_thread(service.store.latest, pool, "decide", cursor, limit + 1)
    shown = [decision_view(entry, entry.number in live.undone) for entry in found[:limit]]
    more = shown[-1]["number"] if len(found) > limit else None
    return as_json({"decisions": shown, "cursor": more})


@router.get("/decisions/{number}", response_model=DecisionShown)
async def decision(request: Request, pool: str, number: Number) -> Response:
    """One decision: who was given what, what the rule said, who asked and when."""
    require_role(request, Role.READER)
    entry = await _entry(request, pool, number)
    undone = number in (await service_of(request).live(pool)).undone
    return as_json(decision_view(entry, undone))


@router.get("/decisions/{number}/why", response_model=DecisionWhyShown)
async def why_then(
    request: Request, pool: str, number: Number, name: Annotated[Name | None, Query()] = None
) -> Response:
    """Why a decision was as it was; or why somebody else (`name`) was not chosen then.

    The state before it is made again from the log.
    """
    require_role(request, Role.READER)
    service = service_of(request)
    entry = await _entry(request, pool, number)
    shown = decision_view(entry, number in (await service.live(pool)).undone)

    def then() -> dict[str, Any]:
        _require_near(service, pool, number)
        before = service.pools.load(pool, number - 1)
        who = shown["shares"][0]["name"] if name is None else name
        amount = shown["shares"][0]["amount"]
        among = None if shown["among"] is None else tuple(shown["among"])
        return explain(before, who, Wish(amount, among=among, at=shown["at"]), entry.recorded)

    return as_json({"decision": shown, "why": await asyncio.to_thread(then)})


@router.post("/decisions/{number}/undo", response_model=DecisionShown, status_code=201)
async def undo(request: Request, pool: str, number: Number, sent: UndoSent) -> Response:
    """Let a decision count as not taken from now on. It stays in the log, and so does the undoing.

    Everything after it stays as it was decided; who is next is what it would be without it.
    """
    asked = await asked_by(request, Role.DECIDER)
    entry = await _entry(request, pool, number)
    decision_view(entry, undone=False)  # refused if it is not a decision
    _require_near(service_of(request), pool, number)
    return as_json(await service_of(request).undo(pool, asked, entry, sent.reason), 201)


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
    live = await service_of(request).live(pool)
    wish = Wish(amount, among=tuple(among) if among else None, at=at)
    return as_json(explain(live, name, wish, now()))


async def _entry(request: Request, pool: str, number: int) -> LogEntry:
    service = service_of(request)
    service.room(pool)
    entry = await asyncio.to_thread(service.store.entry, pool, number)
    if entry is None:
        raise UnknownDecision(
            f"there is no decision {number} in the pool {pool!r}: GET /v1/pools/{pool}/decisions "
            "shows which there are."
        )
    return entry


def _require_near(service: Any, pool: str, number: int) -> None:
    snapshot = service.store.snapshot(pool, number - 1)
    begins = 0 if snapshot is None else snapshot[0]
    if service.room(pool).pool.number - begins > FURTHEST_BACK:
        raise UnknownDecision(
            f"decision {number} lies too far back to be gone through again: look at it with GET "
            f"/v1/pools/{pool}/decisions/{number}, or export the log."
        )
