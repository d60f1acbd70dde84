"""Errors as RFC 9457 has them: a status, a title, and one plain sentence on how to fix it."""

from __future__ import annotations

import re
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from evenhand._util.wording import expected_form
from evenhand.errors import (
    EvenhandError,
    StaleTurn,
    StoreConflict,
    StoreUnavailable,
    UnknownDecision,
    UnknownPool,
    UnreadablePool,
    as_sentence,
)
from evenhand.serve.api.models import NAME_ALONE, POOL_NAME, VISIBLE, WITH_ENTITLEMENT

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
