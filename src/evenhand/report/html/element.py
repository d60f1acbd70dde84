"""HTML elements from text: the one place where text becomes markup, and is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

from evenhand._util.wording import format_number, tell_apart

LONG_NAME = 60  # characters; a click shows the rest of a longer name
TAG = re.compile(r"[a-z][a-z0-9]*")
ATTRIBUTE = re.compile(r"(?!on)[a-z][a-z-]*")  # no attribute of a report ever runs code
VOID = frozenset({"input", "meta", "br"})

# A control character is shown as a replacement mark.
INVISIBLE = {code: "\N{REPLACEMENT CHARACTER}" for code in range(32) if code not in (9, 10)}


class Markup(str):
    """Text that is already markup. Only `element` and the files of this package make it."""


Child = Any  # Markup, text, a number, None, or an iterable of these


def escape(text: object) -> Markup:
    """Text as markup that shows it, in an element or in an attribute.

    >>> escape('"><script>')
    '&quot;&gt;&lt;script&gt;'
    """
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(str(text).translate(INVISIBLE), quote=True))


def element(tag: str, attributes: dict[str, Any] | None = None, *children: Child) -> Markup:
    """An element with escaped attributes and children; None is omitted.

    >>> element("p", {"class": "note"}, "1 < 2", element("br"))
    '<p class="note">1 &lt; 2<br></p>'
    """
    if not TAG.fullmatch(tag):
        raise ValueError(f"{tag!r} is not a tag")
    words = [tag]
    for name, value in (attributes or {}).items():
        if not ATTRIBUTE.fullmatch(name):
            raise ValueError(f"{name!r} is not an attribute that a report may have")
        if value is not None and value is not False:
            words.append(name if value is True else f'{name}="{escape(value)}"')
    opening = f"<{' '.join(words)}>"
    if tag in VOID:
        return Markup(opening)
    return Markup(f"{opening}{joined(children)}</{tag}>")


def joined(children: Iterable[Child]) -> Markup:
    """Children in order, at any depth of nesting."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, str) or not isinstance(child, Iterable):
            parts.append(escape(child))
        else:
            parts.append(joined(child))
    return Markup("".join(parts))


def figure_of(value: float | None, signed: bool = False, text: str | None = None) -> Markup:
    """A number as people read it, or as `text` has it; its exact value is in the markup.

    >>> figure_of(-1234.5, signed=True)
    '<data value="-1234.5">−1,234</data>'
    """
    if value is None or value != value:
        return Markup("–")
    written = format_number(value, signed) if text is None else text
    return element("data", {"value": repr(value)}, written)


def told_apart(one: float, other: float) -> tuple[Markup, Markup]:
    """Two numbers that are read beside each other, with digits enough to differ if they do."""
    texts = tell_apart(one, other)
    return figure_of(one, text=texts[0]), figure_of(other, text=texts[1])


def percent(share: float) -> Markup:
    """A share of 1 as a whole percentage."""
    return element("data", {"value": repr(share), "class": "share"}, f"{share:z.0%}")


def name_of(name: str) -> Markup:
    """A name from the log: any text, in any direction, shown in full even if long or empty."""
    if not name.strip():
        return element("bdi", {"class": "name", "title": "a name without letters"}, f"“{name}”")
    if len(name) <= LONG_NAME:
        return element("bdi", {"class": "name"}, name)
    return element(
        "details",
        {"class": "name"},
        element("summary", None, element("bdi", None, f"{name[: LONG_NAME - 1]}…")),
        element("bdi", None, name),
    )


def labelled_list(rows: Iterable[tuple[Child, Child]]) -> Markup:
    """Pairs of a label and what it labels."""
    pairs = (
        element("div", None, element("dt", None, label), element("dd", None, words))
        for label, words in rows
    )
    return element("dl", {"class": "made"}, pairs)


def table(
    caption: Child,
    columns: Iterable[Child],
    rows: Iterable[Iterable[Child]],
    kind: str = "",
) -> Markup:
    """A table with row headings in the first column, which scrolls in its own box."""
    head = element("tr", None, (element("th", {"scope": "col"}, name) for name in columns))
    body = (
        element(
            "tr",
            None,
            (
                element("td", None, cell) if k else element("th", {"scope": "row"}, cell)
                for k, cell in enumerate(row)
            ),
        )
        for row in rows
    )
    whole = element(
        "table",
        {"class": kind or None},
        element("caption", None, element("span", None, caption)),
        element("thead", None, head),
        element("tbody", None, body),
    )
    # A box that scrolls must be reachable by keyboard, and so needs a name.
    box = {"class": "wide", "tabindex": "0", "role": "group", "aria-label": "scrollable table"}
    return element("div", box, whole)
