"""Tests of auditing.chance.alarm."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import audit
from evenhand.auditing.chance.alarm import (
    AT_START,
    EIGHTHS,
    FACTORS,
    FIRST_RESTART,
    GROWTH,
    LARGEST,
    REFERENCE,
    STAKES,
    Alarm,
    AlarmFinding,
    AlarmWatch,
    Bets,
    RaisedAlarm,
)
from evenhand.errors import BadParameter
from evenhand.log.options import SchemeOptions
from evenhand.monitor.state_file import make_monitor

# Alarms at every look: beside a plain loop, however events are cut, and how often false.


def alike(size):
    return lambda moments: (np.ones((1, size)), np.zeros(len(moments), dtype=int))


def changing(moments):
    """From time 5 on D is there too, and A has twice the odds."""
    rows = np.array([[1.0, 1, 1, 0], [2.0, 1, 1, 1]])
    return rows, (np.asarray(moments) >= 5).astype(int)


def plain_loop(names, alpha, odds_at, events, groups=None):
    """The definition, event by event: first alarms, and what was won at the end."""
    units = [[k] for k in range(len(names))]
    mass = [1 / len(names)] * len(names)
    if groups is not None:
        known = sorted(set(groups))
        units += [[k for k in range(len(names)) if groups[k] == g] for g in known]
        mass = [0.5 / len(names)] * len(names) + [0.5 / len(known)] * len(known)
    won = [[m * s * AT_START for s in STAKES] for m in mass]
    times = sorted({at for at, _, _, _ in events})
    count, total, begun, alarms = 0, 0.0, 0, {}
    for at in times:
        lots = [lot for t, *lot in events if t == at and lot[1] > 0]
        if not lots:
            continue
        while count >= FIRST_RESTART * GROWTH**begun:
            begun += 1
            share = (1 - AT_START) / (begun * (begun + 1))
            won = [
                [w + m * s * share for w, s in zip(row, STAKES, strict=True)]
                for row, m in zip(won, mass, strict=True)
            ]
        mean = total / count if count else None
        for who, amount, drawn_at in lots:
            rows, pattern = odds_at(np.array([drawn_at]))
            odds = rows[pattern[0]] / rows[pattern[0]].sum()
            size = 1.0 if mean is None else round(EIGHTHS * amount / mean) / EIGHTHS
            size = min(max(size, 1 / EIGHTHS), LARGEST / EIGHTHS)
            for place, unit in enumerate(units):
                p = odds[unit].sum()
                for bet, factor in enumerate(FACTORS):
                    rho = factor**size
                    won[place][bet] *= (rho if who in unit else 1) / (1 - p + p * rho)
        count, total = count + len(lots), total + sum(amount for _, amount, _ in lots)
        sums = [sum(row) for row in won]
        new = [k for k, s in enumerate(sums) if s >= 1 / alpha and k not in alarms]
        if not alarms and sum(sums) >= 1 / alpha:
            new = [*new, int(np.argmax(sums))]
        for k in new:
            alarms.setdefault(k, at)
    return alarms, sum(sum(row) for row in won)


# When each counts, who received how much, and when it was drawn: some come to be known late.
EVENTS = st.lists(
    st.tuples(
        st.integers(0, 12),
        st.integers(0, 2),
        st.sampled_from([1.0, 2.0, 5.0, -1.0]),
        st.sampled_from([0, 0, 0, 3]),
    ).map(lambda event: (*event[:3], event[0] - event[3])),
    min_size=1,
    max_size=80,
).map(sorted)


@given(EVENTS, st.sampled_from([0.05, 0.6]), st.sampled_from([None, list("xxyy")]), st.data())
def test_alarms_are_those_of_a_plain_loop_however_events_are_cut(events, alpha, groups, data):
    names = list("ABCD")
    expected, won = plain_loop(names, alpha, changing, events, groups)
    watch = AlarmWatch(names, alpha, changing, groups)
    kinds = (float, int, float, float)
    lots = [
        np.array(part, dtype=kind)
        for part, kind in zip(zip(*events, strict=True), kinds, strict=True)
    ]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=3)))
    for start, stop in zip([0, *cuts], [*cuts, len(events)], strict=True):
        watch.take(*(part[start:stop] for part in lots))
    watch.close()
    if not (lots[2] > 0).any():
        assert not watch.raised
        return
    assert watch.evidence == pytest.approx(won, rel=1e-9)
    units = names if groups is None else [*names, "x", "y"]
    found = {(one.name, one.is_group): one.at for one in watch.alarms}
    assert found == {(units[k], k >= 4): at for k, at in expected.items()}


def run(size, days, factor=1.0, seed=0, alpha=0.05):
    rng = np.random.default_rng(seed)
    odds = np.ones(size)
    odds[0] = factor
    who = rng.choice(size, days, p=odds / odds.sum())
    watch = AlarmWatch([str(k) for k in range(size)], alpha, alike(size))
    watch.take(np.arange(days * 1.0), who, np.ones(days))
    watch.close()
    return watch


def test_somebody_who_is_passed_over_is_found_and_named_with_the_time():
    rng = np.random.default_rng(1)
    who = np.concatenate((rng.integers(0, 6, 300), rng.integers(1, 6, 300)))
    watch = AlarmWatch(list("ABCDEF"), 0.05, alike(6))
    watch.take(np.arange(600.0), who, np.ones(600))
    (alarm,) = watch.alarms
    assert alarm.name == "A"
    assert 300 < alarm.at < 450
    assert abs(alarm.since - 300) < 40  # A was last served shortly before
    assert alarm.evidence >= 20
    assert watch.new_alarms() == [alarm]
    assert watch.new_alarms() == []


def test_of_harms_the_one_who_gets_too_many_is_found():
    rng = np.random.default_rng(1)
    who = rng.choice(4, 400, p=[0.5, 0.2, 0.2, 0.1])
    watch = AlarmWatch(list("ABCD"), 0.05, alike(4), less_is_better=True)
    watch.take(np.arange(400.0), who, np.ones(400))
    watch.close()
    assert watch.alarms[0].name == "A"


def test_12_judges_over_600_days():
    fair = sum(run(12, 600, seed=seed).raised for seed in range(40))
    halved = sum(run(12, 600, factor=0.5, seed=seed).raised for seed in range(40))
    assert fair <= 0.05 * 40 + 3 * np.sqrt(0.05 * 0.95 * 40)
    assert halved >= 0.6 * 40


def test_a_snapshot_goes_on_as_if_nothing_had_been():
    whole, first = run(4, 200, 0.2, alpha=0.5), None
    rng = np.random.default_rng(0)
    odds = np.array([0.2, 1, 1, 1])
    who = rng.choice(4, 200, p=odds / odds.sum())
    names = [str(k) for k in range(4)]
    first, second = (AlarmWatch(names, 0.5, alike(4)) for _ in range(2))
    first.take(np.arange(90.0), who[:90], np.ones(90))
    second.resume(first.snapshot())
    second.take(np.arange(90.0, 200.0), who[90:], np.ones(110))
    second.close()
    assert second.alarms == whole.alarms
    assert second.evidence == pytest.approx(whole.evidence)


def test_before_anything_happened_there_is_nothing_to_see():
    watch = AlarmWatch(["A", "B"], 0.05, alike(2))
    watch.close()
    watch.take(np.zeros(0), np.zeros(0, dtype=int), np.zeros(0))
    assert not watch.raised
    assert watch.evidence == pytest.approx(AT_START)


# A log watched as by a monitor: the same alarms, and what the command line does with them.

NAMES = ["A", "B", "C", "D"]
SIZES = {"A": 2.0, "B": 1.0, "C": 1.0, "D": 1.5}
STAYS = pd.DataFrame({"name": NAMES, "from": [0, 0, 0, 20], "until": [400, 400, 300, 400]})
GROUPED = STAYS.assign(town=["x", "x", "y", "y"])


def events(seed=0, lots=500, passed_over=0.15):
    """Two or so at each time, some of them corrections; A is passed over from 100 on."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, 300, lots))
    odds = np.array([passed_over, 1, 1, 0])
    who = [rng.choice(4, p=odds / odds.sum()) if t >= 100 else rng.integers(0, 3) for t in at]
    got = rng.choice([1.0, 2.0, 3.0, -1.0], lots, p=[0.4, 0.3, 0.25, 0.05])
    return pd.DataFrame({"time": at, "stakeholder": np.array(NAMES)[who], "got": got})


