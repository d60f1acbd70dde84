"""The blocks of the documents: code that runs, commands that exist, output as printed.

On a page, in order and in one folder:

- a `python` block runs, and prints exactly the `text` block after it (without one, nothing);
  a block that needs an extra, or has `<!-- slow -->` before it, is run by `make test-system`;
- a `console` block runs, and prints exactly the `text` block after it, if there is one;
- a `sh` block speaks to a running service: tests/serve/test_server.py runs it;
- a `csv`, `jsonl` or `toml` block is written to the file that the paragraph before it names.

In an output `…` matches anything. Blocks with a command that learns are slow: they are parsed by
the real command line, and run by `make test-system`, unless `<!-- run -->` is before them. Commands
that reproduce a figure take hours, and databases and clusters are not available: these are only
parsed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import typer

from evenhand.cli import main
from evenhand.cli.app import app
from places import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXTRAS = ("mo_gymnasium", "stable_baselines3")  # Python that needs them is run by test-system
# Pages that take so long that they are left to `make test-system`.
LONG = {
    *("audit.md", "best.md", "chance.md", "extending.md", "gallery.md", "how-do-i.md"),
    *("looking-ahead.md", "README.md", "replay.md", "report.md"),
    *(f"tutorial-{whose}.md" for whose in ("auditor", "engineer", "operator", "researcher")),
}
NEEDS_EXTRAS = {"interop.md"}  # so is the Python of these pages
EACH_ALONE = {"README.md"}  # every block can be copied by itself
SLOW = {"demo", "benchmark", "train", "evaluate", "compare", "reproduce", "serve"}
HOURS = {"reproduce", "serve", "benchmark"}  # or for ever
FILES = ("csv", "jsonl", "toml")

_FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.S | re.M)
_LOG = "\n".join(
    f"2021-0{month}-{day},{name},{name},{doses}"
    for month, name, doses in [(1, "A", 20), (2, "A", 20), (3, "B", 20), (4, "B", 20)]
    for day in ("10", "30" if month == 4 else "28")
)
# Files that a page may use without making them.
GIVEN = {
    "log.csv": f"date,region,country,doses\n{_LOG}\n",
    "shipments.csv": f"date,region,country,doses\n{_LOG}\n",
    "plan.csv": f"date,region,country,doses\n{_LOG.replace('B,B', 'A,A', 1)}\n",
    "regions.csv": "name\nA\nB\n",
}


@dataclass(frozen=True)
class Block:
    """A fenced block, with the words between it and the one before."""

    language: str
    text: str
    before: str

    @property
    def commands(self) -> list[str]:
        """The lines of a console block, continued ones joined, comments left out."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in lines if line.strip() and not line.startswith("#")]

    @property
    def verbs(self) -> set[str]:
        return {words[1] for words in map(_words, self.commands) if words[0] == "evenhand"}

    @property
    def elsewhere(self) -> bool:
        """Whether a command is or needs a server or a cluster that a page can only speak of."""
        if "serve" in self.verbs:
            return True
        return any(sign in self.text for sign in ("://", "--engine spark", "--ray"))

    @property
    def slow(self) -> bool:
        if self.elsewhere or any(
            command.split()[0] in ("make", "pip") for command in self.commands
        ):
            return True
        return bool(self.verbs & SLOW) and "<!-- run -->" not in self.before

    @property
    def waits(self) -> bool:
        """Whether Python is left to tests/system/test_bridges.py: it needs more, or takes long."""
        return "<!-- slow -->" in self.before or any(name in self.text for name in EXTRAS)

    @property
    def file(self) -> str | None:
        """The file that the block is, as the paragraph before it says."""
        paragraph = self.before.strip().split("\n\n")[-1]
        named = re.findall(rf"`([\w.-]+\.{self.language})`", paragraph)
        return named[-1] if named else None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page; directives of the site are none."""
    text, found, end = page.read_text(), [], 0
    for fence in _FENCE.finditer(text):
        if not fence[1].startswith("{"):
            found.append(Block(fence[1].strip(), fence[2], text[end : fence.start()]))
        end = fence.end()
    return found


def with_output(page: Path) -> list[tuple[Block, str | None]]:
    """Each block with the text that follows it, where one does."""
    pairs = pairwise([*blocks(page), Block("", "", "")])
    return [(one, two.text if two.language == "text" else None) for one, two in pairs]


def same(printed: str, said: str) -> bool:
    """Whether this was printed, but for spaces at the ends of lines and what `…` stands for."""
    pattern = ".*?".join(re.escape(part) for part in _stripped(said).split("…"))
    return re.fullmatch(pattern, _stripped(printed), re.S) is not None


def run_python(code: str, page: Path, names: dict[str, Any]) -> str:
    return _printed_by(lambda: exec(compile(code, page.name, "exec"), names))


def run_console(block: Block) -> str:
    """What the commands of a block print; those of evenhand alone run in this process."""
    printed = []
    for command in block.commands:
        if _is_plain(command):
            printed.append(_run_here(_words(command)))
        else:
            printed.append(_run_in_shell(command))
    return "".join(printed)


def is_ours_and_ends_soon(command: str) -> bool:
    """Whether a command of a slow block is one to run: not `make test`, nor a matter of hours."""
    words = _words(command)
    return words[0] == "evenhand" and words[1] not in HOURS


def read_command(command: str) -> None:
    """Have the real command line read a command, without running it; it exits if it cannot."""
    for words in _simple_commands(command):
        if words[0] == "evenhand" and words[1] not in ("--help", "--version"):
            verb = typer.main.get_command(app).commands[words[1]]  # type: ignore[attr-defined]
            if "--help" not in words:
                verb.make_context(words[1], words[2:])


def _words(command: str) -> list[str]:
    return shlex.split(command, comments=True)


def _simple_commands(command: str) -> list[list[str]]:
    """A line of the shell taken apart at pipes and the like; where output goes is left out."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|;<>&")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    found, skip = [[]], False
    for word in lexer:
        if skip:
            skip = False
        elif word in ("<", ">", ">>"):
            skip = True
        elif set(word) <= set("|;&"):
            found.append([])
        else:
            found[-1].append(word)
    return [words for words in found if words]


def _is_plain(command: str) -> bool:
    words = _words(command)
    simple = _simple_commands(command)
    # The monitor reads standard input, which is the test runner's here.
    return simple == [words] and words[0] == "evenhand" and words[1] != "monitor"


def _run_here(words: list[str]) -> str:
    before, sys.argv = sys.argv, words
    try:
        return _printed_by(main)
    finally:
        sys.argv = before


def _run_in_shell(command: str) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, f"{command}\n{found.stderr}"
    return found.stdout


def _printed_by(action: Callable[[], Any]) -> str:
    """What it writes to standard output, which has a buffer for those who write bytes."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(stream):
        try:
            action()
        except SystemExit as stop:
            if stop.code:
                raise AssertionError(f"it exits with {stop.code}") from stop
    return raw.getvalue().decode()


def _stripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
