"""The audit of a pool on the page, its alarms, and the routes of all pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from evenhand._util.wording import as_beginning
from evenhand.errors import EvenhandError, as_sentence
from evenhand.report.html.element import Markup, element
from evenhand.serve.api import log_routes
from evenhand.serve.api.middleware import TITLES, Role, require_role
from evenhand.serve.api.reference import with_code
from evenhand.serve.pages.frame import (
    Handler,
    PageDoor,
    SignIn,
    Visit,
    ask_to_sign_in,
    button,
    choice,
    cookie_of,
    frame,
    pool_frame,
    see,
    sign_out,
    status_of,
)
from evenhand.serve.pages.imports import ImportPages, UploadShelf, make_pool, new_pool_page
from evenhand.serve.pages.people import happen, person_page, standing_page
from evenhand.serve.pages.pool import (
    decision_page,
    log_page,
    person_link,
    pool_list,
    pool_page,
    take,
    take_otherwise,
    undo,
)
from evenhand.serve.pools.pool import LivePool

# Alarms on the page: whether anybody is behind by more than a fair lottery explains.

ALPHA = 0.05
AT_ONCE = 20_000  # entries of a log that is watched whenever somebody looks


async def alarm_section(visit: Visit, pool: str) -> Markup:
    """The section; of a long log only if it is asked for."""
    live = await visit.live(pool)
    if live.number > AT_ONCE and not visit.asked("alarms"):
        link = element("a", {"href": f"/pools/{pool}/judged?alarms=yes#alarms"}, "Look for alarms")
        content: Any = element("p", None, link, ", which takes a moment for a log of this length.")
    elif not live.decisions:
        content = element("p", {"class": "soft"}, "No decision was taken yet.")
    else:
        content = await _found(visit, live)
    return element(
        "section",
        {"id": "alarms", "aria-labelledby": "alarms-title"},
        element("h2", {"id": "alarms-title"}, "Is anybody left behind?"),
        content,
    )


async def _found(visit: Visit, live: LivePool) -> Any:
    try:
        found = await visit.service.alarms(live.name, ALPHA)
    except EvenhandError as error:
        sentence = as_sentence(str(error))
        return element("p", {"class": "soft"}, as_beginning(sentence))
    raised = [_alarm(live, one) for one in found["raised"]]
    if not raised:
        words = found["sentence"].replace("No alarm: ", "Nobody: ")
        content: Any = element("p", {"class": "done"}, words)
    else:
        content = element("ul", {"class": "alarms"}, raised)
    about = (
        "An alarm is raised when somebody is behind by more than a fair lottery among those there "
        f"explains. The probability of ever raising a false one is at most {ALPHA:.0%}."
    )
    notes = [element("p", {"class": "soft"}, note) for note in (about, *found["notes"])]
    return (content, *notes)


def _alarm(live: LivePool, one: Mapping[str, Any]) -> Markup:
    words = (
        " is behind by more than a fair lottery explains. The evidence begins at "
        f"{one['since']}; the alarm was raised at {one['time']}."
    )
    return element("li", {"class": "wrong"}, person_link(live, one["name"]), words)


# The audit of a pool, and its log as files.

PERIODS = ("day", "week", "month", "quarter", "year")
FILES = (
    ("export.csv", "Decisions as CSV", "what `evenhand audit` and every spreadsheet reads"),
    ("export.parquet", "Decisions as Parquet", "for dataframes and databases"),
    ("roster.csv", "People as CSV", "who was there from when until when"),
    ("requests.csv", "Requests as CSV", "who asked for how much and when"),
)


async def judged_page(visit: Visit, pool: str) -> Response:
    """The page."""
    live = await visit.live(pool)
    dates, own = live.definition.dates, live.definition.audit
    asks = live.allocator.state.by_request
    first = "As the pool says" if own else "After every decision"
    looks = [("", first), *((p, f"At the end of every {p}") for p in PERIODS if dates)]
    looks.append(("end", "Once, at the end"))
    form = element(
        "form",
        {"method": "get", "action": f"/pools/{pool}/audit", "class": "row"},
        choice("When to look", "every", looks),
        button("Open the audit", "strong"),
    )
    files = (
        element(
            "li",
            None,
            element("a", {"href": f"/pools/{pool}/{file}"}, words),
            element("span", {"class": "remark"}, with_code(use)),
        )
        for file, words, use in FILES
        if file != "requests.csv" or asks
    )
    return pool_frame(visit, pool, "Audit").around(
        element("h1", None, "Was it fair all along?"),
        element(
            "p",
            None,
            "The audit judges every decision so far: who was worse off, when, and whether they "
            "recovered. It is a page that can be saved and sent.",
        ),
        form,
        await alarm_section(visit, pool),
        element("h2", None, "The log as a file"),
        element("ul", {"class": "files"}, files),
        element("p", {"class": "soft"}, "What was undone is not in these files; the log keeps it."),
    )


async def audit(visit: Visit, pool: str) -> Response:
    """The audit's own page."""
    every = visit.asked("every")
    asked: dict[str, object] = {"every": every} if every else {}
    if every == "end":
        asked = {"at_end": True}
    return await log_routes.audit_page(visit.request, pool, asked)


def file(route: Callable[[Request, str], Awaitable[Response]]) -> Handler:
    """A file that the API has, for those who are signed in."""

    async def handed_out(visit: Visit, pool: str) -> Response:
        return await route(visit.request, pool)

    return handed_out


async def stream(visit: Visit, pool: str) -> Response:
    """What happens, as it happens."""
    return await log_routes.stream(visit.request, pool, visit.asked_number("cursor"))


# Where the pages are, who may open them, and what is shown when something cannot be done.

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
