"""Alarms on the page: whether anybody is behind by more than a fair lottery explains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand._util.wording import as_beginning
from evenhand.errors import EvenhandError, as_sentence
from evenhand.report.html.element import Markup, element
from evenhand.serve.pages.next_card import person_link
from evenhand.serve.pages.signed_in import Visit
from evenhand.serve.pools.live_pool import LivePool

ALPHA = 0.05
AT_ONCE = 20_000  # entries of a log that is watched whenever somebody looks


async def alarm_section(visit: Visit, pool: str) -> Markup:
    """The section; of a long log only if it is asked for."""
    live = await visit.live(pool)
    if live.number > AT_ONCE and not visit.asked("alarms"):
        link = element("a", {"href": f"/pools/{pool}/judged?alarms=yes#alarms"}, "Look for alarms")
        content: Any = element("p", None, link, ", which takes a moment for a log of this length.")
    elif not live.decisions:
        content = element("p", {"class": "soft"}, "No decision was taken yet.")
    else:
        content = await _found(visit, live)
    return element(
        "section",
        {"id": "alarms", "aria-labelledby": "alarms-title"},
        element("h2", {"id": "alarms-title"}, "Is anybody left behind?"),
        content,
    )


async def _found(visit: Visit, live: LivePool) -> Any:
    try:
        found = await visit.service.alarms(live.name, ALPHA)
    except EvenhandError as error:
        sentence = as_sentence(str(error))
        return element("p", {"class": "soft"}, as_beginning(sentence))
    raised = [_alarm(live, one) for one in found["raised"]]
    if not raised:
        words = found["sentence"].replace("No alarm: ", "Nobody: ")
        content: Any = element("p", {"class": "done"}, words)
    else:
        content = element("ul", {"class": "alarms"}, raised)
    about = (
        "An alarm is raised when somebody is behind by more than a fair lottery among those there "
        f"explains. The probability of ever raising a false one is at most {ALPHA:.0%}."
    )
    notes = [element("p", {"class": "soft"}, note) for note in (about, *found["notes"])]
    return (content, *notes)


def _alarm(live: LivePool, one: Mapping[str, Any]) -> Markup:
    words = (
        " is behind by more than a fair lottery explains. The evidence begins at "
        f"{one['since']}; the alarm was raised at {one['time']}."
    )
    return element("li", {"class": "wrong"}, person_link(live, one["name"]), words)
