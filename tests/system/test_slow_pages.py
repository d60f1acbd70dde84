"""The commands of README and docs/ that learn: run as they stand, but for those that take hours."""

from __future__ import annotations

import pytest

import pages

pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default")]


def test_slow_commands_of_the_pages_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in pages.GIVEN.items():
        (tmp_path / name).write_text(text)
    ran = 0
    for page in pages.PAGES:  # in one folder, so that a page may use what the README trained
        for block in pages.blocks(page):
            if block.language in pages.FILES and block.file:
                (tmp_path / block.file).write_text(block.text)
            if "<!-- makes a file -->" in block.before:
                pages.run_python(block.text, page, {})
            if block.language == "console" and block.slow and not block.elsewhere:
                kept = [one for one in block.commands if pages.is_ours_and_ends_soon(one)]
                ran += len(kept)
                pages.run_console(pages.Block("console", "\n".join(kept), ""))
    assert ran
