"""Somebody at the page of a service in this process: signs in, opens pages, sends their forms."""

from __future__ import annotations

import contextlib
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from evenhand.serve.api.middleware import Role
from serving import client_of, new_store

HOSTILE = '</script><img src=x onerror="window.ran=1"> & "quoted" \u202eبالعربية'
LONG = "ن\u200fא" * 1000


class _Forms(HTMLParser):
    """The forms of a page: where each is sent, and the values of its fields."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, str, dict[str, str]]] = []
        self._select = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((own.get("method", "get"), own["action"], {}))
        elif tag == "input" and self.forms and own.get("type") != "file":
            self.forms[-1][2][own["name"]] = own.get("value", "")
        elif tag in ("select", "textarea"):
            self._select = own["name"]
            self.forms[-1][2][self._select] = ""
        elif tag == "option" and "selected" in own:
            self.forms[-1][2][self._select] = own["value"]


@dataclass
class PageVisitor:
    """Somebody with a browser that has no script."""

    client: TestClient

    def open(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def form(self, page: str, action: str) -> dict[str, str]:
        """The fields of a form of a page, as they are filled in."""
        forms = _Forms()
        forms.feed(page)
        return next(fields for _, where, fields in forms.forms if where == action)

    def actions(self, page: str) -> set[str]:
        """Where the forms of a page that change something are sent."""
        forms = _Forms()
        forms.feed(page)
        return {where for method, where, _ in forms.forms if method == "post"}

    def send(self, path: str, action: str, status: int = 200, **typed: Any) -> str:
        """Open a page, fill in one of its forms, send it: the page after it."""
        fields = self.form(self.open(path), action) | typed
        answer = self.client.post(action, data=fields)
        assert answer.status_code == status, answer.text
        return answer.text


def text_of(page: str) -> str:
    """What is read on a page, without its style, script and markup."""
    body = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.S)
    inline = re.sub(r"</?(a|bdi|data|strong|time)\b[^>]*>", "", body)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", inline)))


@contextlib.contextmanager
def at_the_page(
    folder: Path,
    role: Role = Role.OWNER,
    people: tuple[str, ...] = ("Ann", "Ben", "Cem"),
    **given: Any,
) -> Iterator[PageVisitor]:
    """Somebody who is signed in at a service with the pool `small`."""
    store = new_store(folder, durable=False)
    with client_of(store) as client:
        sent = {"name": "small", "dates": False, "stakeholders": [{"name": n} for n in people]}
        assert client.post("/v1/pools", json=sent | given).status_code == 201
    with client_of(store, role) as client:
        secret = client.headers.pop("authorization").removeprefix("Bearer ")
        answer = client.post("/sign-in", data={"token": secret})
        assert answer.status_code == 200, answer.text
        yield PageVisitor(client)
    store.close()
