"""Routes of the log: judged, forecast, exported, streamed, and imported."""

from __future__ import annotations

import asyncio
import datetime
import tempfile
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from evenhand.errors import BadParameter
from evenhand.log.options import AuditOptions
from evenhand.serve.api.middleware import (
    PROBLEMS,
    KnownQuery,
    Role,
    as_json,
    asked_by,
    require_role,
    service_of,
)
from evenhand.serve.api.models import AlarmsShown, ForecastShown, ImportShown, Name, OverTimeShown
from evenhand.serve.api.routes import AmountAsked
from evenhand.serve.pools.exports import (
    COLUMNS,
    REQUESTS,
    ROSTER,
    csv_chunks,
    decision_rows,
    parquet_file,
    request_rows,
    roster_rows,
)
from evenhand.serve.pools.files import called, suffix_of
from evenhand.serve.pools.imports import THE_FILE, read_history
from evenhand.serve.pools.pool import entry_view

# The log, judged and handed out: audit, forecast, standing over time, exports, a live stream.

log_router = APIRouter(
    prefix="/v1/pools/{pool}", tags=["The log"], responses=PROBLEMS, route_class=KnownQuery
)
HEARTBEAT = 15.0  # seconds after which a silent stream says that it is there
LOOK_EVERY = 0.5
# A page that brings its own policy for scripts and style, by their digests.
PAGE_POLICY = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PARQUET = "application/vnd.apache.parquet"
Text = Annotated[str | None, Query(max_length=200)]
CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}}
}


def _asked(
    every: Annotated[str | None, Query(max_length=20, description="day, week, month …")] = None,
    at_end: bool | None = None,
    welfare: Text = None,
    temporal: Text = None,
    lower_is_better: Annotated[
        bool | None, Query(description="What is given out is a burden, such as nights on call.")
    ] = None,
    tolerance: Annotated[str | None, Query(max_length=20)] = None,
    max_unfairness: Annotated[str | None, Query(max_length=20)] = None,
    min_score: Annotated[float | None, Query(allow_inf_nan=False)] = None,
    since: Annotated[str | None, Query(max_length=40, description="Judge from here on.")] = None,
    until: Annotated[str | None, Query(max_length=40, description="Judge up to here.")] = None,
) -> dict[str, Any]:
    """The options of an audit that were asked for, in place of the pool's own."""
    given = {
        "every": every,
        "at_end": at_end,
        "welfare": welfare,
        "temporal": temporal,
        "lower_is_better": lower_is_better,
        "tolerance": tolerance,
        "max_unfairness": max_unfairness,
        "min_score": min_score,
        "since": since,
        "until": until,
    }
    return {name: value for name, value in given.items() if value is not None}


Judged = Annotated[dict[str, Any], Depends(_asked)]


@log_router.get("/audit", response_model=dict[str, Any])
async def audit(request: Request, pool: str, asked: Judged) -> Response:
    """What `evenhand audit` says of this pool: of its exported log, with its roster."""
    require_role(request, Role.READER)
    answer = await service_of(request).audit(pool, asked)
    return as_json(await asyncio.to_thread(answer.to_json))


@log_router.get("/alarms", response_model=AlarmsShown)
async def alarms(
    request: Request, pool: str, alpha: Annotated[float, Query(gt=0, lt=1)] = 0.05
) -> Response:
    """Who is behind by more than a fair lottery explains, watched from the first decision on.

    `alpha` is the probability of ever raising a false alarm, however long it is watched.
    """
    require_role(request, Role.READER)
    return as_json(await service_of(request).alarms(pool, alpha))


@log_router.get("/audit.html", response_class=HTMLResponse)
async def audit_page(request: Request, pool: str, asked: Judged) -> Response:
    """The same as a page, which opens offline and can be kept as a file."""
    from evenhand.report import report

    require_role(request, Role.READER)
    answer = await service_of(request).audit(pool, asked)
    page = await asyncio.to_thread(report, answer, datetime.datetime.now(datetime.UTC))
    return HTMLResponse(page, headers={"content-security-policy": PAGE_POLICY})


@log_router.get("/forecast", response_model=ForecastShown)
async def when(
    request: Request,
    pool: str,
    name: Annotated[Name, Query()],
    per_day: Annotated[
        float | None, Query(gt=0, le=1e9, allow_inf_nan=False, description="Expected decisions.")
    ] = None,
    amount: AmountAsked = 1.0,
) -> Response:
    """When somebody's turn will come, and under which assumptions."""
    require_role(request, Role.READER)
    return as_json(await service_of(request).forecast(pool, name, per_day, amount))


@log_router.get("/over-time", response_model=OverTimeShown)
async def over_time(
    request: Request,
    pool: str,
    name: Annotated[list[Name] | None, Query(max_length=100)] = None,
    points: Annotated[int, Query(ge=1, le=500)] = 60,
) -> Response:
    """How much each had received by then, at moments spread over the log.

    Of those named (`name` may be repeated), or of the first 20 in the ranking.
    """
    require_role(request, Role.READER)
    return as_json(await service_of(request).over_time(pool, name or (), points))


@log_router.get("/export.csv", responses=CSV, response_class=Response)
async def export(request: Request, pool: str) -> Response:
    """All decisions as CSV, for `evenhand audit` and everybody else."""
    return _table(request, pool, f"{pool}.csv", COLUMNS, decision_rows)


