"""A store from what names it: a file, or the address of a Postgres database."""

from __future__ import annotations

from evenhand.errors import BadParameter, argument
from evenhand.serve.store.decision_store import DecisionStore
from evenhand.serve.store.sqlite_store import SqliteStore

POSTGRES = ("postgresql://", "postgres://")


def open_store(name: str, create: bool = True) -> DecisionStore:
    """The store of a name, with its tables up to date.

    Args:
        name: The path of a file, or an address such as postgresql://user@host/database.
        create: Whether a file that is not there is made.
    """
    store: DecisionStore
    if name.startswith(POSTGRES):
        from evenhand.serve.store.postgres_store import PostgresStore

        store = PostgresStore(name)
    elif "://" in name:
        raise BadParameter(
            f"{argument('store')} is {name.partition('://')[0]}://…: a store is a file, or an "
            "address of Postgres such as postgresql://user@host/database."
        )
    else:
        store = SqliteStore(name, create)
    try:
        store.migrate()
    except BaseException:
        store.close()
        raise
    return store
