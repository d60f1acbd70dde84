"""A copy of a store while it is in use, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from evenhand._util.files import require_apart, require_place
from evenhand.errors import BadParameter, CannotWrite
from evenhand.serve.store.open_store import POSTGRES
from evenhand.serve.store.sqlite_store import SqliteStore


def back_up(name: str, target: Path) -> int:
    """Copy a store to a file: how many entries it holds.

    Args:
        name: The store, a file of SQLite.
        target: The new file; one that is there is replaced.
    """
    if name.startswith(POSTGRES):
        raise BadParameter("a store in Postgres is backed up with pg_dump, while it is in use.")
    require_place(target, "backup")
    require_apart([target], [name])
    store = SqliteStore(name, create=False)
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        store.back_up(beside)
        copy = SqliteStore(beside)
        ((entries,),) = copy.query("SELECT count(*) FROM entries")
        copy.close()
        os.replace(beside, target)
    except OSError as error:
        raise CannotWrite(f"{target} cannot be written: {error.strerror}.") from None
    finally:
        store.close()
        for left in (beside, f"{beside}-wal", f"{beside}-shm"):
            Path(left).unlink(missing_ok=True)
    return int(entries)
