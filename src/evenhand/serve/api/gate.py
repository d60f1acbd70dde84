"""What every request passes: who asks, how often, how much; and what every answer carries."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.exceptions import HTTPException
from starlette.responses import Response

from evenhand.errors import EvenhandError, naming_arguments
from evenhand.serve.api.error_responses import problem
from evenhand.serve.api.limits import RateLimit
from evenhand.serve.api.metrics import ServiceMetrics
from evenhand.serve.api.tokens import find_token
from evenhand.serve.store.decision_store import StoredToken

# Nothing of the store is shown here, so nobody needs a token.
OPEN = ("/", "/health", "/docs", "/openapi.json")
GUESSES = 10.0  # a second, of one address, without a valid token
HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; "
    b"form-action 'none'",
}


@dataclass(frozen=True)
class GateLimits:
    """What is answered at most.

    Args:
        per_second: Requests a second of one token.
        body: Bytes of a request.
        upload: Bytes of a log that is imported.
    """

    per_second: float = 1000.0
    body: int = 1 << 20
    upload: int = 64 << 20


class Door(Protocol):
    """Where people come in, who do not send a token with every request."""

    def leads_to(self, path: str) -> bool:
        """Whether a path is behind it: then whoever is not known is told there what to do."""

    def visitor(self, scope: Any, tokens: Sequence[StoredToken]) -> StoredToken | None:
        """Who asks, if that is known."""


@dataclass(eq=False)
class Gate:
    """An ASGI application in front of another.

    Args:
        inner: The other.
        tokens: Who may ask, at this moment.
        limits: What is answered at most.
        metrics: Where it is counted.
        log: Where a line of JSON about each request is written; it holds no secret.
        hang_up: Called when the service is told to stop.
        door: Where people come in, if there is a page for them.
        failure: Why the service could not start, if it could not.
    """

    inner: Any
    tokens: Callable[[], Sequence[StoredToken]]
    limits: GateLimits = GateLimits()
    metrics: ServiceMetrics = field(default_factory=ServiceMetrics)
    log: Callable[[dict[str, Any]], None] | None = None
    hang_up: Callable[[], None] = lambda: None  # ends what would not end by itself
    door: Door | None = None
    failure: EvenhandError | None = None

    def __post_init__(self) -> None:
        self._rate = RateLimit(self.limits.per_second)
        self._guesses = RateLimit(GUESSES)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.inner(scope, receive, send)
            return
        with naming_arguments(_as_field):
            await _Passage(self, scope, receive, send).run()

    def refusal(self, scope: Any) -> Response | None:
        """Why a request is not let in, if it is not; whoever asks is noted in the scope."""
        secret = _bearer(scope)
        if secret is not None:
            token = find_token(self.tokens(), secret)
        else:
            token = self.door.visitor(scope, self.tokens()) if self.door is not None else None
        scope["evenhand.token"] = token
        if token is not None:
            return self._too_often(self._rate.wait(token.name))
        if scope["path"] in OPEN or (self.door is not None and self.door.leads_to(scope["path"])):
            return None
        address = (scope.get("client") or ("",))[0]
        often = self._too_often(self._guesses.wait(address))
        if often is not None:
            return often
        sentence = "send a token, as in 'Authorization: Bearer evh_…'."
        if secret is not None:
            sentence = "this token is not known here: check it, or ask an owner for a new one."
        return problem(401, sentence, {"www-authenticate": "Bearer"})

    @staticmethod
    def _too_often(seconds: float) -> Response | None:
        if not seconds:
            return None
        wait = max(1, round(seconds))
        return problem(429, "too many requests: wait a moment.", {"retry-after": str(wait)})

    def most(self, scope: Any) -> int:
        """How many bytes a request may have."""
        return self.limits.upload if scope["path"].endswith("/import") else self.limits.body


class _Passage:
    """One request on its way in, and its answer on the way out."""

    def __init__(self, gate: Gate, scope: Any, receive: Any, send: Any) -> None:
        self.gate, self.scope, self._receive, self._send = gate, scope, receive, send
        self.status, self.read, self.started = 0, 0, time.perf_counter()

    async def run(self) -> None:
        refusal = self.gate.refusal(self.scope)
        length = dict(self.scope["headers"]).get(b"content-length", b"0")
        if refusal is None and length.isdigit() and int(length) > self.gate.most(self.scope):
            refusal = self._too_large()
        try:
            if refusal is not None:
                await refusal(self.scope, self._receive, self.send)
            else:
                await self.gate.inner(self.scope, self.receive, self.send)
        except Exception as error:  # which was answered already
            self._write({"error": f"{type(error).__name__}: {error}"})
            self._write_traceback()
        finally:
            self._note()

    def _too_large(self) -> Response:
        return problem(413, self._most())

    def _most(self) -> str:
        return f"a request may have {self.gate.most(self.scope):,} bytes here: send less at once"

    async def receive(self) -> Any:
        message = await self._receive()
        self.read += len(message.get("body", b""))
        if self.read > self.gate.most(self.scope):
            raise HTTPException(413, self._most())
        return message

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            said = {name for name, _ in message["headers"]}
            extra = [(name, value) for name, value in HEADERS.items() if name not in said]
            message = {**message, "headers": [*message["headers"], *extra]}
        await self._send(message)

    def _note(self) -> None:
        seconds = time.perf_counter() - self.started
        route = getattr(self.scope.get("route"), "path", "other")
        self.gate.metrics.count(self.scope["method"], route, self.status, seconds)
        token = self.scope.get("evenhand.token")
        self._write(
            {
                "method": self.scope["method"],
                "path": self.scope["path"],
                "status": self.status,
                "milliseconds": round(1000 * seconds, 3),
                "actor": None if token is None else token.name,
            }
        )

    def _write(self, line: dict[str, Any]) -> None:
        if self.gate.log is not None:
            self.gate.log(line)

    @staticmethod
    def _write_traceback() -> None:
        import traceback

        traceback.print_exc(file=sys.stderr)


def _bearer(scope: Any) -> str | None:
    for name, value in scope["headers"]:
        if name == b"authorization":
            kind, _, secret = value.decode("latin-1").partition(" ")
            return secret.strip() if kind.lower() == "bearer" else ""
    return None


def _as_field(name: str, *value: Any) -> str:
    return repr(name) + "".join(f" = {one!r}" for one in value)
