"""What was found beside chance, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenhand.auditing.chance.chance_text import how_often, sentences
from evenhand.auditing.chance.finding import ChanceFinding
from evenhand.auditing.chance.measures import MeasureFinding
from evenhand.auditing.chance.naming import PersonFinding
from evenhand.auditing.chance.nulls import DrawnGroups, FairLottery, ShuffledAmounts
from evenhand.auditing.chance.power import PowerFinding


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
