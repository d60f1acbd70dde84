"""A log that exists already becomes the history of a pool."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import BadParameter
from evenhand.log.options import AuditOptions
from evenhand.serve.api.context import PROBLEMS, as_json, asked_by, service_of
from evenhand.serve.api.known_query import KnownQuery
from evenhand.serve.api.log_routes import PARQUET, Text
from evenhand.serve.api.models import ImportShown, Name
from evenhand.serve.api.tokens import Role
from evenhand.serve.pools.history_import import THE_FILE, read_history
from evenhand.serve.pools.log_kinds import called, suffix_of

router = APIRouter(
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


@router.post("/import", response_model=ImportShown, status_code=201, openapi_extra=LOG_BODY)
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
