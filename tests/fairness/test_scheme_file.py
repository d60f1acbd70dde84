"""Scheme files that are not what they should be: one sentence each, and at once."""

from __future__ import annotations

import os
import time

import pytest

from evenhand import Every
from evenhand.errors import BadFile, BadParameter, EvenhandError, SchemeFileError
from evenhand.fairness.scheme_file import DEEPEST, from_toml, read_scheme_file
from evenhand.fairness.status.status import Window

HUGE = "1" + "0" * 400
WHOLE = "must be a whole number from 1 to 2,147,483,647"
DEEP = "more than 20 tables or lists inside each other"
LARGE = "a whole number of more than 64 bits"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"empty = {HUGE}", LARGE),
        (f"empty = {'9' * 5000}", LARGE),
        (f'filter = {{ name = "every", period = {HUGE} }}', LARGE),
        (f'status = {{ name = "capped", cap = {HUGE} }}', LARGE),
        (f'welfare = {{ name = "generalised_gini", weights = [1, {HUGE}] }}', LARGE),
        (f"empty = -{2**63 + 1}", LARGE),
        ("empty = " + "[" * 10_000 + "]" * 10_000, DEEP),
        ("empty = " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), DEEP),
        (".".join(["a"] * 20_000) + " = 1", DEEP),
        (".".join(['"a"'] * 20_000) + " = 1", DEEP),
        ("status = { " + ".".join(["of"] * 20_000) + " = 1 }", DEEP),
        ("[status" + ".of" * 3000 + "]\nname = 'returns'", DEEP),
        ('filter = { name = "every", period = "often" }', WHOLE),
        ('filter = { name = "every", period = [1] }', WHOLE),
        ('filter = { name = "every", period = inf }', WHOLE),
        ('filter = { name = "every", period = 1000000000000 }', WHOLE),
        ('status = { name = "window", length = 1000000000000 }', WHOLE),
        ('status = { name = "window", length = nan }', WHOLE),
        ('status = { name = "window", length = true }', WHOLE),
        ('status = { name = "modulo", modulus = inf }', WHOLE),
        ('status = { name = "per_entitlement", entitlements = [nan] }', "holds nan"),
        ('status = ["returns"]', "must be a name, or a table"),
        ("welfare = 5", "must be a name, or a table"),
        ("status = { name = 5 }", "must be a name, or a table"),
        ("empty = nan", "empty holds nan"),
        ("empty = 2021-01-01", "must be a number"),
        ("\0\1", "not valid TOML"),
    ],
)
def test_a_scheme_that_cannot_be_is_refused_in_a_sentence(text, words):
    started = time.perf_counter()
    with pytest.raises(EvenhandError) as caught:
        from_toml(text)
    assert words in str(caught.value)
    assert time.perf_counter() - started < 5  # a hang, not a benchmark


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("empty = " + "[" * DEEPEST + "]" * DEEPEST, "empty is .* must be a number"),
        (f'status = "{"." * DEEPEST}"', "there is no status|there are returns"),
        (f"empty = {2**63}", LARGE),
        (f"empty = -{2**63 + 1}", LARGE),
    ],
)
def test_depth_and_size_are_refused_only_beyond_the_limit(text, words):
    with pytest.raises(EvenhandError, match=words):
        from_toml(text)


def test_what_is_large_but_can_be_is_read():
    scheme = from_toml(f'filter = {{ name = "every", period = {2**31 - 1} }}\nempty = {-(2**63)}')
    assert scheme.filter == Every(2**31 - 1)
    assert scheme.empty == -(2**63)
    assert from_toml(f"empty = {2**63 - 1}").empty == 2.0**63
    dots = "# " + "." * 100 + "\nempty = 1.5"
    assert from_toml(dots).empty == 1.5
    weights = ", ".join(f"{1 - k / 1000:.3f}" for k in range(500))
    assert from_toml(f'welfare = {{ name = "generalised_gini", weights = [{weights}] }}')


def test_a_window_is_not_larger_than_there_is_room_for():
    assert Window(3).init(2).shape == (3, 2)
    assert Window(2**27).init(1).shape == (2**27, 1)  # 1 GB, which takes no room while it is empty
    with pytest.raises(BadParameter, match=r"would take 1 GB, and at most 1 is given"):
        Window(2**27 + 1).init(1)
    with pytest.raises(BadParameter, match=r"a window of so many steps of 2 .* would take 16 GB"):
        Window(2**30).init(2)
    for length in (2.5, 3.0):
        with pytest.raises(BadParameter, match=WHOLE):
            Window(length)


def test_a_scheme_file_has_at_most_16_megabytes(tmp_path):
    path = tmp_path / "scheme.toml"
    path.touch()
    os.truncate(path, (16 << 20) + 1)  # of nothing: no room is taken, and none of it is read
    with pytest.raises(BadFile, match="has at most 16 MB"):
        read_scheme_file(path)


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "scheme.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadFile, match="line 1 is not UTF-8"):
        read_scheme_file(path)
    path.write_bytes(b"empty = 1\n\n# \xff\n")
    with pytest.raises(BadFile, match="line 3 is not UTF-8"):
        read_scheme_file(path)
    path.write_text(f"empty = {HUGE}")
    with pytest.raises(SchemeFileError, match=r"scheme\.toml: the scheme holds a whole number"):
        read_scheme_file(path)
