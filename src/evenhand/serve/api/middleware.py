"""Between a request and its route: tokens, limits, metrics, the log, and errors as RFC 9457."""

from __future__ import annotations

import enum
import hashlib
import hmac
import queue
import re
import secrets
import sys
import threading
import time
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

import orjson
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from evenhand._util.wording import expected_form, nearest, short_repr
from evenhand.errors import (
    BadParameter,
    EvenhandError,
    StaleTurn,
    StoreConflict,
    StoreUnavailable,
    UnknownDecision,
    UnknownPool,
    UnreadablePool,
    argument,
    as_sentence,
    naming_arguments,
)
from evenhand.serve.api.models import NAME_ALONE, POOL_NAME, VISIBLE, WITH_ENTITLEMENT
from evenhand.serve.pools.pool import AskedChange
from evenhand.serve.pools.service import DecisionService
from evenhand.serve.store.store import DecisionStore, StoredToken

# How many requests a second are answered, for each token.

MOST_REMEMBERED = 10_000


@dataclass
class _Bucket:
    left: float
    at: float


class RateLimit:
    """A bucket of requests for each who asks, which fills up steadily.

    Args:
        per_second: How many requests a second are answered for good.
        burst: How many may come at once, if none came before.
    """

    def __init__(self, per_second: float, burst: float | None = None) -> None:
        self.per_second = per_second
        self.burst = 2 * per_second if burst is None else burst
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, who: str, now: float | None = None) -> float:
        """Take one request from the bucket: 0, or for how many seconds there is none.

        >>> limit = RateLimit(1.0, burst=1)
        >>> limit.wait("A", now=0.0), limit.wait("A", now=0.25), limit.wait("A", now=1.5)
        (0.0, 0.75, 0.0)
        """
        moment = time.monotonic() if now is None else now
        bucket = self._buckets.setdefault(who, _Bucket(self.burst, moment))
        self._buckets.move_to_end(who)
        if len(self._buckets) > MOST_REMEMBERED:
            self._buckets.popitem(last=False)
        bucket.left = min(self.burst, bucket.left + (moment - bucket.at) * self.per_second)
        bucket.at = moment
        if bucket.left >= 1.0:
            bucket.left -= 1.0
            return 0.0
        return (1.0 - bucket.left) / self.per_second


