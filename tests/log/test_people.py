"""Tests of log.people."""

from __future__ import annotations

import math

import duckdb
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import errors as e
from evenhand.errors import BadRoster
from logs import audit_alone as audit

# Tests of log.people.

# Names shown in place of codes: everywhere, and without changing what is judged.

MAPPED = {"stakeholder": "who", "time": "date", "amount": "doses", "welfare": "rawls"}
LOG = pd.DataFrame({"date": [1, 2, 3], "who": ["E1", "E2", "E2"], "doses": [9.0, 1.0, -0.5]})
NAMES = {"E1": "Eden, North", "E2": "Ely", "E3": "nobody here"}


def test_names_are_shown_everywhere_and_nothing_else_changes(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text('code,name\nE1,"Eden, North"\nE2,Ely\n')
    plain, named = (audit(LOG, **MAPPED, display_names=given) for given in (None, str(path)))
    assert named.over_time.names == ("Eden, North", "Ely")
    assert "Treated worst overall was Ely" in named.verdict
    assert named.corrections == (("3", "Ely", -0.5),)
    assert [(one.name, one.code) for one in named.by_stakeholder] == [
        ("Ely", "E2"),
        ("Eden, North", "E1"),
    ]
    assert [one.code for one in plain.by_stakeholder] == [None, None]
    assert named.overall == plain.overall
    assert named.origin["fingerprint"] == plain.origin["fingerprint"]


def test_a_mapping_and_groups():
    groups = LOG.assign(part=["p", "q", "q"])
    found = audit(groups, **MAPPED, by="part", display_names={"q": "Quarter"})
    assert found.treated_worst == ("Quarter",)
    within = audit(groups, **MAPPED, group="part", display_names=NAMES)
    assert within.stakeholder("Ely").group == "q"


def test_those_without_a_name_are_noted():
    found = audit(LOG, **MAPPED, display_names={"E1": "Eden"})
    assert found.over_time.names == ("Eden", "E2")
    assert any("1 stakeholder has no name" in note and "E2" in note for note in found.notes)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"E1": "Ely", "E2": "Ely"}, "would all be shown as 'Ely'"),
        ({"E1": "E2"}, "would all be shown as 'E2'"),
        ({"x": "y"}, "has a name for none of the stakeholders"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, words):
    with pytest.raises(BadRoster, match=words):
        audit(LOG, **MAPPED, display_names=names)


