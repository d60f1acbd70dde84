"""The kind of report is that of the name's ending, and is refused before anything is judged."""

from __future__ import annotations

import zipfile

import pytest

from command_line import evenhand
from evenhand.errors import BadParameter
from evenhand.report import excel_export as excel
from evenhand.report import pdf
from evenhand.report.formats import format_of

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
    monkeypatch.setattr(pdf, "PLACES", ())
    for ending, words in (("xlsx", "evenhand[excel]"), ("pdf", "install chromium")):
        out = tmp_path / f"report.{ending}"
        done = evenhand("audit", "no-such-log.csv", *OPTIONS, "--out", str(out))
        assert done.returncode == 2
        assert words in done.stderr
        assert not out.exists()
