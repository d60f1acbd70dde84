"""Logs are kept for whoever sent them, for a while."""

from __future__ import annotations

import pytest

from evenhand.errors import BadParameter
from evenhand.serve.pages import upload_shelf
from evenhand.serve.pages.upload_shelf import LASTS, MOST, UploadShelf

LOG = b"\xef\xbb\xbfday,who\n1,Ann\n"


def test_only_whoever_sent_it_gets_it():
    shelf = UploadShelf()
    key = shelf.put(LOG, "a.csv", "Ann")
    found = shelf.get(key, "Ann")
    assert (found.columns, found.rows, found.header_row) == (("day", "who"), (("1", "Ann"),), 1)
    for other, name in ((key, "Ben"), ("", "Ann"), ("../x", "Ann")):
        with pytest.raises(BadParameter, match="not kept any more"):
            shelf.get(other, name)
    shelf.drop(key)
    assert not found.path.exists()


def test_it_is_not_kept_for_ever(monkeypatch):
    shelf, now = UploadShelf(), [1000.0]
    monkeypatch.setattr(upload_shelf.time, "time", lambda: now[0])
    key = shelf.put(LOG, "a.csv", "Ann")
    path = shelf.get(key, "Ann").path
    now[0] += LASTS + 1
    with pytest.raises(BadParameter):
        shelf.get(key, "Ann")
    assert not path.exists()


def test_there_are_never_too_many():
    shelf = UploadShelf()
    keys = [shelf.put(LOG, "a.csv", "Ann") for _ in range(MOST + 3)]
    shelf.get(keys[-1], "Ann")
    with pytest.raises(BadParameter):
        shelf.get(keys[0], "Ann")


def test_other_encodings():
    shelf = UploadShelf()
    for content, note in (
        ("day,who\n1,Zoë\n".encode("utf-16"), False),
        ("day,who\n1,Zoë\n".encode("cp1252"), True),
    ):
        found = shelf.get(shelf.put(content, "a.csv", "Ann"), "Ann")
        assert found.rows == (("1", "Zoë"),)
        assert (found.note is not None) == note
