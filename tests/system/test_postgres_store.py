"""What every store does, of one in Postgres; and what a server that goes away is answered with."""

from __future__ import annotations

import psycopg
import pytest

import postgres_server
from evenhand.errors import StoreUnavailable
from evenhand.serve.store.open_store import open_store
from evenhand.serve.store.postgres_store import PostgresStore
from serving import THREE, client_of
from store_laws import *  # noqa: F403

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def server():
    programs = postgres_server.programs()
    if programs is None:
        pytest.skip("no Postgres server is installed")
    with postgres_server.running(programs) as found:
        yield found


@pytest.fixture
def empty(server):
    """The address of a database with nothing in it."""
    with psycopg.connect(server.admin, autocommit=True) as town:
        town.execute("DROP SCHEMA public CASCADE")
        town.execute("CREATE SCHEMA public")
    return server.admin


@pytest.fixture
def bare(empty):
    found = PostgresStore(empty)
    yield found
    found.close()


@pytest.fixture
def store(empty):
    found = open_store(empty)
    yield found
    found.close()


@pytest.fixture
def again(empty):
    return lambda: open_store(empty)


def test_a_service_decides_explains_undoes_and_judges(store):
    """The same answers as on SQLite, which the tests of the API have."""
    base = "/v1/pools/small"
    with client_of(store) as client:
        sent = {"name": "small", "dates": False, "stakeholders": THREE}
        assert client.post("/v1/pools", json=sent).status_code == 201
        key = {"idempotency-key": "once"}
        first = client.post(f"{base}/decisions", json={}, headers=key)
        assert client.post(f"{base}/decisions", json={}, headers=key).content == first.content
        taken = [client.post(f"{base}/decisions", json={}).json() for _ in range(3)]
        assert [one["shares"][0]["name"] for one in taken] == ["Ben", "Cem", "Ann"]
        assert client.post(f"{base}/decisions/6/undo", json={}).status_code == 201
        assert client.get(f"{base}/next").json()["shares"][0]["name"] == "Ben"
        assert "Ben is next of 3" in client.get(f"{base}/why?name=Ben").json()["sentence"]
        assert client.get(f"{base}/decisions/7/why").status_code == 200
        assert client.get(f"{base}/audit").json()["overall"]["score"] > 0
        assert client.get(f"{base}/export.csv").text.count("\n") == 4  # the header and three
        assert client.get(f"{base}/export.parquet").content[:4] == b"PAR1"
    with client_of(store) as client:
        assert client.get(f"{base}/next").json()["shares"][0]["name"] == "Ben"


def test_a_connection_that_was_cut_is_made_anew(store, server):
    store.append([Append(entries(1), new_pool="p")])  # noqa: F405
    assert store.pools() == ["p"]
    with psycopg.connect(server.admin, autocommit=True) as town:
        town.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'evenhand'"
        )
    for ask in (store.pools, lambda: store.append([Append(entries(1, 2)[1:])])):  # noqa: F405
        with pytest.raises(StoreUnavailable, match="Postgres"):
            ask()
        ask()
    assert store.head("p") == 2


def test_no_server(server):
    with pytest.raises(StoreUnavailable, match="check that Postgres runs"):
        open_store("postgresql://nobody@127.0.0.1:1/none")
