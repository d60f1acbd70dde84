"""Tests of _util.files."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from evenhand._util.files import (
    nothing_on_stdout,
    open_file,
    read_file,
    require_file,
    require_folder,
    require_place,
    write_whole,
)
from evenhand.errors import BadFile, CannotWrite

# Files of users: what is no file is refused in a sentence, before anybody waits for it.


def pipe(path):
    os.mkfifo(path)


def listening(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def dangling(path):
    path.symlink_to(path.parent / "gone")


def looping(path):
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (pipe, "is not a file but a pipe: save what it gives to a file, and name that."),
        (listening, "is not a file but a socket or a device: name a file."),
        (os.mkdir, "is a folder: name a file in it."),
        (dangling, "gone, which is not there: make the link anew, or name the file itself."),
        (looping, "is a link that leads back to itself: name the file that is meant."),
        (lambda path: None, "there is no file '"),
    ],
)
def test_what_is_no_file_is_refused_without_waiting(tmp_path, make, sentence):
    path = tmp_path / "log"
    make(path)
    for read in (open_file, require_file, lambda path: read_file(path, 10)):
        with pytest.raises(BadFile, match="log") as refused:
            read(path)
        assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("/dev/zero", "/dev/zero is not a file but a device: save"),
        ("a\0b", r"'a\x00b' cannot be the name of a file"),
        ("a" * 300, "File name too long"),
    ],
)
def test_names_of_no_file(name, sentence):
    with pytest.raises(BadFile) as refused:
        open_file(name)
    assert sentence in str(refused.value)


def test_a_file_that_is_a_part_of_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(BadFile, match="there is no file"):
        open_file(tmp_path / "file" / "x")


def test_a_file_that_one_may_not_read(monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(BadFile, match=r"^log cannot be read, as you may not: ask its owner"):
        open_file("log")


def test_the_size_is_looked_at_before_anything_is_read(tmp_path):
    path = tmp_path / "large"
    path.write_bytes(b"abc")
    assert read_file(path, 3) == b"abc"
    with pytest.raises(BadFile, match="large has 3 bytes, and a policy has at most 2 bytes: name"):
        read_file(path, 2, "a policy")
    os.truncate(path, 1 << 40)  # a hole, which takes no place
    with pytest.raises(BadFile, match=r"has 1024 GB, and such a file has at most 64 MB"):
        read_file(path, 64 << 20)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (pipe, "page (`out`) cannot be written, as it is a pipe: name a file"),
        (os.mkdir, "page (`out`) cannot be written, as it is a folder: name a file in it."),
        (lambda path: path.symlink_to("/dev/null"), "cannot be written, as it is a device"),
    ],
)
def test_a_place_for_a_file_is_looked_at_before_there_is_anything_to_lose(tmp_path, make, sentence):
    path = tmp_path / "page"
    make(path)
    with pytest.raises(CannotWrite) as refused:
        require_place(path, "out")
    assert sentence in str(refused.value)
    with pytest.raises(CannotWrite, match="cannot be written, as it is"):
        write_whole(path, b"anything")
    assert path.exists()


def test_a_place_that_is_fine_stays_as_it_was(tmp_path):
    path = tmp_path / "page"
    require_place(path, "out")
    assert list(tmp_path.iterdir()) == []
    path.write_text("kept")
    require_place(path, "out")
    assert path.read_text() == "kept"


@pytest.mark.parametrize("name", ["none/page", "page\0", "a" * 300, "file/page"])
def test_a_place_where_no_file_can_be(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite, match=r"\(`out`\) cannot be written \(.*\): choose a folder"):
        require_place(tmp_path / name, "out")
    with pytest.raises(CannotWrite, match=r"cannot be written \(.*\): choose a folder"):
        write_whole(tmp_path / name, b"anything")


def test_a_folder_need_not_be_there_yet(tmp_path):
    require_folder(tmp_path / "new" / "newer", "out")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    for name in ("file", "file/new"):
        with pytest.raises(CannotWrite, match=r"cannot be a folder, as .*file is not one"):
            require_folder(tmp_path / name, "out")


@pytest.mark.parametrize("name", ["a" * 300, "new/" + "a" * 300, "a" * 300 + "/new", "page\0"])
def test_a_folder_that_no_disk_can_have_is_refused_before_any_work(tmp_path, name):
    with pytest.raises(CannotWrite, match=r"\(`out`\) cannot be written \(.*\): choose a folder"):
        require_folder(tmp_path / name, "out")


def test_a_disk_that_is_full_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "page"
    path.write_text("kept")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="page cannot be written: No space left on device"):
        write_whole(path, b"new")
    assert [one.read_text() for one in tmp_path.iterdir()] == ["kept"]


def test_folders_in_each_other_without_end_are_refused_before_one_is_made(tmp_path):
    require_folder(tmp_path / ("y/" * 100), "out")
    with pytest.raises(CannotWrite, match=r"300 folders in each other: choose a name with at most"):
        require_folder("y/" * 300, "out")


# What is printed past Python while a solver runs does not reach stdout.


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
