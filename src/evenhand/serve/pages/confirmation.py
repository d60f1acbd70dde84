"""What was just done, as the log has it: shown on the page after it."""

from __future__ import annotations

from evenhand.report.html.element import Markup, element
from evenhand.serve.pages.entry_words import entry_shown
from evenhand.serve.pages.signed_in import Visit


async def noted(visit: Visit, pool: str) -> Markup | None:
    """What was just done, as the log has it."""
    number = visit.asked_number("done")
    if not number:
        return None
    found = await visit.service.events(pool, number - 1, 1)
    if not found["entries"]:
        return None
    entry = found["entries"][0]
    why = None
    if entry["body"]["event"] == "decide":
        href = f"/pools/{pool}/decisions/{entry['number']}"
        why = element("p", None, element("a", {"href": href}, "Why?"))
    return element("div", {"class": "done", "role": "status"}, "Noted: ", entry_shown(entry), why)
