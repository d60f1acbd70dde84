"""The parts of forms: fields with their labels, buttons, and a choice of somebody."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.errors import BadParameter
from evenhand.report.html.element import LONG_NAME, Child, Markup, element, joined
from evenhand.serve.pools.live_pool import LivePool

MOST_OPTIONS = 300  # people to choose from in a list; of more, the name is typed
LARGEST = 1e15


def hidden(**values: str) -> Markup:
    """Fields that are not shown."""
    return joined(
        element("input", {"type": "hidden", "name": name, "value": value})
        for name, value in values.items()
    )


def once() -> Markup:
    """A key by which a form that is sent twice is known, so that nothing happens twice."""
    return hidden(key=str(uuid.uuid4()))


def field(label: str, name: str, value: str = "", help: Child = None, **attributes: Any) -> Markup:
    """A field of one line with its label."""
    own = {"id": _place(name, attributes), "name": name, "value": value, **_plain(attributes)}
    return _labelled(label, own["id"], element("input", own), help)


def choice(
    label: str,
    name: str,
    options: Iterable[tuple[str, str]],
    chosen: str = "",
    help: Child = None,
    **attributes: Any,
) -> Markup:
    """A list to choose from: pairs of a value and its words."""
    own = {"id": _place(name, attributes), "name": name, **_plain(attributes)}
    items = (
        element(
            "option", {"value": value, "selected": value == chosen, "dir": "auto"}, _short(text)
        )
        for value, text in options
    )
    return _labelled(label, own["id"], element("select", own, items), help)


def text_area(label: str, name: str, value: str, help: Child = None, **attributes: Any) -> Markup:
    """A field of several lines."""
    own = {"id": _place(name, attributes), "name": name, **_plain(attributes)}
    # A browser drops a line end right after the tag.
    return _labelled(label, own["id"], element("textarea", own, f"\n{value}"), help)


def button(words: Child, kind: str = "", **attributes: Any) -> Markup:
    """What sends a form."""
    own = {"type": "submit", "id": attributes.get("id"), "class": kind or None}
    own |= _plain(attributes)
    return element("button", own, words)


def somebody(pool: LivePool, label: str, typed: Mapping[str, str], **attributes: Any) -> Markup:
    """A choice of somebody who is there: from a list, or by name where the list would be long."""
    state, names = pool.allocator.state, pool.allocator.names
    there = [k for k in range(len(names)) if state.there[k]]
    if len(there) > MOST_OPTIONS:
        value = typed.get("name", "")
        return field(label, "name", value, "The name, exactly as it is.", **attributes)
    options = [("", "Choose …"), *((str(k), _short(names[k])) for k in there)]
    return choice(label, "place", options, typed.get("place", ""), **attributes)


def somebody_in(pool: LivePool, fields: Mapping[str, str]) -> str:
    """Whose name was chosen or typed."""
    names = pool.allocator.names
    if "place" not in fields:
        return names[pool.allocator.place_of(fields.get("name", ""))]
    return name_at(pool, fields["place"])


def name_at(pool: LivePool, place: str) -> str:
    """Whose place it is."""
    names = pool.allocator.names
    if not (place.isascii() and place.isdigit() and len(place) < 12 and int(place) < len(names)):
        raise BadParameter("nobody was chosen: choose somebody from the list.")
    return names[int(place)]


def number_in(fields: Mapping[str, str], name: str, words: str, otherwise: float) -> float:
    """A number above 0 that was typed."""
    text = fields.get(name, "").strip()
    try:
        found = float(text) if text else otherwise
    except ValueError:
        found = 0.0
    if not 0 < found <= LARGEST:
        raise BadParameter(f"{words} is {text!r}: it must be a number above 0, such as 1 or 2.5.")
    return found


def count_in(fields: Mapping[str, str], name: str, words: str, most: int) -> int:
    """A whole number from 1 that was typed; 1 if none was."""
    text = fields.get(name, "").strip() or "1"
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise BadParameter(f"{words} is {text!r}: it must be a whole number from 1 to {most:,}.")
    return int(text)


def folded(words: Child, *content: Child, is_open: bool = False) -> Markup:
    """Content that a click shows."""
    return element(
        "details", {"class": "more", "open": is_open}, element("summary", None, words), content
    )


def _labelled(label: str, place: Any, control: Markup, help: Child) -> Markup:
    note = None if help is None else element("span", {"class": "help"}, help)
    return element(
        "div", {"class": "field"}, element("label", {"for": place}, label), control, note
    )


def _place(name: str, attributes: dict[str, Any]) -> str:
    return str(attributes.get("id", name))


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in attributes.items() if name != "id"}


def _short(text: str) -> str:
    return text if len(text) <= LONG_NAME else f"{text[: LONG_NAME - 1]}…"
