"""Tables in a terminal: what stands in a log is shown, never obeyed, and never fills the screen."""

from __future__ import annotations

from evenhand.cli.output import print_table


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
