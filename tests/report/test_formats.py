"""Tests of report.formats."""

from __future__ import annotations

import os
import stat
import time
import zipfile

import pytest

from command_line import evenhand
from evenhand.errors import BadParameter, CannotWrite, MissingExtra
from evenhand.report import formats
from evenhand.report import tables as excel
from evenhand.report.formats import format_of

# The kind of report is that of the name's ending, and is refused before anything is judged.

OPTIONS = ["--stakeholder", "who", "--time", "t", "--amount", "much"]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,who,much\n1,A,1\n2,B,2\n")
    return str(path)


def test_one_audit_several_reports(log, tmp_path):
    page, book = tmp_path / "r.HTML", tmp_path / "r.xlsx"
    done = evenhand("audit", log, *OPTIONS, "--out", str(page), "--out", str(book))
    assert (done.returncode, done.stderr) == (0, "")
    assert page.read_bytes().startswith(b"<!doctype html>")
    assert zipfile.is_zipfile(book)


def test_another_ending_is_refused(log, tmp_path):
    done = evenhand("audit", log, *OPTIONS, "--out", str(tmp_path / "report.docx"))
    assert done.returncode == 2
    assert "must end in .html, .htm, .xlsx, .pdf" in done.stderr
    with pytest.raises(BadParameter, match="`out` is 'x'"):
        format_of("x")


def test_what_is_missing_is_said_before_the_log_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(excel.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(formats, "PLACES", ())
    for ending, words in (("xlsx", "evenhand[excel]"), ("pdf", "install chromium")):
        out = tmp_path / f"report.{ending}"
        done = evenhand("audit", "no-such-log.csv", *OPTIONS, "--out", str(out))
        assert done.returncode == 2
        assert words in done.stderr
        assert not out.exists()


# A page printed: how the browser is called, and if it is not there or does not end.


@pytest.fixture
def browser(tmp_path, monkeypatch):
    """A browser of our own: a script that is found under the name of one."""

    def write(script: str):
        path = tmp_path / "chromium"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        return path

    return write


def test_the_browser_gets_the_page_and_no_network(browser, tmp_path):
    browser(
        f'printf "%s\\n" "$@" > {tmp_path}/arguments\n'
        'for one in "$@"; do case "$one" in\n'
        '--print-to-pdf=*) out="${one#--print-to-pdf=}";; file://*) page="${one#file://}";;\n'
        "esac; done\n"
        '{ printf "%%PDF of "; cat "$page"; } > "$out"'
    )
    assert formats.as_pdf(b"a page") == b"%PDF of a page"
    given = (tmp_path / "arguments").read_text().splitlines()
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in given
    assert not os.path.exists(given[-1].removeprefix("file://"))  # it was a temporary file


def test_no_browser_is_one_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(formats, "PLACES", ())
    with pytest.raises(MissingExtra, match=r"apt-get install chromium.*\.html"):
        formats.as_pdf(b"")


@pytest.mark.system
def test_a_browser_that_does_not_end_is_ended_with_all_it_started(browser, tmp_path):
    browser(f"(sleep 3; touch {tmp_path}/outlived) & sleep 60")
    began = time.monotonic()
    with pytest.raises(CannotWrite, match=r"within 0\.5 seconds"):
        formats.as_pdf(b"", seconds=0.5)
    assert time.monotonic() - began < 3
    time.sleep(3)
    assert not (tmp_path / "outlived").exists()


@pytest.mark.parametrize("script", ["exit 1", "exit 0"])
def test_no_pdf_is_one_sentence(browser, script):
    browser(script)
    with pytest.raises(CannotWrite, match="made no PDF"):
        formats.as_pdf(b"")


def test_a_browser_that_cannot_start_is_one_sentence(browser):
    path = browser("")
    path.write_bytes(b"\x00not a program")
    with pytest.raises(CannotWrite, match=r"cannot be started|made no PDF"):
        formats.as_pdf(b"")
