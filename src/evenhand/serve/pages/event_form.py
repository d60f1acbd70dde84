"""Somebody joins, pauses, resumes, leaves, asks for more, or is entitled to another amount."""

from __future__ import annotations

from typing import Any

import pydantic
from starlette.responses import Response

from evenhand.errors import BadParameter, EvenhandError
from evenhand.serve.api import pool_routes
from evenhand.serve.api.models import HappeningSent
from evenhand.serve.pages.forms import name_at, number_in
from evenhand.serve.pages.person_page import person_page
from evenhand.serve.pages.signed_in import Visit, complaint, said, see
from evenhand.serve.pages.standing_page import standing_page
from evenhand.serve.pools.live_pool import LivePool

AMOUNTS = {"join": "entitlement", "entitle": "entitlement", "ask": "amount"}


async def happen(visit: Visit, pool: str) -> Response:
    """Let it happen, and go back to where it was asked for."""
    fields = await visit.sent()
    live, event = visit.live(pool), fields.get("event", "")
    back = fields.get("back", "")
    try:
        sent = _sent(live, event, fields)
        request = visit.as_sent(
            f"/v1/pools/{pool}/events", sent.model_dump_json().encode(), fields.get("key")
        )
        entry = await said(pool_routes.happen(request, pool, sent))
    except EvenhandError as error:
        return await _again(visit, pool, fields, error)
    if back == "person":
        place = live.allocator.place_of(sent.name)
        return see(f"/pools/{pool}/people/{place}?done={entry['number']}")
    return see(f"/pools/{pool}/{back}" if back == "standing" else f"/pools/{pool}")


def _sent(live: LivePool, event: str, fields: dict[str, str]) -> HappeningSent:
    said_of: dict[str, Any] = {}
    if event in AMOUNTS:
        said_of[AMOUNTS[event]] = number_in(fields, AMOUNTS[event], f"the {AMOUNTS[event]}", 1.0)
    if event != "join":
        # Whoever is there already may have a longer name than the API takes.
        name = name_at(live, fields.get("place", ""))
        if event not in ("pause", "resume", "leave", "entitle", "ask"):
            raise BadParameter("the form cannot be read: send it from the page itself.")
        return HappeningSent.model_construct(event=event, name=name, **said_of)
    try:
        return HappeningSent.model_validate(
            {"event": "join", "name": fields.get("new-name", "").strip(), **said_of}
        )
    except pydantic.ValidationError:
        raise BadParameter("a name has 1 to 200 visible characters: type one.") from None


async def _again(visit: Visit, pool: str, fields: dict[str, str], error: EvenhandError) -> Response:
    form = "join" if fields.get("event") == "join" else "happening"
    wrong = complaint(form, error, fields)
    place = fields.get("place", "")
    if fields.get("back") == "person" and place.isdigit():
        return await person_page(visit, pool, int(place), wrong)
    return await standing_page(visit, pool, wrong)
