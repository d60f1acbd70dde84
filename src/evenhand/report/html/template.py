"""The template of all pages: a file that opens offline, with its charts' script in it."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.report.html.element import Markup, element, joined

# Vega, Vega-Lite and Vega-Embed as one script, kept in the package as `vega.js`.
#
# Bundling takes seconds, too long for every page; so it is done once for each version of vl-
# convert, by `python -m evenhand.report.html.template`. A system test compares the two.

SNIPPET = "window.vegaEmbed = vegaEmbed;"
NOTICE = """\
/* Vega {vega}, Vega-Lite {lite} and Vega-Embed {embed}, with what they need, as vl-convert-python
   {convert} bundles them; evenhand.report.html.template makes this file.
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


if __name__ == "__main__":
    (Path(__file__).with_name("assets") / "vega.js").write_text(bundle(), encoding="utf-8")


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