def watched(log, people, **more):
    names = tuple(NAMES) if people is None else ()
    monitor, _ = make_monitor(
        SchemeOptions(alarm=0.05, lower_is_better=more.pop("lower_is_better", False)),
        names=names,
        roster=people,
        **more,
    )
    for row in log.itertuples():
        monitor.push(row.time, row.stakeholder, row.got)
    monitor.finish()
    return monitor


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("people", [None, STAYS], ids=["always", "stays"])
@pytest.mark.parametrize("sizes", [None, SIZES], ids=["alike", "sizes"])
@pytest.mark.parametrize("harms", [False, True], ids=["goods", "harms"])
def test_an_audit_and_a_monitor_raise_the_same_alarms(people, sizes, harms):
    log = events()
    roster = NAMES if people is None else people
    asked = {"stakeholder": "stakeholder", "time": "time", "amount": "got", "roster": roster}
    answer = audit(log, alarm=0.05, entitlement=sizes, lower_is_better=harms, chance=False, **asked)
    monitor = watched(log, people, entitlement=sizes, lower_is_better=harms)
    summary = monitor.summary()
    assert answer.alarm.evidence == pytest.approx(summary["evidence"], rel=1e-9)
    found = [one.to_json() for one in answer.alarm.alarms]
    assert len(found) == len(summary["alarms"]) > 0
    for one, other in zip(found, summary["alarms"], strict=True):
        assert {**one, "evidence": 0} == {**other, "evidence": 0}
        assert one["evidence"] == pytest.approx(other["evidence"])


