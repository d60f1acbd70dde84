"""What nobody foresaw is one sentence on the screen, with the details in a file."""

from __future__ import annotations

import logging
import re
import stat
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import pytest

from evenhand import __version__, cli
from evenhand.cli import unexpected_errors as unforeseen
from evenhand.envs.own_environment import load_class
from evenhand.lab.executors import WorkerBroke


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
