"""Tests of auditing.chance.finding."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from chance_cases import GROUPS, KINDS, NAMES, SIZES, STAYS, Ready, log_of, small_log
from evenhand import audit
from evenhand.auditing.chance.finding import (
    LEVEL,
    MEASURES,
    ChanceFinding,
    MeasureFinding,
    NotTested,
    PersonFinding,
    PowerFinding,
    Spread,
    WorstOverall,
    at_least,
    compare,
    false_discovery_rates,
    how_often,
    name_people,
    sentences,
    threshold,
    typical,
)
from evenhand.auditing.chance.nulls import DrawnGroups, FairLottery, ShuffledAmounts
from evenhand.auditing.chance.simulation import Figures
from evenhand.errors import BadParameter

# Could it be chance? Beside all lotteries of a tiny log, and on logs of every kind.

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
    from evenhand.auditing.chance import finding

    log = small_log()
    assert asked(log).chance.draws == 999
    monkeypatch.setattr(finding, "SMALL_COST", 100_000)
    assert asked(log).chance.draws == 199
    monkeypatch.setattr(finding, "SMALL_COST", 100)
    assert "would take a while" in asked(log).chance.reason
    assert asked(log, draws=19).chance.draws == 19
    assert asked(log, null="lottery").chance.draws == 999
    monkeypatch.setattr(finding, "MANY_LOTS", 10)
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


# What was found beside chance, word for word.


def person(name, p):
    return PersonFinding(name, 1.0, p, p, p)


def measure(name, p=0.5, other=0.5):
    return MeasureFinding(name, "", False, 0.0, 0.0, 0.0, 0.0, p, other)


def finding(p=0.41, null=FairLottery(), **more):
    return ChanceFinding(null, 999, 0, (measure("score"),), (person("A", p),), **more)


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.41, "41% of cases"),
        (0.999, "100% of cases"),
        (0.051, "5.1% of cases"),
        (0.05, "5% of cases"),
        (0.004, "0.40% of cases"),
        (0.001, "at most 1 in 1,000 cases (none of 999 draws)"),
    ],
)
def test_how_often(p, words):
    assert how_often(p, 999) == words


def test_no_reason_to_think_otherwise():
    assert sentences(finding()) == [
        "Under a fair lottery somebody is this far behind in 41% of cases: this log gives no "
        "reason to think otherwise."
    ]


def test_hardly_chance_and_who():
    assert sentences(finding(0.001)) == [
        "Under a fair lottery somebody is this far behind in at most 1 in 1,000 cases (none of "
        "999 draws): chance alone hardly explains it.",
        "Further behind than chance explains is A.",
    ]
    two = replace(finding(), people=(person("A", 0.01), person("B", 0.02), person("C", 0.3)))
    assert sentences(two)[1] == "Further behind than chance explains are A and B."


def test_more_even_than_chance():
    found = replace(finding(1.0), measures=(measure("score", 1.0, 0.001),))
    assert sentences(found)[1] == (
        "It is more even than chance would make it: chance does as well in at most 1 in 1,000 "
        "cases (none of 999 draws)."
    )


def test_groups():
    gap = measure("gap_between_groups", 0.2)
    with_gap = replace(finding(), measures=(measure("score"), gap))
    assert (
        sentences(with_gap)[1]
        == "The gap between the groups at the end is as large in 20% of cases."
    )
    drawn = replace(finding(null=DrawnGroups()), measures=(gap,), people=())
    assert sentences(drawn) == [
        "If the groups were drawn by lot they are this far apart at the end in 20% of cases: this "
        "log gives no reason to think otherwise."
    ]
    assert sentences(finding(null=ShuffledAmounts()))[0].startswith(
        "If it did not matter who is who some"
    )


def test_what_a_log_can_show():
    power = PowerFinding("J07", 50.0, 0.55, 28.3, 0.81)
    assert sentences(finding(power=power))[1] == (
        "Such a log shows, 4 times in 5, somebody whose odds of each lot are cut by 45% or more: "
        "for J07 that is about 28.3 lots in place of 50. Less than that it can miss."
    )
    harms = finding(power=replace(power, odds=2.0, lots_then=96.0), less_is_better=True)
    assert "are multiplied by 2 or more: for J07 that is about 96 lots" in sentences(harms)[1]
    none = finding(power=PowerFinding("J07", 1.0, None, None, 0.12))
    assert sentences(none)[1] == (
        "This log is too short to show anything: even somebody who never got anything would be "
        "noticed in only 12% of such logs."
    )
    assert sentences(finding(noticed_at_worst=0.12)) == sentences(none)
    assert "noticed in fewer than 1% of such logs" in sentences(finding(noticed_at_worst=0.004))[1]
    nothing = finding(power=replace(power, odds=0.0, lots_then=0.0))
    assert sentences(nothing)[1].startswith(
        "Such a log shows, 4 times in 5, somebody who gets nothing at all: for J07 that is none in "
        "place of about 50 lots."
    )
    assert len(sentences(finding(noticed_at_worst=0.5))) == 1
    short = finding(noticed_at_worst=0.12, less_is_better=True)
    assert "twenty times the odds" in sentences(short)[1]


# Figures of a log beside those of chance: each with its unfair side, ties counting.


def figures(score, overall, below, gap=None):
    arrays = (np.array(part, dtype=float) for part in (score, overall, below))
    return Figures(*arrays, None if gap is None else np.array(gap, dtype=float))


LOG = figures([2], [[-3, 3]], [[0.5, 0]], [4])
DRAWN = figures(
    [1, 2, 3, 4],
    [[-4, 4], [3, -3], [1, -1], [0, 0]],
    [[0.6, 0], [0, 0.5], [0, 0], [0, 0]],
    [3, 5, 4, 1],
)


def test_every_measure_counts_histories_that_are_at_least_as_unfair():
    found = {one.name: one for one in (compare(m, LOG, DRAWN) for m in MEASURES)}
    assert {name: (one.found, one.p, one.p_other_side) for name, one in found.items()} == {
        "score": (2.0, 3 / 5, 4 / 5),  # scores 1 and 2 are as low; 2, 3 and 4 are as high
        "worst_overall_unfairness": (-3.0, 3 / 5, 4 / 5),
        "largest_share_below": (0.5, 3 / 5, 4 / 5),
        "gap_between_groups": (4.0, 3 / 5, 4 / 5),
    }


def test_the_interval_is_that_of_chance():
    found = compare(WorstOverall(), LOG, DRAWN)
    assert found.middle == -2.0
    assert found.low == pytest.approx(-4 + 0.025 * 3)
    assert found.high == pytest.approx(-0.025 * 3)
    assert found.to_json()["p"] == found.p


def test_what_is_undefined_is_left_out():
    nan = figures([np.nan], [[0, 0]], [[0, 0]])
    names = [m.name for m in MEASURES if compare(m, nan, DRAWN) is not None]
    assert names == ["worst_overall_unfairness", "largest_share_below"]


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.integers(-5, 5))
def test_p_is_the_rank_of_the_log_among_all(drawn, found):
    p = at_least(np.array(drawn, dtype=float), np.array(float(found)))
    everything = [*drawn, found]
    assert p == sum(one >= found for one in everything) / len(everything)


def test_rounding_is_a_tie():
    assert at_least(np.array([0.3, 0.3]), np.array(0.1 + 0.2)) == 1.0


# Naming somebody among many, beside plain loops, and how often a lottery names anybody.

APART = np.arange(2)  # two whom chance treats differently


def step_down(log, drawn):
    """Westfall and Young, word for word: p of each is its own among those not yet named."""
    order = sorted(range(len(log)), key=lambda i: -log[i])
    found, before = {}, 0.0
    for place, i in enumerate(order):
        rest = order[place:]
        hits = sum(max(row[j] for j in rest) >= log[i] for row in drawn)
        before = max(before, (1 + hits) / (1 + len(drawn)))
        found[i] = before
    return found


@given(hnp.arrays(float, (7, 4), elements=st.integers(-3, 3).map(float)))
def test_names_are_those_of_the_definition(values):
    log, drawn = values[0], values[1:]
    people = name_people(tuple("ABCD"), log, drawn)
    expected = step_down(log.tolist(), drawn.tolist())
    assert {one.name: one.p_among_all for one in people} == pytest.approx(
        {"ABCD"[i]: p for i, p in expected.items()}
    )
    for one in people:
        i = "ABCD".index(one.name)
        assert one.p == (1 + (drawn[:, i] >= log[i]).sum()) / 7
        assert one.p <= one.p_among_all
    assert [one.spreads for one in people] == sorted(log.tolist(), reverse=True)


@given(st.lists(st.floats(1e-4, 1.0), min_size=1, max_size=15), st.floats(0.01, 0.5))
def test_false_discoveries_are_those_of_benjamini_and_yekutieli(p, level):
    size = len(p)
    harmonic = sum(1 / k for k in range(1, size + 1))
    ascending = sorted(p)
    passing = [k for k in range(1, size + 1) if ascending[k - 1] <= k * level / (size * harmonic)]
    limit = ascending[max(passing) - 1] if passing else -1.0
    rates = false_discovery_rates(np.array(p))
    for one, rate in zip(p, rates, strict=True):
        if abs(rate - level) > 1e-12:
            assert (rate <= level) == (one <= limit)


def test_a_spread_counts_the_log_as_one_of_the_histories():
    spread = Spread.of(np.array([[0.0, 1.0]]), np.array([[2.0, 1.0], [4.0, 1.0]]), APART)
    assert spread.mean.tolist() == [2.0, 1.0]
    found = spread.behind(np.array([[0.0, 1.0], [4.0, 5.0]]))
    assert found == pytest.approx(np.array([[2 / np.sqrt(8 / 3), 0.0], [-2 / np.sqrt(8 / 3), 0.0]]))


def test_if_all_is_chance_anybody_is_named_as_often_as_is_said():
    rng = np.random.default_rng(4)
    named = 0
    for _ in range(400):
        values = rng.multinomial(40, np.full(8, 1 / 8), size=100).astype(float)
        spread = Spread.of(values[:1], values[1:], np.zeros(8, dtype=int))
        behind = spread.behind(values)
        people = name_people(tuple("ABCDEFGH"), behind[0], behind[1:])
        named += any(one.named for one in people)
    assert named / 400 <= LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / 400)


def test_huge_amounts_have_a_spread_too():
    values = np.array([[1e200, 3e200], [3e200, 3e200]])
    spread = Spread.of(values[:1], values[1:], APART)
    assert spread.deviation == pytest.approx([1e200, 0.0])


def test_those_whom_chance_treats_alike_share_a_mean_and_a_deviation():
    values = np.array([[0.0, 5.0, 2.0], [4.0, 5.0, 0.0]])
    spread = Spread.of(values[:1], values[1:], np.array([0, 1, 0]))
    assert spread.mean == pytest.approx([1.5, 5.0, 1.5])
    assert spread.deviation == pytest.approx([np.std([0, 4, 2, 0]), 0.0, np.std([0, 4, 2, 0])])


# How far behind somebody would have to be: thresholds by hand, and logs of known strength.


def test_the_threshold_is_passed_by_at_most_a_twentieth():
    furthest = np.arange(99.0)
    least = threshold(furthest)
    # (1 + hits) / 100 <= 0.05 with 4 hits: 95, 96, 97 and 98.
    assert 94 < least <= 95
    assert threshold(np.arange(18.0)) == np.inf  # 1/19 is more than a twentieth
    assert threshold(np.arange(19.0)) > 18


def test_the_typical_one_is_in_the_middle_by_expected_lots():
    log = pd.DataFrame({"day": [1, 2, 3], "who": ["A", "B", "C"], "got": 1.0})
    assert typical(Ready(log, entitlement={"A": 5, "B": 1, "C": 3}).held) == 2


def lots(number, size=4):
    return pd.DataFrame(
        {"day": range(number), "who": ["ABCDEFGH"[k % size] for k in range(number)]}
    )


def found(log, **options):
    return audit(log, stakeholder="who", time="day", at_end=True, draws=199, **options).chance


def test_a_longer_log_shows_less():
    short, long = (found(lots(number), power=True).power for number in (40, 400))
    assert long.odds > short.odds
    assert long.lots == 100
    share = long.odds / (3 + long.odds)
    assert long.lots_then == pytest.approx(400 * share)
    assert long.certainty >= 0.8


def test_a_log_that_is_too_short_says_so():
    few = found(lots(4), power=True).power
    assert few.odds is None
    assert few.lots_then is None
    assert few.certainty < 0.8
    assert found(lots(4)).noticed_at_worst < 0.5
    assert found(lots(200)).noticed_at_worst == 1.0


def test_of_harms_a_disadvantage_is_to_get_more():
    power = found(lots(400), power=True, lower_is_better=True).power
    assert power.odds > 1
    assert power.lots_then > power.lots
