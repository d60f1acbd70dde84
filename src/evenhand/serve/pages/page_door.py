"""The door for people: a cookie lets them in to the page alone; the API takes tokens."""

from __future__ import annotations

from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any

from evenhand.serve.pages.sessions import Sessions
from evenhand.serve.store.decision_store import StoredToken

COOKIE = "evenhand_session"
PLACES = ("/", "/sign-in", "/sign-out", "/new", "/favicon.ico")
BELOW = ("/pools/", "/new/")


class PageDoor:
    """Whom the page lets in.

    Args:
        sessions: Who is signed in.
    """

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions

    def leads_to(self, path: str) -> bool:
        """Whether a path is of the page, which asks visitors itself to sign in."""
        return path in PLACES or path.startswith(BELOW)

    def visitor(self, scope: Any, tokens: Sequence[StoredToken]) -> StoredToken | None:
        """Who is signed in, if the path is of the page."""
        cookie = cookie_of(scope) if self.leads_to(scope["path"]) else None
        return None if cookie is None else self.sessions.visitor(cookie, tokens)


def cookie_of(scope: Any) -> str | None:
    """The session's cookie among those of a request."""
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                found = SimpleCookie(value.decode("latin-1")).get(COOKIE)
            except CookieError:
                continue
            if found is not None:
                return found.value
    return None
