"""Tests of cli.output."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import stat
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import pytest

from evenhand import __version__, cli
from evenhand.cli import main
from evenhand.cli import output as unforeseen
from evenhand.cli.output import (
    _noticing,
    print_json,
    print_table,
    require_unicode,
    say,
    standard_streams,
)
from evenhand.envs.own_environment import load_class
from evenhand.errors import BadParameter, CannotWrite
from evenhand.lab.executors import WorkerBroke

# Tables in a terminal: what stands in a log is shown, never obeyed, and never fills the screen.


def test_a_table_of_names_and_numbers_is_safe_and_short(capsys):
    rows = [("\x1b[31mred", "1"), ("x" * 3000, "2")]
    print_table("T \x1b[0m", ("name", "n"), rows)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert out.count("x" * 29) == 2
    assert len(out.splitlines()) < 8
    print_table("T", ("name", "what it is"), [("a", "word " * 30)], numbers=False)
    assert capsys.readouterr().out.count("word") == 30  # text is told whole


# Streams as the shell hands them over, and what is printed to them.


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


# What nobody foresaw is one sentence on the screen, with the details in a file.


@pytest.fixture
def fails_with(monkeypatch, capsys, tmp_path):
    """What the command line says, and its exit code, when a verb raises."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["evenhand", "audit", "postgresql://me:secret@host/db"])

    def fails_with(raising) -> tuple[int, str]:
        monkeypatch.setattr("evenhand.cli.app.run", raising)
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capsys.readouterr()
        assert captured.out == ""
        return stop.value.code, captured.err

    return fails_with


def raises(error):
    def raising() -> None:
        raise error

    return raising


def calls_itself() -> None:
    calls_itself()


@pytest.mark.parametrize(
    ("raising", "words"),
    [
        (raises(KeyError("status")), "(KeyError: 'status')"),
        (calls_itself, "(RecursionError: maximum recursion depth"),
        (raises(MemoryError()), "(MemoryError)"),
        (raises(OverflowError("too large")), "(OverflowError: too large)"),
        (raises(ImportError("of its own")), "(ImportError: of its own)"),
        (raises(BaseException("a panic")), "(BaseException: a panic)"),
        (raises(ValueError("two\nlines " + "x" * 9999)), "(ValueError: two\\nlines xxx"),
    ],
)
def test_anything_is_one_sentence_and_the_details_are_in_a_file(fails_with, raising, words):
    code, said = fails_with(raising)
    assert code == unforeseen.EXIT_CODE == 70
    assert said.startswith("evenhand: this is a mistake in evenhand, not yours (")
    assert words in said
    assert said.count("\n") == 1
    assert "please report it" in said
    assert len(said) < 600
    assert "Traceback" not in said
    path = Path(re.search(r"The details are in (\S+): ", said)[1])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    details = path.read_text()
    assert f"evenhand {__version__}\ncommand: evenhand audit postgresql://" in details
    assert "secret" not in details
    assert sys.version in details
    assert "Traceback (most recent call last)" in details


def test_without_a_place_for_the_file_the_sentence_says_so(fails_with, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    code, said = fails_with(raises(KeyError("status")))
    assert code == 70
    assert "could not be written to a file (No such file or directory): please report it" in said
    assert said.count("\n") == 1


def test_a_worker_that_broke_tells_its_own_traceback(fails_with, tmp_path):
    code, said = fails_with(raises(WorkerBroke("the process ended", "Traceback\nKeyError: 'x'")))
    assert code == 70
    assert "(WorkerBroke: the process ended)" in said
    (path,) = tmp_path.glob("evenhand-*.txt")
    assert path.read_text().endswith("The process said:\nTraceback\nKeyError: 'x'\n")


def test_libraries_are_not_heard(monkeypatch, capsys):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    monkeypatch.setattr(logging.root, "handlers", [])
    unforeseen.silence_libraries()
    warnings.simplefilter("always")
    warnings.warn("of a library", stacklevel=1)
    logging.getLogger("a library").warning("of a library")
    thread = threading.Thread(target=raises(KeyError("in a thread")))
    thread.start()
    thread.join()
    assert capsys.readouterr() == ("", "")


def test_a_long_name_in_a_users_mistake_does_not_fill_the_screen(fails_with):
    from evenhand.errors import BadFile

    code, said = fails_with(raises(BadFile(f"{'folder/' * 3000} cannot\nbe read\0: name another.")))
    assert code == 2
    assert said.count("\n") == 1
    assert len(said) <= 600
    assert said.endswith("cannot\\nbe read\\x00: name another.\n")


def test_what_a_module_of_a_users_raises_is_not_called_a_mistake_of_ours(
    fails_with, tmp_path, monkeypatch
):
    """It is said where, and nobody is asked to report it."""
    source = (
        "class World:\n    def step(self):\n        raise RuntimeError('the taxi broke down')\n"
    )
    (tmp_path / "taxis_of_mine.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def step() -> None:
        load_class("taxis_of_mine:World")().step()

    code, said = fails_with(step)
    assert code == 2
    assert said == (
        f"evenhand: {tmp_path / 'taxis_of_mine.py'} fails in line 3, in step (RuntimeError: the "
        "taxi broke down): that is code of your own, so mend it there.\n"
    )
    assert not list(tmp_path.glob("evenhand-*"))
    code, said = fails_with(raises(RuntimeError("ours")))  # of which nothing went through theirs
    assert (code, "this is a mistake in evenhand" in said) == (70, True)
