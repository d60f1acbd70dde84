"""The frame of every page: signing in and out, sessions, and where a complaint stands."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlsplit

from itsdangerous import BadData, Signer, URLSafeTimedSerializer
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from evenhand._util.wording import as_beginning
from evenhand.errors import BadParameter, EvenhandError, StaleTurn, as_sentence
from evenhand.report.html.element import (
    LONG_NAME,
    Child,
    Markup,
    asset,
    digest,
    element,
    inline,
    joined,
)
from evenhand.serve.api.middleware import (
    NotAllowed,
    RateLimit,
    Role,
    asked_by,
    find_token,
    problem_of,
    service_of,
)
from evenhand.serve.pools.pool import AskedChange, LivePool
from evenhand.serve.pools.service import DecisionService
from evenhand.serve.store.store import StoredToken

# The frame of every page: its head, its way around, its policy, and where a complaint stands.

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


# The parts of forms: fields with their labels, buttons, and a choice of somebody.

MOST_OPTIONS = 300  # people to choose from in a list; of more, the name is typed
LARGEST = 1e15


def hidden(**values: str) -> Markup:
    """Fields that are not shown."""
    return joined(
        element("input", {"type": "hidden", "name": name, "value": value})
        for name, value in values.items()
    )


def once() -> Markup:
    """A key by which a form that is sent twice is known, so that nothing happens twice."""
    return hidden(key=str(uuid.uuid4()))


def form_field(
    label: str, name: str, value: str = "", help: Child = None, **attributes: Any
) -> Markup:
    """A field of one line with its label."""
    own = {"id": _place(name, attributes), "name": name, "value": value, **_plain(attributes)}
    return _labelled(label, own["id"], element("input", own), help)


def choice(
    label: str,
    name: str,
    options: Iterable[tuple[str, str]],
    chosen: str = "",
    help: Child = None,
    **attributes: Any,
) -> Markup:
    """A list to choose from: pairs of a value and its words."""
    own = {"id": _place(name, attributes), "name": name, **_plain(attributes)}
    items = (
        element(
            "option", {"value": value, "selected": value == chosen, "dir": "auto"}, _short(text)
        )
        for value, text in options
    )
    return _labelled(label, own["id"], element("select", own, items), help)


def text_area(label: str, name: str, value: str, help: Child = None, **attributes: Any) -> Markup:
    """A field of several lines."""
    own = {"id": _place(name, attributes), "name": name, **_plain(attributes)}
    # A browser drops a line end right after the tag.
    return _labelled(label, own["id"], element("textarea", own, f"\n{value}"), help)


def button(words: Child, kind: str = "", **attributes: Any) -> Markup:
    """What sends a form."""
    own = {"type": "submit", "id": attributes.get("id"), "class": kind or None}
    own |= _plain(attributes)
    return element("button", own, words)


def somebody(pool: LivePool, label: str, typed: Mapping[str, str], **attributes: Any) -> Markup:
    """A choice of somebody who is there: from a list, or by name where the list would be long."""
    state, names = pool.allocator.state, pool.allocator.names
    there = [k for k in range(len(names)) if state.there[k]]
    if len(there) > MOST_OPTIONS:
        value = typed.get("name", "")
        return form_field(label, "name", value, "The name, exactly as it is.", **attributes)
    options = [("", "Choose …"), *((str(k), _short(names[k])) for k in there)]
    return choice(label, "place", options, typed.get("place", ""), **attributes)


def somebody_in(pool: LivePool, fields: Mapping[str, str]) -> str:
    """Whose name was chosen or typed."""
    names = pool.allocator.names
    if "place" not in fields:
        return names[pool.allocator.place_of(fields.get("name", ""))]
    return name_at(pool, fields["place"])


def name_at(pool: LivePool, place: str) -> str:
    """Whose place it is."""
    names = pool.allocator.names
    if not (place.isascii() and place.isdigit() and len(place) < 12 and int(place) < len(names)):
        raise BadParameter("nobody was chosen: choose somebody from the list.")
    return names[int(place)]


def number_in(fields: Mapping[str, str], name: str, words: str, otherwise: float) -> float:
    """A number above 0 that was typed."""
    text = fields.get(name, "").strip()
    try:
        found = float(text) if text else otherwise
    except ValueError:
        found = 0.0
    if not 0 < found <= LARGEST:
        raise BadParameter(f"{words} is {text!r}: it must be a number above 0, such as 1 or 2.5.")
    return found


def count_in(fields: Mapping[str, str], name: str, words: str, most: int) -> int:
    """A whole number from 1 that was typed; 1 if none was."""
    text = fields.get(name, "").strip() or "1"
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise BadParameter(f"{words} is {text!r}: it must be a whole number from 1 to {most:,}.")
    return int(text)


def folded(words: Child, *content: Child, is_open: bool = False) -> Markup:
    """Content that a click shows."""
    return element(
        "details", {"class": "more", "open": is_open}, element("summary", None, words), content
    )


def _labelled(label: str, place: Any, control: Markup, help: Child) -> Markup:
    note = None if help is None else element("span", {"class": "help"}, help)
    return element(
        "div", {"class": "field"}, element("label", {"for": place}, label), control, note
    )


def _place(name: str, attributes: dict[str, Any]) -> str:
    return str(attributes.get("id", name))


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in attributes.items() if name != "id"}


def _short(text: str) -> str:
    return text if len(text) <= LONG_NAME else f"{text[: LONG_NAME - 1]}…"


# Who is signed in at the page: a cookie that only this process can make, and that ends.
#
# The cookie does not hold the token: cookies of one host go to all of its ports, so whatever else
# runs on the machine may see it. It ends with the process, after some hours, and with its token.

LASTS = 12 * 3600  # seconds
COOKIE_TEXT = re.compile(r"[A-Za-z0-9_.-]+")  # of which each cookie is written in one way alone
# A signature of 48 bytes fills its letters, so that no other letters stand for the same.
SIGNED: dict[str, Any] = {"digest_method": hashlib.sha384, "key_derivation": "hmac"}


class Sessions:
    """Cookies, made and read.

    Args:
        key: What they are signed with; a new secret by default.
    """

    def __init__(self, key: bytes | None = None) -> None:
        key = secrets.token_bytes(32) if key is None else key
        self._cookies = URLSafeTimedSerializer(key, "session", signer_kwargs=SIGNED)
        self._tokens = Signer(key, "token", **SIGNED)
        self._forms = Signer(key, "form", **SIGNED)

    def begin(self, token: StoredToken) -> str:
        """The cookie of somebody who has shown a token."""
        seal = self._tokens.get_signature(token.hash).decode()
        cookie = self._cookies.dumps([token.name, secrets.token_urlsafe(16), seal])
        return cookie if isinstance(cookie, str) else cookie.decode()

    def visitor(self, cookie: str, tokens: Iterable[StoredToken]) -> StoredToken | None:
        """Whose cookie it is: nobody's if it is not ours, is over, or its token was taken back."""
        if not COOKIE_TEXT.fullmatch(cookie):
            return None
        try:
            name, _, seal = self._cookies.loads(cookie, max_age=LASTS)
        except BadData:
            return None
        token = next((one for one in tokens if one.name == name), None)
        is_own = token is not None and self._tokens.verify_signature(token.hash, seal)
        return token if is_own else None

    def form_mark(self, cookie: str) -> str:
        """What every form of a session carries, so that no other site can send one."""
        return self._forms.get_signature(cookie).decode()


