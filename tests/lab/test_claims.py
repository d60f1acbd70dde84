"""Claims are held, refuted or left open by what the runs show."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand._util.numbers import FEWEST_RUNS
from evenhand.lab import claims
from evenhand.lab.claims import CLAIMS, lead
from evenhand.lab.reproduction import ALL, FIGURES
from made_up import CHECKPOINTS, SEEDS, all_figures, comparison, result

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


def test_ahead_of_all_asks_for_a_lead_on_every_rival():
    """Surely above one and level with another is not ahead of all, and not behind either."""
    level = paper(
        result("fairqcm", 60 + SPREAD), result("full", 30), result("min", 60 + SPREAD[::-1])
    )
    finding = claims.ahead_of("fairqcm", ("full", "min"))(level)
    assert finding.held is None
    assert "ahead of Min by 0.0" in finding.measured
    above = paper(result("fairqcm", 60), result("full", 30), result("min", 50))
    assert claims.ahead_of("fairqcm", ("full", "min"))(above).held is True
    for order in (("full", "min"), ("min", "full")):
        beaten = paper(result("fairqcm", 60), result("full", 30), result("min", 61))
        assert claims.ahead_of("fairqcm", order)(beaten).held is False


def test_to_be_above_the_nearest_is_not_to_be_above_all():
    """The nearest is surely behind; one further off scatters so much that it might be ahead."""
    wide = np.array([-40.0, -40.0, -20.0, 20.0, 40.0, 40.0])
    parts = paper(result("fairqcm", 60), result("full", 59), result("min", 55 + wide))
    finding = claims.ahead_of("fairqcm", ("full", "min"))(parts)
    assert "ahead of Full by 1.0" in finding.measured
    assert finding.held is None


FIGURE_RIVALS = {
    ("doughnuts", "FairQCM outperforms other algorithms."): ("full", "min", "reset", "rnn"),
    ("lending", "FairQCM outperforms the other approaches."): ("full", "min", "rnn"),
    ("lending-gaussian", "FairQCM outperforms the other approaches."): ("full", "min"),
    ("tabular", "FairQCM outperforms other approaches in terms of NSW scores."): (
        *("full", "min", "reset"),
    ),
    ("tabular", "FairQCM outperforms other approaches in the number of samples needed to train."): (
        *("full", "min", "reset"),
    ),
    ("lending-gaussian", "FairQCM was more sample efficient"): ("full", "min"),
    ("doughnuts", claims.EFFICIENT): ("full", "rnn"),
    ("lending", claims.EFFICIENT): ("full", "rnn"),
}


@pytest.mark.parametrize(("figure", "says"), FIGURE_RIVALS, ids=str)
def test_a_claim_to_be_ahead_of_all_is_lost_to_any_one_of_its_rivals(figure, says):
    """Each rival in its turn is level with FairQCM, which leads the others: that is undecided."""
    check = next(claim.check for claim in CLAIMS[figure] if claim.says.startswith(says))
    rivals = FIGURE_RIVALS[figure, says]
    ours = result("fairqcm", 60 + SPREAD, starts=60)
    ahead = {rival: result(rival, 30 + SPREAD, starts=30) for rival in rivals}
    assert check(paper(ours, *ahead.values())).held is True
    for rival in rivals:
        level = result(rival, 60 + SPREAD[::-1], starts=60)
        better = result(rival, 90 + SPREAD, starts=90)
        assert check(paper(ours, *(ahead | {rival: level}).values())).held is None
        assert check(paper(ours, *(ahead | {rival: better}).values())).held is False


def test_wasting_less_sooner():
    early = np.array([90, *[99] * (CHECKPOINTS - 1)])
    late = np.array([*[90] * 5, *[99] * (CHECKPOINTS - 5)])
    parts = paper(result("rnn", 1, kept=early), result("full", 1, kept=late))
    finding = claims.wastes_less_sooner("rnn", ("full",))(parts)
    assert finding.held is True
    assert "RNN 20, Full 60; sooner than Full by 40" in finding.measured
    assert claims.wastes_less_sooner("full", ("rnn",))(parts).held is False
    assert claims.wastes_less_sooner("rnn", ("full",))(paper(*never(parts))).held is True
    same = paper(result("rnn", 1, kept=late), result("full", 1, kept=late))
    assert claims.wastes_less_sooner("rnn", ("full",))(same).held is None


def never(parts):
    """The same, but the rival wastes more than it may at the last evaluation."""
    methods = parts["paper"].methods
    methods["full"].measures["kept"][-1] = 0.0
    return methods.values()


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


def test_few_seeds_decide_nothing():
    one = lead(np.array([2.0]), np.array([1.0]))
    assert (one.value, one.interval, one.above, one.below) == (1.0, None, False, False)
    few, enough = np.arange(FEWEST_RUNS - 1), np.arange(FEWEST_RUNS)
    assert lead(few + 100, few).interval == (100, 100)
    assert not lead(few + 100, few).above
    assert lead(enough + 100, enough).above
    assert lead(enough, enough + 100).below


def test_above_some_is_refuted_only_by_all():
    """Surely below one rival, and perhaps above another: that decides nothing."""
    wide = np.array([-9.0, -6.0, -3.0, 1.0, 5.0, 9.0])
    parts = paper(result("rnn", 50), result("full", 51), result("min", 51 + wide))
    assert claims.ahead_of_some("rnn", ("full", "min"))(parts).held is None
    assert claims.ahead_of_some("rnn", ("full",))(parts).held is False


def test_one_among_many_is_seldom_above_by_chance():
    """Equal methods: with ten rivals in place of one it is not ten times as often."""
    rng, wrong = np.random.default_rng(0), 0
    rivals = [f"rival {k}" for k in range(10)]
    for _ in range(40):
        scores = rng.normal(size=(11, 10))
        ends = {name: (scores[0], row) for name, row in zip(rivals, scores[1:], strict=True)}
        wrong += any(one.above for one in claims._among_several(ends).values())
    assert wrong <= 4


def test_every_figure_of_the_paper_has_claims_that_can_be_checked():
    figures = all_figures()
    assert set(CLAIMS) == set(ALL) == set(figures)
    for name, parts in figures.items():
        assert set(FIGURES[name].parts["paper"].methods) >= set(parts["paper"].methods)
        found = {claim.says: claim.check(parts).word for claim in CLAIMS[name]}
        assert "held" not in [word for says, word in found.items() if says.startswith("FairQCM")]
        assert (
            set(found.values())
            == {
                "tabular": {"did not hold"},
                "lending": {"did not hold", "held"},
                "lending-gaussian": {"did not hold"},
                "doughnuts": {"did not hold", "held", "not decided"},
            }[name]
        )
