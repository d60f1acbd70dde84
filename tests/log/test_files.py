"""Logs in files: what cannot be read is refused in a sentence, before anybody waits for it."""

from __future__ import annotations

import contextlib
import os
import shutil
from random import Random

import pandas as pd
import polars as pl
import pyarrow
import pyarrow.parquet
import pytest

import evenhand
from evenhand.errors import BadFile, EvenhandError

LOG = "who,day,much\nA,1,2\nB,2,2\nA,3,1\n"
ASKED = ("--stakeholder", "who", "--time", "day", "--amount", "much")
KEYWORDS = {"stakeholder": "who", "time": "day", "amount": "much"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "is not a file but a pipe: save what it gives to a file"),
        (lambda path: path.symlink_to("/dev/zero"), "is not a file but a device"),
        (lambda path: path.symlink_to("gone"), "is a link to gone, which is not there"),
        (lambda path: path.symlink_to(path), "is a link that leads back to itself"),
        (os.mkdir, "is a folder"),
        (lambda path: None, "there is no file"),
    ],
)
def test_what_is_no_file_is_refused_as_log_roster_and_entitlement(tmp_path, refuses, make, words):
    log, other = tmp_path / "log.csv", tmp_path / "other.csv"
    log.write_text(LOG)
    make(other)
    refuses(("other.csv", words), str(other), *ASKED)
    refuses(("other.csv", words), str(log), *ASKED, "--roster", str(other))
    if os.path.exists(other):  # what does not exist is taken for the name of a column
        refuses(("other.csv", words), str(log), *ASKED, "--entitlement", str(other))


def test_a_log_that_one_may_not_read(tmp_path, refuses, monkeypatch):
    log = tmp_path / "log.csv"
    log.write_text(LOG)
    real = os.open

    def refuse(path, *how, **more):
        if str(path).endswith("log.csv"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *how, **more)

    monkeypatch.setattr(os, "open", refuse)
    refuses(("log.csv cannot be read, as you may not: ask its owner",), str(log), *ASKED)


def test_a_name_that_is_not_unicode(tmp_path):
    log = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")
    with open(log, "w") as file:
        file.write(LOG)
    with pytest.raises(BadFile, match=r"caf\\udce9.csv' is not valid Unicode: rename the file"):
        evenhand.audit(log, **KEYWORDS)


def test_a_column_of_parquet_that_is_there_twice(tmp_path, refuses):
    path, rest = str(tmp_path / "log.parquet"), [["A", "B"], [1, 2], [2, 2]]
    struct = [{"who": 1, "much": 2}] * 2  # whose fields are no columns
    for names, doubled in (
        (("who", "day", "much", "much"), "'much'"),
        (("who", "day", "much", "Much"), "'much' and 'Much'"),
        (("nested", "who", "day", "much", "much"), "'much'"),
    ):
        columns = [*([struct] if "nested" in names else []), *rest, [5, 6]]
        table = pyarrow.table([pyarrow.array(c) for c in columns], names=list(names))
        pyarrow.parquet.write_table(table, path)
        words = (f"has 2 columns called {doubled}, and --amount must name one: give each",)
        refuses(words, path, *ASKED)
    table = pyarrow.table([struct, *rest, [5, 6]], names=["nested", "who", "day", "much", "much_1"])
    pyarrow.parquet.write_table(table, path)
    evenhand.audit(path, **KEYWORDS)  # two columns of two names


def test_a_column_of_a_roster_or_of_entitlements_that_is_there_twice(tmp_path, refuses):
    log, other = tmp_path / "log.csv", tmp_path / "other.csv"
    log.write_text(LOG)
    other.write_text("who,who\nA,B\nB,A\n")
    for given in ("--roster", "--entitlement"):
        words = (f"has 2 columns called 'who', and {given} must name one",)
        refuses(words, str(log), *ASKED, given, str(other))


def flipped(whole: bytes, random: Random) -> bytes:
    """A file with one bit turned over, at every second time in its last part, the directory."""
    place = random.randrange(len(whole) - random.choice((len(whole), 700)), len(whole))
    return whole[:place] + bytes([whole[place] ^ (1 << random.randrange(8))]) + whole[place + 1 :]


@pytest.mark.parametrize("tries", [12, pytest.param(300, marks=pytest.mark.system)])
def test_a_parquet_file_with_a_flipped_bit_is_read_or_refused_in_a_sentence(tmp_path, tries):
    path = tmp_path / "log.parquet"
    rows = 3000
    columns = {
        "who": [f"p{k % 7}" for k in range(rows)],
        "day": [k % 300 for k in range(rows)],
        "much": [k * 1.5 for k in range(rows)],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    whole, random, refused = path.read_bytes(), Random(0), 0
    for _ in range(tries):
        path.write_bytes(flipped(whole, random))
        with contextlib.suppress(EvenhandError):  # and nothing else
            evenhand.audit(str(path), **KEYWORDS, at_end=True)
            continue
        refused += 1
    assert 0 < refused < tries


def test_a_parquet_file_that_is_none_or_cut_short(tmp_path, refuses):
    path, whole = tmp_path / "log.parquet", tmp_path / "whole.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"who": ["A"], "day": [1], "much": [2]}), whole)
    path.write_text(LOG)
    refuses(("log.parquet cannot be read",), str(path), *ASKED)
    shutil.copy(whole, path)
    os.truncate(path, whole.stat().st_size // 2)
    refuses(("log.parquet cannot be read",), str(path), *ASKED)


TABLE = {"who": ["A", "B"], "at": [1, 2], "doses": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            pd.DataFrame(TABLE).assign(at=pd.period_range("2023-01", periods=2, freq="M")),
            r"column 'at' of the table is of the type period\[M\], which cannot be read: make it",
        ),
        (
            pl.DataFrame(TABLE).with_columns(x=pl.Series([{1}, {2}], dtype=pl.Object)),
            "column 'x' of the table is of the type Object, which cannot be read",
        ),
        (
            pd.DataFrame(TABLE).assign(doses=pd.to_timedelta([1, 2], unit="h")),
            "column 'doses' holds durations, which may be counted in seconds, hours or days",
        ),
        (
            pd.DataFrame([["A", 1, 2.0, 3.0]], columns=["who", "at", "doses", "doses"]),
            "the table has more than one column called 'doses': give each a name of its own",
        ),
        (
            pyarrow.table([["A"], [1], [2.0], [3.0]], names=["who", "at", "doses", "doses"]),
            "the table has more than one column called 'doses'",
        ),
    ],
)
def test_a_table_in_memory_that_cannot_be_read_is_refused_in_a_sentence(table, words):
    with pytest.raises(EvenhandError, match=words) as refused:
        evenhand.audit(table, stakeholder="who", time="at", amount="doses")
    assert "\n" not in str(refused.value)
