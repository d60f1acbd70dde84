"""Groups at the end, and one log in two periods: against plain Python."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand import audit
from evenhand import errors as e
from evenhand.auditing.compare_logs import compare_periods
from evenhand.log.options import AuditOptions

LOG = pd.DataFrame(
    {
        "day": [1, 1, 2, 2, 3, 3, 4],
        "who": ["Ana", "Ben", "Cleo", "Dan", "Ana", "Dan", "Ben"],
        "sex": ["f", "m", "f", "m", "f", "m", "m"],
        "region": ["N", "N", "S", "S", "N", "S", "N"],
        "got": [4.0, 1.0, 2.0, 6.0, 1.0, 1.0, 2.0],
    }
)
OPTIONS = {"stakeholder": "who", "time": "day", "amount": "got"}
STATUS = {"Ana": 5.0, "Ben": 3.0, "Cleo": 2.0, "Dan": 7.0}
SEX = {"f": ("Ana", "Cleo"), "m": ("Ben", "Dan")}


@pytest.mark.parametrize("sizes", [None, {"Ana": 1.0, "Ben": 2.0, "Cleo": 4.0, "Dan": 3.0}])
def test_the_inequality_between_and_within_groups_adds_up(sizes):
    answer = audit(LOG, **OPTIONS, group="sex", reference="m", entitlement=sizes)
    size = sizes or dict.fromkeys(STATUS, 1.0)
    total = sum(size.values())
    status = {name: STATUS[name] / size[name] for name in STATUS}
    mean = sum(size[n] * status[n] for n in STATUS) / total
    means = {
        sex: sum(size[n] * status[n] for n in part) / sum(size[n] for n in part)
        for sex, part in SEX.items()
    }
    between = sum(
        sum(size[n] for n in part) / total * (means[sex] - mean) ** 2 for sex, part in SEX.items()
    )
    variance = sum(size[n] / total * (status[n] - mean) ** 2 for n in STATUS)
    gaps = answer.groups
    assert gaps.between == pytest.approx(between, abs=1e-12)
    assert gaps.between + gaps.within == pytest.approx(variance, abs=1e-12)
    women = next(gap for gap in gaps.groups if gap.name == "f")
    assert women.difference == pytest.approx(means["f"] - means["m"])
    assert women.ratio == pytest.approx(means["f"] / means["m"])
    assert any("lies between the groups" in note for note in answer.notes)
    assert any(note.startswith("Compared with m at the end: f ") for note in answer.notes)
    assert answer.to_json()["groups"]["share_between"] == pytest.approx(between / variance)


def test_two_columns_make_one_group():
    answer = audit(LOG, **OPTIONS, group=["sex", "region"], by="group")
    assert [one.name for one in sorted(answer.by_stakeholder, key=lambda one: one.name)] == [
        "f, N",
        "f, S",
        "m, N",
        "m, S",
    ]
    assert answer.stakeholder("m, S").received == 7


def test_a_group_of_which_nobody_is_there_at_the_end_is_compared_with_nothing():
    roster = pd.DataFrame({"who": list(STATUS), "until": [1, None, 1, None]})
    log = pd.DataFrame(
        {"day": [1] * 4 + [2], "who": [*STATUS, "Ben"], "got": 1.0, "sex": list("fmfmm")}
    )
    for reference in ("f", "m"):
        answer = audit(log, **OPTIONS, group="sex", reference=reference, roster=roster)
        words = " ".join(answer.notes)
        assert "At the end nobody was there of f." in words
        assert "Compared with" not in words
        women = answer.to_json()["groups"]["groups"][0]
        assert (women["status"], women["difference"], women["ratio"]) == (None, None, None)


def test_unknown_groups():
    with pytest.raises(e.BadParameter, match="which is not a group"):
        audit(LOG, **OPTIONS, group="sex", reference="x")
    with pytest.raises(e.BadParameter, match="which column holds the groups"):
        audit(LOG, **OPTIONS, reference="x")
    with pytest.raises(e.MissingColumn, match="regin"):
        audit(LOG, **OPTIONS, group=["sex", "regin"])


def test_one_log_in_two_periods():
    found = compare_periods(LOG, **OPTIONS, before=3, welfare="rawls")
    earlier = audit(LOG[LOG["day"] < 3], **OPTIONS, welfare="rawls")
    later = audit(LOG[LOG["day"] >= 3], **OPTIONS, welfare="rawls")
    assert found.first.label.endswith("before 3")
    assert found.first.score == pytest.approx(earlier.score)
    # Who is only in the earlier part of the log is still there in the later one.
    everyone = pd.concat([LOG[LOG["day"] >= 3], LOG.assign(day=3, got=0.0)])
    assert found.second.score == pytest.approx(audit(everyone, **OPTIONS, welfare="rawls").score)
    assert found.second.score < later.score
    with pytest.raises(e.BadParameter, match=r"`before` is 'soon'.*give a number"):
        compare_periods(LOG, **OPTIONS, before="soon")
    with pytest.raises(e.BadParameter, match="judges each period from nothing"):
        AuditOptions(**OPTIONS, before=3, asked="wants")


def test_sentences_name_the_argument_that_made_two_periods():
    found = compare_periods(LOG, **OPTIONS, before=3, welfare="rawls")
    for answer, where in ((found.first, "from `before` on"), (found.second, "before `before`")):
        assert any(f"time points {where} were left out." in note for note in answer.notes)
        assert not any("`until`" in note or "`since`" in note for note in answer.notes)
    with pytest.raises(e.BadLog, match="the log begins no earlier than `before`"):
        compare_periods(LOG, **OPTIONS, before=0)
    with pytest.raises(e.BadLog, match="the log ends before `before`"):
        compare_periods(LOG, **OPTIONS, before=99)


def test_dates_cut_at_midnight():
    dated = LOG.assign(day=[f"2021-01-0{day}" for day in LOG["day"]])
    with pytest.raises(e.BadParameter, match="`before` is 'soon': it must be a date"):
        compare_periods(dated, **OPTIONS, before="soon")
    found = compare_periods(dated, **OPTIONS, before="2021-01-03", welfare="rawls")
    plain = compare_periods(LOG, **OPTIONS, before=3, welfare="rawls")
    assert found.first.score == plain.first.score
    assert found.second.score == plain.second.score


def test_of_a_period_that_the_border_cuts_off_the_border_is_named():
    """Another `until` would not finish it: the first part ends where the second begins."""
    days = ["2021-01-05", "2021-02-05", "2021-03-05", "2021-04-05"]
    log = LOG.head(4).assign(day=pd.to_datetime(days))
    found = compare_periods(log, **OPTIONS, every="month", before="2021-02-10", welfare="rawls")
    (note,) = [one for one in found.first.notes if "(2021-02) is not finished" in one]
    assert note.endswith("To have it scored, let `before` be the first day of the next one.")
    (later,) = [one for one in found.second.notes if "(2021-04) is not finished" in one]
    assert later.endswith("say so with `until`.")
