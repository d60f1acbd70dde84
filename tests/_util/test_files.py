"""Files of users: what is no file is refused in a sentence, before anybody waits for it."""

from __future__ import annotations

import os
import socket

import pytest

from evenhand._util.files import open_file, read_file, require_file
from evenhand.errors import BadFile


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
