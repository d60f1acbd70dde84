"""Somebody joins, pauses, resumes, leaves, asks for more, or is entitled to another amount."""

from __future__ import annotations

from typing import Any

import pydantic
from starlette.responses import Response

from evenhand.errors import BadParameter, EvenhandError
from evenhand.serve.api.models import HappeningSent
from evenhand.serve.api.pool_routes import FIELDS, role_for
from evenhand.serve.pages.forms import name_at, number_in
from evenhand.serve.pages.person_page import person_page
from evenhand.serve.pages.signed_in import Visit, complaint, see
from evenhand.serve.pages.standing_page import standing_page
from evenhand.serve.pools.live_pool import LivePool


async def happen(visit: Visit, pool: str) -> Response:
    """Let it happen, and go back to where it was asked for."""
    fields = await visit.sent()
    live, back = await visit.live(pool), fields.get("back", "")
    try:
        event = _event(live, fields)
        asked = await visit.asks(fields, role_for(event["event"]))
        entry = await visit.service.happen(pool, asked, event)
    except EvenhandError as error:
        return await _again(visit, pool, fields, error)
    if back == "person":
        place = live.allocator.place_of(event["name"])
        return see(f"/pools/{pool}/people/{place}?done={entry['number']}")
    return see(f"/pools/{pool}/{back}" if back == "standing" else f"/pools/{pool}")


def _event(live: LivePool, fields: dict[str, str]) -> dict[str, Any]:
    """What is to happen, as JSON has it."""
    kind = fields.get("event", "")
    found: dict[str, Any] = {"event": kind}
    if kind in FIELDS:
        found[FIELDS[kind]] = number_in(fields, FIELDS[kind], f"the {FIELDS[kind]}", 1.0)
    if kind != "join":
        # Whoever is there already may have a longer name than the API takes.
        found["name"] = name_at(live, fields.get("place", ""))
        if kind not in ("pause", "resume", "leave", "entitle", "ask"):
            raise BadParameter("the form cannot be read: send it from the page itself.")
        return found
    found["name"] = fields.get("new-name", "").strip()
    try:
        HappeningSent.model_validate(found)
    except pydantic.ValidationError:
        raise BadParameter("a name has 1 to 200 visible characters: type one.") from None
    return found


async def _again(visit: Visit, pool: str, fields: dict[str, str], error: EvenhandError) -> Response:
    form = "join" if fields.get("event") == "join" else "happening"
    wrong = complaint(form, error, fields)
    place = fields.get("place", "")
    if fields.get("back") == "person" and place.isdigit():
        return await person_page(visit, pool, int(place), wrong)
    return await standing_page(visit, pool, wrong)
