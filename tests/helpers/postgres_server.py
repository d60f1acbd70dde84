"""A real Postgres server for tests: made in a temporary folder, on loopback, as nobody special."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ADMIN, READER = "keeper", "reader"
ADMIN_PASSWORD, READER_PASSWORD = "k33p:er/s", "r3@d er"


@dataclass(frozen=True)
class Server:
    """Where a server listens, and how to get in."""

    port: int
    folder: Path

    def url(self, user: str, password: str | None, database: str = "town") -> str:
        from urllib.parse import quote

        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{database}"

    @property
    def admin(self) -> str:
        return self.url(ADMIN, ADMIN_PASSWORD)

    @property
    def reader(self) -> str:
        """The URL of a user who may read, and nothing else."""
        return self.url(READER, READER_PASSWORD)


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, as Debian's package lays them out, or on the path."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    on_path = shutil.which("initdb")
    return Path(found[-1] if found else on_path).parent if found or on_path else None


@contextlib.contextmanager
def running(programs: Path) -> Iterator[Server]:
    """A server with a database `town`, its owner, and a reader; stopped and removed after."""
    with tempfile.TemporaryDirectory(prefix="evenhand-pg-") as name:
        folder = Path(name)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        server = Server(port, folder)
        secret = folder / "secret"
        secret.write_text(ADMIN_PASSWORD)
        plain = _as_nobody_special(folder)
        run = [*plain, str(programs / "initdb"), "-D", str(folder / "data"), "-U", ADMIN]
        run += ["--auth=scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--no-sync"]
        subprocess.run(run, check=True, capture_output=True, cwd=folder)
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -k '{folder}' -c fsync=off"
        control = [*plain, str(programs / "pg_ctl"), "-D", str(folder / "data")]
        log = ["-l", str(folder / "log"), "-w", "-t", "60"]
        subprocess.run([*control, *log, "-o", settings, "start"], check=True, cwd=folder)
        try:
            _furnish(server)
            yield server
        finally:
            stop = [*control, "-m", "immediate", "-w", "stop"]
            subprocess.run(stop, check=True, capture_output=True, cwd=folder)


def _as_nobody_special(folder: Path) -> list[str]:
    """Postgres refuses to run as root: then it runs as its own user, or as nobody."""
    if os.geteuid() != 0:
        return []
    import pwd

    names = {entry.pw_name for entry in pwd.getpwall()}
    user = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, user)
    for file in folder.iterdir():
        shutil.chown(file, user)
    entry = pwd.getpwnam(user)
    ids = [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    return ["setpriv", *ids]


def _furnish(server: Server) -> None:
    import psycopg
    from psycopg import sql

    with psycopg.connect(server.url(ADMIN, ADMIN_PASSWORD, "postgres"), autocommit=True) as first:
        first.execute("CREATE DATABASE town")
        reader, secret = sql.Identifier(READER), sql.Literal(READER_PASSWORD)
        first.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(reader, secret))
    with psycopg.connect(server.admin, autocommit=True) as town:
        town.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(reader))
        # Whatever is made later may be read; nothing may be made, not even a temporary table.
        town.execute(
            sql.SQL("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {}").format(reader)
        )
        town.execute("REVOKE TEMPORARY ON DATABASE town FROM PUBLIC")
