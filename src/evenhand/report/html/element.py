"""HTML elements from text, escaped in one place, and the template of pages that open offline."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from evenhand._util.wording import format_number, tell_apart

# HTML elements from text: the one place where text becomes markup, and is escaped.

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


# The template of all pages: a file that opens offline, with its charts' script in it.

# Vega, Vega-Lite and Vega-Embed as one script, kept in the package as `vega.js`.
#
# Bundling takes seconds, too long for every page; so it is done once for each version of vl-
# convert, by `python -m evenhand.report.html.element`. A system test compares the two.

SNIPPET = "window.vegaEmbed = vegaEmbed;"
NOTICE = """\
/* Vega {vega}, Vega-Lite {lite} and Vega-Embed {embed}, with what they need, as vl-convert-python
   {convert} bundles them; evenhand.report.html.element makes this file.
   Copyright (c) University of Washington Interactive Data Lab and contributors; BSD 3-Clause
   licence: redistribution and use in source and binary forms, with or without modification, are
   permitted provided that this notice and the following disclaimer are kept, and that the names of
   the copyright holders and contributors are not used to endorse or promote derived products
   without permission. Provided "as is", without any express or implied warranty; in no event shall
   the copyright holders or contributors be liable for any damages. Contains D3 and semver (ISC
   licence), json-stringify-pretty-compact, fast-deep-equal and fast-json-patch (MIT licence). */
"""


def bundle() -> str:
    """The script, with its notice."""
    import vl_convert

    notice = NOTICE.format(
        vega=vl_convert.get_vega_version(),
        lite=vl_convert.get_vegalite_versions()[-1],
        embed=vl_convert.get_vega_embed_version(),
        convert=version("vl-convert-python"),
    )
    return notice + vl_convert.javascript_bundle(SNIPPET)


# The template of all pages: a file that opens offline and makes no network requests.
#
# The content security policy names the scripts and the style by their digests, so that nothing else
# in the page can run, whatever text is in the log. `data` and the charts' specifications are
# embedded as JSON in which no character can end the block.

UNSAFE = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
}  # so that no `</script>` ends it


class PageSection(NamedTuple):
    """A section of a page: its anchor for links, its title and its content."""

    anchor: str
    title: str
    body: Markup


def page(
    title: str,
    head: Markup,
    parts: Sequence[PageSection],
    data: Any = None,
    charts: Mapping[str, Any] | None = None,
    scripts: Sequence[str] = (),
) -> bytes:
    """A whole page: its head, its sections, and the charts that its scripts draw.

    `charts` are Vega-Lite specifications by name; `scripts` are files of this package that fill
    them. The figures of a page name their chart (see `plots.plot`).
    """
    style = asset("page.css")
    programs = [asset("vega.js"), asset("charts.js"), *map(asset, scripts)] if charts else []
    policy = "; ".join(
        (
            "default-src 'none'",
            "script-src " + (" ".join(map(digest, programs)) or "'none'"),
            f"style-src {digest(style)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    contents = element(
        "nav",
        {"aria-label": "Contents"},
        element(
            "ul",
            None,
            (
                element("li", None, element("a", {"href": f"#{part.anchor}"}, part.title))
                for part in parts
            ),
        ),
    )
    body = element(
        "body",
        None,
        element("a", {"class": "skip", "href": "#verdict"}, "To the verdict"),
        element("header", None, head),
        contents,
        element("main", None, (_section(part) for part in parts)),
        _embedded("data", data),
        _embedded("charts", dict(charts or {})),
        (inline("script", program) for program in programs),
    )
    meta = (
        element("meta", {"charset": "utf-8"}),
        element("meta", {"http-equiv": "Content-Security-Policy", "content": policy}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", None, title),
        inline("style", style),
    )
    whole = element("html", {"lang": "en"}, element("head", None, meta), body)
    return f"<!doctype html>\n{whole}\n".encode("utf-8", "xmlcharrefreplace")


def as_json(value: Any) -> Markup:
    """JSON that is safe in a script block, whatever text it contains."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for character, escaped in UNSAFE.items():
        text = text.replace(character, escaped)
    return Markup(text)


@cache
def asset(name: str) -> str:
    """A file of this package."""
    return files("evenhand.report.html").joinpath("assets", name).read_text(encoding="utf-8")


def _section(part: PageSection) -> Markup:
    heading = f"{part.anchor}-title"
    return element(
        "section",
        {"id": part.anchor, "aria-labelledby": heading},
        element("h2", {"id": heading}, part.title),
        part.body,
    )


def _embedded(name: str, value: Any) -> Markup:
    return element("script", {"type": "application/json", "id": name}, as_json(value))


def inline(tag: str, text: str) -> Markup:
    """A script or a style of this package in a page; it must not contain its own closing tag."""
    if f"</{tag}" in text.lower() or "<!--" in text:
        raise ValueError(f"a {tag} of this package contains its own closing tag")
    return joined((Markup(f"<{tag}>"), Markup(text), Markup(f"</{tag}>\n")))


def digest(text: str) -> str:
    """The name of a script or a style in a content security policy."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


if __name__ == "__main__":
    (Path(__file__).with_name("assets") / "vega.js").write_text(bundle(), encoding="utf-8")