def test_a_table_that_is_none_of_names_is_refused(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("code,name,more\nE1,a,b\n")
    with pytest.raises(BadRoster, match="3 columns"):
        audit(LOG, **MAPPED, display_names=str(path))
    path.write_text("code,name\nE1,a\nE1,b\n")
    with pytest.raises(BadRoster, match="'E1' twice"):
        audit(LOG, **MAPPED, display_names=str(path))


# An entitlement that changes counts as of each moment, be it higher or lower than before.

LOG_ENTITLEMENT = {"stakeholder": "who", "time": "at", "amount": "much", "entitlement": "people"}


@pytest.mark.parametrize("people", [(2, 1, 4), (1, 4, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 3, 2, 0)])
def test_an_entitlement_counts_as_of_each_moment_in_any_order_of_the_rows(people, order):
    rows = [(at, "A", 4, people[at]) for at in range(3)] + [(1, "B", 3, 1)]
    table = pd.DataFrame([rows[k] for k in order], columns=["at", "who", "much", "people"])
    answer = audit(table, **LOG_ENTITLEMENT)
    for at, mean in enumerate(answer.over_time.mean):
        given = 4 * (at + 1) + 3 * (at >= 1)
        assert mean == pytest.approx(given / (people[at] + 1))
        assert answer.over_time.unfairness[at, 0] == pytest.approx(4 * (at + 1) / people[at] - mean)
    assert answer.stakeholder("A").entitlement == people[-1]
    assert answer.stakeholder("A").final == 12 / people[-1]
    assert answer.stakeholder("B").final == 3
    assert any("each counts as it was at each moment" in note for note in answer.notes)


def test_an_empty_cell_says_nothing_of_the_entitlement():
    rows = [(0, "A", 4, 2.0), (1, "A", 4, None), (1, "B", 3, 1.0)]
    answer = audit(
        pd.DataFrame(rows, columns=["at", "who", "much", "people"]), **LOG_ENTITLEMENT, at_end=True
    )
    assert answer.stakeholder("A").final == 4
    assert not any("changes over time" in note for note in answer.notes)


@pytest.mark.parametrize("later", [2, 4])  # the same at all times, or changing
def test_whoever_has_only_empty_amounts_is_entitled_as_its_rows_say(later):
    log = pd.DataFrame(
        {
            "day": [1, 1, 2, 2],
            "who": ["A", "B", "A", "B"],
            "got": [4.0, None, 4.0, None],
            "size": [2, 6, later, 6],
        }
    )
    answer = audit(log, stakeholder="who", time="day", amount="got", entitlement="size")
    assert answer.stakeholder("B").received == 0
    assert answer.stakeholder("B").final_unfairness == pytest.approx(-8 / (later + 6))


@pytest.mark.parametrize("value", ["x", None, [1], 10**400])
def test_an_entitlement_that_is_no_number_is_named(value):
    log = pd.DataFrame({"day": [1, 2], "who": ["A", "B"], "got": [1.0, 2.0]})
    with pytest.raises(BadRoster, match="the entitlement of 'A' is"):
        audit(log, stakeholder="who", time="day", amount="got", entitlement={"A": value, "B": 1})


# Who asked for how much: in the same rows, or in a log of requests, against plain Python.

# Untidy: out of order, two requests at one time, D asks and receives nothing, C asks late.
REQUESTS = pd.DataFrame(
    {
        "day": [2, 1, 1, 1, 3, 3],
        "who": ["A", "A", "B", "B", "D", "C"],
        "wants": [2.0, 3.0, 1.0, 2.0, 4.0, 1.0],
    }
)
LOG_REQUESTS = pd.DataFrame(
    {
        "day": [3, 1, 2, 2, 4, 4],
        "who": ["A", "A", "A", "B", "C", "B"],
        "got": [1.0, 2.0, 0.0, 3.0, 1.0, 0.0],
    }
)
NAMES_REQUESTS, DAYS = "ABCD", (1, 2, 3, 4)


def received(who, day, strictly=False):
    return sum(
        row.got
        for row in LOG_REQUESTS.itertuples()
        if row.who == who and (row.day < day if strictly else row.day <= day)
    )


def asked(who, day):
    return sum(row.wants for row in REQUESTS.itertuples() if row.who == who and row.day <= day)


def check(answer, status, weight):
    """Unfairness at each day, among those whose weight is above 0 there, and the log-Nash score."""
    scores = []
    for k, day in enumerate(DAYS):
        there = [n for n in NAMES_REQUESTS if weight(n, day) > 0]
        total = sum(weight(n, day) for n in there)
        mean = sum(weight(n, day) * status(n, day) for n in there) / total
        for place, name in enumerate(NAMES_REQUESTS):
            found = answer.over_time.unfairness[k, place]
            if name in there:
                assert found == pytest.approx(status(name, day) - mean, abs=1e-12)
            else:
                assert math.isnan(found)
        scores.append(
            sum(len(there) * weight(n, day) / total * math.log(1 + status(n, day)) for n in there)
            if min(status(n, day) for n in there) >= 0
            else min(status(n, day) for n in there)
        )
    assert answer.score == pytest.approx(sum(scores) / len(scores), abs=1e-9)


OPTIONS = {"stakeholder": "who", "time": "day", "amount": "got"}


def test_share_met():
    answer = audit(LOG_REQUESTS, **OPTIONS, requests=REQUESTS, asked="wants")
    check(answer, lambda n, day: received(n, day) / asked(n, day) if asked(n, day) else 0, asked)
    assert answer.stakeholder("B").final_unfairness > 0  # it wants nothing more
    assert answer.treated_worst == ("D",)


def test_shortfall():
    answer = audit(
        LOG_REQUESTS, **OPTIONS, requests=REQUESTS, asked="wants", judge_requests="shortfall"
    )
    scores = []
    for k, day in enumerate(DAYS):
        status = {n: received(n, day) - asked(n, day) for n in NAMES_REQUESTS}
        mean = sum(status.values()) / 4
        for place, name in enumerate(NAMES_REQUESTS):
            assert answer.over_time.unfairness[k, place] == pytest.approx(status[name] - mean)
        scores.append(min(status.values()))
    assert answer.score == pytest.approx(sum(scores) / 4, abs=1e-9)  # Rawls, below 0


def test_among_those_who_wait():
    answer = audit(
        LOG_REQUESTS, **OPTIONS, requests=REQUESTS, asked="wants", judge_requests="while_waiting"
    )
    check(answer, received, lambda n, day: float(asked(n, day) > received(n, day, strictly=True)))


def test_among_those_who_wait_per_unit_of_entitlement():
    people = {"A": 2.0, "B": 1.0, "C": 3.0, "D": 5.0}
    answer = audit(
        LOG_REQUESTS,
        **OPTIONS,
        requests=REQUESTS,
        asked="wants",
        judge_requests="while_waiting",
        entitlement=people,
    )
    check(
        answer,
        lambda n, day: received(n, day) / people[n],
        lambda n, day: people[n] * (asked(n, day) > received(n, day, strictly=True)),
    )


def test_requests_in_the_same_rows_are_as_a_log_of_their_own():
    together = pd.concat(
        [
            LOG_REQUESTS.assign(wants=0.0),
            REQUESTS.assign(got=0.0),
        ]
    )
    one = audit(together, **OPTIONS, asked="wants")
    two = audit(LOG_REQUESTS, **OPTIONS, requests=REQUESTS, asked="wants")
    assert one.over_time.unfairness == pytest.approx(two.over_time.unfairness, nan_ok=True)
    assert one.score == pytest.approx(two.score)


def test_where_nobody_waits_nothing_is_assessed():
    log = pd.DataFrame({"day": [1, 2, 3], "who": "A", "got": [1.0, 0.0, 1.0], "wants": [1, 0, 2]})
    answer = audit(log, **OPTIONS, asked="wants", judge_requests="while_waiting")
    assert answer.overall.assessments == 2
    assert answer.over_time.times == ("1", "3")
    assert not any("not finished" in note for note in answer.notes)


def test_bad_requests():
    keywords = {**OPTIONS, "asked": "wants"}
    with pytest.raises(e.BadLog, match="by 1 'A' had received 2 and asked for 1"):
        audit(LOG_REQUESTS, **keywords, requests=REQUESTS.assign(wants=1.0))
    late = REQUESTS.assign(day=[2, 4, 1, 1, 3, 3])
    with pytest.raises(e.BadLog, match="a request comes no later than its service"):
        audit(LOG_REQUESTS, **keywords, requests=late)
    with pytest.raises(e.BadLog, match="request below 0"):
        audit(
            LOG_REQUESTS,
            **keywords,
            requests=REQUESTS.assign(wants=[-2.0, 3.0, 1.0, 2.0, 4.0, 1.0]),
        )
    with pytest.raises(e.BadParameter, match="it must be one of share_met"):
        audit(LOG_REQUESTS, **keywords, requests=REQUESTS, judge_requests="luck")
    with pytest.raises(e.BadParameter, match="both say what an amount is set against"):
        audit(LOG_REQUESTS, **keywords, requests=REQUESTS, entitlement={"A": 1.0})
    with pytest.raises(e.BadLog, match="give times of one kind"):
        audit(LOG_REQUESTS, **keywords, requests=REQUESTS.assign(day=pd.Timestamp("2021-01-01")))
    with pytest.raises(e.MissingColumn, match="wants"):
        audit(LOG_REQUESTS, **keywords, requests=REQUESTS.drop(columns="wants"))


RENAMED = REQUESTS.rename(columns={"who": "client", "day": "asked on"})
THEIRS = {"requests_stakeholder": "client", "requests_time": "asked on"}


def test_amounts_that_requests_leave_open_are_refused_or_noted():
    hidden = REQUESTS.astype({"wants": object})
    hidden.loc[0, "wants"] = "*"
    with pytest.raises(e.BadLog, match=r"\(`requests`\) hides an amount behind '\*'"):
        audit(LOG_REQUESTS, **OPTIONS, asked="wants", requests=hidden)
    empty = pd.concat([REQUESTS, REQUESTS[:1].assign(wants=None)])
    answer = audit(LOG_REQUESTS, **OPTIONS, asked="wants", requests=empty)
    assert "`requests`: 1 row has an empty amount and is not an event." in answer.notes


def test_requests_may_have_columns_of_other_names(tmp_path):
    expected = audit(LOG_REQUESTS, **OPTIONS, requests=REQUESTS, asked="wants")
    found = audit(LOG_REQUESTS, **OPTIONS, requests=RENAMED, asked="wants", **THEIRS)
    assert found.over_time.unfairness == pytest.approx(expected.over_time.unfairness, nan_ok=True)
    with pytest.raises(e.MissingColumn, match="no column 'who' \\(`requests_stakeholder`\\)"):
        audit(LOG_REQUESTS, **OPTIONS, requests=RENAMED, asked="wants")
    with duckdb.connect(str(tmp_path / "town.db")) as database:
        database.register("frame", RENAMED)
        database.execute("create table demand as select * from frame")
    stored = audit(
        LOG_REQUESTS,
        **OPTIONS,
        requests=f"duckdb:///{tmp_path / 'town.db'}",
        requests_table="demand",
        asked="wants",
        **THEIRS,
    )
    assert stored.score == expected.score


def test_whoever_is_left_out_of_one_is_left_out_of_the_other():
    only_served = pd.concat([LOG_REQUESTS, pd.DataFrame({"day": [1], "who": ["E"], "got": [5.0]})])
    keywords = {**OPTIONS, "requests": REQUESTS, "asked": "wants"}
    expected = audit(LOG_REQUESTS, **keywords)
    assert audit(only_served, **keywords, exclude=["E"]).score == expected.score
    without = audit(LOG_REQUESTS, **keywords, exclude=["D"])  # who is in the requests alone
    assert [one.name for one in without.by_stakeholder if one.name == "D"] == []
    assert {
        one.name for one in audit(LOG_REQUESTS, **keywords, only=["A", "D"]).by_stakeholder
    } == {
        "A",
        "D",
    }
    with pytest.raises(e.UnknownStakeholder, match="'F'"):
        audit(LOG_REQUESTS, **keywords, exclude=["F"])
    where = audit(LOG_REQUESTS, **keywords, where="who <> 'D'")
    assert where.score == without.score
    with pytest.raises(e.BadCondition, match="leaves rows of `requests` out too"):
        audit(LOG_REQUESTS, **keywords, where="got >= 0")


def test_requests_after_the_end_are_noted_and_judged_where_the_log_goes_on():
    dated = {
        name: frame.assign(day=[f"2021-{month:02}-10" for month in frame["day"]])
        for name, frame in (("log", LOG_REQUESTS), ("requests", REQUESTS))
    }
    late = pd.DataFrame({"day": ["2021-05-20"], "who": ["A"], "wants": [40.0]})
    keywords = {**OPTIONS, "requests": pd.concat([dated["requests"], late]), "asked": "wants"}
    answer = audit(dated["log"], **keywords, every="month")
    assert any(
        "1 request came after the last row of the log (40 in all)" in n for n in answer.notes
    )
    longer = audit(dated["log"], **keywords, every="month", until="2021-05-31")
    assert not any("came after the last row" in note for note in longer.notes)
    share = {n: received(n, 5) / (asked(n, 5) + 40 * (n == "A")) for n in NAMES_REQUESTS}
    weight = {n: asked(n, 5) + 40 * (n == "A") for n in NAMES_REQUESTS}
    mean = sum(share[n] * weight[n] for n in NAMES_REQUESTS) / sum(weight.values())
    assert longer.over_time.times[-1] == "2021-05"
    assert longer.over_time.unfairness[-1] == pytest.approx(
        [share[n] - mean for n in NAMES_REQUESTS]
    )
    a = longer.stakeholder("A")
    assert (a.asked, a.unmet) == (asked("A", 5) + 40, asked("A", 5) + 40 - received("A", 5))
    assert a.short_of_share == pytest.approx(-a.asked * a.final_unfairness)
    cut = audit(dated["log"], **keywords, every="month", until="2021-05-15")
    assert cut.stakeholder("A").asked == asked("A", 5)


def test_requests_that_no_assessment_reaches_are_noted_whatever_the_end_of_the_log():
    late = pd.concat([REQUESTS, pd.DataFrame({"day": [6, 9], "who": "A", "wants": [40.0, 1.0]})])
    for more in ({"at_end": True}, {"every": 2}, {}):
        answer = audit(LOG_REQUESTS, **OPTIONS, requests=late, asked="wants", until=7, **more)
        assert answer.stakeholder("A").asked == asked("A", 4)
        assert any("1 request came after the last row of the log (40" in n for n in answer.notes)


def test_who_asks_and_comes_later_has_only_its_share_met():
    roster = pd.DataFrame({"who": list(NAMES_REQUESTS), "from": [None, None, 3, 3]})
    answer = audit(LOG_REQUESTS, **OPTIONS, requests=REQUESTS, asked="wants", roster=roster)
    assert answer.stakeholder("C").final == received("C", 4) / asked("C", 4)
    assert "Judged from when they joined: C from 3 and D from 3." in answer.notes


def test_what_was_still_open_at_a_date_is_asked_for_from_then_on():
    # Before day 3 A received 2 of 5, B all of 3; on it D asks for 4 and C for 1.
    keywords = {**OPTIONS, "requests": REQUESTS, "asked": "wants", "since": 3}
    answer = audit(LOG_REQUESTS, **keywords)
    assert {n: answer.stakeholder(n).asked for n in NAMES_REQUESTS} == {
        "A": 3,
        "B": 0,
        "C": 1,
        "D": 4,
    }
    assert [answer.stakeholder(n).final for n in "ACD"] == [1 / 3, 1, 0]
    assert (
        "2 requests made before `since` were still open then (3 in all) and count from then on."
        in answer.notes
    )
    together = pd.concat([LOG_REQUESTS.assign(wants=0.0), REQUESTS.assign(got=0.0)])
    rows = audit(together, **OPTIONS, asked="wants", since=3)
    assert rows.score == pytest.approx(answer.score)
    roster = pd.DataFrame({"who": list(NAMES_REQUESTS), "from": [None, 1, 1, 1]})
    assert audit(LOG_REQUESTS, **keywords, roster=roster).score == pytest.approx(answer.score)
    with pytest.raises(e.BadLog, match="by 1 'A' had received 2 and asked for 1"):
        audit(LOG_REQUESTS, **{**keywords, "requests": REQUESTS.assign(wants=1.0)})


small = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from("AB"), st.integers(0, 3), st.integers(0, 3)),
    max_size=12,
)


@given(small, st.integers(1, 6))
def test_what_is_unmet_does_not_depend_on_where_one_begins_to_look(rows, since):
    """Whatever was asked and received before: from any day on the same is open."""
    wants = {"A": 0, "B": 0}
    log = []
    for day, who, asks, gets in sorted(rows, key=lambda row: row[0]):
        wants[who] += asks
        got = min(gets, wants[who])
        wants[who] -= got
        log.append((day, who, got, asks))
    log += [(7, who, 0, 1) for who in "AB"]
    frame = pd.DataFrame(log, columns=["day", "who", "got", "wants"]).astype({"got": float})
    keywords = {**OPTIONS, "asked": "wants", "judge_requests": "shortfall"}
    whole, part = audit(frame, **keywords), audit(frame, **keywords, since=since)
    seen = len(part.over_time.times)
    assert whole.over_time.times[-seen:] == part.over_time.times
    assert part.over_time.unfairness == pytest.approx(whole.over_time.unfairness[-seen:], abs=1e-9)
    for name in "AB":
        assert part.stakeholder(name).final == pytest.approx(whole.stakeholder(name).final)
