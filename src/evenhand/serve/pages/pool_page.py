"""The first page of a pool: who is next and why, another choice, what if, what happened last."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from evenhand.errors import EvenhandError
from evenhand.report.html.element import Child, Markup, element, joined
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.confirmation import noted
from evenhand.serve.pages.entry_words import entry_shown, moment_shown
from evenhand.serve.pages.forms import (
    button,
    field,
    folded,
    hidden,
    name_at,
    number_in,
    once,
    somebody,
    somebody_in,
)
from evenhand.serve.pages.next_card import LotsAsked, next_card, person_link
from evenhand.serve.pages.page_frame import NOTHING_WRONG, Complaint
from evenhand.serve.pages.pool_frame import pool_frame
from evenhand.serve.pages.signed_in import Visit, complaint, see
from evenhand.serve.pools.live_pool import LivePool, Wish

LATEST = 5  # entries of the log
FIRST = 5  # people of the ranking
MOST_AWAY = 20


async def pool_page(
    visit: Visit, pool: str, wrong: Complaint = NOTHING_WRONG, asked: LotsAsked | None = None
) -> Response:
    """The page; `wrong` is what one of its forms could not do.

    Args:
        visit: Who looks.
        pool: The name of the pool.
        wrong: What could not be done.
        asked: What is to be given, if not what the address says.
    """
    live = await visit.live(pool)
    try:
        is_asked = visit.request.method == "GET" and asked is None
        lots = LotsAsked.read(visit.request.query_params) if is_asked else asked or LotsAsked()
    except EvenhandError as error:
        lots, wrong = LotsAsked(), complaint("take", error, {})
    try:
        answer, refused = await visit.service.who_is_next(pool, lots.wish(live)), None
    except EvenhandError as error:  # of a day that is over, or of a plan that has come to its end
        answer, refused = {"shares": [], "turn": live.turn, "runner_up": None}, error
    if refused is not None and lots != LotsAsked() and not wrong.sentence:
        return await pool_page(visit, pool, complaint("take", refused, {}), LotsAsked())
    content = (
        element("h1", None, "Who is next in ", element("span", {"class": "nowrap"}, pool)),
        await noted(visit, pool),
        next_card(visit, live, answer, lots, wrong, refused),
        _otherwise(visit, live, answer["turn"], lots, wrong) if visit.may(Role.DECIDER) else None,
        await _what_if(visit, live),
        await _ranking(visit, live),
        await _latest(visit, live),
    )
    return pool_frame(visit, pool, "Who is next").around(content, status=wrong.status)


def _otherwise(
    visit: Visit, live: LivePool, turn: str, lots: LotsAsked, wrong: Complaint
) -> Markup:
    """The form for a decision that is not the rule's, on the same day."""
    typed = wrong.typed if wrong.form == "otherwise" else {}
    form = visit.form(
        f"/pools/{live.name}/otherwise",
        hidden(turn=turn, day=lots.day),
        once(),
        wrong.at("otherwise"),
        element(
            "div",
            {"class": "row"},
            somebody(live, "Who instead", typed, required=True, id="instead"),
            field(
                *("Amount", "amount", typed.get("amount", "1")),
                type="number",
                min="0",
                step="any",
                id="instead-amount",
            ),
        ),
        field(
            *("The reason, which stays in the log", "reason", typed.get("reason", "")),
            required=True,
            maxlength=2000,
            id="instead-reason",
            dir="auto",
        ),
        button("Decide so"),
    )
    return folded(
        "Somebody else, for a reason", form, is_open=bool(typed) or wrong.form == "otherwise"
    )


async def _what_if(visit: Visit, live: LivePool) -> Markup:
    """Who would be next if somebody were away."""
    places = [one for one in visit.request.query_params.getlist("away") if one][:MOST_AWAY]
    wrong, away, result = NOTHING_WRONG, [], None
    try:
        away = list(dict.fromkeys(name_at(live, place) for place in places))
        chosen = {k: v for k, v in visit.request.query_params.items() if k in ("place", "name")}
        if any(chosen.values()):
            away = list(dict.fromkeys((*away, somebody_in(live, chosen))))
        if away:
            result = await _without(visit, live, away)
    except EvenhandError as error:
        wrong = complaint("what-if", error, {})
    kept = joined(hidden(away=str(live.allocator.place_of(name))) for name in away)
    form = element(
        "form",
        {"method": "get", "action": f"/pools/{live.name}#what-if", "class": "row"},
        kept,
        somebody(
            live,
            "And if this person is away too" if away else "If this person is away",
            {},
            id="away",
        ),
        button("Who would be next?"),
    )
    again = element("a", {"href": f"/pools/{live.name}#what-if"}, "Start again") if away else None
    body = element("div", {"id": "what-if"}, wrong.at("what-if"), result, form, again)
    return folded("What if somebody is away?", body, is_open=bool(away) or bool(wrong.sentence))


