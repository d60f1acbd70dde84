"""`evenhand serve` as the shell runs it, where it does not start: verify, backup, refusals."""

from __future__ import annotations

import json
import sqlite3
import sys

import pytest

from evenhand import cli
from serving import new_store, small_service


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["evenhand", "serve", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def store(tmp_path):
    with small_service(tmp_path) as client:
        for _ in range(3):
            client.post("/v1/pools/small/decisions", json={})
    return tmp_path / "decisions.db"


def test_verify_finds_a_changed_row(run, store):
    code, out, _ = run("--store", store, "--verify")
    assert (code, "small: 7 entries, none changed" in out) == (0, True)
    with sqlite3.connect(store) as other:
        other.execute("UPDATE entries SET body = replace(body, 'Ben', 'Ann') WHERE number = 6")
    other.close()
    code, out, _ = run("--store", store, "--verify")
    assert (code, "entry 6 was changed" in out) == (1, True)
    code, out, _ = run("--store", store, "--verify", "--json")
    assert (code, json.loads(out)["pools"][0]["first_wrong"]) == (1, 6)


def test_backup_copies_the_store(run, store, tmp_path):
    code, out, _ = run("--store", store, "--backup", tmp_path / "copy.db")
    assert (code, "holds 7 entries" in out) == (0, True)
    copy = new_store(tmp_path, "copy.db")
    assert copy.head("small") == 7
    copy.close()


def test_what_is_refused_is_refused_in_a_sentence(run, store, tmp_path, monkeypatch):
    (tmp_path / "bad.toml").write_text("[a]\nrule = 'least'\n")
    (tmp_path / "text.db").write_text("no store\n" * 200)
    for words, arguments in (
        ("one at a time", ("--verify", "--backup", "x.db")),
        ("--rate-limit", ("--rate-limit", "0")),
        ("--everywhere", ("--host", "0.0.0.0")),
        ("65535", ("--port", "65536")),
        ("no rule called 'least'", ("--port", "0", "--pools", tmp_path / "bad.toml")),
        ("no file", ("--port", "0", "--pools", tmp_path / "none.toml")),
        (
            "--new-token asks for the role 'king': it must be one of",
            ("--port", "0", "--new-token", "me:king"),
        ),
        ("mysql://", ("--port", "0", "--store", "mysql://x")),
        ("no store", ("--store", tmp_path / "none.db", "--verify")),
        ("not a file of SQLite", ("--store", tmp_path / "text.db", "--port", "0")),
    ):
        given = () if "--store" in arguments else ("--store", store)
        code, out, err = run(*given, *arguments)
        assert (code, out) == (2, ""), err
        assert err.startswith("evenhand: ")
        assert err.count("\n") == 1
        assert words in err
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = run("--store", store)
    assert (code, "pip install 'evenhand[serve]'" in err) == (2, True)
