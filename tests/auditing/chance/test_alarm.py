"""Alarms at every look: beside a plain loop, however events are cut, and how often false."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.auditing.chance.alarm import FIRST_RESTART, GROWTH, AlarmWatch
from evenhand.auditing.chance.bets import AT_START, EIGHTHS, FACTORS, LARGEST, STAKES


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
