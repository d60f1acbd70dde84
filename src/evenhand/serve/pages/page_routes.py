"""Where the pages are, who may open them, and what is shown when something cannot be done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evenhand._util.wording import as_beginning
from evenhand.errors import EvenhandError, as_sentence
from evenhand.report.html.element import element
from evenhand.serve.api import log_routes
from evenhand.serve.api.context import require_role
from evenhand.serve.api.error_responses import TITLES
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.decision_page import decision_page, undo
from evenhand.serve.pages.event_form import happen
from evenhand.serve.pages.import_page import ImportPages
from evenhand.serve.pages.judged_page import audit, file, judged_page, stream
from evenhand.serve.pages.log_page import log_page
from evenhand.serve.pages.new_pool_page import make_pool, new_pool_page
from evenhand.serve.pages.page_door import PageDoor, cookie_of
from evenhand.serve.pages.person_page import person_page
from evenhand.serve.pages.pool_frame import frame
from evenhand.serve.pages.pool_list import pool_list
from evenhand.serve.pages.pool_page import pool_page, take, take_otherwise
from evenhand.serve.pages.sign_in import SignIn, ask_to_sign_in, sign_out
from evenhand.serve.pages.signed_in import Handler, Visit, see, status_of
from evenhand.serve.pages.standing_page import standing_page
from evenhand.serve.pages.upload_shelf import UploadShelf

POOL = "/pools/{pool}"
# What is looked at, and what is done; each with the role that it needs.
LOOKS: tuple[tuple[str, Role, Handler], ...] = (
    ("/", Role.READER, pool_list),
    ("/new", Role.OWNER, new_pool_page),
    (POOL, Role.READER, pool_page),
    (f"{POOL}/standing", Role.READER, standing_page),
    (f"{POOL}/log", Role.READER, log_page),
    (f"{POOL}/people/{{place:int}}", Role.READER, person_page),
    (f"{POOL}/judged", Role.READER, judged_page),
    (f"{POOL}/audit", Role.READER, audit),
    (f"{POOL}/export.csv", Role.READER, file(log_routes.export)),
    (f"{POOL}/export.parquet", Role.READER, file(log_routes.export_parquet)),
    (f"{POOL}/roster.csv", Role.READER, file(log_routes.roster)),
    (f"{POOL}/requests.csv", Role.READER, file(log_routes.requests)),
    (f"{POOL}/stream", Role.READER, stream),
    (f"{POOL}/decisions/{{number:int}}", Role.READER, decision_page),
)
DOES: tuple[tuple[str, Role, Handler], ...] = (
    ("/sign-out", Role.READER, sign_out),
    ("/new", Role.OWNER, make_pool),
    (f"{POOL}/take", Role.DECIDER, take),
    (f"{POOL}/otherwise", Role.DECIDER, take_otherwise),
    (f"{POOL}/happen", Role.DECIDER, happen),
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
    status = status_of(error)
    sentence = as_sentence(str(error))
    return frame(visit, TITLES[status]).around(
        element("h1", None, TITLES[status]),
        element("p", {"class": "wrong", "role": "alert"}, as_beginning(sentence)),
        element("p", None, element("a", {"href": "/"}, "To all pools")),
        status=status,
    )


async def _no_icon(request: Request) -> Response:
    return Response(status_code=204)


def page_routes(door: PageDoor) -> list[Route]:
    """All routes of the page."""
    imports = ImportPages(UploadShelf())
    steps: tuple[tuple[str, Role, Handler], ...] = (
        ("/new/import", Role.OWNER, imports.upload),
        ("/new/columns", Role.OWNER, imports.carry_out),
    )
    sign_in = SignIn(door.sessions)
    found = [_route("/favicon.ico", "GET", _no_icon)]
    found += [_route("/sign-in", method, sign_in) for method in ("GET", "POST")]
    found += [_route(path, "GET", _Endpoint(door, role, look)) for path, role, look in LOOKS]
    for path, role, does in (*DOES, *steps):
        found.append(_route(path, "POST", _Endpoint(door, role, does)))
        if path not in [looked for looked, _, _ in LOOKS]:
            found.append(_route(path, "GET", _page_of_form))
    return found


async def _page_of_form(request: Request) -> Response:
    """Where a form only is sent to there is nothing to see: go to its page."""
    return see(request.url.path.rpartition("/")[0] or "/")


def _route(path: str, method: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    async def answer(request: Request) -> Response:
        request.scope["route"] = route  # by which requests are counted
        return await endpoint(request)

    route = Route(path, answer, methods=[method], include_in_schema=False)
    return route
