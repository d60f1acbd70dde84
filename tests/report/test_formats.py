"""Tests of report.formats."""

from __future__ import annotations

import io
import os
import stat
import time
import xml.etree.ElementTree as ET
import zipfile

import pandas as pd
import pytest

from command_line import evenhand
from evenhand.auditing import audit, compare
from evenhand.errors import BadParameter, CannotWrite, MissingExtra
from evenhand.report import formats
from evenhand.report import formats as excel
from evenhand.report.formats import format_of, workbook

# Tests of report.formats.

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


# A workbook, read as the XML it is: no cell is a formula, whatever the names are.

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
HOSTILE = (
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2",
    "@SUM(A1)",
    '=HYPERLINK("http://example.org")',
    "http://example.org",
    "\t=1",
    "<f>1</f>",
    "00123",
    "x" * 40_000,
    "no letter",
)
MAPPED = {"stakeholder": "who", "time": "date", "amount": "amount"}


def log_of(names):
    rows = [(time, name, 10 * k + time) for time in (1, 2) for k, name in enumerate(names)]
    return pd.DataFrame(rows, columns=["date", "who", "amount"])


def sheets_of(content: bytes) -> dict[str, dict[str, object]]:
    """The cells of each sheet by their places: text as text, numbers as numbers."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    shared = [
        "".join(t.text or "" for t in item.iter(f"{MAIN}t"))
        for item in ET.fromstring(parts["xl/sharedStrings.xml"])
    ]
    names = [s.get("name") for s in ET.fromstring(parts["xl/workbook.xml"]).iter(f"{MAIN}sheet")]
    found = {}
    for number, name in enumerate(names, 1):
        root = ET.fromstring(parts[f"xl/worksheets/sheet{number}.xml"])
        assert not list(root.iter(f"{MAIN}f"))  # no cell is a formula
        assert not list(root.iter(f"{MAIN}hyperlink"))
        cells = {}
        for cell in root.iter(f"{MAIN}c"):
            value = cell.find(f"{MAIN}v")
            if value is not None:
                is_text = cell.get("t") == "s"
                cells[cell.get("r")] = shared[int(value.text)] if is_text else float(value.text)
        found[name] = cells
    return found


def test_the_tables_are_those_of_the_answer():
    answer = audit(log_of(["A", "B"]), **MAPPED, title="Who got what", unit="loaves")
    sheets = sheets_of(workbook(answer))
    assert list(sheets) == ["Summary", "Stakeholders", "Over time", "Distances", "Questions"]
    assert sheets["Summary"]["A1"] == "Who got what"
    assert answer.summary in sheets["Summary"].values()
    people = sheets["Stakeholders"]
    heads = {people[place]: place[0] for place in people if place[1:] == "1"}
    assert [people[f"{heads['name']}{row}"] for row in (2, 3)] == ["A", "B"]
    # A got 1 and 2, B 11 and 12: A is below by 5, then by 10.
    assert people[f"{heads['overall_unfairness']}2"] == -15.0
    assert "entitlement" not in heads  # nothing is known of it
    distances = sheets["Distances"]
    assert [distances[place] for place in ("A2", "B2", "C2", "B3")] == ["A", -5.0, -10.0, 5.0]
    course = sheets["Over time"]
    assert [course[place] for place in ("A1", "B1", "C1", "D1")] == [
        *("time", "welfare", "welfare of an even log", "mean"),
    ]
    assert course["D3"] == 13.0


def test_hostile_names_are_text():
    answer = audit(log_of(HOSTILE), **MAPPED, display_names={"no letter": "\ud800"})
    sheets = sheets_of(workbook(answer))
    shown = set(sheets["Stakeholders"].values())
    for name in HOSTILE[:-2]:
        assert name in shown
    assert "x" * 32_767 in shown  # as long as a cell can be
    assert "?" in shown  # what is no letter at all


def test_the_same_answer_is_the_same_file():
    answer = audit(log_of(["A", "B"]), **MAPPED)
    assert workbook(answer) == workbook(answer)


def test_two_logs():
    found = compare(log_of(["A", "B"]), log_of(["A", "=B"]), **MAPPED)
    sheets = sheets_of(workbook(found))
    assert list(sheets)[:3] == ["Comparison", "Side by side", "1 Summary"]
    assert found.verdict in sheets["Comparison"].values()
    assert "=B" in sheets["2 Stakeholders"].values()


def test_harms_are_shown_as_logged():
    sheets = sheets_of(workbook(audit(log_of(["A", "B"]), **MAPPED, lower_is_better=True)))
    assert sheets["Distances"]["B2"] == -5.0
    assert sheets["Over time"]["D3"] == 13.0


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(excel, "MOST_ROWS", 2)
    with pytest.raises(CannotWrite, match="an Excel sheet has 2 rows"):
        workbook(audit(log_of(["A", "B"]), **MAPPED))


def test_a_missing_package_is_one_sentence(monkeypatch):
    monkeypatch.setattr(excel.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'evenhand\[excel\]'"):
        workbook(audit(log_of(["A", "B"]), **MAPPED))
