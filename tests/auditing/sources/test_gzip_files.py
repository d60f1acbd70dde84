"""Packed logs: those that are cut short, damaged, no gzip at all, or bombs."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

import evenhand
from evenhand.auditing.sources import gzip_files
from evenhand.errors import BadFile

LOG = "who,day,much\n" + "".join(f"p{k % 9},{k % 300},{k * k % 101}\n" for k in range(3000))
ASKED = ("--stakeholder", "who", "--time", "day", "--amount", "much")


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(LOG.encode()))
    return path


def test_a_packed_log_is_the_same_log(packed, tmp_path):
    plain = tmp_path / "log.csv"
    plain.write_text(LOG)
    keywords = {"stakeholder": "who", "time": "day", "amount": "much"}
    expected = evenhand.audit(str(plain), **keywords).score
    assert evenhand.audit(str(packed), **keywords).score == expected
    assert evenhand.audit(str(packed), encoding="latin-1", **keywords).score == expected


def test_no_gzip_at_all(packed, refuses):
    for content in (LOG.encode(), b"\x00"):
        packed.write_bytes(content)
        words = ("log.csv.gz is not packed with gzip, though its name ends in .gz: name it by",)
        refuses(words, str(packed), *ASKED)


def test_cut_short(packed, refuses):
    whole = packed.read_bytes()
    for size in (11, len(whole) // 2, len(whole) - 1):
        packed.write_bytes(whole[:size])
        refuses(("log.csv.gz ends in the middle: it was cut short, so copy",), str(packed), *ASKED)


def test_damaged(packed, refuses):
    whole = bytearray(packed.read_bytes())
    for place in (len(whole) // 2, len(whole) - 6):  # in the data, in its checksum
        damaged = whole.copy()
        damaged[place] ^= 255
        packed.write_bytes(damaged)
        refuses(("log.csv.gz is damaged: copy or download it again",), str(packed), *ASKED)


def test_a_bomb_is_refused_in_little_memory(packed, monkeypatch):
    monkeypatch.setattr(gzip_files, "ALWAYS_FINE", 1 << 24)
    packed.write_bytes(gzip.compress(bytes(1 << 25)))
    tracemalloc.start()
    with pytest.raises(BadFile, match=r"has 31.\d KB and unpacks to more than 16 MB: if you trust"):
        gzip_files.require_gzip(str(packed))
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()


def test_a_long_line_is_refused_and_not_held(packed, refuses):
    packed.write_bytes(gzip.compress(b"who,day,much\n" + b"A" * (1 << 24)))
    refuses(("log.csv.gz cannot be read", "line"), str(packed), *ASKED)
