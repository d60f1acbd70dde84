"""Tables in a terminal: what stands in a log is shown, never obeyed, and never fills the screen."""

from __future__ import annotations

import pytest

from evenhand.cli.output import LONGEST_NAME, print_table, shortened, visible


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\t", "two\\nlines\\t"),
        ("\x9b2J", "\\x9b2J"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("Łódź, Île\u00a0de\u202fFrance, 👩‍🔬, می\u200cخواهم", None),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text, expected):
    assert visible(text) == (text if expected is None else expected)


def test_a_long_name_is_shortened_in_the_middle():
    name = "a" * 1500 + "b" * 1500
    assert shortened(name) == "a" * 30 + "…" + "b" * 29
    assert len(shortened(name)) == LONGEST_NAME
    assert shortened(name[:LONGEST_NAME]) == name[:LONGEST_NAME]


def test_a_table_of_names_and_numbers_is_safe_and_short(capsys):
    rows = [("\x1b[31mred", "1"), ("x" * 3000, "2")]
    print_table("T \x1b[0m", ("name", "n"), rows)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out
    assert out.count("x" * 29) == 2
    assert len(out.splitlines()) < 8
    print_table("T", ("name", "what it is"), [("a", "word " * 30)], numbers=False)
    assert capsys.readouterr().out.count("word") == 30  # text is told whole
