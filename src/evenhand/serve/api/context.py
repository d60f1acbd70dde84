"""What the routes share: the service, who asks, and answers as JSON."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import EvenhandError
from evenhand.serve.api.tokens import Role
from evenhand.serve.pools.asked_changes import AskedChange
from evenhand.serve.pools.service import DecisionService

# What any route may answer besides what it is for.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": words,
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemShown"}}
        },
    }
    for status, words in (
        (400, "The request cannot be read."),
        (401, "No valid token."),
        (403, "The token's role may not do this."),
        (404, "There is no such pool, decision or page."),
        (409, "Something else happened first: ask again."),
        (413, "The request is too large."),
        (422, "It cannot be done as asked; `detail` says why."),
        (429, "Too many requests."),
        (503, "The store, or this pool, cannot be used now."),
    )
}


class NotAllowed(EvenhandError):
    """A role that may not do what was asked."""


def service_of(request: Request) -> DecisionService:
    """The service that answers a request."""
    service: DecisionService = request.app.state.service
    return service


def require_role(request: Request, role: Role) -> str:
    """The name of whoever asks; refused if its role is not enough."""
    token = request.scope["evenhand.token"]
    if Role.read(token.role) < role:
        raise NotAllowed(
            f"the token {token.name!r} is a {token.role}'s, and this needs {role.word}: ask an "
            "owner for such a token."
        )
    return str(token.name)


async def asked_by(request: Request, role: Role, key: str | None = None) -> AskedChange:
    """Who asks for a change, with the key by which a retry is known.

    Args:
        request: What was asked, as it was sent.
        role: What they have to be.
        key: The key, if it does not stand in the header for it.
    """
    actor = require_role(request, role)
    url = request.url
    target = f"{url.path}?{url.query}" if url.query else url.path
    content = target.encode() + b"\0" + await request.body()
    return AskedChange(actor, key or request.headers.get("idempotency-key"), content)


def as_json(value: Any, status: int = 200, **headers: str) -> Response:
    """An answer that was checked where it was made: it need not be checked again here."""
    return Response(orjson.dumps(value), status, headers, media_type="application/json")
