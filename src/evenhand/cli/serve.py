"""`evenhand serve`: who is next, and why, over HTTP."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand._util.registry import require_packages
from evenhand.cli.output import JsonOption, print_json
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.serve.store.store import DecisionStore

STORE, LISTEN, INSTEAD = "The store", "Where and how it answers", "Instead of serving"


def serve_command(
    store: Annotated[
        str,
        typer.Option(
            help="Where decisions are kept: a file, made if it is not there, or the address of a "
            "Postgres database (postgresql://user@host/db).",
            rich_help_panel=STORE,
        ),
    ] = "decisions.db",
    pools: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file of pools; those that are not in the store yet are made.",
            rich_help_panel=STORE,
        ),
    ] = None,
    policies: Annotated[
        Path | None,
        typer.Option(
            help="A folder of .policy and .plan files (evenhand train --out, evenhand plan "
            "--save): a pool may name one of them as its rule.",
            rich_help_panel=STORE,
        ),
    ] = None,
    new_token: Annotated[
        str | None,
        typer.Option(
            help="Make a token and show it, as NAME or NAME:ROLE (reader, decider, owner).",
            metavar="NAME[:ROLE]",
            rich_help_panel=STORE,
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at.", rich_help_panel=LISTEN)
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="The port; 0 takes a free one.", rich_help_panel=LISTEN)
    ] = 8321,
    everywhere: Annotated[
        bool,
        typer.Option(
            "--everywhere",
            help="Allow a --host that other machines can reach; put TLS in front of it.",
            rich_help_panel=LISTEN,
        ),
    ] = False,
    rate_limit: Annotated[
        float,
        typer.Option(help="Requests a second that a token may make.", rich_help_panel=LISTEN),
    ] = 1000.0,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Check every entry of the log against the digests that chain it; exits with 1 if "
            "one was changed.",
            rich_help_panel=INSTEAD,
        ),
    ] = False,
    backup: Annotated[
        Path | None,
        typer.Option(
            help="Copy the store to this file, also while it is in use (SQLite).",
            rich_help_panel=INSTEAD,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say over HTTP who is next and why, and keep a log of what was decided.

    Example: evenhand serve --store decisions.db

    Prints its address, and a token the first time. /docs shows what can be asked. It stops cleanly
    on Ctrl-C and SIGTERM.
    """
    if verify and backup is not None:
        raise BadParameter("--verify and --backup are two commands: give one at a time.")
    if not rate_limit > 0 or rate_limit == float("inf"):
        raise BadParameter(f"--rate-limit is {rate_limit}: it must be a number above 0.")
    if verify:
        _verify(store, as_json)
    elif backup is not None:
        _back_up(store, backup, as_json)
    else:
        where = host, port, everywhere
        _serve(store, (pools, policies), new_token, where, rate_limit, as_json)


def _serve(
    name: str,
    files: tuple[Path | None, Path | None],
    new_token: str | None,
    where: tuple[str, int, bool],
    rate_limit: float,
    as_json: bool,
) -> None:
    require_packages("fastapi", "uvicorn")
    from evenhand.serve.api.application import make_application
    from evenhand.serve.api.middleware import GateLimits, RequestLog
    from evenhand.serve.pools.files import PolicyFolder
    from evenhand.serve.pools.imports import make_missing_pools, read_pool_file
    from evenhand.serve.server import Listening, run_server
    from evenhand.serve.store.open_store import open_store

    listening = Listening(*where)
    pools, folder = files[0], PolicyFolder(files[1])
    wanted = [] if pools is None else read_pool_file(pools, folder)
    bound = listening.bind()
    try:
        opened = open_store(name)
    except BaseException:
        bound.close()
        raise
    try:
        token = _token(opened, new_token)
        make_missing_pools(opened, wanted)
        log = RequestLog(sys.stderr.buffer)
        limits = GateLimits(per_second=rate_limit)
        gate = make_application(opened, limits, log.write, folder)
        run_server(gate, bound, lambda address: _announce(address, token, name, as_json))
        log.close()
    finally:
        bound.close()
        opened.close()


def _token(store: DecisionStore, wanted: str | None) -> tuple[str, str, str] | None:
    """The name, role and secret of a new token: one that was asked for, or the first."""
    from evenhand.serve.api.middleware import Role, make_token

    if wanted is None and store.tokens():
        return None
    name, colon, role = (wanted or "owner").rpartition(":")
    if not colon:
        name, role = role, Role.OWNER.word
    try:
        read = Role.read(role)
    except BadParameter:
        roles = ", ".join(one.word for one in Role)
        raise BadParameter(
            f"--new-token asks for the role {role!r}: it must be one of {roles}."
        ) from None
    return name, read.word, make_token(store, name, read)


def _announce(address: str, token: tuple[str, str, str] | None, name: str, as_json: bool) -> None:
    from evenhand.log.layout import shown

    if as_json:
        made = None if token is None else dict(zip(("name", "role", "secret"), token, strict=True))
        print_json({"address": address, "store": shown(name), "token": made})
    else:
        print(f"evenhand serves {shown(name)} at {address}: open it in a browser.")
        print(f"For programs, {address}/docs shows what to ask.")
        if token is None:
            print("Use a token that you have; --new-token NAME makes another.")
        else:
            print(f"The token of {token[0]} ({token[1]}), which is not shown again:\n{token[2]}")
    sys.stdout.flush()


def _verify(name: str, as_json: bool) -> None:
    from evenhand.serve.store.open_store import open_store, verify_store

    opened = open_store(name, create=False)
    try:
        found = verify_store(opened)
    finally:
        opened.close()
    _tell([one.to_json() for one in found], [one.sentence for one in found], "pools", as_json)
    if not all(one.is_whole for one in found):
        raise typer.Exit(1)


def _back_up(name: str, target: Path, as_json: bool) -> None:
    from evenhand.serve.store.open_store import back_up

    entries = back_up(name, target)
    sentence = f"{target} holds {entries:,} entries of {name}. To restore, serve it as a --store."
    _tell({"file": str(target), "entries": entries}, [sentence], "backup", as_json)


def _tell(value: Any, sentences: list[str], name: str, as_json: bool) -> None:
    if as_json:
        print_json({name: value})
    else:
        print("\n".join(sentences))
