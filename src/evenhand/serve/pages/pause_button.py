"""The button by which somebody pauses, or is back."""

from __future__ import annotations

from evenhand.report.html.element import Markup, element
from evenhand.serve.pages.forms import button, hidden, once
from evenhand.serve.pages.next_card import short_name
from evenhand.serve.pages.signed_in import Visit
from evenhand.serve.pools.live_pool import LivePool


def happen_button(visit: Visit, live: LivePool, name: str, paused: bool, back: str) -> Markup:
    """A button by which somebody pauses, or is back."""
    event, words = ("resume", "Resume") if paused else ("pause", "Pause")
    return visit.form(
        f"/pools/{live.name}/happen",
        hidden(event=event, place=str(live.allocator.place_of(name)), back=back),
        once(),
        button((words, _unseen(name)), "small"),
    )


def _unseen(name: str) -> Markup:
    """Whom a button is about, for those who do not see the row that it is in."""
    return element("span", {"class": "unseen"}, " ", short_name(name))
