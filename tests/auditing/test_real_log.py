"""The real vaccination log, against an independent computation in pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.auditing import audit
from places import VACCINATIONS as LOG

pytestmark = pytest.mark.skipif(not LOG.exists(), reason="the real log is not here")

OPTIONS = {
    "stakeholder": "location",
    "time": "date",
    "amount": "total_distributed",
    "cumulative": True,
    "exclude": ["United States"],
}


@pytest.fixture(scope="module")
def running():
    """The running totals by date and location, 0 before the first reading."""
    frame = pd.read_csv(LOG, parse_dates=["date"])
    frame = frame[frame.location != "United States"]
    wide = frame.pivot(index="date", columns="location", values="total_distributed")
    wide = wide.dropna(how="all")
    return wide.ffill().fillna(0.0).sort_index(axis=1)


def check(answer, statuses, final):
    deviation = statuses.sub(statuses.mean(axis=1), axis=0)
    assert answer.overall.assessments == len(statuses)
    assert answer.over_time.welfare == pytest.approx(np.log(statuses + 1).sum(axis=1).to_numpy())
    assert answer.score == pytest.approx(np.log(statuses + 1).sum(axis=1).mean())
    assert {one.name for one in answer.by_stakeholder} == set(statuses.columns)
    for one in answer.by_stakeholder:
        assert one.final == final[one.name]
        assert one.final_unfairness == pytest.approx(final[one.name] - final.mean())
        assert one.overall_unfairness == pytest.approx(deviation[one.name].sum(), abs=1e-3)
        assert one.share_below == pytest.approx((deviation[one.name] < 0).mean())
        below = (deviation[one.name] < 0).to_numpy()
        spells = "".join("x" if b else " " for b in below).split()
        assert one.longest_spell == max(map(len, spells), default=0)


def test_every_date(running):
    answer = audit(str(LOG), **OPTIONS)
    check(answer, running, running.iloc[-1])
    rawls = next(r for r in answer.questions[0].readings if r.welfare == "rawls")
    assert rawls.score == pytest.approx(running.min(axis=1).mean())


@pytest.mark.parametrize(("every", "rule"), [("month", "ME"), ("week", "W-SUN"), ("day", "D")])
def test_calendar_periods(running, every, rule):
    answer = audit(str(LOG), **OPTIONS, every=every)
    periods = running.resample(rule).last().ffill()
    finished = periods[periods.index <= running.index[-1]]
    check(answer, finished, running.iloc[-1])
    assert (answer.overall.unfinished is None) == (len(finished) == len(periods))


def test_what_is_untidy_is_noted(running):
    answer = audit(str(LOG), **{**OPTIONS, "exclude": []}, every="month")
    notes = " ".join(answer.notes)
    assert "393 rows have an empty amount" in notes
    assert "A running total falls 16 times" in notes
    assert "Is 'United States' the sum of the others?" in notes
    assert "`exclude=['United States']`" in notes
    assert "2021-05) is not finished" in notes
    assert answer.overall.unfinished == "2021-05"
    assert len(answer.corrections) == 16


@pytest.fixture(scope="module")
def people():
    """Populations, as distributed_per_hundred implies them at the last reading of each."""
    frame = pd.read_csv(LOG).dropna(subset=["total_distributed", "distributed_per_hundred"])
    frame = frame[frame.location != "United States"]
    last = frame.sort_values("date").groupby("location").last()
    return last.total_distributed / last.distributed_per_hundred * 100


@pytest.fixture(scope="module")
def per_head(running, people):
    """The audit of doses a head by month: of those whose population is known."""
    federal = sorted(set(running.columns) - set(people.index))
    options = {**OPTIONS, "exclude": ["United States", *federal], "every": "month"}
    return lambda **more: audit(str(LOG), **options, entitlement=people.to_dict(), **more)


def test_per_head_everyone_counts_as_many_as_they_are(running, people, per_head):
    answer = per_head()
    months = running[people.index].resample("ME").last()
    doses = months[months.index <= running.index[-1]]
    statuses, weights = doses / people, len(people) * people / people.sum()
    welfare = (weights * np.log(statuses + 1)).sum(axis=1)
    assert answer.over_time.welfare == pytest.approx(welfare.to_numpy(), rel=1e-9)
    assert answer.score == pytest.approx(welfare.mean(), rel=1e-9)
    mean = doses.sum(axis=1) / people.sum()  # all doses over all people
    assert answer.over_time.mean == pytest.approx(mean.to_numpy(), rel=1e-9)
    even = len(people) * np.log(mean + 1)
    assert answer.overall.even_score == pytest.approx(even.mean(), rel=1e-9)
    assert answer.score < answer.overall.even_score
    deviation = statuses.sub(mean, axis=0)
    for one in answer.by_stakeholder:
        assert one.overall_unfairness == pytest.approx(deviation[one.name].sum(), abs=1e-9)
        assert one.share_below == pytest.approx((deviation[one.name] < 0).mean())


def test_doses_short_of_a_share_add_up_to_nothing(running, people, per_head):
    answer = per_head()
    final = running[people.index].iloc[-1]
    share = people * final.sum() / people.sum()
    for one in answer.by_stakeholder:
        expected = share[one.name] - final[one.name]
        assert one.short_of_share == pytest.approx(expected, rel=1e-9, abs=1e-3)
    assert sum(one.short_of_share for one in answer.by_stakeholder) == pytest.approx(0, abs=1e-2)
    most = (share - final).idxmax()
    assert f"At the end {most} was {(share - final).max():,.0f} short" in answer.verdict


def test_who_is_below_depends_on_whether_people_or_states_count(running, people, per_head):
    january = running.loc["2021-01-31", people.index]
    per_person = january / people
    behind = per_person.index[per_person < january.sum() / people.sum()]
    behind_alike = per_person.index[per_person < per_person.mean()]
    assert (len(behind), len(behind_alike)) == (24, 46)  # of 60

    def below(answer):
        first = answer.over_time.unfairness[0]
        return [name for name, far in zip(answer.over_time.names, first, strict=True) if far < 0]

    assert below(per_head()) == sorted(behind)
    assert below(per_head(unweighted=True)) == sorted(behind_alike)
