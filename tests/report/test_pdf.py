"""A page printed: how the browser is called, and if it is not there or does not end."""

from __future__ import annotations

import os
import stat
import time

import pytest

from evenhand.errors import CannotWrite, MissingExtra
from evenhand.report import pdf


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
    assert pdf.as_pdf(b"a page") == b"%PDF of a page"
    given = (tmp_path / "arguments").read_text().splitlines()
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in given
    assert not os.path.exists(given[-1].removeprefix("file://"))  # it was a temporary file


def test_no_browser_is_one_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(pdf, "PLACES", ())
    with pytest.raises(MissingExtra, match=r"apt-get install chromium.*\.html"):
        pdf.as_pdf(b"")


@pytest.mark.system
def test_a_browser_that_does_not_end_is_ended_with_all_it_started(browser, tmp_path):
    browser(f"(sleep 3; touch {tmp_path}/outlived) & sleep 60")
    began = time.monotonic()
    with pytest.raises(CannotWrite, match=r"within 0\.5 seconds"):
        pdf.as_pdf(b"", seconds=0.5)
    assert time.monotonic() - began < 3
    time.sleep(3)
    assert not (tmp_path / "outlived").exists()


@pytest.mark.parametrize("script", ["exit 1", "exit 0"])
def test_no_pdf_is_one_sentence(browser, script):
    browser(script)
    with pytest.raises(CannotWrite, match="made no PDF"):
        pdf.as_pdf(b"")


def test_a_browser_that_cannot_start_is_one_sentence(browser):
    path = browser("")
    path.write_bytes(b"\x00not a program")
    with pytest.raises(CannotWrite, match=r"cannot be started|made no PDF"):
        pdf.as_pdf(b"")
