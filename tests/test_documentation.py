"""The commands, options, links and names in the documents exist."""

from __future__ import annotations

import importlib
import importlib.util
import re
from operator import attrgetter

import pytest
from typer.testing import CliRunner

from evenhand.cli.app import app
from pages import PAGES
from places import ROOT


@pytest.mark.system  # takes seconds
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


@pytest.fixture(scope="module")
def public_names():
    path = ROOT / "docs" / "_ext" / "public_names.py"
    spec = importlib.util.spec_from_file_location("public_names", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_on_the_api_page(public_names):
    text = (ROOT / "docs" / "api.md").read_text()
    page, missing = public_names.filled(text)
    assert missing == []
    for name in ("fairness.welfare.LogNash", "planning.plan", "envs.rollouts", "report.report"):
        assert page.count(f":: evenhand.{name}\n") == 1


def test_a_public_name_without_a_place_is_found_out(public_names):
    _, missing = public_names.filled("<!-- names of: interop.sb3 -->")
    assert "evenhand.interop.play" in missing
    assert "evenhand.LogNash" in missing


def test_arguments_in_a_docstring_become_a_list(public_names):
    lines = ["First line.", "", "Args:", "    one_two: The `first`,", "        continued."]
    lines += ["    three: The other.", "", "More."]
    public_names._as_prose(None, "function", "f", None, None, lines)
    shown = "\n".join(line for line in lines if line)
    assert shown == (
        "First line.\nArgs:\n- ``one_two``: The ``first``,\n  continued.\n"
        "- ``three``: The other.\nMore."
    )
