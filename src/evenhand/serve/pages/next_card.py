"""Who is next and why, with the button that takes the decision."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand._util.moments import EPOCH
from evenhand._util.wording import as_beginning
from evenhand.errors import EvenhandError, as_sentence
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, name_of
from evenhand.serve.api.models import MOST
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.forms import button, count_in, field, folded, hidden, number_in, once
from evenhand.serve.pages.page_frame import Complaint
from evenhand.serve.pages.signed_in import Visit
from evenhand.serve.pools.live_pool import LivePool, Wish

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
        else field(
            "To how many people", "count", str(lots.count), type="number", min=1, max=MOST, step=1
        )
    )
    form = element(
        "form",
        {"method": "get", "action": f"/pools/{pool.name}", "class": "row"},
        field(
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
    return field("On which day", "day", lots.day or earliest, type="date", min=earliest)


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
