"""Tokens: who may ask, with which role. Owners hand them out and take them back."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import BadParameter
from evenhand.serve.api.context import PROBLEMS, as_json, require_role, service_of
from evenhand.serve.api.known_query import KnownQuery
from evenhand.serve.api.models import TokenSent, TokenShown, TokensShown
from evenhand.serve.api.tokens import Role, make_token
from evenhand.serve.pools.views import moment_of
from evenhand.serve.store.decision_store import StoredToken

router = APIRouter(prefix="/v1/tokens", tags=["Tokens"], responses=PROBLEMS, route_class=KnownQuery)


@router.get("", response_model=TokensShown)
async def tokens(request: Request) -> Response:
    """Who may ask. Secrets are not shown: the store does not have them."""
    require_role(request, Role.OWNER)
    found = await asyncio.to_thread(service_of(request).store.tokens)
    return as_json({"tokens": [_shown(token) for token in found]})


@router.post("", response_model=TokenShown, status_code=201)
async def make(request: Request, sent: TokenSent) -> Response:
    """A new token. Its `secret` is shown this once."""
    require_role(request, Role.OWNER)
    service = service_of(request)
    secret = await asyncio.to_thread(make_token, service.store, sent.name, Role.read(sent.role))
    await service.refresh_tokens()
    token = next(one for one in service.tokens if one.name == sent.name)
    return as_json({**_shown(token), "secret": secret}, 201)


@router.delete("/{name}", status_code=204)
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