def test_groups_are_watched_too_and_calendar_questions_change_nothing():
    log = events().assign(
        town=lambda t: t["stakeholder"].map(dict(zip(NAMES, "xxyy", strict=True)))
    )
    asked = {"stakeholder": "stakeholder", "time": "time", "amount": "got", "alarm": 0.05}
    answer = audit(log, roster=GROUPED, group="town", chance=False, **asked)
    monitor = watched(log, GROUPED, group="town")
    assert answer.alarm.evidence == pytest.approx(monitor.summary()["evidence"], rel=1e-9)
    dates = log.assign(time=pd.Timestamp("2021-01-01") + pd.to_timedelta(log["time"], unit="h"))
    asked["roster"] = NAMES
    each, monthly = (audit(dates, chance=False, every=e, **asked).alarm for e in (None, "day"))
    assert each == monthly


def test_an_alarm_is_a_limit_that_was_broken(run, tmp_path):
    path = tmp_path / "log.csv"
    events().to_csv(path, index=False)
    asked = (str(path), "--stakeholder", "stakeholder", "--time", "time", "--amount", "got")
    code, out, _ = run(*asked, "--alarm", "0.05", "--no-chance")
    assert code == 1
    assert "Watched all along: alarm at " in out
    assert "Threshold breached: alarm at" in out
    code, out, _ = run(*asked, "--alarm", "0.05", "--json")
    found = json.loads(out)
    assert found["alarm"]["raised"][0]["name"] == "A"
    assert found["limits"][0]["option"] == "--alarm"
    code, out, _ = run(*asked, "--alarm", "1e-60", "--no-chance")
    assert code == 0
    assert "Watched all along: no alarm" in out
    for alpha in ("0", "1", "nan"):
        code, _, error = run(*asked, "--alarm", alpha)
        assert code == 2
        assert "between 0 and 1" in error


def test_what_has_no_lots_cannot_be_watched():
    log = events().assign(chances=9.0)
    asked = {"stakeholder": "stakeholder", "time": "time", "amount": "got", "alarm": 0.05}
    for more in (
        {"cumulative": True},
        {"stock": True},
        {"out_of": "chances"},
        {"asked": "chances"},
    ):
        with pytest.raises(BadParameter, match="leave one out"):
            audit(log, **asked, **more)


# Bets against a lottery: their mean is 1 whatever is bet on, beside plain loops.

ENDS = np.arange(1, 100)


def bets(size=3, groups=None, mass=1.0, less_is_better=False):
    unit = np.arange(size) if groups is None else np.array(groups)
    return Bets(unit, int(unit.max()) + 1, mass, less_is_better)


def test_stakes_are_the_whole_capital():
    assert STAKES.sum() == pytest.approx(1.0)
    assert np.exp(bets(mass=0.5).won).sum() == pytest.approx(0.5 * AT_START)


@given(
    st.lists(st.floats(0.0, 5.0), min_size=3, max_size=3).filter(lambda o: sum(o) > 0.1),
    st.integers(1, LARGEST),
    st.booleans(),
)
def test_the_mean_of_every_bet_over_all_outcomes_is_1(odds, size, less_is_better):
    odds = np.array(odds)
    made = bets(less_is_better=less_is_better)
    table = made.table(odds)
    before, mean = np.exp(made.won), 0.0
    for who in range(3):
        after = made.at_each(table, np.array([who]), np.array([size]))[0]
        mean = mean + odds[who] / odds.sum() * np.exp(after)
    assert mean == pytest.approx(before, rel=1e-9)


def test_the_mean_over_all_lotteries_of_several_lots_is_1_with_bets_that_begin_later():
    odds, sizes = np.array([0.5, 0.3, 0.2]), np.array([8, 4, 16, 8])
    total = 0.0
    for who in itertools.product(range(3), repeat=4):
        made = bets()
        table = made.table(odds)
        made.take(table, np.arange(2.0), np.array(who[:2]), sizes[:2], ENDS[:2])
        made.begin_again(1 - AT_START)
        made.take(table, np.arange(2.0), np.array(who[2:]), sizes[2:], ENDS[:2])
        total += math.prod(odds[k] for k in who) * np.exp(made.won).sum()
    assert total == pytest.approx(1.0)


LOTS = st.lists(st.tuples(st.integers(0, 3), st.integers(1, LARGEST)), min_size=1, max_size=12)


@given(LOTS, st.booleans(), st.sampled_from([None, [0, 0, 1, 1]]))
def test_what_is_won_is_the_product_of_the_factors(lots, less_is_better, groups):
    odds = np.array([1.0, 2.0, 3.0, 4.0])
    made = bets(4, groups, less_is_better=less_is_better)
    table = made.table(odds)
    who, size = (np.array(part) for part in zip(*lots, strict=True))
    units = range(made.size)
    expected = np.exp(made.won)
    rows = made.at_each(table, who, size)
    bound = made.bound(table, who, size)
    for step, (person, eighths) in enumerate(lots):
        for unit in units:
            p = odds[made.unit == unit].sum() / odds.sum()
            for bet, factor in enumerate(FACTORS):
                rho = (1 / factor if less_is_better else factor) ** (eighths / EIGHTHS)
                came = made.unit[person] == unit
                expected[unit, bet] *= (rho if came else 1.0) / (1 - p + p * rho)
        assert np.exp(rows[step]) == pytest.approx(expected, rel=1e-9)
        assert (rows[step] <= bound + 1e-9).all()
    made.take(table, np.arange(len(lots) * 1.0), who, size, ENDS[: len(lots)])
    assert np.exp(made.won) == pytest.approx(expected, rel=1e-9)


def test_since_when_is_the_time_at_which_the_evidence_stood_lowest():
    # A gets the first four lots, and none of the next ten.
    who = np.array([0] * 4 + [1, 2] * 5)
    at = np.arange(10.0, 24.0)
    made = bets()
    made.begin(10.0)
    made.take(made.table(np.ones(3)), at, who, np.full(14, EIGHTHS), ENDS[:14])
    assert made.since[0] == 13.0
    assert made.height[0] > 0


def plainly(lots, times, less_is_better):
    """Since when each of four alike is behind, time point by time point."""
    rho = FACTORS[REFERENCE] ** (-1 if less_is_better else 1)
    height, since = [0.0] * 4, [times[0]] * 4
    for at in sorted(set(times)):
        for (person, eighths), time in zip(lots, times, strict=True):
            tilt = rho ** (eighths / EIGHTHS)
            for k in range(4):
                if time == at:
                    height[k] += math.log((tilt if k == person else 1.0) / (0.75 + 0.25 * tilt))
        for k in range(4):
            if height[k] <= 1e-12:
                height[k], since[k] = 0.0, at
    return height, since


@given(
    LOTS, st.lists(st.integers(0, 6), min_size=12, max_size=12), st.integers(0, 12), st.booleans()
)
def test_since_when_is_that_of_a_plain_loop_however_lots_are_cut(lots, times, cut, less_is_better):
    times = sorted(times[: len(lots)])
    who, size = (np.array(part) for part in zip(*lots, strict=True))
    at = np.array(times, dtype=float)
    made = bets(4, less_is_better=less_is_better)
    table = made.table(np.ones(4))
    made.begin(at[0])
    ends = np.flatnonzero(np.diff(at)) + 1
    cut = min(cut, len(lots))
    for start, stop in ((0, cut), (cut, len(lots))):
        if start < stop:
            if start in ends:
                made.settle(float(at[start - 1]))
            inside = ends[(ends > start) & (ends < stop)] - start
            made.take(table, at[start:stop], who[start:stop], size[start:stop], inside)
    made.settle(float(at[-1]))
    height, since = plainly(lots, times, less_is_better)
    assert made.height == pytest.approx(height, abs=1e-9)
    clear = [k for k in range(4) if height[k] > 1e-9]  # a tie may be rounded either way
    assert [made.since[k] for k in clear] == [since[k] for k in clear]


# Alarms in words, with the names of times.

DAY = 86_400e6  # microseconds


def test_times_are_written_as_in_the_log():
    alarm = Alarm(2 * DAY, "A", False, 21.0, DAY)
    assert RaisedAlarm.of(alarm, plain_numbers=False) == RaisedAlarm(
        "1970-01-03", "A", False, 21.0, "1970-01-02"
    )
    number = RaisedAlarm.of(Alarm(7.0, "x", True, 30.0, 2.5), plain_numbers=True)
    assert (number.time, number.since) == ("7", "2.5")
    assert number.sentence == (
        "the group x is behind by more than a fair lottery explains; the evidence begins at 2.5"
    )
    assert number.to_json()["is_group"] is True


def test_what_a_watch_found_in_words():
    quiet = AlarmFinding(0.05, 0.5, ())
    assert quiet.breach is None
    assert quiet.sentence() == (
        "no alarm: at no time point was anybody behind by so much more than a fair lottery "
        "explains (the evidence at the end is 0.5, and an alarm needs 20)."
    )
    raised = AlarmFinding(
        0.05,
        99.0,
        tuple(RaisedAlarm(time, name, False, 20.0, "3") for time, name in (("5", "A"), ("8", "B"))),
    )
    assert raised.sentence() == (
        "alarm at 5: A is behind by more than a fair lottery explains; the evidence begins at 3; "
        "later also B."
    )
    assert raised.to_json()["needed"] == 20.0
    assert [one["name"] for one in raised.to_json()["raised"]] == ["A", "B"]
