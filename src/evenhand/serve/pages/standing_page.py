"""Where everybody stands, now and over time; who pauses, resumes and joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from evenhand._util.wording import pluralise
from evenhand.errors import EvenhandError
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, table
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.course_chart import course_chart
from evenhand.serve.pages.forms import button, field, folded, hidden, once
from evenhand.serve.pages.next_card import person_link
from evenhand.serve.pages.page_frame import NOTHING_WRONG, Complaint
from evenhand.serve.pages.pause_button import happen_button
from evenhand.serve.pages.pool_frame import pool_frame
from evenhand.serve.pages.signed_in import Visit
from evenhand.serve.pools.live_pool import LivePool

AT_ONCE = 100
DRAWN = 12  # lines of the chart


async def standing_page(visit: Visit, pool: str, wrong: Complaint = NOTHING_WRONG) -> Response:
    """The page; `from` in the address says where the list begins."""
    live = await visit.live(pool)
    begin = min(visit.asked_number("from") or 0, live.allocator.state.there.count(1))
    state = await visit.service.standing(pool, begin, AT_ONCE)
    people = live.allocator.state.there.count(1)
    content = (
        element("h1", None, "Where everybody stands"),
        wrong.at("happening"),
        await _over_time(visit, live, people),
        _join(visit, live, wrong) if visit.may(Role.OWNER) else None,
        _list(visit, live, state, begin, people),
    )
    return pool_frame(visit, pool, "Standing").around(content, status=wrong.status)


async def _over_time(visit: Visit, live: LivePool, people: int) -> Markup | None:
    ranked = live.allocator.ranking(most=2_000)
    names = [one.name for one in ranked]
    if len(names) > DRAWN:
        names = names[: DRAWN // 2] + names[-DRAWN // 2 :]
    if not names or not live.decisions:
        words = "Nothing was decided yet: what each receives over time will be drawn here."
        return element("p", {"class": "soft"}, words)
    try:
        course = await visit.service.over_time(live.name, names, 120)
    except EvenhandError as error:  # the log is too long to be drawn
        return element("p", {"class": "soft"}, str(error))
    return element("div", {"id": "over-time", "data-live": True}, course_chart(course, people))


def _list(
    visit: Visit, live: LivePool, state: Mapping[str, Any], begin: int, people: int
) -> Markup:
    decides = visit.may(Role.DECIDER)
    columns: list[Child] = ["Name", "Place", "Received", "Why there"]
    weighted = any(one["entitlement"] != 1.0 for one in state["stakeholders"])
    if weighted:
        columns.append("Entitled to")
    if decides:  # before what a narrow screen leaves out
        columns.insert(3, element("span", {"class": "unseen"}, "Pause or resume"))
    rows = (_row(visit, live, one, weighted, decides) for one in state["stakeholders"])
    there = f"{pluralise(people, 'person', 'people')}, {state['eligible']:,} of them eligible."
    caption = f"{there} Next is {live.allocator.state.rule.describe()}."
    home = f"/pools/{live.name}/standing"
    pager = joined(
        (
            element("a", {"href": home}, "From the start") if begin else None,
            " ",
            element("a", {"href": f"{home}?from={state['cursor']}"}, "Further down")
            if state["cursor"]
            else None,
        )
    )
    return element(
        "div",
        {"id": "people", "data-live": True},
        table(caption, columns, rows, "standing decides" if decides else "standing"),
        element("p", {"class": "pager"}, pager),
    )


def _row(
    visit: Visit, live: LivePool, one: Mapping[str, Any], weighted: bool, decides: bool
) -> list[Child]:
    cells: list[Child] = [
        person_link(live, one["name"]),
        "–" if one["rank"] is None else figure_of(one["rank"]),
        figure_of(one["received"]),
        one["reason"],
    ]
    if weighted:
        cells.append(figure_of(one["entitlement"]))
    if decides:
        cells.insert(3, happen_button(visit, live, one["name"], one["paused"], "standing"))
    return cells


def _join(visit: Visit, live: LivePool, wrong: Complaint) -> Markup:
    form = visit.form(
        f"/pools/{live.name}/happen",
        hidden(event="join", back="standing"),
        once(),
        wrong.at("join"),
        element(
            "div",
            {"class": "row"},
            field(
                *("Name", "new-name", wrong.typed_at("join", "new-name")),
                required=True,
                maxlength=200,
                dir="auto",
                autocomplete="off",
            ),
            field(
                *("Entitled to", "entitlement", wrong.typed_at("join", "entitlement", "1")),
                type="number",
                min="0",
                step="any",
            ),
            button("Let them join"),
        ),
        element(
            "p",
            {"class": "help"},
            "Whoever joins starts level with the others, neither ahead nor behind, unless the "
            "pool's rule says otherwise. Somebody entitled to 0.5 gets half as much.",
        ),
    )
    return folded("Somebody joins", form, is_open=wrong.form == "join")
