"""What is printed past Python while a solver runs does not reach stdout."""

from __future__ import annotations

import os
import threading

import pytest

from evenhand._util.quiet_solver import nothing_on_stdout


@pytest.mark.parametrize(("threads", "elsewhere"), [(1, ""), (2, "stray")])
def test_what_is_written_to_the_file_of_stdout_goes_nowhere(capfd, monkeypatch, threads, elsewhere):
    """Beside another thread, which could be printing, it goes to stderr."""
    monkeypatch.setattr(threading, "active_count", lambda: threads)
    os.write(1, b"before ")
    with nothing_on_stdout():
        os.write(1, b"stray")
    os.write(1, b"after")
    assert capfd.readouterr() == ("before after", elsewhere)


def test_two_solvers_at_once_leave_stdout_where_it_was(capfd):
    """The first to begin is the first to end: it must not take stdout from under the second."""
    begun, ended = threading.Event(), threading.Event()

    def first():
        with nothing_on_stdout():
            begun.set()
            ended.wait(10)

    def second():
        begun.wait(10)
        with nothing_on_stdout():
            ended.set()
            one.join(10)
            os.write(1, b"stray")

    one, other = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    other.start()
    other.join(10)
    os.write(1, b"after")
    assert capfd.readouterr() == ("after", "stray")


def test_without_a_stdout_there_is_nothing_to_keep_clean(monkeypatch):
    def none(_):
        raise OSError

    monkeypatch.setattr(os, "dup", none)
    with nothing_on_stdout():
        pass