@log_router.get("/roster.csv", responses=CSV, response_class=Response)
async def roster(request: Request, pool: str) -> Response:
    """Who was there from when until when, as CSV: the `--roster` of an audit."""
    return _table(request, pool, f"{pool}-roster.csv", ROSTER, roster_rows)


@log_router.get("/requests.csv", responses=CSV, response_class=Response)
async def requests(request: Request, pool: str) -> Response:
    """Who asked for how much and when, as CSV: the `--requests` of an audit.

    What was given to somebody who had not asked for it counts as asked for at that moment.
    """
    return _table(request, pool, f"{pool}-requests.csv", REQUESTS, request_rows)


@log_router.get(
    "/export.parquet",
    responses={200: {"content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}}}},
    response_class=Response,
)
async def export_parquet(request: Request, pool: str) -> Response:
    """All decisions as Parquet."""
    require_role(request, Role.READER)
    service = service_of(request)
    room = service.room(pool)

    def made() -> bytes:
        with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
            dates = room.pool.definition.dates
            found = parquet_file(service.store, pool, room.written, dates, Path(folder))
            return found.read_bytes()

    async with service.heavy:
        content = await asyncio.to_thread(made)
    name = f'attachment; filename="{pool}.parquet"'
    return Response(content, headers={"content-disposition": name}, media_type=PARQUET)


def _table(
    request: Request, pool: str, name: str, columns: tuple[str, ...], rows: Callable[..., Any]
) -> Response:
    """A table of what is on disk, written while it is sent."""
    require_role(request, Role.READER)
    service = service_of(request)
    chunks = csv_chunks(columns, rows(service.store, pool, service.room(pool).written))
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(chunks, headers=headers, media_type="text/csv")


@log_router.get(
    "/events/stream",
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
    response_class=Response,
)
async def stream(
    request: Request,
    pool: str,
    cursor: Annotated[
        int | None, Query(ge=0, le=1 << 53, description="Only what comes after this entry.")
    ] = None,
) -> Response:
    """What happens, as it happens: server-sent events, each an entry of the log.

    Without a cursor, or a `Last-Event-ID` header, it begins with the next thing that happens.
    """
    require_role(request, Role.READER)
    room = service_of(request).room(pool)
    last = request.headers.get("last-event-id", "")
    begin = int(last) if last.isdigit() and len(last) < 17 else cursor
    return StreamingResponse(
        _entries_as_they_come(request, pool, room.written if begin is None else begin),
        media_type="text/event-stream",
    )


async def _entries_as_they_come(request: Request, pool: str, after: int) -> AsyncIterator[bytes]:
    service = service_of(request)
    room = service.room(pool)
    yield b": listening\n\n"
    silent = 0.0
    while not await request.is_disconnected():
        stopping = service.stopping  # which must not keep anybody from what happened before
        found = await asyncio.to_thread(service.store.entries, pool, after, 500)
        for entry in found:
            after, silent = entry.number, 0.0
            data = orjson.dumps(entry_view(entry)).decode()
            yield f"id: {entry.number}\nevent: {entry.kind}\ndata: {data}\n\n".encode()
        if not found:
            if stopping:
                return
            # Not longer at once: the service may be told to stop at any moment.
            await room.news(after, LOOK_EVERY)
            silent += LOOK_EVERY
        if silent >= HEARTBEAT:
            silent = 0.0
            yield b": still here\n\n"


# A log that exists already becomes the history of a pool.

import_router = APIRouter(
    prefix="/v1/pools/{pool}", tags=["The log"], responses=PROBLEMS, route_class=KnownQuery
)
WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
BYTES = {"schema": {"type": "string", "format": "binary"}}
LOG_BODY = {
    "requestBody": {
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            **dict.fromkeys((WORKBOOK, PARQUET, "application/octet-stream"), BYTES),
        }
    }
}


@import_router.post("/import", response_model=ImportShown, status_code=201, openapi_extra=LOG_BODY)
async def import_log(
    request: Request,
    pool: str,
    stakeholder: Text = None,
    time: Text = None,
    amount: Text = None,
    time_format: Text = None,
    decimal: Annotated[str | None, Query(max_length=1)] = None,
    sheet: Text = None,
    header_row: Text = None,
    wide: Annotated[str | None, Query(max_length=20, description="time or stakeholder")] = None,
    merge_names: bool = False,
    exclude: Annotated[list[Name] | None, Query(max_length=1000)] = None,
) -> Response:
    """Let a log that exists already be the history of a new pool; all of it or nothing.

    The body is the file: CSV, packed CSV, a workbook (.xlsx, .xls, .ods), Parquet or JSON lines,
    known by its content. The options are those of `evenhand audit`: the columns that say who
    received, when and how much, how the file is laid out, and whom to leave out (`exclude`, which
    may be repeated).
    """
    asked = await asked_by(request, Role.OWNER)
    body = await request.body()
    if not body:
        raise BadParameter("the body is empty: send the file of the log.")
    options = AuditOptions(
        stakeholder=stakeholder or "",
        time=time or "",
        amount=amount,
        time_format=time_format,
        decimal=decimal,
        sheet=int(sheet) if sheet is not None and sheet.isdecimal() else sheet,
        header_row=header_row,
        wide=wide,
        merge_names=merge_names,
        exclude=exclude or (),
    )
    service = service_of(request)
    async with service.heavy:
        with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
            log = Path(folder) / f"log{suffix_of(body)}"
            log.write_bytes(body)
            with called(THE_FILE, log):
                read = partial(read_history, str(log), options)
                return as_json(await service.import_history(pool, asked, read), 201)
