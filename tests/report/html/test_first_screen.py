"""Could it be chance? On the page: sentences in the verdict, and a band behind the curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand import audit
from evenhand.report.html.first_screen import by_chance, has_band, stakeholder_story
from evenhand.report.html.page_data import compact_answer

LOG = pd.DataFrame({"day": range(12), "who": list("AABABBAABABC"), "got": 1.0})


def asked(**options):
    return audit(LOG, stakeholder="who", time="day", amount="got", **options)


def test_the_sentences_are_those_of_the_terminal():
    words = str(by_chance(asked(draws=99)))
    assert "<b>Could it be chance? </b>Under a fair lottery" in words
    assert "It does not say why" in words
    watched = str(by_chance(asked(chance=False, alarm=0.05)))
    assert watched.startswith("<p><b>Watched all along: </b>no alarm")
    assert str(by_chance(asked(chance=False))) == ""
    left_out = audit(LOG, stakeholder="who", time="day", amount="got", cumulative=True)
    assert "Not tested: running totals" in str(by_chance(left_out))


def test_the_band_is_in_the_page_and_named_in_the_legend():
    answer = asked(draws=99)
    band = compact_answer(answer)["chance"]["band"]
    assert band["low"]["rows"] == pytest.approx(answer.chance.band.low.T)
    assert np.array(band["high"]["rows"]).shape == (3, 12)
    assert "where chance alone leaves it" in str(stakeholder_story(answer, 0))


def test_without_a_band_the_legend_does_not_speak_of_one():
    answer = asked(chance=False)
    assert not has_band(answer)
    assert "chance" not in str(stakeholder_story(answer, 0))
    assert compact_answer(answer)["chance"] is None
