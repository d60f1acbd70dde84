"""Streams as the shell hands them over, and what is printed to them."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from evenhand.cli import main
from evenhand.cli.output import print_json
from evenhand.cli.streams import _noticing, require_unicode, say, standard_streams
from evenhand.errors import BadParameter, CannotWrite


def printed(monkeypatch, encoding, print_it):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    with standard_streams():
        print_it()
    return raw.getvalue()


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("ascii", rb"-0.5 ... >= caf\xe9 \u0141"),
        ("latin-1", b"-0.5 ... >= caf\xe9 \\u0141"),
        ("utf-8", "−0.5 … ≥ café Ł".encode()),
    ],
)
def test_what_a_terminal_does_not_know_is_written_in_plain_characters(
    monkeypatch, encoding, expected
):
    assert printed(monkeypatch, encoding, lambda: print("−0.5 … ≥ café Ł", end="")) == expected


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_the_same_in_every_encoding(monkeypatch, encoding):
    value = {"name": "Łódź −1 👩‍🔬"}
    text = printed(monkeypatch, encoding, lambda: print_json(value))
    assert json.loads(text.decode(encoding)) == value


@pytest.mark.parametrize("write_through", [True, False])
def test_a_full_device_is_one_sentence_and_then_silence(write_through):
    with open("/dev/full", "w", encoding="utf-8") as full:
        full.reconfigure(write_through=write_through)
        stream = _noticing(full)
        with pytest.raises(CannotWrite, match=r"standard output cannot be written \(No space left"):
            print("something", file=stream, flush=True)
        stream.flush()  # as Python does when it ends


def test_a_pipe_that_nobody_reads_stays_what_it_is():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        stream = _noticing(pipe)
        with pytest.raises(BrokenPipeError):
            print("something", file=stream, flush=True)
        stream.flush()


def test_an_argument_that_is_not_unicode(monkeypatch, capsys):
    with pytest.raises(BadParameter, match=r"^caf\\xe9.csv is not valid Unicode: write it"):
        require_unicode(["audit", os.fsdecode(b"caf\xe9.csv")])
    monkeypatch.setattr(sys, "argv", ["evenhand", "audit", "\udce9"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith(r"evenhand: \xe9 is not valid Unicode")


def test_a_closed_standard_input_is_one_sentence(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["evenhand", "monitor", "--name", "A"])
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("evenhand: standard input is closed: send events")


def test_nothing_is_said_where_there_is_no_standard_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    say("a sentence")
    assert capsys.readouterr().out == ""
