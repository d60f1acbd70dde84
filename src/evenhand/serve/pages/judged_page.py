"""The audit of a pool, and its log as files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from evenhand.report.html.element import element
from evenhand.serve.api import log_routes
from evenhand.serve.api.reference import with_code
from evenhand.serve.pages.alarm_section import alarm_section
from evenhand.serve.pages.forms import button, choice
from evenhand.serve.pages.pool_frame import pool_frame
from evenhand.serve.pages.signed_in import Handler, Visit

PERIODS = ("day", "week", "month", "quarter", "year")
FILES = (
    ("export.csv", "Decisions as CSV", "what `evenhand audit` and every spreadsheet reads"),
    ("export.parquet", "Decisions as Parquet", "for dataframes and databases"),
    ("roster.csv", "People as CSV", "who was there from when until when"),
    ("requests.csv", "Requests as CSV", "who asked for how much and when"),
)


async def judged_page(visit: Visit, pool: str) -> Response:
    """The page."""
    live = await visit.live(pool)
    dates, own = live.definition.dates, live.definition.audit
    asks = live.allocator.state.by_request
    first = "As the pool says" if own else "After every decision"
    looks = [("", first), *((p, f"At the end of every {p}") for p in PERIODS if dates)]
    looks.append(("end", "Once, at the end"))
    form = element(
        "form",
        {"method": "get", "action": f"/pools/{pool}/audit", "class": "row"},
        choice("When to look", "every", looks),
        button("Open the audit", "strong"),
    )
    files = (
        element(
            "li",
            None,
            element("a", {"href": f"/pools/{pool}/{file}"}, words),
            element("span", {"class": "remark"}, with_code(use)),
        )
        for file, words, use in FILES
        if file != "requests.csv" or asks
    )
    return pool_frame(visit, pool, "Audit").around(
        element("h1", None, "Was it fair all along?"),
        element(
            "p",
            None,
            "The audit judges every decision so far: who was worse off, when, and whether they "
            "recovered. It is a page that can be saved and sent.",
        ),
        form,
        await alarm_section(visit, pool),
        element("h2", None, "The log as a file"),
        element("ul", {"class": "files"}, files),
        element("p", {"class": "soft"}, "What was undone is not in these files; the log keeps it."),
    )


async def audit(visit: Visit, pool: str) -> Response:
    """The audit's own page."""
    every = visit.asked("every")
    asked: dict[str, object] = {"every": every} if every else {}
    if every == "end":
        asked = {"at_end": True}
    return await log_routes.audit_page(visit.request, pool, asked)


def file(route: Callable[[Request, str], Awaitable[Response]]) -> Handler:
    """A file that the API has, for those who are signed in."""

    async def handed_out(visit: Visit, pool: str) -> Response:
        return await route(visit.request, pool)

    return handed_out


async def stream(visit: Visit, pool: str) -> Response:
    """What happens, as it happens."""
    return await log_routes.stream(visit.request, pool, visit.asked_number("cursor"))
