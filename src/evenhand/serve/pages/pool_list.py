"""The pools of the service; with the first steps, where there is none."""

from __future__ import annotations

from starlette.responses import Response

from evenhand._util.wording import pluralise
from evenhand.report.html.element import Markup, element
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.pool_frame import frame
from evenhand.serve.pages.signed_in import Visit


async def pool_list(visit: Visit) -> Response:
    """The page."""
    found = await visit.service.all_pools()
    pools, unreadable = found["pools"], found["unreadable"]
    items = (
        element(
            "li",
            {"class": "card"},
            element("h2", None, element("a", {"href": f"/pools/{one['name']}"}, one["name"])),
            element("p", None, f"Next is {one['rule']}."),
            element(
                "p",
                {"class": "soft"},
                f"{pluralise(one['stakeholders'], 'person', 'people')}, "
                f"{pluralise(one['decisions'], 'decision')}",
            ),
        )
        for one in pools
    )
    return frame(visit, "Pools").around(
        element("h1", None, "Pools"),
        element("ul", {"class": "cards"}, items) if pools else None,
        (
            element("p", None, f"The pool {one['name']} cannot be used here: {one['reason']}")
            for one in unreadable
        ),
        _first_steps(visit, bool(pools or unreadable)),
    )


def _first_steps(visit: Visit, are_some: bool) -> Markup:
    words = None
    if not are_some:
        words = element(
            "p",
            None,
            "A pool is people who take turns, or share something, by a rule: reviewers, a rota, "
            "rooms, parcels. There is none yet.",
        )
    if not visit.may(Role.OWNER):
        return element(
            "div", None, words, element("p", None, "An owner can make one.") if words else None
        )
    link = element("a", {"href": "/new", "class": "button strong"}, "Make a pool")
    return element("div", None, words, element("p", None, link))