# The door for people: a cookie lets them in to the page alone; the API takes tokens.

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


# A visit of somebody who is signed in: what they may do, and what they sent.

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


# The frame of the pages of one pool, and of those of no pool.

TABS = (
    ("Who is next", ""),
    ("Standing", "/standing"),
    ("Log", "/log"),
    ("Audit", "/judged"),
)


def frame(visit: Visit, title: str) -> PageFrame:
    """The frame of a page that is about no pool."""
    return PageFrame(title, signed_in=_signed_in(visit))


def pool_frame(visit: Visit, pool: str, tab: str | None, title: str | None = None) -> PageFrame:
    """The frame of a page of a pool.

    Args:
        visit: Who looks.
        pool: The name of the pool.
        tab: Which of the tabs it is; None of a page below them.
        title: The title, if not the tab's.
    """
    home = f"/pools/{pool}"
    tabs = tuple((name, None if name == tab else home + path) for name, path in TABS)
    written = visit.service.room(pool).written
    return PageFrame(
        f"{title or tab}: {pool}",
        trail=((pool, home),),
        tabs=tabs,
        signed_in=_signed_in(visit),
        stream=f"{home}/stream?cursor={written}",
    )


def _signed_in(visit: Visit) -> Markup:
    name, role = visit.token.name, visit.token.role
    as_what = None if name == role else f" ({role})"
    words = element("span", {"class": "soft"}, element("bdi", None, name), as_what)
    return visit.form("/sign-out", words, " ", button("Sign out", "quiet"))


# Signing in with a token, once; and out again.

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
        form_field(
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
