"""Claims are held, refuted or left open by what the runs show."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import CHECKPOINTS, SEEDS, all_figures, comparison, result

from evenhand.experiments import claims
from evenhand.experiments.claims import CLAIMS, difference
from evenhand.experiments.figures import FIGURES
from evenhand.experiments.reproduction import ALL

SPREAD = np.arange(SEEDS) - 2.5


def paper(*methods):
    return {"paper": comparison(methods)}


@pytest.mark.parametrize(
    ("ours", "theirs", "held"), [(60, 50, True), (50, 60, False), (50.1, 50, None)]
)
def test_ahead_of_all(ours, theirs, held):
    parts = paper(result("fairqcm", ours + SPREAD), result("full", theirs + SPREAD[::-1]))
    finding = claims.ahead_of("fairqcm", ("full",))(parts)
    assert finding.held is held
    low, high = finding.interval
    assert low <= ours - theirs <= high
    assert f"{abs(ours - theirs):.1f}" in finding.measured


def test_ahead_of_all_names_the_rival_that_counts():
    parts = paper(result("fairqcm", 60), result("full", 30), result("min", 70))
    finding = claims.ahead_of("fairqcm", ("full", "min"))(parts)
    assert finding.held is False
    assert "ahead of Min by −10.0" in finding.measured
    some = claims.ahead_of_some("fairqcm", ("full", "min"))(parts)
    assert some.held is True
    assert "above Full for certain" in some.measured


def test_wasting_less_sooner():
    early = np.array([90, *[99] * (CHECKPOINTS - 1)])
    late = np.array([*[90] * 5, *[99] * (CHECKPOINTS - 5)])
    parts = paper(result("rnn", 1, kept=early), result("full", 1, kept=late))
    finding = claims.wastes_less_sooner("rnn", ("full",))(parts)
    assert finding.held is True
    assert "RNN from episode 20, Full from episode 60" in finding.measured
    assert claims.wastes_less_sooner("full", ("rnn",))(parts).held is False


def test_the_margin_is_reached_by_all_or_not():
    parts = paper(result("full", 1, achieved=0.97), result("min", 1, achieved=0.8))
    assert claims.reaches_the_margin(parts).held is False
    parts = paper(result("full", 1, achieved=0.97), result("min", 1, achieved=0.96))
    assert claims.reaches_the_margin(parts).held is True


def test_ahead_on_the_way_counts_the_area_under_the_curve():
    # Both end at 50; one starts at 40 and the other at 0, so that the first is ahead by 20.
    parts = paper(result("fairqcm", 50, starts=40), result("full", 50))
    finding = claims.ahead_on_the_way("fairqcm", ("full",))(parts)
    assert finding.held is True
    assert "by 20.0 on average, and ahead of all at 9 of 10" in finding.measured


def test_one_seed_decides_nothing():
    value, (low, high) = difference(np.array([2.0]), np.array([1.0]))
    assert (value, low, high) == (1.0, -np.inf, np.inf)


def test_every_figure_of_the_paper_has_claims_that_can_be_checked():
    figures = all_figures()
    assert set(CLAIMS) == set(ALL) == set(figures)
    for name, parts in figures.items():
        assert set(FIGURES[name].parts["paper"].methods) >= set(parts["paper"].methods)
        for claim in CLAIMS[name]:
            assert claim.check(parts).word in ("held", "did not hold", "not decided")
