"""One person: where they stand and why, when their turn comes, and what can happen to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from evenhand.report.html.element import Child, Markup, element, figure_of, labelled_list, name_of
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.confirmation import noted
from evenhand.serve.pages.forms import button, field, folded, hidden, name_at, once
from evenhand.serve.pages.page_frame import NOTHING_WRONG, Complaint
from evenhand.serve.pages.pause_button import happen_button
from evenhand.serve.pages.pool_frame import pool_frame
from evenhand.serve.pages.signed_in import Visit
from evenhand.serve.pools.live_pool import LivePool, Wish


async def person_page(
    visit: Visit, pool: str, place: int, wrong: Complaint = NOTHING_WRONG
) -> Response:
    """The page of whoever joined at a place."""
    live = await visit.live(pool)
    name = name_at(live, str(place))
    why = await visit.service.why(pool, name, Wish())
    one = why["standing"]
    when = await visit.service.forecast(pool, name, None, 1.0)
    content = (
        element("h1", None, name_of(name)),
        await noted(visit, pool),
        wrong.at("happening"),
        element(
            "div",
            {"id": "why", "data-live": True},
            element("p", {"class": "because"}, why["sentence"]),
            element("p", None, why["what_would_differ"]) if one["there"] else None,
            _when(when) if one["rank"] is not None else None,
            labelled_list(_facts(live, one)),
        ),
        _forms(visit, live, one, place) if one["there"] else None,
    )
    return pool_frame(visit, pool, None, "One person").around(content, status=wrong.status)


def _when(when: Mapping[str, Any]) -> list[Child]:
    assumed = element("ul", None, (element("li", None, one) for one in when["assumptions"]))
    return [element("p", None, when["sentence"]), folded("What that assumes", assumed)]


def _facts(live: LivePool, one: Mapping[str, Any]) -> list[tuple[Child, Child]]:
    facts: list[tuple[Child, Child]] = [("Received", figure_of(one["received"]))]
    if live.allocator.state.by_request:
        facts.append(("Asked for", figure_of(one["asked"])))
    facts.append(("Entitled to", figure_of(one["entitlement"])))
    return facts


def _forms(visit: Visit, live: LivePool, one: Mapping[str, Any], place: int) -> list[Child]:
    action, parts = f"/pools/{live.name}/happen", []
    if visit.may(Role.DECIDER):
        if live.allocator.state.by_request:
            more = field("Asks for this much more", "amount", "1", **_NUMBER)
            parts.append(
                visit.form(
                    action,
                    _of("ask", place),
                    once(),
                    element("div", {"class": "row"}, more, button("Note it")),
                )
            )
        parts.append(happen_button(visit, live, one["name"], one["paused"], "person"))
    if visit.may(Role.OWNER):
        amount = field("Entitled to", "entitlement", f"{one['entitlement']:g}", **_NUMBER)
        form = visit.form(
            action,
            _of("entitle", place),
            once(),
            element("div", {"class": "row"}, amount, button("Change")),
        )
        parts.append(folded("Entitle to another amount", form))
        leave = visit.form(
            action,
            _of("leave", place),
            once(),
            element(
                "p",
                None,
                "What they received stays in the log. They can join again only under another name.",
            ),
            button("They leave for good"),
        )
        parts.append(folded("Leave the pool", leave))
    return parts


_NUMBER: dict[str, Any] = {"type": "number", "min": "0", "step": "any"}


def _of(event: str, place: int) -> Markup:
    return hidden(event=event, place=str(place), back="person")
