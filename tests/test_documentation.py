"""The commands, options, links and names in the documents exist."""

from __future__ import annotations

import importlib
import re
from operator import attrgetter

import pytest
from typer.testing import CliRunner

from evenhand.cli.app import app
from pages import PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_command_and_option_in_a_sentence_exists(page):
    """Blocks of commands are run or parsed: see `test_documentation_blocks`."""
    for command in re.findall(r"`(evenhand [^`]+)`", page.read_text()):
        _, verb, *words = command.split()
        if verb.startswith("--"):  # such as `evenhand --version`
            verb, words = "--help", [verb, *words]
        answer = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "200"})
        assert answer.exit_code == 0, command
        for option in (word for word in words if word.startswith("--")):
            assert option in answer.output, command


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_paper_is_mapped_to_what_is_there():
    page = next(page for page in PAGES if page.name == "concepts.md")
    rows = re.findall(r"^\|.*\| (`.*`) \| `([\w/]+)\.py` \|$", page.read_text(), re.M)
    assert len(rows) > 50
    for names, file in rows:
        module = importlib.import_module("evenhand." + file.replace("/", "."))
        for name in re.findall(r"`([\w.]+)`", names):
            assert attrgetter(name)(module), f"{name} is not in {file}.py"
