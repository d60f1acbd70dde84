"""Entries of the log in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evenhand.report.html.element import Child, Markup, element, figure_of, joined, name_of

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
