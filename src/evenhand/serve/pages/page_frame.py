"""The frame of every page: its head, its way around, its policy, and where a complaint stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from starlette.responses import HTMLResponse

from evenhand.errors import as_sentence
from evenhand.report.html.element import Child, Markup, element
from evenhand.report.html.template import asset, digest, inline

TITLE = "evenhand"


@dataclass(frozen=True)
class Complaint:
    """What could not be done as asked, to be shown at the form that asked for it.

    Args:
        form: The form's name.
        sentence: What is wrong and how to fix it.
        typed: What was typed there, which is not lost.
        status: That of the answer.
    """

    form: str = ""
    sentence: str = ""
    typed: Mapping[str, str] = field(default_factory=dict)
    status: int = 200

    def at(self, form: str) -> Markup | None:
        """The sentence, if it is about this form."""
        if form != self.form or not self.sentence:
            return None
        words = as_sentence(self.sentence)
        return element("p", {"class": "wrong", "role": "alert", "id": f"{form}-wrong"}, words)

    def typed_at(self, form: str, name: str, otherwise: str = "") -> str:
        """What was typed into a field of this form."""
        return self.typed.get(name, otherwise) if form == self.form else otherwise


NOTHING_WRONG = Complaint()


@dataclass(frozen=True)
class PageFrame:
    """What is around the content of a page.

    Args:
        title: The title of the page.
        trail: The way here: pairs of a name and an address.
        tabs: Pages beside this one, in the same way; the one without an address is this one.
        signed_in: Who is signed in, with a form to sign out.
        stream: Where it is said what happens while the page is open.
    """

    title: str
    trail: tuple[tuple[str, str], ...] = ()
    tabs: tuple[tuple[str, str | None], ...] = ()
    signed_in: Markup | None = None
    stream: str | None = None

    def around(self, *content: Child, status: int = 200) -> HTMLResponse:
        """The whole page."""
        style, script = f"{asset('page.css')}\n{own_asset('serve.css')}", own_asset("serve.js")
        body = element(
            "body",
            {"class": "serve", "data-stream": self.stream},
            element("a", {"class": "skip", "href": "#content"}, "To the content"),
            element("header", {"class": "bar"}, _trail(self.trail), self.signed_in),
            _tabs(self.tabs),
            element("main", {"id": "content"}, content),
            element("p", {"class": "news soft", "role": "status", "id": "news"}),
            inline("script", script),
        )
        head = (
            element("meta", {"charset": "utf-8"}),
            element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
            element("meta", {"name": "color-scheme", "content": "light dark"}),
            element("title", None, f"{self.title} · {TITLE}"),
            inline("style", style),
        )
        whole = element("html", {"lang": "en"}, element("head", None, head), body)
        content_bytes = f"<!doctype html>\n{whole}\n".encode("utf-8", "xmlcharrefreplace")
        return HTMLResponse(content_bytes, status, headers=_headers(style, script))


def _headers(style: str, script: str) -> dict[str, str]:
    policy = (
        "default-src 'none'",
        f"script-src {digest(script)}",
        f"style-src {digest(style)}",
        "connect-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
    # Without a referrer a browser would not say from which site a form comes.
    return {"content-security-policy": "; ".join(policy), "referrer-policy": "same-origin"}


def _trail(trail: tuple[tuple[str, str], ...]) -> Markup:
    steps = [
        element("li", None, element("a", {"href": href}, name))
        for name, href in (("evenhand", "/"), *trail)
    ]
    return element(
        "nav", {"class": "trail", "aria-label": "Where you are"}, element("ul", None, steps)
    )


def _tabs(tabs: tuple[tuple[str, str | None], ...]) -> Markup | None:
    if not tabs:
        return None
    items = []
    for name, href in tabs:
        link = {"href": href} if href is not None else {"href": "#content", "aria-current": "page"}
        items.append(element("li", None, element("a", link, name)))
    return element(
        "nav", {"class": "tabs", "aria-label": "Of this pool"}, element("ul", None, items)
    )


@cache
def own_asset(name: str) -> str:
    """A file of this package."""
    return files("evenhand.serve.pages").joinpath("assets", name).read_text(encoding="utf-8")
