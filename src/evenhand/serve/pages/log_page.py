"""The whole log of a pool, the latest first."""

from __future__ import annotations

from starlette.responses import Response

from evenhand._util.wording import pluralise
from evenhand.report.html.element import element
from evenhand.serve.pages.pool_frame import pool_frame
from evenhand.serve.pages.pool_page import log_line
from evenhand.serve.pages.signed_in import Visit

AT_ONCE = 50


async def log_page(visit: Visit, pool: str) -> Response:
    """The page; `before` in the address says from which entry on it goes back."""
    live = await visit.live(pool)
    head = visit.service.room(pool).written
    before = visit.asked_number("before")
    last = head if before is None else min(head, before - 1)
    after = max(0, last - AT_ONCE)
    found = await visit.service.events(pool, after, max(1, last - after))
    rows = [
        log_line(live, entry) for entry in reversed(found["entries"]) if entry["number"] <= last
    ]
    home = f"/pools/{pool}/log"
    earlier = element("a", {"href": f"{home}?before={after + 1}", "rel": "next"}, "Earlier")
    latest = element("a", {"href": home}, "The latest")
    words = (
        f"{pluralise(head, 'entry', 'entries')}, {pluralise(live.decisions, 'decision')}. "
        "Nothing is ever deleted: what was undone stays, marked. Times are in UTC."
    )
    files = element("a", {"href": f"/pools/{pool}/judged"}, "Export as CSV or Parquet")
    return pool_frame(visit, pool, "Log").around(
        element("h1", None, "Log"),
        element("p", {"class": "soft"}, words, " ", files),
        element("ul", {"class": "log", "id": "log", "data-live": last == head}, rows),
        element(
            "p",
            {"class": "pager"},
            latest if last < head else None,
            " ",
            earlier if after > 0 else None,
        ),
    )
