"""Addresses of databases, such as postgresql://user@host/db, and how to show them: no secrets."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote

from evenhand.errors import BadParameter

SCHEMES = {"postgresql": "postgresql", "postgres": "postgresql"}
FILES = ("duckdb", "sqlite")
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.S)
OPTION = re.compile(r"[\w.-]+=")
# What may be shown of an address's options: of any other, who knows what is a secret?
HARMLESS = ("application_name", "connect_timeout", "sslmode", "target_session_attrs")
EXAMPLE = "it looks like postgresql://user@host:5432/database, duckdb:///file or sqlite:///file"


@dataclass(frozen=True)
class Address:
    """The parts of an address; what was not said is left to the database's own settings."""

    scheme: str
    database: str = ""  # or the path of a file
    user: str = ""
    password: str = field(default="", repr=False)
    host: str = ""
    port: str = ""
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        """Without password and options, for people to read."""
        if self.scheme in FILES:
            return f"{self.scheme}:///{self.database}"
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        return f"{self.scheme}://{user}{self.host}{port}/{self.database}"


def is_address(text: str) -> bool:
    """Whether a text is meant as the address of a database."""
    match = ADDRESS.fullmatch(text)
    return match is not None and match[1].lower() in (*SCHEMES, *FILES)


def read_address(text: str) -> Address:
    """The parts of an address, or an error that does not repeat them, as one may be a password."""
    match = ADDRESS.fullmatch(text)
    assert match is not None
    scheme, rest = match[1].lower(), match[2]
    if scheme in FILES:
        if not rest.startswith("/") or len(rest) < 2:
            raise BadParameter(
                f"the address of a {scheme} file has three slashes before a path, and a fourth if "
                f"the path begins with one: {scheme}:///folder/file."
            )
        return Address(scheme, rest[1:])
    rest, _, query = rest.partition("?")
    place, _, database = rest.partition("/")
    user, _, place = place.rpartition("@")
    host, port = _host_and_port(place)
    if "@" in user or "@" in database or (port and not port.isdigit()):
        raise BadParameter(
            f"the address of the database cannot be read: {EXAMPLE}. In a password, write @ as "
            "%40, / as %2F, : as %3A and ? as %3F, or leave it out and set PGPASSWORD."
        )
    name, _, password = user.partition(":")
    return Address(
        SCHEMES[scheme],
        unquote(database),
        unquote(name),
        unquote(password),
        unquote(host),
        port,
        tuple(parse_qsl(query, keep_blank_values=True)),
    )


def _host_and_port(place: str) -> tuple[str, str]:
    if place.startswith("["):  # an IPv6 address
        host, _, port = place[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = place.partition(":")
    return host, port


def shown(text: str) -> str:
    """A text, such as an argument, without the secrets of an address in it.

    >>> shown("postgresql://ann:s3cret@host/db?password=x&sslmode=require")
    'postgresql://ann@host/db?sslmode=require'
    """
    before, scheme, rest = text.partition("://")  # to the end: a password may have spaces in it
    place, mark, query = rest.partition("?")
    if mark and not OPTION.match(query):  # part of a password, not the beginning of options
        place, query = rest, ""
    if "@" in place:
        user, _, place = place.rpartition("@")
        place = f"{user.split(':')[0]}@{place}"
    options = "&".join(one for one in query.split("&") if one.split("=")[0].lower() in HARMLESS)
    return f"{before}{scheme}{place}{'?' if options else ''}{options}"
