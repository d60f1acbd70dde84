"""The application: routes, problems, and the gate in front of them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from evenhand import __version__
from evenhand.errors import EvenhandError
from evenhand.serve.api import log_routes, routes
from evenhand.serve.api.middleware import (
    Gate,
    GateLimits,
    NotAllowed,
    Role,
    as_json,
    evenhand_error,
    http_error,
    problem,
    require_role,
    unforeseen,
    validation_error,
)
from evenhand.serve.api.reference import describe, reference_page
from evenhand.serve.pages.frame import PageDoor, Sessions
from evenhand.serve.pages.judged import page_routes
from evenhand.serve.pools.files import NO_POLICIES, PolicyFolder
from evenhand.serve.pools.service import DecisionService
from evenhand.serve.store.store import DecisionStore

DESCRIPTION = (
    "Who is next, and why. Send a token with every request: `Authorization: Bearer evh_…`. Readers "
    "ask, deciders also decide, owners also make pools and tokens. Errors are problem details "
    "(RFC 9457) with one sentence on how to fix them."
)


def make_application(
    store: DecisionStore,
    limits: GateLimits = GateLimits(),
    log: Callable[[dict[str, Any]], None] | None = None,
    policies: PolicyFolder = NO_POLICIES,
) -> Gate:
    """The service on a store, as an ASGI application.

    Args:
        store: Where the log is.
        limits: What is answered at most.
        log: Where a line is written about each request, and about what cannot be read.
        policies: Where the files of learned policies are, which may decide.
    """
    service = DecisionService(store, policies, log)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            await service.start()
        except EvenhandError as error:
            gate.failure = error
            raise
        try:
            yield
        finally:
            await service.stop()

    app = FastAPI(
        title="evenhand serve",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        exception_handlers={
            EvenhandError: evenhand_error,
            NotAllowed: _not_allowed,
            Exception: unforeseen,
            HTTPException: http_error,
            RequestValidationError: validation_error,
        },
    )
    app.state.service = service
    app.openapi = lambda: describe(app)
    for router in (
        routes.decision_router,
        routes.pool_router,
        log_routes.log_router,
        log_routes.import_router,
        routes.token_router,
    ):
        app.include_router(router)
    door = PageDoor(Sessions())
    app.router.routes.extend(page_routes(door))
    gate = Gate(app, service.known_tokens, limits, log=log, hang_up=service.hang_up, door=door)
    _add_own(app, service, gate)
    return gate


async def _not_allowed(request: Request, error: Exception) -> Response:
    return problem(403, str(error))


def _add_own(app: FastAPI, service: DecisionService, gate: Gate) -> None:
    """What is about the service itself."""

    @app.get("/health", tags=["Service"], response_model=dict[str, str])
    async def health() -> Response:
        """Whether the service answers and can read its store; nothing of the store is shown."""
        await service.check()
        return as_json({"status": "ok"})

    @app.get("/docs", include_in_schema=False)
    async def reference() -> Response:
        page, policy = reference_page(describe(app))
        return HTMLResponse(page, headers={"content-security-policy": policy})

    @app.get("/metrics", tags=["Service"], response_class=PlainTextResponse)
    async def metrics(request: Request) -> Response:
        """Counts and times in the text format of Prometheus."""
        require_role(request, Role.READER)
        return PlainTextResponse(gate.metrics.text(service.gauges()))
