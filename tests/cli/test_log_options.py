"""Tests of cli.log_options."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest

from command_line import evenhand
from evenhand.cli.audit import audit_command
from evenhand.cli.log_options import borrow_options, is_log, judging_options, reading_options
from evenhand.cli.replay import READING, replay_command
from evenhand.log.options import AuditOptions

# Options that one command takes of another: the same, in the help too.


def test_borrowed_options_are_those_of_the_lender():
    lent = inspect.signature(audit_command, eval_str=True).parameters
    own = inspect.signature(replay_command).parameters
    assert set(READING) <= set(own)
    for name in READING:
        mine, theirs = own[name].annotation, lent[name].annotation
        assert mine.__origin__ == theirs.__origin__
        assert vars(mine.__metadata__[0]) == vars(theirs.__metadata__[0])
        assert own[name].default == lent[name].default
    assert "reading" not in own


def test_an_audit_has_an_option_for_each_argument_of_the_library():
    """So that what was given can be handed on by name, and nothing is forgotten on the way."""
    declared = [*inspect.signature(reading_options).parameters]
    declared += inspect.signature(judging_options).parameters
    assert sorted(declared) == sorted(one.name for one in fields(AuditOptions))


def test_all_are_borrowed_by_default_and_come_after_what_is_required():
    def lender(one: int = 1, two: str = "2") -> None: ...

    @borrow_options(lender, into="given")
    def command(log: str, given: dict[str, object], last: bool = False) -> object:
        return log, given, last

    assert [*inspect.signature(command).parameters] == ["log", "one", "two", "last"]
    assert command(log="a", one=3, two="b", last=True) == ("a", {"one": 3, "two": "b"}, True)


# `evenhand train LOG`: what is a log, and what cannot be learned from, in a sentence each.

COLUMNS = ("--stakeholder", "who", "--time", "day", "--amount", "doses")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Three weeks of two people."""
    path = tmp_path_factory.mktemp("logs") / "log.csv"
    rows = [f"2024-01-{day:02},{'AB'[day % 2]},{1 + day % 3}\n" for day in range(1, 22)]
    path.write_text("day,who,doses\n" + "".join(rows))
    return path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("doughnuts", False),
        ("my.module:Shop", False),
        ("missing.csv", True),
        ("folder/*.parquet", True),
        ("postgresql://host/base", True),
    ],
)
def test_what_is_taken_for_a_log(name, expected):
    assert is_log(name) is expected


def test_a_file_of_any_name_is_a_log(log, tmp_path):
    plain = tmp_path / "doughnut_log"
    plain.write_text(log.read_text())
    assert is_log(str(plain))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ("--until", "2024-01-05"),
            "too short to be cut into blocks: it covers 5 days, and a block is 7",
        ),
        (("--block", "4w"), "and a block is 4 weeks. Use more of the log (--until), or shorter"),
        (("--block", "12h"), "--block is '12h': give whole days, such as 7d."),
        (("--until", "2023-01-01"), "begins after --until"),
        (("--every", "year"), "nothing is assessed (every year)"),
        (("--temporal", "worst"), "Worst"),
        (("--asked", "doses2"), "doses2"),
        (("--tabular",), "a world from a log is learned with networks: leave --tabular out."),
        (("--stakeholders", "3"), "--stakeholders is for an environment, and this is a log"),
        (("--presence", "0.5"), "--presence is for an environment, and this is a log"),
    ],
)
def test_a_log_that_cannot_be_learned_from_is_refused_in_a_sentence(log, tmp_path, options, words):
    out = tmp_path / "fair.policy"
    done = evenhand("train", str(log), *COLUMNS, *options, "--out", str(out))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("evenhand: ")
    assert words in done.stderr
    assert not out.exists()


def test_a_log_that_is_not_there_is_refused(tmp_path):
    done = evenhand("train", str(tmp_path / "none.csv"), *COLUMNS)
    assert (done.returncode, done.stdout) == (2, "")
    assert "none.csv" in done.stderr


def test_columns_that_are_not_named_are_asked_for_with_the_command_to_run(log):
    done = evenhand("train", str(log))
    assert done.returncode == 2
    assert "evenhand train" in done.stdout
    assert "--stakeholder who" in done.stdout


@pytest.mark.parametrize(
    "option",
    [("--stakeholder", "who"), ("--block", "7d"), ("--cumulative",), ("--after-each", "0")],
)
def test_how_a_log_is_read_is_refused_for_an_environment(option):
    done = evenhand("train", "doughnuts", *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option[0]} says how a log is read, and doughnuts is an environment" in done.stderr
