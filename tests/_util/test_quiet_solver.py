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


def test_without_a_stdout_there_is_nothing_to_keep_clean(monkeypatch):
    def none(_):
        raise OSError

    monkeypatch.setattr(os, "dup", none)
    with nothing_on_stdout():
        pass
