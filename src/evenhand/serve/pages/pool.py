"""The page of a pool: who is next and why, the decisions and the log."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from evenhand._util.numbers import EPOCH
from evenhand._util.wording import as_beginning, pluralise
from evenhand.errors import EvenhandError, as_sentence
from evenhand.report.html.element import (
    Child,
    Markup,
    element,
    figure_of,
    joined,
    labelled_list,
    name_of,
)
from evenhand.serve.api.middleware import Role
from evenhand.serve.api.models import MOST
from evenhand.serve.pages.frame import (
    NOTHING_WRONG,
    Complaint,
    Visit,
    button,
    complaint,
    count_in,
    folded,
    form_field,
    frame,
    hidden,
    name_at,
    number_in,
    once,
    pool_frame,
    see,
    somebody,
    somebody_in,
)
from evenhand.serve.pools.pool import LivePool, Wish

# Entries of the log in words.

MOST_NAMED = 5  # people of one decision that a line names


def moment_shown(at: Any) -> Markup:
    """A moment as people read it, to the second, or a day; the markup has it in full."""
    if not isinstance(at, str):
        return Markup("–") if at is None else figure_of(float(at))
    exact = at if at.endswith("Z") else f"{at}Z"
    shown = at[:10] if at[10:19] == "T00:00:00" else at[:19].replace("T", " ")
    return element("time", {"datetime": exact}, shown)


def shares_shown(shares: Sequence[Mapping[str, Any]]) -> Markup:
    """Who is given how much: "1 to Ann, 2 to Ben and 3 more"."""
    parts: list[Child] = []
    for number, share in enumerate(shares[:MOST_NAMED]):
        amount = figure_of(share["amount"])
        parts += [", " if number else None, amount, " to ", name_of(share["name"])]
    if len(shares) > MOST_NAMED:
        parts.append(f" and {len(shares) - MOST_NAMED:,} more")
    return joined(parts)


def entry_shown(entry: Mapping[str, Any], undone: bool = False) -> Markup:
    """What happened, as a line of the log."""
    body = entry["body"]
    words = WORDS.get(body["event"], _other)(body)
    if not undone:
        return words
    return joined((element("del", None, words), element("span", {"class": "tag"}, "undone")))


def _decided(body: Mapping[str, Any]) -> Markup:
    shares = [{"name": name, "amount": amount} for name, amount in body["shares"]]
    parts: list[Child] = [shares_shown(shares)]
    if "proposed" in body:
        rule = [{"name": name, "amount": amount} for name, amount in body["proposed"]]
        instead = shares_shown(rule) if rule else "nobody"
        parts.append(element("span", {"class": "tag"}, "not the rule’s"))
        parts.append(element("span", {"class": "remark"}, "instead of ", instead))
    if body.get("reason"):
        parts.append(element("q", {"class": "remark", "dir": "auto"}, body["reason"]))
    return joined(parts)


def _undone(body: Mapping[str, Any]) -> Markup:
    reason = body.get("reason")
    remark = element("q", {"class": "remark", "dir": "auto"}, reason) if reason else None
    return joined((f"decision {body['number']} was undone", remark))


def _happened(words: str, detail: str = "") -> Callable[[Mapping[str, Any]], Markup]:
    def shown(body: Mapping[str, Any]) -> Markup:
        parts: list[Child] = [name_of(body["name"]), f" {words}"]
        if detail and body.get(detail, 1.0) != 1.0:
            parts += [" ", figure_of(body[detail])]
        return joined(parts)

    return shown


def _other(body: Mapping[str, Any]) -> Markup:
    return joined((str(body["event"]),))


WORDS: dict[str, Callable[[Mapping[str, Any]], Markup]] = {
    "create": lambda body: joined(("the pool was made",)),
    "decide": _decided,
    "undo": _undone,
    "join": _happened("joined"),
    "leave": _happened("left"),
    "pause": _happened("paused"),
    "resume": _happened("is back"),
    "entitle": lambda body: joined(
        (name_of(body["name"]), " is entitled to ", figure_of(body.get("entitlement", 1.0)))
    ),
    "ask": lambda body: joined(
        (name_of(body["name"]), " asked for ", figure_of(body.get("amount", 1.0)))
    ),
}


# What was just done, as the log has it: shown on the page after it.


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


# Who is next and why, with the button that takes the decision.

MOST_SHOWN = 50  # people of one proposal


@dataclass(frozen=True)
class LotsAsked:
    """What is to be given: so many lots of an amount, nobody two of them, now or on a later day."""

    amount: float = 1.0
    count: int = 1
    day: str = ""

    @staticmethod
    def read(fields: Mapping[str, str]) -> LotsAsked:
        return LotsAsked(
            number_in(fields, "amount", "the amount", 1.0),
            count_in(fields, "count", "the number of people", MOST),
            fields.get("day", "").strip(),
        )

    def fields(self) -> Markup:
        return hidden(amount=f"{self.amount:g}", count=str(self.count), day=self.day)

    def wish(self, pool: LivePool, **more: Any) -> Wish:
        """What is asked of the pool, with what else is said of it."""
        return Wish(self.amount, self.count, self.count > 1, at=self.at(pool), **more)

    def at(self, pool: LivePool) -> str | None:
        """When; now if it is today, or the day of what happened last."""
        is_now = not self.day or self.day in (_today(), last_day(pool))
        return None if is_now else self.day


def last_day(pool: LivePool) -> str:
    """The day of what happened last in a pool whose times are dates; "" before anything did."""
    if not pool.definition.dates or not pool.allocator.names:
        return ""
    last = EPOCH + datetime.timedelta(microseconds=int(pool.allocator.state.time))
    return last.date().isoformat()


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def next_card(
    visit: Visit,
    pool: LivePool,
    answer: Mapping[str, Any],
    lots: LotsAsked,
    wrong: Complaint,
    refused: EvenhandError | None = None,
) -> Markup:
    """The card; `answer` is that of the API, and `refused` why there is none."""
    shares = answer["shares"]
    if not shares:
        return _nobody(pool, wrong, refused)
    parts: list[Child] = [
        element("h2", {"id": "next-title"}, "Next" if len(shares) == 1 else "Next are"),
        _who(pool, shares),
        _runner_up(pool, answer),
        wrong.at("take"),
    ]
    if visit.may(Role.DECIDER):
        words: list[Child] = ["Give ", figure_of(lots.amount), " to ", _short_names(shares)]
        words += [f" on {lots.day}"] if lots.at(pool) else []
        parts.append(
            visit.form(
                f"/pools/{pool.name}/take",
                hidden(turn=answer["turn"]),
                once(),
                lots.fields(),
                button(words, "strong", id="take"),
            )
        )
    parts.append(_other_lots(pool, lots))
    return element(
        "section",
        {"class": "card", "id": "next", "aria-labelledby": "next-title", "data-live": True},
        parts,
    )


def _who(pool: LivePool, shares: list[Mapping[str, Any]]) -> Markup:
    if len(shares) == 1:
        reason = shares[0]["reason"]
        return joined(
            (
                element("p", {"class": "who"}, person_link(pool, shares[0]["name"])),
                element("p", {"class": "because"}, as_beginning(reason), ". ", _rule(pool)),
            )
        )
    rows = (
        element(
            "li",
            None,
            person_link(pool, one["name"]),
            " ",
            figure_of(one["amount"]),
            element("span", {"class": "remark"}, one["reason"]),
        )
        for one in shares[:MOST_SHOWN]
    )
    more = len(shares) - MOST_SHOWN
    rest = element("p", None, f"and {more:,} more") if more > 0 else None
    return joined(
        (element("ol", {"class": "several"}, rows), rest, element("p", None, _rule(pool)))
    )


def _rule(pool: LivePool) -> Markup:
    return element(
        "span", {"class": "soft"}, f"The rule: next is {pool.allocator.state.rule.describe()}."
    )


def _runner_up(pool: LivePool, answer: Mapping[str, Any]) -> Markup | None:
    one, shares = answer["runner_up"], answer["shares"]
    if one is None:
        return None
    after = f" would be next otherwise: {one['reason']}."
    if len(shares) == 1 and _level(pool, one["name"]) == _level(pool, shares[0]["name"]):
        after += f" They are level; ties are broken {pool.allocator.state.ties.describe()}."
    return element("p", {"class": "soft"}, person_link(pool, one["name"]), after)


def _level(pool: LivePool, name: str) -> float:
    return pool.allocator.standing(name)[0].level


def _nobody(pool: LivePool, wrong: Complaint, refused: EvenhandError | None) -> Markup:
    if refused is not None:
        sentence = as_sentence(str(refused))
        words = as_beginning(sentence)
    elif not any(pool.allocator.state.there):
        words = "Nobody is in this pool yet: let somebody join on the page Standing."
    elif pool.allocator.state.by_request:
        words = "Nobody has asked for more than they received: enter what somebody asks for."
    else:
        words = "Everybody is paused: let somebody resume on the page Standing."
    return element(
        "section",
        {"class": "card", "id": "next", "aria-labelledby": "next-title", "data-live": True},
        element("h2", {"id": "next-title"}, "Nobody is next"),
        element("p", None, words),
        wrong.at("take"),
    )


def _other_lots(pool: LivePool, lots: LotsAsked) -> Markup:
    divides = pool.allocator.rule.divides
    several = (
        None
        if divides
        else form_field(
            "To how many people", "count", str(lots.count), type="number", min=1, max=MOST, step=1
        )
    )
    form = element(
        "form",
        {"method": "get", "action": f"/pools/{pool.name}", "class": "row"},
        form_field(
            "Amount to share" if divides else "Amount for each",
            *("amount", f"{lots.amount:g}"),
            type="number",
            min="0",
            step="any",
        ),
        several,
        _day_field(pool, lots) if pool.definition.dates else None,
        button("Ask"),
    )
    return folded("Another amount, several people, a later day", form, is_open=lots != LotsAsked())


def _day_field(pool: LivePool, lots: LotsAsked) -> Markup:
    earliest = max(_today(), last_day(pool))
    return form_field("On which day", "day", lots.day or earliest, type="date", min=earliest)


def person_link(pool: LivePool, name: str) -> Markup:
    """A name that leads to the page of that person."""
    place = pool.allocator.place_of(name)
    return element(
        "a", {"href": f"/pools/{pool.name}/people/{place}", "class": "person"}, short_name(name)
    )


def short_name(name: str) -> Markup:
    """A name inside a link or a button, where nothing can be folded out."""
    if not name.strip():
        return name_of(name)
    return element("bdi", {"class": "name"}, name if len(name) <= 60 else f"{name[:59]}…")


def _short_names(shares: list[Mapping[str, Any]]) -> Markup:
    if len(shares) > 1:
        return joined((f"these {len(shares):,}",))
    return short_name(shares[0]["name"])


# The first page of a pool: who is next and why, another choice, what if, what happened last.

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
            form_field(
                *("Amount", "amount", typed.get("amount", "1")),
                type="number",
                min="0",
                step="any",
                id="instead-amount",
            ),
        ),
        form_field(
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


# The pools of the service; with the first steps, where there is none.


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


# The whole log of a pool, the latest first.

AT_ONCE = 50


async def log_page(visit: Visit, pool: str) -> Response:
    """The page; `before` in the address says from which entry on it goes back."""
    live = await visit.live(pool)
    head = visit.service.room(pool).written
    before = visit.asked_number("before")
    last = head if before is None else min(head, before - 1)
    after = max(0, last - AT_ONCE)
    found = await visit.service.events(pool, after, max(1, last - after))
    rows = [
        log_line(live, entry) for entry in reversed(found["entries"]) if entry["number"] <= last
    ]
    home = f"/pools/{pool}/log"
    earlier = element("a", {"href": f"{home}?before={after + 1}", "rel": "next"}, "Earlier")
    latest = element("a", {"href": home}, "The latest")
    words = (
        f"{pluralise(head, 'entry', 'entries')}, {pluralise(live.decisions, 'decision')}. "
        "Nothing is ever deleted: what was undone stays, marked. Times are in UTC."
    )
    files = element("a", {"href": f"/pools/{pool}/judged"}, "Export as CSV or Parquet")
    return pool_frame(visit, pool, "Log").around(
        element("h1", None, "Log"),
        element("p", {"class": "soft"}, words, " ", files),
        element("ul", {"class": "log", "id": "log", "data-live": last == head}, rows),
        element(
            "p",
            {"class": "pager"},
            latest if last < head else None,
            " ",
            earlier if after > 0 else None,
        ),
    )


# Why a decision was as it was, with what was known then; and why it was nobody else.


async def decision_page(
    visit: Visit, pool: str, number: int, wrong: Complaint = NOTHING_WRONG
) -> Response:
    """The page of one decision."""
    live = await visit.live(pool)
    taken = await visit.service.decision(pool, number)
    why, other, no_other = await _why(visit, live, number)
    if no_other.sentence:
        wrong = no_other
    content = (
        element("h1", None, f"Why decision {number}: ", shares_shown(taken["shares"]), "?"),
        _undone_note(taken),
        _why_shown(taken, why),
        labelled_list(_facts(taken)),
        _why_not(live, number, other, wrong),
        _undo(visit, live, taken, wrong) if visit.may(Role.DECIDER) else None,
    )
    return pool_frame(visit, pool, None, f"Decision {number}").around(content, status=wrong.status)


async def _why(visit: Visit, live: LivePool, number: int) -> tuple[Any, Any, Complaint]:
    """Why it was so, and why somebody who was asked about was not chosen."""
    try:
        found = await visit.service.why_then(live.name, number)
    except EvenhandError as error:  # it lies too far back, say
        return str(error), None, NOTHING_WRONG
    chosen = {k: v for k, v in visit.request.query_params.items() if k in ("place", "name")}
    if not any(chosen.values()):
        return found["why"], None, NOTHING_WRONG
    try:
        who = somebody_in(live, chosen)
        other = await visit.service.why_then(live.name, number, who)
    except EvenhandError as error:
        return found["why"], None, complaint("why-not", error, {})
    return found["why"], other["why"], NOTHING_WRONG


def _undone_note(taken: Mapping[str, Any]) -> Markup | None:
    if not taken["undone"]:
        return None
    return element("p", {"class": "done"}, "This decision was undone: it does not count.")


def _why_shown(taken: Mapping[str, Any], why: Any) -> Markup:
    if isinstance(why, str):
        return element("p", {"class": "because"}, as_beginning(why))
    if not taken["shares"][0]["reason"]:  # nobody asked the rule
        return joined(
            (
                element("p", {"class": "because"}, "This is from a log that was imported."),
                element("p", None, "The rule of this pool would have said: ", why["sentence"]),
            )
        )
    if taken["by_rule"]:
        return element("p", {"class": "because"}, why["sentence"], " ", why["what_would_differ"])
    rule = shares_shown(taken["proposed"]) if taken["proposed"] else "nobody"
    return joined(
        (
            element(
                "p", {"class": "because"}, "The rule proposed ", rule, ". It was decided otherwise:"
            ),
            element("blockquote", {"dir": "auto"}, taken["reason"]) if taken["reason"] else None,
            element("p", None, "By the rule: ", why["sentence"]),
        )
    )


def _facts(taken: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    facts: list[tuple[Any, Any]] = [
        ("Noted", joined((moment_shown(taken["recorded"]), " UTC"))),
        ("By", element("bdi", None, taken["actor"])),
    ]
    if str(taken["at"])[:16] != taken["recorded"][:16]:  # it was for another moment
        facts.insert(0, ("When", moment_shown(taken["at"])))
    if len(taken["shares"]) == 1 and taken["shares"][0]["reason"]:
        facts.insert(0, ("What the rule knew", taken["shares"][0]["reason"]))
    if taken["runner_up"] is not None:
        one = taken["runner_up"]
        facts.append(("Next otherwise", joined((name_of(one["name"]), f": {one['reason']}"))))
    if taken["by_rule"] and taken["reason"]:
        facts.append(("Remark", element("q", {"dir": "auto"}, taken["reason"])))
    return facts


def _why_not(live: LivePool, number: int, other: Any, wrong: Complaint) -> Markup:
    result = None
    if other is not None:
        result = element(
            "p",
            {"class": "result", "role": "status"},
            other["sentence"],
            " ",
            other["what_would_differ"],
        )
    form = element(
        "form",
        {"method": "get", "action": f"/pools/{live.name}/decisions/{number}", "class": "row"},
        somebody(live, "Why not", {}),
        button("Ask"),
    )
    return element(
        "section",
        {"aria-labelledby": "why-not-title"},
        element("h2", {"id": "why-not-title"}, "Why not somebody else?"),
        wrong.at("why-not"),
        result,
        form,
    )


def _undo(
    visit: Visit, live: LivePool, taken: Mapping[str, Any], wrong: Complaint
) -> Markup | None:
    if taken["undone"]:
        return wrong.at("undo")
    form = visit.form(
        f"/pools/{live.name}/decisions/{taken['number']}/undo",
        once(),
        wrong.at("undo"),
        element("p", None, "It stays in the log, marked, and counts as not taken."),
        form_field(
            "The reason", "reason", wrong.typed_at("undo", "reason"), maxlength=2000, dir="auto"
        ),
        button("Undo it"),
    )
    return folded("Undo this decision", form, is_open=wrong.form == "undo")


async def undo(visit: Visit, pool: str, number: int) -> Response:
    """Let a decision count as not taken."""
    fields = await visit.sent()
    try:
        reason = fields.get("reason", "").strip()[:2000]
        await visit.service.undo(pool, await visit.asks(fields), number, reason or None)
    except EvenhandError as error:
        return await decision_page(visit, pool, number, complaint("undo", error, fields))
    return see(f"/pools/{pool}?done={(await visit.live(pool)).number}")
