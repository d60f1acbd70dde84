"""Waits from two dates, against plain Python: the mean, the longest open one, those in time."""

from __future__ import annotations

import datetime
import math

import pandas as pd
import pytest

from evenhand import errors as e
from evenhand.auditing import compare_periods
from logs import audit_alone as audit

# Untidy: out of order, two cases at once, one that ends at once, two that are still open.
CASES = [
    ("North", 9, 30),
    ("South", 3, 5),
    ("North", 1, 4),
    ("South", 3, None),
    ("East", 20, 20),
    ("North", 12, None),
    ("East", 21, 24),
]
LOG = pd.DataFrame(CASES, columns=["office", "opened", "closed"])
NAMES = ("East", "North", "South")
MOMENTS = sorted({t for _, start, end in CASES for t in (start, end) if t is not None})
OPTIONS = {"stakeholder": "office", "wait_from": "opened", "wait_to": "closed"}


def begun(name, moment):
    return [(s, math.inf if t is None else t) for who, s, t in CASES if who == name and s <= moment]


def check(answer, moments, status, weight):
    for k, moment in enumerate(moments):
        there = [n for n in NAMES if weight(n, moment) > 0]
        total = sum(weight(n, moment) for n in there)
        mean = sum(weight(n, moment) * status(n, moment) for n in there) / total
        for place, name in enumerate(NAMES):
            found = answer.over_time.unfairness[k, place]
            if name in there:
                assert found == pytest.approx(status(name, moment) - mean, abs=1e-9)
            else:
                assert math.isnan(found)
    assert len(answer.over_time.times) == len(moments)


def mean_wait(name, moment):
    cases = begun(name, moment)
    return sum(min(end, moment) - start for start, end in cases) / len(cases)


def test_the_mean_wait_counts_open_cases_up_to_each_moment():
    answer = audit(LOG, **OPTIONS)
    check(answer, MOMENTS, lambda n, t: -mean_wait(n, t), lambda n, t: len(begun(n, t)))
    assert answer.treated_worst == ("South",)


def test_dates_are_counted_in_days():
    start = datetime.date(2021, 1, 1)
    dated = LOG.assign(
        **{
            column: [
                None if t != t else str(start + datetime.timedelta(days=int(t)))
                for t in LOG[column]
            ]
            for column in ("opened", "closed")
        }
    )
    answer, plain = audit(dated, **OPTIONS), audit(LOG, **OPTIONS)
    assert answer.over_time.unfairness == pytest.approx(plain.over_time.unfairness, nan_ok=True)
    monthly = audit(dated, **OPTIONS, every="month", until="2021-02-28")
    at = 58 + 1 - 1e-6 / 86_400  # the last microsecond of February, in days from the start
    worst = max(mean_wait(n, at) for n in NAMES)
    assert monthly.overall.assessments == 2
    assert monthly.over_time.welfare[-1] == pytest.approx(-worst, rel=1e-6)


def test_the_longest_open_wait():
    def longest(name, moment):
        return max((moment - s for s, end in begun(name, moment) if end > moment), default=0.0)

    answer = audit(LOG, **OPTIONS, longest_open=True)
    check(answer, MOMENTS, lambda n, t: -longest(n, t), lambda n, t: 1.0)


def test_the_share_within_a_limit():
    limit = 5

    def known(name, moment):
        """Ended by then in time, or older than the limit by then."""
        cases = begun(name, moment)
        in_time = [c for c in cases if c[1] - c[0] <= limit and c[1] <= moment]
        late = [c for c in cases if c[1] - c[0] > limit and c[0] + limit < moment]
        return in_time, late

    answer = audit(LOG, **OPTIONS, within=limit)
    last = max(MOMENTS)  # up to which the log is known
    moments = sorted(
        {last}
        | {t for _, s, t in CASES if t is not None and t - s <= limit}
        | {
            math.nextafter(s + limit, math.inf)
            for _, s, t in CASES
            if (t is None or t - s > limit) and s + limit < last
        }
    )

    def share(name, moment):
        in_time, late = known(name, moment)
        return len(in_time) / (len(in_time) + len(late))

    check(answer, moments, share, lambda n, t: sum(map(len, known(n, t))))


