"""Every code block and command of README and docs/ is run, or at least parsed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import typer

import pages


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with nothing but the files that pages may use without making them."""
    import duckdb

    for name, text in pages.GIVEN.items():
        (tmp_path / name).write_text(text)
    duckdb.read_csv(str(tmp_path / "plan.csv")).write_parquet(str(tmp_path / "plan.parquet"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[pytest.mark.system] * (page.name in pages.LONG))
        for page in pages.PAGES
    ],
)
def test_what_a_page_shows_is_what_happens(page, folder):
    names: dict = {}
    for block, said in pages.with_output(page):
        if block.language == "python":
            compile(block.text, page.name, "exec")
            if page.name in pages.NEEDS_EXTRAS or block.waits:
                continue
            alone = page.name in pages.EACH_ALONE
            printed = pages.run_python(block.text, page, {} if alone else names)
            assert pages.same(printed, said or ""), f"{block.text}\nprints\n{printed}"
        elif block.language == "console":
            for command in block.commands:
                pages.read_command(command)
            if not block.slow:
                printed = pages.run_console(block)
                assert said is None or pages.same(printed, said), f"{block.text}\n{printed}"
        elif block.language in pages.FILES:
            if block.language == "toml":
                tomllib.loads(block.text)
            if block.file:
                (folder / block.file).write_text(block.text)
        else:
            assert block.language in ("text", "diff", "sh"), (
                f"a block of {block.language!r} is not run"
            )


def test_make_targets_and_extras_that_pages_name_exist():
    makefile = (pages.ROOT / "Makefile").read_text()
    project = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]
    for page in pages.PAGES:
        for block in pages.blocks(page):
            for target in re.findall(r"^make ([a-z-]+)", block.text, re.M):
                assert re.search(rf"^{target}:", makefile, re.M), target
        for extras in re.findall(r"evenhand\[([\w,-]+)\]", page.read_text()):
            assert set(extras.split(",")) <= set(project["optional-dependencies"]), extras


def test_a_wrong_page_is_found_out(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "`a.csv`:\n\n```csv\nx\n1\n```\n\n```python\nprint(1)\n```\n\n```text\n2\n```\n"
    )
    table, code, _ = pages.blocks(page)
    assert (table.file, table.text) == ("a.csv", "x\n1\n")
    assert not pages.same(pages.run_python(code.text, page, {}), "2\n")
    assert pages.same("1 in 0.3 s\n", "1 in … s\n")
    with pytest.raises(typer.TyperException, match="No such option"):
        pages.read_command("cat x.csv | evenhand audit x.csv --nonsense 3")
    assert pages.Block("console", "evenhand compare doughnuts\n", "").slow
    assert not pages.Block("console", "evenhand compare doughnuts\n", "<!-- run -->\n").slow
