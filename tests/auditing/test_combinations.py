"""What options cannot mean together is refused with the reason, and none is ever ignored."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand import AfterEach, FairnessScheme, Rawls, Window, anytime
from evenhand import errors as e
from evenhand.auditing import audit, compare, compare_periods
from evenhand.auditing.options import AuditOptions
from evenhand.fairness.status import (
    EnvyOfBest,
    Level,
    LowerIsBetter,
    MeanWait,
    PerCurrentEntitlement,
    PerEntitlement,
    RateWithinPeriod,
    ShareMet,
)

BASE = {"stakeholder": "who", "time": "day", "amount": "got"}
WAITS = {"stakeholder": "who", "wait_from": "day", "wait_to": "end"}
RATE, ASKED, STOCK = {"out_of": "n"}, {"asked": "wants"}, {"stock": True}
REFUSED = [
    (RATE | {"entitlement": "people"}, "both say what an amount is set against"),
    (RATE | ASKED, "both say what an amount is set against"),
    (RATE | {"cumulative": True}, "take differences first"),
    (RATE | STOCK, "take differences first"),
    (RATE | {"unweighted": True, "entitlement": None}, "without which it has no mean"),
    (RATE | {"newcomers": "mean", "roster": ["A"]}, "needs no beginning"),
    ({"within_period": True}, "no meaning without `out_of`"),
    (RATE | {"within_period": True, "after_each": 3}, "needs periods"),
    (RATE | {"within_period": True, "when": "got > 1"}, "needs periods"),
    (ASKED | STOCK, "take differences first"),
    (ASKED | {"lower_is_better": True}, "less of them is better"),
    (ASKED | {"newcomers": "zero", "roster": ["A"]}, "begin elsewhere"),
    (ASKED | {"before": 2}, "judges each period from nothing"),
    (ASKED | {"entitlement": "people"}, "or judge with `judge_requests='while_waiting'`"),
    ({"requests": "r.csv", "run": "seed"}, "belong to no `run`"),
    (STOCK | {"after_each": 3}, "levels, and `after_each` that they are given out"),
    (STOCK | {"newcomers": "mean", "roster": ["A"]}, "where each stands"),
    ({"judge_requests": "shortfall"}, "no meaning without `asked` or `requests`"),
    ({"requests_time": "at"}, "no meaning without `requests`"),
    ({"requests_stakeholder": "client"}, "no meaning without `requests`"),
    ({"requests_table": "asked"}, "no meaning without `requests`"),
    ({"within": "30d"}, "no meaning without `wait_from`"),
    ({"longest_open": True}, "no meaning without `wait_from`"),
    ({"newcomers": "mean"}, "no meaning without `roster`"),
    ({"unweighted": True}, "no meaning without `entitlement`"),
    (STOCK | {"scheme": FairnessScheme(filter=AfterEach(3.0))}, "no meaning with `stock`"),
    (
        RATE | {"within_period": True, "scheme": FairnessScheme(filter=AfterEach(3.0))},
        "no meaning with `within_period`",
    ),
]


@pytest.mark.parametrize(("options", "why"), REFUSED, ids=[" ".join(o) for o, _ in REFUSED])
def test_what_makes_no_sense_is_refused_before_anything_is_read(options, why):
    with pytest.raises(e.BadParameter, match=why):
        AuditOptions(**BASE, **options)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"when": "got > 1"}, "leave `when` out"),
        ({"amount": "got"}, "leave `amount` out"),
        ({"time": "other"}, "leave `time` out"),
        ({"within": 3, "lower_is_better": True}, "better when higher"),
        ({"within": 3, "longest_open": True}, "ask different questions"),
        ({"longest_open": True, "by": "region"}, "is not summed by group"),
        ({"scheme": FairnessScheme(filter=AfterEach(3.0))}, "no meaning with `wait_from`"),
    ],
)
def test_what_waits_leave_no_room_for(options, why):
    with pytest.raises(e.BadParameter, match=why):
        AuditOptions(**WAITS, **options)


LOG = pd.DataFrame(
    {
        "day": [1, 1, 2, 3, 4],
        "who": ["A", "B", "A", "B", "A"],
        "got": [2.0, 1.0, 1.0, 3.0, 2.0],
        "n": [4.0, 2.0, 2.0, 3.0, 2.0],
        "wants": [4.0, 5.0, 2.0, 3.0, 2.0],
        "people": [2.0, 3.0, 2.0, 3.0, 2.0],
        "end": [2.0, 3.0, 5.0, None, 6.0],
    }
)


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [
        (RATE, Window(2), "`out_of` cannot be set beside"),
        (RATE, EnvyOfBest(), "`out_of` cannot be set beside"),
        (STOCK, Window(2), "`stock` cannot be set beside"),
        (ASKED, LowerIsBetter(), "`asked` cannot be set beside"),
        (ASKED, PerEntitlement((1.0, 2.0)), "`asked` cannot be set beside"),
        (ASKED, LowerIsBetter(of=ShareMet()), "less is better"),
        (ASKED | {"judge_requests": "shortfall"}, ShareMet(), "is already said by the scheme"),
        ({"entitlement": "people"}, PerEntitlement((1.0, 2.0)), "says already what each is"),
        ({"entitlement": "people"}, EnvyOfBest(), "not an amount to be taken per unit"),
        (
            {"entitlement": "people", "unweighted": True},
            PerCurrentEntitlement(),
            "`unweighted` is already said",
        ),
        ({}, Level(), "no column says that"),
        (RATE, MeanWait(), "wherever `wait_from` and `wait_to` are given"),
        ({}, RateWithinPeriod(), "no meaning without `out_of`"),
    ],
)
def test_a_scheme_s_status_is_not_set_against_something_twice(options, status, why):
    with pytest.raises(e.BadParameter, match=why):
        audit(LOG, **BASE, **options, scheme=anytime(Rawls(), status=status))


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (ASKED, ShareMet()),
        (RATE | {"every": 2}, RateWithinPeriod()),
        ({"entitlement": "people"}, PerCurrentEntitlement()),
    ],
    ids=lambda part: str(part),
)
def test_a_scheme_may_say_what_an_option_says(options, status):
    own = audit(LOG, **BASE, **options, scheme=anytime(Rawls(), status=status))
    within = {"within_period": True} if "out_of" in options else {}
    asked = audit(LOG, **BASE, **options, **within, welfare="rawls")
    assert own.score == asked.score
    assert own.over_time.unfairness == pytest.approx(asked.over_time.unfairness, nan_ok=True)


def test_two_periods_are_not_one_audit():
    for judged in (
        lambda: audit(LOG, **BASE, before=3),
        lambda: compare(LOG, LOG, **BASE, before=3),
    ):
        with pytest.raises(e.BadParameter, match=r"call evenhand\.auditing\.compare_periods"):
            judged()
    with pytest.raises(e.BadParameter, match="when the second period begins"):
        compare_periods(LOG, **BASE)


def test_newcomers_need_a_roster_that_says_when_they_come():
    with pytest.raises(e.BadParameter, match="says of nobody from when it is there"):
        audit(LOG, **BASE, roster=["A", "B"], newcomers="least")


@pytest.mark.parametrize("written", ["by-time", "by_time"])
def test_names_may_be_written_with_hyphens_or_underscores(written):
    options = AuditOptions(**BASE, roster=["A"], newcomers=written)
    assert options.newcomers == "by-time"
    shares = AuditOptions(**BASE, **ASKED, judge_requests="share-met")
    assert shares.judge_requests == "share_met"