LATE = pd.DataFrame(
    [
        ("A", "2021-01-01", "2021-01-05"),
        ("A", "2021-01-02", "2021-01-06"),
        ("A", "2021-01-03", "2021-01-08"),
        ("B", "2021-01-01", "2021-06-01"),
        ("B", "2021-01-02", "2021-06-10"),
        ("B", "2021-01-03", None),
    ],
    columns=["office", "opened", "closed"],
)


@pytest.mark.parametrize(
    "question",
    [
        {"at_end": True},
        {"at_end": True, "until": "2021-06-30"},
        {"every": "month", "until": "2021-06-30"},
        {"every": "month"},
    ],
)
def test_cases_that_ended_late_are_known_to_be_late(question):
    """All of A's were in time and none of B's: 1 and 0, of which the mean is a half."""
    answer = audit(LATE, **OPTIONS, within="30d", **question)
    assert answer.treated_worst == ("B",)
    assert answer.over_time.unfairness[-1].tolist() == [0.5, -0.5]


def test_a_late_case_counts_from_the_moment_at_which_it_is_late():
    """B's are late 30 days after each began, and the log is known up to the last date in it."""
    answer = audit(LATE, **OPTIONS, within="30d")
    days = [label[:10] for label in answer.over_time.times]
    assert days == [f"2021-{d}" for d in ("01-05", "01-06", "01-08", "01-31", "02-01", "02-02")] + [
        "2021-06-10"
    ]
    shares = [1, 1, 1, 3 / 4, 3 / 5, 3 / 6, 3 / 6]
    assert answer.over_time.mean.tolist() == pytest.approx(shares)
    assert answer.over_time.unfairness[3].tolist() == [0.25, -0.75]


def test_until_a_moment_only_what_is_known_by_then_counts():
    seen = audit(LATE, **OPTIONS, within="30d", until="2021-02-01", at_end=True)
    # Three of A's, all in time, and the first two of B's, both late: the mean share is 3 of 5.
    assert seen.over_time.unfairness[-1].tolist() == pytest.approx([0.4, -0.6])


def test_two_periods_are_told_apart_by_what_was_given():
    two = compare_periods(LATE, before="2021-01-02", **OPTIONS)
    assert "1 case was left out" not in str(two.first.notes)
    assert any("2 cases were left out that began before `before`" in n for n in two.second.notes)


def test_bad_waits():
    with pytest.raises(e.BadLog, match="end \\('closed'\\) before they begin"):
        audit(LOG.assign(closed=2), **OPTIONS)
    with pytest.raises(e.BadParameter, match="a wait needs two dates"):
        audit(LOG, stakeholder="office", wait_from="opened")
    with pytest.raises(e.BadParameter, match="leave `amount` out"):
        audit(LOG, **OPTIONS, amount="closed")
    with pytest.raises(e.BadParameter, match="it must be a time such as 30d"):
        audit(LOG, **OPTIONS, within="soon")
    with pytest.raises(e.BadParameter, match="ask different questions"):
        audit(LOG, **OPTIONS, within=3, longest_open=True)
    with pytest.raises(e.BadParameter, match="which column holds the times"):
        audit(LOG, stakeholder="office")


def test_waits_are_put_in_words_of_their_own():
    assert "above the mean wait (of all cases, in units of time)" in audit(LOG, **OPTIONS).verdict
    assert "the mean share in time (of all cases)" in audit(LOG, **OPTIONS, within=5).verdict
    dated = LOG.assign(opened=pd.Timestamp("2021-01-01"), closed=pd.Timestamp("2021-02-01"))
    scheme = audit(dated, **OPTIONS).scheme.describe()
    assert "minus how many days its cases have waited so far, on average" in scheme
    assert "it counts by the number of its cases" in scheme


def test_since_leaves_out_cases_that_began_before_it():
    kept = audit(LOG[LOG["opened"] >= 9], **OPTIONS)
    since = audit(LOG, **OPTIONS, since=9)
    assert since.score == kept.score
    assert any("3 cases were left out that began before `since`" in note for note in since.notes)
    with pytest.raises(e.BadLog, match="all cases began before `since`"):
        audit(LOG, **OPTIONS, since=99)
