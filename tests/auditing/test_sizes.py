"""Sizes, rates, harms: an audit against plain Python, on small untidy logs."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from evenhand import Rawls, anytime, audit
from evenhand import errors as e
from evenhand.auditing import compare_periods
from evenhand.fairness.status import LowerIsBetter, Rate

PEOPLE = {"City": 1_000_000, "Village": 100}
FAVOURED = pd.DataFrame({"to": ["City", "Village"], "day": 1, "doses": [900_000, 200]})


def test_city_and_village():
    answer = audit(FAVOURED, stakeholder="to", time="day", amount="doses", entitlement=PEOPLE)
    city, village = answer.stakeholder("City"), answer.stakeholder("Village")
    mean = 900_200 / 1_000_100
    assert city.final_unfairness == pytest.approx(0.9 - mean, rel=1e-9)
    assert village.final_unfairness == pytest.approx(2.0 - mean, rel=1e-9)
    assert answer.over_time.mean == pytest.approx([mean], rel=1e-12)
    assert answer.overall.even_score == pytest.approx(2 * math.log(1 + mean), rel=1e-12)
    assert answer.score < answer.overall.even_score
    assert answer.treated_worst == ("City",)
    gini = audit(
        FAVOURED, stakeholder="to", time="day", amount="doses", entitlement=PEOPLE, welfare="gini"
    )
    assert gini.score < gini.overall.even_score


def test_unweighted_asks_the_old_question_and_says_so():
    answer = audit(
        FAVOURED,
        stakeholder="to",
        time="day",
        amount="doses",
        entitlement=PEOPLE,
        unweighted=True,
    )
    assert answer.stakeholder("City").final_unfairness == pytest.approx(0.9 - 1.45)
    assert answer.score == pytest.approx(math.log(1.9) + math.log(3.0))
    assert "counted alike" in answer.scheme.describe()


# Untidy: out of order, two rows at one time, an empty amount, somebody who comes late.
RATES = pd.DataFrame(
    {
        "day": [3, 1, 1, 2, 2, 3, 1],
        "who": ["A", "A", "B", "A", "B", "C", "B"],
        "granted": [1.0, 2.0, 0.0, 0.0, 3.0, 1.0, None],
        "asked": [2.0, 2.0, 1.0, 4.0, 3.0, 5.0, 9.0],
    }
)


def by_hand(rows, days, names):
    """At each day: who had chances, the rate of each, and the mean weighted by chances."""
    found = []
    for day in days:
        past = [row for row in rows if row[0] <= day and row[2] is not None]
        chances = {n: sum(row[3] for row in past if row[1] == n) for n in names}
        there = [n for n in names if chances[n] > 0]
        rate = {n: sum(row[2] for row in past if row[1] == n) / chances[n] for n in there}
        mean = sum(rate[n] * chances[n] for n in there) / sum(chances[n] for n in there)
        weights = {n: len(there) * chances[n] / sum(chances[m] for m in there) for n in there}
        found.append((rate, mean, weights))
    return found


def rows_of(frame):
    clean = frame.astype(object).where(frame.notna(), None)
    return [tuple(row) for row in clean.itertuples(index=False)]


@pytest.mark.parametrize("welfare", ["log_nash", "gini"])
def test_rates(welfare):
    answer = audit(
        RATES, stakeholder="who", time="day", amount="granted", out_of="asked", welfare=welfare
    )
    found = by_hand(rows_of(RATES), (1, 2, 3), "ABC")
    scores = []
    for k, (rate, mean, weights) in enumerate(found):
        assert answer.over_time.mean[k] == pytest.approx(mean, abs=1e-12)
        for place, name in enumerate("ABC"):
            one = answer.over_time.unfairness[k, place]
            if name in rate:
                assert one == pytest.approx(rate[name] - mean, abs=1e-12)
            else:
                assert math.isnan(one)  # no chance yet, so not judged
        if welfare == "log_nash":
            scores.append(sum(weights[n] * math.log(1 + rate[n]) for n in rate))
        else:
            pairs = [weights[a] * weights[b] * abs(rate[a] - rate[b]) for a in rate for b in rate]
            scores.append(mean - sum(pairs) / (2 * len(rate) ** 2))
    assert answer.score == pytest.approx(sum(scores) / 3, abs=1e-9)


def test_of_harms_whoever_has_fewest_is_best_off():
    log = pd.DataFrame(
        {"week": [1, 1, 2, 2], "trust": ["A", "B", "A", "B"], "breaches": [9, 1, 5, 2]}
    )
    answer = audit(log, stakeholder="trust", time="week", amount="breaches", lower_is_better=True)
    assert answer.treated_worst == ("A",)
    assert answer.stakeholder("A").received == 14
    assert answer.stakeholder("A").final_unfairness == pytest.approx(-(14 - 17 / 2))
    assert answer.score == pytest.approx((-9 - 14) / 2)  # Rawls, without a word about it
    assert not any("rawls" in note for note in answer.notes)
    plain = audit(log, stakeholder="trust", time="week", amount="breaches")
    assert plain.treated_worst == ("B",)


def test_breaches_of_attendances():
    log = RATES.rename(columns={"granted": "breaches", "asked": "seen"})
    answer = audit(
        log, stakeholder="who", time="day", amount="breaches", out_of="seen", lower_is_better=True
    )
    rate, mean, _ = by_hand(rows_of(RATES), (3,), "ABC")[0]
    for name in "ABC":
        found = answer.stakeholder(name).final_unfairness
        assert found == pytest.approx(-(rate[name] - mean), abs=1e-12)


def test_an_entitlement_counts_as_of_each_moment():
    log = pd.DataFrame(
        {
            "day": [1, 1, 2, 2, 3],
            "who": ["A", "B", "A", "B", "B"],
            "got": [4.0, 6.0, 2.0, 0.0, 3.0],
            "people": [2.0, 6.0, 4.0, 6.0, 6.0],
        }
    )
    answer = audit(log, stakeholder="who", time="day", amount="got", entitlement="people")
    received = [(4, 6), (6, 6), (6, 9)]
    people = [(2, 6), (4, 6), (4, 6)]
    scores = []
    for k, (got, entitled) in enumerate(zip(received, people, strict=True)):
        mean = sum(got) / sum(entitled)
        each = [g / n for g, n in zip(got, entitled, strict=True)]
        assert answer.over_time.mean[k] == pytest.approx(mean)
        assert answer.over_time.unfairness[k] == pytest.approx([u - mean for u in each])
        weights = [2 * n / sum(entitled) for n in entitled]
        scores.append(sum(w * math.log(1 + u) for w, u in zip(weights, each, strict=True)))
    assert answer.score == pytest.approx(sum(scores) / 3, abs=1e-9)


def test_a_stock_is_a_level_until_the_next_one():
    log = pd.DataFrame(
        {
            "month": [2, 1, 1, 3, 3, 2],
            "town": ["A", "A", "B", "B", "A", "B"],
            "beds": [3.0, 5.0, 2.0, 4.0, None, 2.0],
        }
    )
    answer = audit(log, stakeholder="town", time="month", amount="beds", stock=True)
    levels = [(5, 2), (3, 2), (3, 4)]
    assert answer.score == pytest.approx(
        sum(math.log(1 + a) + math.log(1 + b) for a, b in levels) / 3
    )
    assert answer.over_time.unfairness[:, 0] == pytest.approx([1.5, 0.5, -0.5])
    assert answer.stakeholder("A").received == 3
    assert answer.corrections == ()
    keywords = {"stakeholder": "town", "time": "month", "amount": "beds", "stock": True}
    with pytest.raises(e.BadLog, match="a level below 0 at row 2"):
        audit(log.assign(beds=[3.0, -5.0, 2.0, 4.0, 1.0, 2.0]), **keywords)
    with pytest.raises(e.BadLog, match="'A' has two levels at 1"):
        audit(log.assign(month=[1, 1, 1, 3, 3, 2]), **keywords)
    with pytest.raises(e.BadParameter, match="leave one out"):
        audit(log, **keywords, cumulative=True)
    with pytest.raises(e.BadParameter, match="leave one out"):
        audit(log, **keywords, after_each=5)


def test_a_scheme_may_say_that_it_is_a_rate_of_harms():
    keywords = {"stakeholder": "who", "time": "day", "amount": "granted"}
    scheme = anytime(Rawls(), status=LowerIsBetter(of=Rate()))
    answer = audit(RATES, **keywords, out_of="asked", scheme=scheme)
    asked = audit(RATES, **keywords, out_of="asked", lower_is_better=True)
    assert answer.score == asked.score
    assert answer.verdict == asked.verdict
    with pytest.raises(e.BadParameter, match="status is rate, which needs how many chances each"):
        audit(RATES, **keywords, scheme=scheme)
    with pytest.raises(e.BadParameter, match="`lower_is_better` is already said"):
        audit(RATES, **keywords, out_of="asked", scheme=scheme, lower_is_better=True)
    sides = RATES.assign(side=["x", "x", "y", "x", "y", "y", "y"])
    with pytest.raises(e.BadParameter, match="not summed by group"):
        audit(sides, **keywords, out_of="asked", scheme=scheme, by="side")


def test_what_makes_no_rate_is_refused():
    keywords = {"stakeholder": "who", "time": "day", "amount": "granted", "out_of": "asked"}
    wrong = RATES.assign(asked=[2.0, 1.0, 1.0, 4.0, 3.0, 5.0, 9.0])
    with pytest.raises(e.BadLog, match="by 1 'A' had 2 times what `out_of` says"):
        audit(wrong, **keywords)
    with pytest.raises(e.BadLog, match="must say out of how many"):
        audit(RATES.assign(asked=[2.0, -1.0, 1.0, 4.0, 3.0, 5.0, 9.0]), **keywords)
    with pytest.raises(e.BadParameter, match="both say what an amount is set against"):
        audit(RATES, **keywords, entitlement={"A": 1.0})
    with pytest.raises(e.BadParameter, match="without which it has no mean"):
        audit(RATES, **keywords, unweighted=True)


def test_an_entitlement_that_is_two_at_a_time_or_not_known_yet_is_refused():
    log = pd.DataFrame(
        {"day": [1, 1, 2], "who": ["A", "A", "B"], "got": 1.0, "people": [2.0, 3.0, 1.0]}
    )
    keywords = {"stakeholder": "who", "time": "day", "amount": "got", "entitlement": "people"}
    with pytest.raises(e.BadLog, match="'A' is 2 and 3 at 1"):
        audit(log, **keywords)
    late = pd.DataFrame(
        {"day": [1, 2, 3], "who": ["A", "B", "B"], "got": 1.0, "people": [2.0, 3.0, 1.0]}
    )
    with pytest.raises(e.BadRoster, match="is not known before 2, but it is judged from 1"):
        audit(late, **keywords)


PERIODS = pd.DataFrame(
    {
        "day": [f"2021-{day}" for day in ("02-03", "01-05", "01-09", "01-20", "04-11", "04-30")],
        "who": ["A", "A", "B", "A", "B", "A"],
        "granted": [1.0, 2.0, 0.5, 0.0, 3.0, 1.0],
        "asked": [4.0, 2.0, 1.0, 3.0, 3.0, 5.0],
    }
)


@pytest.mark.parametrize("harm", [False, True])
def test_a_rate_within_each_period_forgets_the_ones_before(harm):
    answer = audit(
        PERIODS,
        stakeholder="who",
        time="day",
        amount="granted",
        out_of="asked",
        within_period=True,
        every="month",
        lower_is_better=harm,
        welfare="rawls",
    )
    assert answer.over_time.times == ("2021-01", "2021-02", "2021-04")  # nobody asked in March
    scores = []
    for k, month in enumerate(answer.over_time.times):
        rows = [row for row in rows_of(PERIODS) if row[0].startswith(month)]
        got = {n: sum(row[2] for row in rows if row[1] == n) for n in "AB"}
        asked = {n: sum(row[3] for row in rows if row[1] == n) for n in "AB"}
        rate = {n: got[n] / asked[n] for n in "AB" if asked[n]}
        mean = sum(got.values()) / sum(asked.values())
        sign = -1 if harm else 1
        for place, name in enumerate("AB"):
            found = answer.over_time.unfairness[k, place]
            if name in rate:
                assert found == pytest.approx(sign * (rate[name] - mean), abs=1e-12)
            else:
                assert math.isnan(found)  # no chance in that month
        scores.append(min(sign * one for one in rate.values()))
    assert answer.score == pytest.approx(sum(scores) / 3, abs=1e-9)
    # In April 4 of 8 were granted; A had 5 chances and 1, where 2.5 were its share.
    assert answer.stakeholder("A").short_of_share == pytest.approx(-1.5 if harm else 1.5)


def test_within_one_period_it_is_the_rate_so_far():
    keywords = {"stakeholder": "who", "time": "day", "amount": "granted", "out_of": "asked"}
    for asked in ({"at_end": True}, {"every": "year", "until": "2021-12-31"}, {"every": 6}):
        within = audit(PERIODS, **keywords, **asked, within_period=True)
        so_far = audit(PERIODS, **keywords, **asked)
        assert within.score == pytest.approx(so_far.score, abs=1e-12)
    later = audit(PERIODS, **keywords, within_period=True, every="month", until="2021-12-31")
    assert later.overall.assessments == 3
    assert [later.stakeholder(n).final for n in "AB"] == [1 / 5, 3 / 3]  # in April, the last
    each = audit(PERIODS, **keywords, within_period=True, welfare="average")
    rates = [2 / 2, 0.5 / 1, 0 / 3, 1 / 4, 3 / 3, 1 / 5]
    assert each.score == pytest.approx(sum(rates) / 6, abs=1e-12)
    wrong = PERIODS.assign(granted=[1.0, 2.0, 2.0, 0.0, 3.0, 1.0])
    with pytest.raises(e.BadLog, match="by 2021-01 'B' had 2 times"):
        audit(wrong, **keywords, within_period=True, every="month")


def test_a_level_holds_from_before_anybody_is_judged_by_it():
    log = pd.DataFrame({"day": [1, 1, 1, 5], "who": list("ABCA"), "beds": [10.0, 4.0, 1.0, 12.0]})
    keywords = {"stakeholder": "who", "time": "day", "amount": "beds", "stock": True}
    later = audit(log, **keywords, since=3)
    assert [later.stakeholder(n).received for n in "ABC"] == [12, 4, 1]
    assert later.score == pytest.approx(sum(math.log(1 + level) for level in (12, 4, 1)))
    roster = pd.DataFrame({"who": list("ABC"), "from": [None, 3, None], "until": [None, None, 2]})
    come = audit(log, **keywords, roster=roster)
    first, last = (10, 1), (12, 4)  # B comes with its 4 beds, and C has gone
    scores = [sum(math.log(1 + level) for level in levels) for levels in (first, last)]
    assert come.score == pytest.approx(sum(scores) / 2)
    assert "Judged from when they joined: B from 3." in come.notes
    two = compare_periods(log, **keywords, before=3, welfare="rawls")
    assert (two.first.score, two.second.score) == (1, 1)


def test_an_entitlement_counts_from_before_the_part_that_is_judged():
    log = pd.DataFrame(
        {
            "day": [1, 1, 2, 4, 5],
            "who": ["A", "B", "A", "A", "A"],
            "got": [4.0, 6.0, 2.0, 3.0, 1.0],
            "people": [2.0, 6.0, 4.0, None, 8.0],
        }
    )
    keywords = {"stakeholder": "who", "time": "day", "amount": "got", "entitlement": "people"}
    answer = audit(log, **keywords, since=4, welfare="rawls")
    # From day 4 A has got 3 for 4 people, then 4 for 8; B, of whom no row is left, nothing for 6.
    assert answer.over_time.mean == pytest.approx([3 / 10, 4 / 14])
    assert answer.over_time.unfairness[:, 0] == pytest.approx([3 / 4 - 3 / 10, 4 / 8 - 4 / 14])


@pytest.mark.parametrize("welfare", ["log_nash", "gini", "rawls", "jain", "negative_variance"])
def test_where_all_are_entitled_to_one_the_numbers_are_the_paper_s(welfare):
    keywords = {"stakeholder": "who", "time": "day", "amount": "granted", "welfare": welfare}
    plain = audit(RATES, **keywords)
    equal = audit(RATES, **keywords, entitlement=dict.fromkeys("ABC", 1.0))
    assert equal.score == plain.score  # to the last digit
    assert equal.over_time.unfairness.tolist() == plain.over_time.unfairness.tolist()
