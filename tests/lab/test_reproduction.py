"""`reproduce`: parts of figures run, resumed and put on a page; how long is left."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from evenhand.cli.app import app
from evenhand.lab import reproduction
from evenhand.lab.reproduction import (
    FIGURES,
    Figure,
    FigurePart,
    Remaining,
    Reproduction,
    audits,
    check,
)
from evenhand.lab.theorems import THEOREMS
from evenhand.report.html.reproduction_page import reproduction_page, to_markdown
from made_up import all_figures


def test_figure_1_is_what_its_caption_says():
    finding = check(audits())
    assert finding.held is True
    assert "somebody is behind in 3 and 0 of 4 months; mean gap 20,000 and 0 doses" in (
        finding.measured
    )


def test_how_long_is_left(monkeypatch):
    now = 100.0
    monkeypatch.setattr(reproduction.time, "monotonic", lambda: now)
    remaining = Remaining(("lending-gaussian",), seeds=10, quick=False)
    costs = {"fairqcm": 50, "full": 16, "min": 16}
    assert remaining.seconds == pytest.approx(sum(costs.values()) + 500)
    # What an earlier call had done costs nothing here, and says nothing of the pace.
    remaining.moved("lending-gaussian", "paper", "fairqcm", 1.0)
    assert remaining.seconds == pytest.approx(532)
    remaining.moved("lending-gaussian", "best", "fairqcm", 0.0)
    now = 300.0  # 200 seconds for a tenth of what was thought to be 500: four times as slow
    remaining.moved("lending-gaussian", "best", "fairqcm", 0.1)
    assert remaining.seconds == pytest.approx(4 * (32 + 450))
    assert remaining.share == pytest.approx((50 + 50) / 582)


@pytest.fixture
def small(monkeypatch):
    """One small figure in place of the paper's."""
    shop = FIGURES["tabular"].environment
    parts = {
        "paper": FigurePart("paper", ("fairqcm", "full", "min", "reset"), 2000),
        "best": FigurePart("best", ("fairqcm",), 2000),
    }
    monkeypatch.setitem(FIGURES, "tabular", Figure("Small", shop, False, parts))
    monkeypatch.setattr(reproduction, "ALL", ("tabular",))
    monkeypatch.setattr(reproduction, "THEOREMS", THEOREMS[:2])


@pytest.mark.system  # processes that compile anew
@pytest.mark.usefixtures("small")
def test_all_on_one_page_and_again_from_what_was_saved(tmp_path):
    command = ["reproduce", "all", "--seeds", "2", "--quick", "--out", str(tmp_path)]
    first = CliRunner().invoke(app, [*command, "--json"])
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert (told["quick"], told["seeds"]) == (True, 2)
    assert [claim["where"] for claim in told["claims"]] == ["Figure 1", "Appendix", "Appendix"]
    assert all(theorem["held"] for theorem in told["theorems"])
    assert told["figures"]["tabular"]["paper"]["settings"]["steps"] == 200
    folder = tmp_path / "quick"
    page = (folder / "index.html").read_text()
    assert "A quick run." in page
    for link in ("tabular/paper/curves.csv", "tabular/best/results.json", "all.json"):
        assert f'href="{link}"' in page
        assert (folder / link).exists()
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0, again.output
    assert "The page is" in again.stdout
    other = json.loads((folder / "all.json").read_text())
    scores = [
        [one["figures"]["tabular"]["paper"]["methods"][m]["scores"] for m in ("fairqcm", "full")]
        for one in (told, other)
    ]
    assert scores[0] == scores[1]
    assert other["training_seconds"] == pytest.approx(told["training_seconds"], abs=0.5)


@pytest.mark.system  # takes seconds
def test_the_page_says_what_held_in_words():
    about = {
        "made": "2026-01-01 00:00 UTC",
        "seconds": 1.0,
        "training_seconds": 2.0,
        "seeds": 6,
        "quick": False,
        "machine": "a machine, 2 cores",
        "versions": {"evenhand": "0"},
    }
    found = Reproduction(audits(), [(THEOREMS[0], THEOREMS[0].checked(2))], all_figures(), about)
    page = reproduction_page(found).decode()
    assert "did not hold" in page
    assert "✓ held" in page
    assert "A quick run" not in page
    assert len(reproduction_page(found)) < 2_000_000
    text = to_markdown(found)
    assert text.count("| held |") >= 2
    assert "| paper | full | 62.50 |" in text


def test_an_unknown_figure_is_named():
    done = CliRunner().invoke(app, ["reproduce", "figure9"])
    assert done.exit_code != 0
    assert "figure9" in str(done.exception)