async def _without(visit: Visit, live: LivePool, away: list[str]) -> Markup:
    answer = await visit.service.who_is_next(live.name, Wish(without=tuple(away)))
    who: list[Child] = []
    for number, name in enumerate(away):
        who += [" and " if number else None, person_link(live, name)]
    opening = ("If ", who, " is away, " if len(away) == 1 else " are away, ")
    if not answer["shares"]:
        return element("p", {"class": "result", "role": "status"}, opening, "nobody would be next.")
    one = answer["shares"][0]
    return element(
        "p",
        {"class": "result", "role": "status"},
        opening,
        element("strong", None, person_link(live, one["name"])),
        f" would be next: {one['reason']}.",
    )


async def _ranking(visit: Visit, live: LivePool) -> Markup:
    found = await visit.service.standing(live.name, 0, FIRST)
    rows = (
        element(
            "li",
            None,
            person_link(live, one["name"]),
            element("span", {"class": "remark"}, one["reason"]),
        )
        for one in found["stakeholders"]
        if one["rank"] is not None
    )
    everyone = element("a", {"href": f"/pools/{live.name}/standing"}, "Everyone, and over time")
    return element(
        "section",
        {"id": "order", "aria-labelledby": "order-title", "data-live": True},
        element("h2", {"id": "order-title"}, "The order now"),
        element("ol", {"class": "several"}, rows),
        element("p", None, everyone),
    )


async def _latest(visit: Visit, live: LivePool) -> Markup:
    after = max(0, visit.service.room(live.name).written - LATEST)
    found = await visit.service.events(live.name, after, LATEST)
    rows = (log_line(live, entry) for entry in reversed(found["entries"]))
    return element(
        "section",
        {"id": "latest", "aria-labelledby": "latest-title", "data-live": True},
        element("h2", {"id": "latest-title"}, "What happened last"),
        element("ul", {"class": "log"}, rows),
        element("p", None, element("a", {"href": f"/pools/{live.name}/log"}, "The whole log")),
    )


def log_line(live: LivePool, entry: Mapping[str, Any]) -> Markup:
    """An entry of the log; a decision leads to why it was so."""
    decided = entry["body"]["event"] == "decide"
    number = entry["number"]
    why = None
    if decided:
        why = element(
            "a",
            {
                "href": f"/pools/{live.name}/decisions/{number}",
                "aria-label": f"Why decision {number}?",
            },
            "Why?",
        )
    return element(
        "li",
        None,
        element("span", {"class": "number"}, number),
        element("div", None, entry_shown(entry, number in live.undone), " ", why, _by(entry)),
    )


def _by(entry: Mapping[str, Any]) -> Markup:
    at = entry["body"].get("at")
    when: list[Child] = [moment_shown(entry["recorded"]), " UTC"]
    if isinstance(at, str) and at[:16] != entry["recorded"][:16]:
        when = [moment_shown(at), ", noted ", *when]
    return element("div", {"class": "remark"}, when, " by ", element("bdi", None, entry["actor"]))


# What its forms do.


async def take(visit: Visit, pool: str) -> Response:
    """Take the decision that the page showed."""
    fields = await visit.sent()
    try:
        wish = LotsAsked.read(fields).wish(await visit.live(pool), turn=fields.get("turn"))
        return await _decide(visit, pool, wish, fields)
    except EvenhandError as error:
        return await pool_page(visit, pool, complaint("take", error, fields))


async def take_otherwise(visit: Visit, pool: str) -> Response:
    """Decide for somebody else, with a reason."""
    fields = await visit.sent()
    try:
        amount, live = number_in(fields, "amount", "the amount", 1.0), await visit.live(pool)
        wish = LotsAsked(amount, day=fields.get("day", "").strip()).wish(
            live,
            shares=((somebody_in(live, fields), amount),),
            reason=fields.get("reason", "").strip()[:2000],
            turn=fields.get("turn"),
        )
        return await _decide(visit, pool, wish, fields)
    except EvenhandError as error:
        return await pool_page(visit, pool, complaint("otherwise", error, fields))


async def _decide(visit: Visit, pool: str, wish: Wish, fields: Mapping[str, str]) -> Response:
    taken = await visit.service.decide(pool, await visit.asks(fields), wish)
    return see(f"/pools/{pool}?done={taken['number']}")
