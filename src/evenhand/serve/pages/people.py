"""The pages of people: where everybody stands, one person, and what can happen to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pydantic
from starlette.responses import Response

from evenhand._util.wording import pluralise
from evenhand.errors import BadParameter, EvenhandError
from evenhand.report.html.charts import positions
from evenhand.report.html.element import (
    Child,
    Markup,
    element,
    figure_of,
    joined,
    labelled_list,
    name_of,
    table,
)
from evenhand.serve.api.middleware import Role
from evenhand.serve.api.models import HappeningSent
from evenhand.serve.api.routes import FIELDS, role_for
from evenhand.serve.pages.frame import (
    NOTHING_WRONG,
    Complaint,
    Visit,
    button,
    complaint,
    folded,
    form_field,
    hidden,
    name_at,
    number_in,
    once,
    pool_frame,
    see,
)
from evenhand.serve.pages.pool import moment_shown, noted, person_link, short_name
from evenhand.serve.pools.pool import LivePool, Wish

# The button by which somebody pauses, or is back.


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


# What each had received by then, as lines that are drawn without a script.

WIDTH, HEIGHT = 1000.0, 400.0
COLOURS = 6  # and then the same again, dashed
TICKS = 4


def course_chart(course: Mapping[str, Any], people: int) -> Markup:
    """The figure of `over-time` as the API answers it.

    Args:
        course: Times, the mean, and what each of some had received by then.
        people: How many there are in all.
    """
    times, lines = course["times"], course["stakeholders"]
    top = nice_top(max((max(one["received"]) for one in lines), default=0.0), *course["mean"])
    places = _places(times)
    drawn = [
        element("path", {"class": f"line {_kind(k)}", "d": _path(places, one["received"], top)})
        for k, one in enumerate(lines)
    ]
    mean = element("path", {"class": "line mean", "d": _path(places, course["mean"], top)})
    grid = (
        element("path", {"class": "grid", "d": f"M0 {HEIGHT * k / TICKS:g}H{WIDTH:g}"})
        for k in range(TICKS + 1)
    )
    label = f"Lines of what each of {len(lines)} had received over time; the table below has them."
    attributes = {
        "viewbox": f"0 -4 {WIDTH:g} {HEIGHT + 8:g}",
        "preserveaspectratio": "none",
        "role": "img",
        "aria-label": label,
    }
    scale = (element("span", None, figure_of(top * k / TICKS)) for k in range(TICKS, -1, -1))
    return element(
        "figure",
        {"class": "course", "id": "course"},
        element(
            "div",
            {"class": "plotted"},
            element("div", {"class": "scale", "aria-hidden": "true"}, scale),
            element("svg", attributes, grid, mean, drawn),
        ),
        element("div", {"class": "ends"}, moment_shown(times[0]), moment_shown(times[-1])),
        _legend(lines),
        element("figcaption", None, _caption(len(lines), people)),
        _table(course),
    )


def _caption(shown: int, people: int) -> str:
    words = "What each had received by then; the dotted line is the mean of all who were there."
    if shown < people:
        words += (
            f" Of {people:,} people it shows {shown}: those who are next, and those who are last."
        )
    return words


def _legend(lines: Sequence[Mapping[str, Any]]) -> Markup:
    items = []
    for k, one in enumerate(lines):
        key = element(
            "svg",
            {"viewbox": "0 0 28 8", "width": "28", "height": "8", "aria-hidden": "true"},
            element("path", {"class": f"line {_kind(k)}", "d": "M0 4H28"}),
        )
        last: list[Child] = [" ", figure_of(one["received"][-1])]
        items.append(element("li", None, key, element("span", None, name_of(one["name"]), last)))
    return element("ul", {"class": "legend"}, items)


def _table(course: Mapping[str, Any]) -> Markup:
    lines = course["stakeholders"]
    few = sorted({round(k * (len(course["times"]) - 1) / 9) for k in range(10)})
    rows = (
        (
            moment_shown(course["times"][k]),
            *(figure_of(one["received"][k]) for one in lines),
            figure_of(course["mean"][k]),
        )
        for k in few
    )
    columns = ("By", *(name_of(one["name"]) for one in lines), "mean")
    shown = table("Received by then", columns, rows)
    return element("details", {"class": "more"}, element("summary", None, "As a table"), shown)


def _kind(number: int) -> str:
    again = " dashed" if number // COLOURS % 2 else ""
    return f"line{number % COLOURS + 1}{again}"


def _places(times: Sequence[Any]) -> list[float]:
    """Where each moment lies, from 0 to the width."""
    _, found = positions([_label(at) for at in times])
    first, span = found[0], found[-1] - found[0]
    return [WIDTH * (place - first) / span if span else WIDTH for place in found]


def _label(at: Any) -> str:
    return at[:19].replace("T", " ") if isinstance(at, str) else repr(float(at))


def _path(places: Sequence[float], values: Sequence[float], top: float) -> str:
    """Steps: what was received stays until more is."""
    d = ""
    for place, value in zip(places, values, strict=True):
        height = HEIGHT * (1 - value / top)
        d += f"H{place:.1f}V{height:.1f}" if d else f"M{place:.1f} {height:.1f}"
    return d


def nice_top(*values: float) -> float:
    """A round number at or above all values, which four steps reach.

    >>> nice_top(3.0), nice_top(7.0, 9.0), nice_top(0.0), nice_top(130.0)
    (4.0, 10.0, 4.0, 200.0)
    """
    most = max(values, default=0.0)
    if most <= 4:
        return 4.0 if most > 0.4 or most <= 0 else 4 * 10 ** math.ceil(math.log10(most / 4))
    step = 10.0 ** math.floor(math.log10(most / TICKS))
    factor = next(one for one in (1, 2, 2.5, 5, 10) if one * step * TICKS >= most)
    return factor * step * TICKS


# Where everybody stands, now and over time; who pauses, resumes and joins.

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
            form_field(
                *("Name", "new-name", wrong.typed_at("join", "new-name")),
                required=True,
                maxlength=200,
                dir="auto",
                autocomplete="off",
            ),
            form_field(
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


# One person: where they stand and why, when their turn comes, and what can happen to them.


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
            more = form_field("Asks for this much more", "amount", "1", **_NUMBER)
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
        amount = form_field("Entitled to", "entitlement", f"{one['entitlement']:g}", **_NUMBER)
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


# Somebody joins, pauses, resumes, leaves, asks for more, or is entitled to another amount.


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
