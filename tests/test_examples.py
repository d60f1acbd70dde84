"""Every code block of the README runs as printed, and so does every example script."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.S)


def python_blocks() -> list[tuple[str, str]]:
    """Each Python block with the text block that follows it, which is its output."""
    found = []
    for (language, code), (following, text) in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True):
        if language == "python":
            assert following == "text", f"a Python block shows no output:\n{code}"
            found.append((code, text))
    return found


@pytest.mark.parametrize(("code", "output"), python_blocks())
def test_readme_example_prints_what_it_says(code, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == output


def test_readme_console_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for language, block in BLOCKS:
        if language == "console":
            for target in re.findall(r"^make (\S+)", block, re.M):
                assert re.search(rf"^{target}:", makefile, re.M), target


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_example_scripts_run(script):
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
