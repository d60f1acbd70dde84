"""The frame of the pages of one pool, and of those of no pool."""

from __future__ import annotations

from evenhand.report.html.element import Markup, element
from evenhand.serve.pages.forms import button
from evenhand.serve.pages.page_frame import PageFrame
from evenhand.serve.pages.signed_in import Visit

TABS = (
    ("Who is next", ""),
    ("Standing", "/standing"),
    ("Log", "/log"),
    ("Audit", "/judged"),
)


def frame(visit: Visit, title: str) -> PageFrame:
    """The frame of a page that is about no pool."""
    return PageFrame(title, signed_in=_signed_in(visit))


def pool_frame(visit: Visit, pool: str, tab: str | None, title: str | None = None) -> PageFrame:
    """The frame of a page of a pool.

    Args:
        visit: Who looks.
        pool: The name of the pool.
        tab: Which of the tabs it is; None of a page below them.
        title: The title, if not the tab's.
    """
    home = f"/pools/{pool}"
    tabs = tuple((name, None if name == tab else home + path) for name, path in TABS)
    written = visit.service.room(pool).written
    return PageFrame(
        f"{title or tab}: {pool}",
        trail=((pool, home),),
        tabs=tabs,
        signed_in=_signed_in(visit),
        stream=f"{home}/stream?cursor={written}",
    )


def _signed_in(visit: Visit) -> Markup:
    name, role = visit.token.name, visit.token.role
    as_what = None if name == role else f" ({role})"
    words = element("span", {"class": "soft"}, element("bdi", None, name), as_what)
    return visit.form("/sign-out", words, " ", button("Sign out", "quiet"))
