"""Where the pages are, who may open them, and what is shown when something cannot be done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evenhand.errors import EvenhandError, as_sentence
from evenhand.report.html.element import element
from evenhand.serve.api.context import NotAllowed, require_role
from evenhand.serve.api.problems import TITLES, problem_of
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.decision_page import decision_page, undo
from evenhand.serve.pages.door import PageDoor, cookie_of
from evenhand.serve.pages.log_page import log_page
from evenhand.serve.pages.pool_frame import frame
from evenhand.serve.pages.pool_list import pool_list
from evenhand.serve.pages.pool_page import pool_page, take, take_otherwise
from evenhand.serve.pages.sign_in import SignIn, ask_to_sign_in, sign_out
from evenhand.serve.pages.visit import Handler, Visit

POOL = "/pools/{pool}"
# What is looked at, and what is done; each with the role that it needs.
LOOKS: tuple[tuple[str, Role, Handler], ...] = (
    ("/", Role.READER, pool_list),
    (POOL, Role.READER, pool_page),
    (f"{POOL}/log", Role.READER, log_page),
    (f"{POOL}/decisions/{{number:int}}", Role.READER, decision_page),
)
DOES: tuple[tuple[str, Role, Handler], ...] = (
    ("/sign-out", Role.READER, sign_out),
    (f"{POOL}/take", Role.DECIDER, take),
    (f"{POOL}/otherwise", Role.DECIDER, take_otherwise),
    (f"{POOL}/decisions/{{number:int}}/undo", Role.DECIDER, undo),
)


@dataclass(frozen=True)
class _Endpoint:
    """A page for those who are signed in with a role.

    Args:
        door: Who is signed in.
        role: What they have to be.
        handler: What makes the page of a visit.
    """

    door: PageDoor
    role: Role
    handler: Handler

    async def __call__(self, request: Request) -> Response:
        token, cookie = request.scope["evenhand.token"], cookie_of(request.scope)
        if token is None or cookie is None:
            return ask_to_sign_in(request)
        visit = Visit(request, token, self.door.sessions.form_mark(cookie))
        try:
            require_role(request, self.role)
            return await self.handler(visit, **request.path_params)
        except EvenhandError as error:
            return _cannot(visit, error)


def _cannot(visit: Visit, error: EvenhandError) -> Response:
    """The page that says why there is no other."""
    status = 403 if isinstance(error, NotAllowed) else problem_of(error).status_code
    sentence = as_sentence(str(error))
    return frame(visit, TITLES[status]).around(
        element("h1", None, TITLES[status]),
        element("p", {"class": "wrong", "role": "alert"}, sentence[:1].upper() + sentence[1:]),
        element("p", None, element("a", {"href": "/"}, "To all pools")),
        status=status,
    )


async def _no_icon(request: Request) -> Response:
    return Response(status_code=204)


def page_routes(door: PageDoor) -> list[Route]:
    """All routes of the page."""
    looks = [_route(path, "GET", _Endpoint(door, role, handler)) for path, role, handler in LOOKS]
    does = [_route(path, "POST", _Endpoint(door, role, handler)) for path, role, handler in DOES]
    own = [_route("/favicon.ico", "GET", _no_icon)]
    sign_in = SignIn(door.sessions)
    return [
        *looks,
        *does,
        *own,
        *(_route("/sign-in", method, sign_in) for method in ("GET", "POST")),
    ]


def _route(path: str, method: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    async def answer(request: Request) -> Response:
        request.scope["route"] = route  # by which requests are counted
        return await endpoint(request)

    route = Route(path, answer, methods=[method], include_in_schema=False)
    return route
