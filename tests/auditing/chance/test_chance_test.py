"""Could it be chance? Beside all lotteries of a tiny log, and on logs of every kind."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest

from chance_cases import GROUPS, KINDS, NAMES, SIZES, STAYS, log_of, small_log
from evenhand import audit
from evenhand.auditing.chance.finding import ChanceFinding, NotTested
from evenhand.errors import BadParameter

LOTS = ((0, 2.0), (1, 1.0), (2, 1.0), (3, 2.0), (4, 1.0))  # day, amount
SHARES = (0.5, 0.3, 0.2)
TINY = pd.DataFrame(
    {"day": [day for day, _ in LOTS], "who": list("ABABA"), "got": [got for _, got in LOTS]}
)


def asked(log, **options):
    return audit(log, **{"stakeholder": "who", "time": "day", "amount": "got", **options})


def literal(recipients):
    """The score, the unfairness to each and how often each was below, from the definitions."""
    weights = [3 * share for share in SHARES]
    totals, welfare, overall, below = [0.0] * 3, [], [0.0] * 3, [0] * 3
    for who, (_, amount) in zip(recipients, LOTS, strict=True):
        totals[who] += amount
        units = [total / share for total, share in zip(totals, SHARES, strict=True)]
        mean = sum(w * u for w, u in zip(weights, units, strict=True)) / 3
        welfare.append(sum(w * math.log(u + 1) for w, u in zip(weights, units, strict=True)))
        for i in range(3):
            overall[i] += units[i] - mean
            below[i] += units[i] < mean - 1e-12
    return sum(welfare) / len(welfare), overall, [b / len(LOTS) for b in below]


def all_lotteries():
    for recipients in itertools.product(range(3), repeat=len(LOTS)):
        yield math.prod(SHARES[who] for who in recipients), literal(recipients)


def test_p_values_approach_those_of_all_lotteries():
    answer = asked(
        TINY, entitlement=dict(zip("ABC", SHARES, strict=True)), roster=list("ABC"), draws=4999
    )
    found = {one.name: one for one in answer.chance.measures}
    score, overall, below = literal([0, 1, 0, 1, 0])
    assert answer.score == pytest.approx(score)
    log = {
        "score": -score,
        "worst_overall_unfairness": -min(overall),
        "largest_share_below": max(below),
    }
    exact = dict.fromkeys(log, 0.0)
    for chance, (score, overall, below) in all_lotteries():
        values = {
            "score": -score,
            "worst_overall_unfairness": -min(overall),
            "largest_share_below": max(below),
        }
        for name in log:
            exact[name] += chance * (values[name] >= log[name] - 1e-9)
    for name, p in exact.items():
        assert abs(found[name].p - p) <= 5 * math.sqrt(p * (1 - p) / 4999) + 1 / 5000, name


def test_who_is_furthest_behind_beside_all_lotteries():
    answer = asked(
        TINY, entitlement=dict(zip("ABC", SHARES, strict=True)), roster=list("ABC"), draws=4999
    )
    every = [(chance, np.array(overall)) for chance, (_, overall, _) in all_lotteries()]
    mean = sum(chance * overall for chance, overall in every)
    spread = np.sqrt(sum(chance * (overall - mean) ** 2 for chance, overall in every))
    log = (mean - np.array(literal([0, 1, 0, 1, 0])[1])) / spread
    first = answer.chance.people[0]
    assert first.name == "ABC"[int(np.argmax(log))]
    assert first.spreads == pytest.approx(log.max(), rel=0.05)
    p = sum(c for c, overall in every if ((mean - overall) / spread).max() >= log.max() - 1e-9)
    assert answer.chance.p == pytest.approx(p, abs=0.03)


@pytest.mark.parametrize("kind", ["plain", "stays_and_sizes", "while_waiting", "by_group"])
def test_every_kind_of_log_is_tested_and_written_as_json(kind):
    answer = asked(log_of(kind), **{**KINDS[kind], "draws": 39})
    found = answer.chance
    assert isinstance(found, ChanceFinding)
    assert found.p >= 1 / 40
    assert found.measure("score").found == pytest.approx(answer.score, rel=1e-9)
    worst = min(one.overall_unfairness for one in answer.by_stakeholder)
    assert found.measure("worst_overall_unfairness").found == pytest.approx(worst, rel=1e-9)
    line = json.loads(json.dumps(answer.to_json(), allow_nan=False))["chance"]
    assert line["draws"] == 39
    assert {one["name"] for one in line["stakeholders"]} == set(answer.over_time.names)


def test_the_same_seed_gives_the_same_figures_and_power_changes_none():
    log = small_log()
    one, two = (asked(log, draws=99, seed=3).to_json()["chance"] for _ in range(2))
    assert one == two
    other = asked(log, draws=99, seed=4).to_json()["chance"]
    assert other["stakeholders"] != one["stakeholders"]
    power = asked(log, draws=99, seed=3, power=True).to_json()["chance"]
    assert power["stakeholders"] == one["stakeholders"]


def test_one_whose_odds_are_cut_is_named_and_the_others_are_not():
    rng = np.random.default_rng(0)
    odds = np.array([1, 1, 0.1, 1, 1])
    log = pd.DataFrame({"day": range(200), "who": rng.choice(NAMES, 200, p=odds / odds.sum())})
    found = asked(log, amount=None).chance
    assert found.named == ("C",)
    assert found.p == 1 / 1000
    assert found.people[0].q <= 0.05


def test_the_band_holds_what_chance_makes_at_each_time():
    answer = asked(small_log(), draws=199)
    band = answer.chance.band
    assert band.low.shape == answer.over_time.unfairness.shape
    assert (band.low <= band.high).all()
    # On the first day 2 lots at most went out: nobody can be further from the mean than that.
    first = small_log().query("day == 1")["got"].sum()
    assert band.high[0].max() <= first
    assert band.to_json()["low"].keys() == set(NAMES)


def test_those_who_are_not_there_have_no_band():
    answer = asked(log_of("stays"), roster=STAYS, draws=199)
    assert (np.isnan(answer.chance.band.low) == np.isnan(answer.over_time.unfairness)).all()


def test_groups_that_are_drawn_are_set_beside_their_gap_alone():
    log = small_log().assign(group=lambda table: table["who"].map(GROUPS))
    answer = asked(log, group="group", null="by_group", draws=999)
    (gap,) = answer.chance.measures
    assert gap.name == "gap_between_groups"
    assert answer.chance.people == ()
    # All ways to choose two of five for the first group.
    totals = dict(zip(answer.over_time.names, answer.over_time.unfairness[-1], strict=True))
    gaps = []
    for pair in itertools.combinations(NAMES, 2):
        inside = np.mean([totals[name] for name in pair])
        outside = np.mean([totals[name] for name in NAMES if name not in pair])
        gaps.append(abs(inside - outside))
    found = next(
        g
        for pair, g in zip(itertools.combinations(NAMES, 2), gaps, strict=True)
        if pair == ("A", "B")
    )
    assert gap.found == pytest.approx(found)
    exact = np.mean([g >= found - 1e-9 for g in gaps])
    assert gap.p == pytest.approx(exact, abs=5 * math.sqrt(0.25 / 999))


LEFT_OUT = {
    "running totals": {"cumulative": True},
    "levels": {"stock": True},
    "a rate": {"out_of": "chances"},
}


@pytest.mark.parametrize("words", LEFT_OUT)
def test_what_cannot_be_drawn_again_is_left_out_with_the_reason(words):
    log = pd.DataFrame(
        {"day": [1, 2, 3, 4], "who": list("ABAB"), "got": [1.0, 1, 2, 2], "chances": [3.0] * 4}
    )
    answer = asked(log, **LEFT_OUT[words])
    assert isinstance(answer.chance, NotTested)
    assert words in answer.chance.reason
    assert words in answer.to_json()["chance"]["left_out"]
    with pytest.raises(BadParameter, match=words):
        asked(log, draws=99, **LEFT_OUT[words])


def test_running_totals_can_be_shuffled():
    log = pd.DataFrame({"day": [1, 1, 2, 2], "who": list("ABAB"), "got": [1.0, 3, 2, 4]})
    found = asked(log, cumulative=True, null="shuffle").chance
    assert found.null.name == "shuffle"
    # Of two days with two amounts each, (1, 3) and (1, 1), one of two orders is the log's mirror.
    assert found.measure("worst_overall_unfairness").p == 1.0


def test_waits_and_only_one_stakeholder_are_left_out():
    waits = pd.DataFrame({"who": list("ABAB"), "came": [1, 2, 3, 4], "left": [5, 6, 7, 8]})
    answer = audit(waits, stakeholder="who", wait_from="came", wait_to="left")
    assert "waits" in answer.chance.reason
    one = pd.DataFrame({"day": [1, 2], "who": ["A", "A"], "got": [1.0, 1.0]})
    assert "only one" in asked(one).chance.reason


def test_a_log_in_which_nothing_was_given_is_left_out():
    nothing = pd.DataFrame({"day": [1, 2], "who": ["A", "B"], "got": [0.0, 0.0]})
    assert asked(nothing).chance.reason == "nothing was given out"


def test_it_can_be_left_out_and_runs_leave_it_out():
    log = small_log()
    assert asked(log, chance=False).chance is None
    runs = pd.concat((log.assign(run=1), log.assign(run=2)))
    assert asked(runs, run="run", roster=NAMES).chance is None
    with pytest.raises(BadParameter, match="averages many"):
        asked(runs, run="run", draws=9)


def test_long_logs_are_drawn_less_often_and_very_long_ones_when_asked(monkeypatch):
    from evenhand.auditing.chance import chance_test

    log = small_log()
    assert asked(log).chance.draws == 999
    monkeypatch.setattr(chance_test, "SMALL_COST", 100_000)
    assert asked(log).chance.draws == 199
    monkeypatch.setattr(chance_test, "SMALL_COST", 100)
    assert "would take a while" in asked(log).chance.reason
    assert asked(log, draws=19).chance.draws == 19
    assert asked(log, null="lottery").chance.draws == 999
    monkeypatch.setattr(chance_test, "MANY_LOTS", 10)
    assert "very many rows" in asked(log).chance.reason
    assert asked(log, draws=19).chance.draws == 19


BAD = {
    "from 1 to": {"draws": 0},
    "one of lottery": {"null": "dice"},
    "`seed` is -1: it must be a whole number from 0": {"seed": -1},
    "choose one": {"draws": 9, "chance": False},
    "needs to know the groups": {"null": "by_group"},
    "only": {"null": "shuffle", "power": True},
    "different amounts": {"null": "shuffle", "entitlement": SIZES},
    "between 0 and 1": {"alarm": 1.0},
}


@pytest.mark.parametrize("words", BAD)
def test_bad_options_are_refused_in_a_sentence(words):
    with pytest.raises(BadParameter, match=words):
        asked(small_log(), **BAD[words])


@pytest.mark.parametrize(
    ("lots", "exact"),
    [
        ("A" * 9 + "B" * 2, 2 * (1 + 11 + 55) / 2**11),  # somebody has at most 2 of 11
        ("A" * 9 + "B", 2 * (1 + 10) / 2**10),
        ("A" * 8 + "B" * 4, 2 * sum(math.comb(12, k) for k in range(5)) / 2**12),
    ],
)
@pytest.mark.parametrize("seed", [0, 3, 5])
def test_histories_in_which_another_is_as_far_behind_count_as_such(lots, exact, seed):
    log = pd.DataFrame({"day": range(len(lots)), "who": list(lots), "got": 1})
    answer = asked(log, at_end=True, draws=4999, seed=seed)
    assert answer.chance.people[0].p_among_all == pytest.approx(
        exact, abs=4 * math.sqrt(exact * (1 - exact) / 4999)
    )