# Counts and times in the text format of Prometheus.

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class ServiceMetrics:
    """What was asked, how it was answered, and how long that took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets = [0] * (len(BOUNDS) + 1)
        self._seconds = 0.0

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is its path without what is different each time."""
        self.requests[method, route, status] += 1
        self._buckets[bisect_left(BOUNDS, seconds)] += 1
        self._seconds += seconds

    def text(self, gauges: dict[str, float]) -> str:
        """All of it, with other numbers of the moment by name."""
        lines = ["# TYPE evenhand_requests_total counter"]
        for (method, route, status), count in sorted(self.requests.items()):
            labels = f'method="{method}",route="{_escaped(route)}",status="{status}"'
            lines.append(f"evenhand_requests_total{{{labels}}} {count}")
        lines.append("# TYPE evenhand_request_seconds histogram")
        total = 0
        for bound, count in zip((*BOUNDS, "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'evenhand_request_seconds_bucket{{le="{bound}"}} {total}')
        lines.append(f"evenhand_request_seconds_sum {self._seconds!r}")
        lines.append(f"evenhand_request_seconds_count {total}")
        for name, value in gauges.items():
            lines += [f"# TYPE evenhand_{name} gauge", f"evenhand_{name} {value!r}"]
        return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


# A line of JSON about each request, written beside those who are answered.
#
# Whoever reads the lines may be slow, and a disk that is busy lets a write wait: nobody who decides
# waits for either.

MOST_WAITING = 100_000  # lines; what comes on top is counted and left out


class RequestLog:
    """Where lines go.

    Args:
        stream: Such as standard error.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._left_out = stream, 0
        self._lines: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="request log", daemon=True)
        self._thread.start()

    def write(self, line: dict[str, Any]) -> None:
        """Add a line; it is written in a moment."""
        if self._lines.qsize() >= MOST_WAITING:
            self._left_out += 1
        else:
            self._lines.put({"time": time.time(), **line})

    def close(self) -> None:
        """Write what is left, and end."""
        self._lines.put(None)
        self._thread.join()

    def _work(self) -> None:
        over = False
        while not over:
            lines = [self._lines.get()]
            while not self._lines.empty():
                lines.append(self._lines.get())
            over = None in lines
            if self._left_out:
                missing, self._left_out = self._left_out, 0
                lines.append({"time": time.time(), "left_out": missing})
            text = b"".join(orjson.dumps(line) + b"\n" for line in lines if line is not None)
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # nobody reads it any more, which stops nothing
                continue


# Who may ask: secret tokens with a role, of which the store keeps nothing but a hash.

PREFIX = "evh_"  # so that a token that was published by mistake is known for what it is
NAME = re.compile(r"[^\x00-\x1f\x7f]{1,64}")


class Role(enum.IntEnum):
    """What somebody may do; each may also do what those before it may."""

    READER = 1  # ask, and see everything
    DECIDER = 2  # take decisions, undo them, pause and resume
    OWNER = 3  # make pools, let people join and leave, hand out tokens

    @property
    def word(self) -> str:
        return self.name.lower()

    @staticmethod
    def read(word: str) -> Role:
        """A role by its name."""
        try:
            return Role[word.upper()]
        except KeyError:
            names = ", ".join(role.word for role in Role)
            raise BadParameter(
                f"{argument('role')} is {word!r}: it must be one of {names}."
            ) from None


def make_token(store: DecisionStore, name: str, role: Role) -> str:
    """A new token: its secret, which is shown this once and can never be read again."""
    if not NAME.fullmatch(name):
        raise BadParameter(f"a token cannot be called {name!r}: use 1 to 64 visible characters.")
    if any(token.name == name for token in store.tokens()):
        raise BadParameter(f"there is a token {name!r} already: choose another name.")
    secret = PREFIX + secrets.token_urlsafe(32)
    store.add_token(StoredToken(name, role.word, hash_of(secret), time.time_ns() // 1000))
    return secret


def hash_of(secret: str) -> bytes:
    """What the store keeps. A secret of 256 random bits needs no salt and no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def find_token(tokens: Iterable[StoredToken], secret: str) -> StoredToken | None:
    """Whose secret it is; the time this takes says nothing about how near a guess was."""
    given, found = hash_of(secret), None
    for token in tokens:
        if hmac.compare_digest(token.hash, given):
            found = token
    return found


# Errors as RFC 9457 has them: a status, a title, and one plain sentence on how to fix it.

TITLES = {
    400: "Bad request",
    401: "No valid token",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Something else happened first",
    413: "Too large",
    415: "Unsupported media type",
    422: "Cannot be done as asked",
    429: "Too many requests",
    500: "Something went wrong",
    503: "Cannot be used now",
}
# What a text must be that is checked against a pattern, which nobody should have to read.
PATTERNS = {
    POOL_NAME: "at most 64 letters, digits, dots, dashes and underscores, and begin with a letter "
    "or a digit",
    VISIBLE: "a text of one line, without control characters",
}
STATUSES: tuple[tuple[type[EvenhandError], int], ...] = (
    (UnknownPool, 404),
    (UnknownDecision, 404),
    (StaleTurn, 409),
    (StoreConflict, 409),
    (StoreUnavailable, 503),
    (UnreadablePool, 503),
)


def problem(
    status: int, sentence: str, headers: dict[str, str] | None = None, **others: Any
) -> Response:
    """An answer that says what is wrong."""
    title = TITLES.get(status, "Not done")
    body = {"type": "about:blank", "title": title, "status": status, "detail": sentence, **others}
    return Response(orjson.dumps(body), status, headers, media_type="application/problem+json")


def problem_of(error: EvenhandError) -> Response:
    """The same from an error of evenhand's."""
    status = next((number for kind, number in STATUSES if isinstance(error, kind)), 422)
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", type(error).__name__).lower()
    return problem(status, str(error), error=name)


async def evenhand_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, EvenhandError)
    return problem_of(error)


async def http_error(request: Request, error: Any) -> Response:
    """What the framework refuses: a path that is not there, a method that it does not have."""
    sentences = {
        404: f"there is nothing at {request.url.path}: /docs shows what there is.",
        405: f"{request.method} is not for {request.url.path}: /docs shows what is.",
    }
    sentence = sentences.get(error.status_code, f"{error.detail}.")
    return problem(error.status_code, as_sentence(sentence), dict(error.headers or {}))


async def unforeseen(request: Request, error: Exception) -> Response:
    """What is nobody's fault who asked: the log of the service says more."""
    return problem(500, "something went wrong here that nobody foresaw: the log says what.")


async def validation_error(request: Request, error: Any) -> Response:
    """What does not fit the schema: the first thing that is wrong, where, and what fits."""
    first = error.errors()[0]
    parts = [str(part) for part in first["loc"][1:] if part not in (WITH_ENTITLEMENT, NAME_ALONE)]
    where = ".".join(parts) or str(first["loc"][0])
    words = str(first["msg"])
    form = expected_form(first) or PATTERNS.get(first.get("ctx", {}).get("pattern"))
    fits = f"{words[0].lower()}{words[1:]}" if form is None else f"it must be {form}"
    sentence = f"{where!r} does not fit: {fits}."
    if first["type"] == "extra_forbidden":
        sentence = f"{where!r} is not known here: see /docs for what can be sent."
    if first["type"] == "missing":
        sentence = f"{where!r} is missing: see /docs for what must be sent."
    if first["type"] == "json_invalid":
        sentence = "the body is not JSON: send JSON, such as {} for all defaults."
    kind = request.headers.get("content-type", "")
    if first["loc"] == ("body",) and "json" not in kind and await request.body():
        # What is not called JSON is not read as such, whatever it is; curl calls it a form.
        sentence = (
            f"the body is sent as {kind[:80] or 'nothing in particular'}: send JSON, with the "
            "header 'Content-Type: application/json'."
        )
    return problem(422, as_sentence(sentence))


# Routes that refuse a query they do not know: a mistyped parameter would be left out silently.


class KnownQuery(APIRoute):
    """A route whose query may have what its function takes, and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        known = _names(self.dependant)

        async def checked(request: Request) -> Response:
            for name in request.query_params if request.scope["query_string"] else ():
                if name not in known:
                    meant = nearest(name, known)
                    fix = f"did you mean {meant!r}?" if meant else "see /docs for what there is."
                    raise BadParameter(f"{short_repr(name)} is not known here: {fix}")
            return await answer(request)

        return checked


def _names(function: Dependant) -> set[str]:
    """Of the parameters of a function and of those that it depends on."""
    own = {field.alias for field in function.query_params}
    return own.union(*(_names(one) for one in function.dependencies))


# What the routes share: the service, who asks, and answers as JSON.

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


# What every request passes: who asks, how often, how much; and what every answer carries.

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
