"""Signing in with a token, once; and out again."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from evenhand.errors import BadParameter, EvenhandError
from evenhand.report.html.element import element
from evenhand.serve.api.context import service_of
from evenhand.serve.api.limits import RateLimit
from evenhand.serve.api.tokens import find_token
from evenhand.serve.pages.forms import button, field, hidden
from evenhand.serve.pages.page_door import COOKIE
from evenhand.serve.pages.page_frame import NOTHING_WRONG, Complaint, PageFrame
from evenhand.serve.pages.sessions import LASTS, Sessions
from evenhand.serve.pages.signed_in import Visit, complaint, fields_of, require_own_site, see

OWN_PAGE = re.compile(r"/(?:new|pools/[A-Za-z0-9][A-Za-z0-9_.-]*(?:/[a-z0-9-]+)*)?")
GUESSES = 5.0  # a second, of one address


def ask_to_sign_in(request: Request, wrong: Complaint = NOTHING_WRONG, to: str = "") -> Response:
    """The one page for those who are not signed in."""
    if _came_from_elsewhere(request):
        # A strict cookie is not sent along a link from elsewhere; it is if the page asks again.
        again = element("meta", {"http-equiv": "refresh", "content": "0"})
        return PageFrame("One moment").around(again, element("p", None, "One moment …"), status=401)
    to = to or request.url.path
    form = element(
        "form",
        {"method": "post", "action": "/sign-in"},
        hidden(to=to if OWN_PAGE.fullmatch(to) else "/"),
        field(
            "Your token",
            "token",
            help="It begins with evh_. The service printed an owner's when it was first started; "
            "an owner can make one for you.",
            type="password",
            autocomplete="current-password",
            required=True,
            autofocus=True,
            maxlength=200,
            aria_describedby="sign-in-wrong" if wrong.sentence else None,
        ),
        wrong.at("sign-in"),
        button("Sign in", "strong"),
    )
    return PageFrame("Sign in").around(
        element("h1", None, "Who is next, and why"),
        element("p", None, "A log of decisions that says whose turn it is, and gives its reasons."),
        element("div", {"class": "card narrow"}, form),
        status=wrong.status if wrong.sentence else 401,
    )


def _came_from_elsewhere(request: Request) -> bool:
    of_page = request.headers.get("sec-fetch-mode") == "navigate" and request.method == "GET"
    return of_page and request.headers.get("sec-fetch-site") == "cross-site"


class SignIn:
    """The form's other end.

    Args:
        sessions: Who is signed in.
    """

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self._guesses = RateLimit(GUESSES)

    async def __call__(self, request: Request) -> Response:
        if request.method == "GET":
            return see("/")
        try:
            require_own_site(request)
            fields = await fields_of(request)
            cookie = self._cookie(request, fields.get("token", "").strip())
        except EvenhandError as error:
            return ask_to_sign_in(request, complaint("sign-in", error, {}), to="/")
        to = fields.get("to", "/")
        answer = see(to if OWN_PAGE.fullmatch(to) else "/")
        answer.set_cookie(
            COOKIE,
            cookie,
            max_age=LASTS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer

    def _cookie(self, request: Request, secret: str) -> str:
        address = request.client.host if request.client else ""
        token = find_token(service_of(request).tokens, secret)
        if token is None:
            if self._guesses.wait(address):
                raise BadParameter("too many attempts: wait a moment.")
            raise BadParameter(
                "this token is not known here: check that all of it was copied, or ask an owner "
                "for a new one."
            )
        return self.sessions.begin(token)


async def sign_out(visit: Visit) -> Response:
    """Let the browser forget who it was."""
    await visit.sent()
    answer = see("/")
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer
