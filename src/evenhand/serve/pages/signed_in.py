"""A visit of somebody who is signed in: what they may do, and what they sent."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from evenhand._util.wording import as_beginning
from evenhand.errors import BadParameter, EvenhandError, StaleTurn
from evenhand.report.html.element import Markup, element
from evenhand.serve.api.context import NotAllowed, asked_by, service_of
from evenhand.serve.api.error_responses import problem_of
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.page_frame import Complaint
from evenhand.serve.pools.asked_changes import AskedChange
from evenhand.serve.pools.live_pool import LivePool
from evenhand.serve.pools.service import DecisionService
from evenhand.serve.store.decision_store import StoredToken

SESSION_OVER = "this form is of a session that is over: reload the page, and send it again."
MARK = "mark"  # the field by which a form is known to be of this session


@dataclass(frozen=True)
class Visit:
    """Somebody at the page.

    Args:
        request: What was asked.
        token: Who asks.
        mark: What every form carries (see `Sessions.form_mark`).
    """

    request: Request
    token: StoredToken
    mark: str

    @property
    def service(self) -> DecisionService:
        return service_of(self.request)

    def may(self, role: Role) -> bool:
        return Role.read(self.token.role) >= role

    async def live(self, pool: str) -> LivePool:
        return await self.service.live(pool)

    def asked(self, name: str, otherwise: str = "") -> str:
        """A parameter of the address."""
        return self.request.query_params.get(name, otherwise)

    def asked_number(self, name: str) -> int | None:
        """The same if it is a whole number; anything else is as if it were not there."""
        text = self.asked(name)
        is_number = text.isascii() and text.isdigit() and len(text) < 16
        return int(text) if is_number else None

    def form(self, action: str, *content: Any, upload: bool = False) -> Markup:
        """A form that changes something, which only a page of this session can send."""
        kind = "multipart/form-data" if upload else None
        hidden = element("input", {"type": "hidden", "name": MARK, "value": self.mark})
        attributes = {"method": "post", "action": action, "enctype": kind}
        return element("form", attributes, hidden, content)

    async def sent(self) -> dict[str, str]:
        """The fields of a form, once it is known to come from a page of this session."""
        require_own_site(self.request)
        fields = await fields_of(self.request)
        self.require_mark(fields.get(MARK, ""))
        return fields

    def require_mark(self, mark: str) -> None:
        if not hmac.compare_digest(mark.encode(), self.mark.encode()):
            raise NotAllowed(SESSION_OVER)

    async def asks(self, fields: Mapping[str, str], role: Role = Role.DECIDER) -> AskedChange:
        """Who asks for what a form says; one that is sent twice is known by its key."""
        return await asked_by(self.request, role, fields.get("key"))


def require_own_site(request: Request) -> None:
    """Refuse what a page of another site, or of another port, sends."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        is_own = site in ("same-origin", "none")
    else:
        is_own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not is_own:
        raise NotAllowed("this form comes from another site: send it from the page itself.")


async def fields_of(request: Request) -> dict[str, str]:
    """The fields of a form without files; of two with one name, the last."""
    try:
        text = (await request.body()).decode()
        found = parse_qs(text, keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise BadParameter("the form cannot be read: send it from the page itself.") from None
    return {name: values[-1] for name, values in found.items()}


def see(address: str) -> Response:
    """Go to a page, after something was done."""
    return RedirectResponse(address, 303)


def complaint(form: str, error: EvenhandError, typed: dict[str, str]) -> Complaint:
    """What could not be done, to be shown at its form."""
    sentence = str(error)
    if isinstance(error, StaleTurn):
        sentence = "something else happened in the meantime: this is who is next now."
    typed = {name: value for name, value in typed.items() if name not in (MARK, "key", "turn")}
    return Complaint(form, as_beginning(sentence), typed, status_of(error))


def status_of(error: EvenhandError) -> int:
    """The status of a page on which something could not be done."""
    return 403 if isinstance(error, NotAllowed) else problem_of(error).status_code


Handler = Callable[..., Awaitable[Response]]
