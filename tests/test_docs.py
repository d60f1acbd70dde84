"""What the documents say can be done is there to be done."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evenhand.cli.app import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_command_and_option_in_the_documents_exists(page):
    text = page.read_text()
    blocks = re.findall(r"```console\n(.*?)```", text, re.S)
    inline = re.findall(r"`(evenhand [^`]+)`", text)
    commands = [c for block in blocks for c in block.splitlines() if c.startswith("evenhand ")]
    for command in [*commands, *inline]:
        _, verb, *words = command.split()
        answer = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "200"})
        assert answer.exit_code == 0, command
        for option in (word for word in words if word.startswith("--")):
            assert option in answer.output, command


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target
