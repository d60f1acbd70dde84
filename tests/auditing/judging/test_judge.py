"""Every number of an audit is the scheme's, scored on the trace; and the monitor's, event by event.

The trace is built here from the raw rows in plain Python, and shares no code with the audit.
"""

from __future__ import annotations

import datetime
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import (
    AfterEach,
    Always,
    Every,
    FairnessScheme,
    Final,
    GiniWelfare,
    LogNash,
    Mean,
    Parity,
    PerEntitlement,
    Rawls,
    Returns,
    TimepointFirst,
    Total,
    Trace,
    Window,
    Worst,
)
from evenhand.auditing.judging.questions import every
from evenhand.fairness.unfairness import overall_unfairness, unfair_to, unfairness
from evenhand.monitor import Monitor
from evenhand.monitor.batch import Batch, text_as_number
from logs import audit_alone as audit

NAMES = ("A", "B", "C")
START = datetime.date(2020, 12, 20)
rows = st.tuples(
    st.integers(0, 100),
    st.sampled_from(NAMES),
    st.one_of(st.none(), st.integers(0, 1000), st.floats(0, 1e6).map(lambda x: round(x, 3))),
)
logs = st.lists(rows, min_size=1, max_size=40).filter(
    lambda log: any(a is not None for *_, a in log)
)
welfares = st.sampled_from((LogNash(), Rawls(), GiniWelfare(), Parity()))
temporals = st.sampled_from((Mean(), Total(), Worst()))


def table(log, dates):
    return pd.DataFrame(
        {
            "day": [START + datetime.timedelta(days=d) if dates else d for d, *_ in log],
            "who": [who for _, who, _ in log],
            "much": [amount for *_, amount in log],
        }
    ).astype({"much": float})


def time_points(log):
    """The rewards at each day on which there was an event, by stakeholder who appears."""
    names = sorted({who for _, who, _ in log})
    events = [row for row in log if row[2] is not None]
    days = sorted({day for day, *_ in events})
    rewards = [
        [math.fsum(a for d, w, a in events if (d, w) == (day, who)) for who in names]
        for day in days
    ]
    return names, days, rewards


def months(log):
    """The rewards in each month, the empty ones included, and whether the last one is finished."""
    names, days, rewards = time_points(log)
    dates = [START + datetime.timedelta(days=d) for d in days]
    keys = [date.year * 12 + date.month for date in dates]
    steps = [
        [
            math.fsum(r[i] for k, r in zip(keys, rewards, strict=True) if k == key)
            for i in range(len(names))
        ]
        for key in range(keys[0], keys[-1] + 1)
    ]
    finished = (dates[-1] + datetime.timedelta(days=1)).day == 1
    return names, steps, finished


def check(answer, scheme, rewards, names, end=None):
    """All that an answer says, against `scheme.assess` on the trace."""
    trace = Trace(rewards=rewards, stakeholders=tuple(names))
    whole = Trace(rewards=rewards if end is None else end, stakeholders=tuple(names))
    found = scheme.assess(trace)
    assert answer.score == pytest.approx(found.score, rel=1e-9, abs=1e-9)
    assert answer.overall.assessments == len(found.times)
    assert answer.over_time.welfare == pytest.approx(found.welfare, rel=1e-9, abs=1e-9)
    assessed = found.statuses[found.assessed]
    fixed = scheme.status.fixed_weights
    weights = None if fixed is None else len(fixed) * fixed / fixed.sum()
    assert answer.over_time.names == found.names
    assert answer.over_time.unfairness == pytest.approx(
        unfairness(assessed, weights), rel=1e-9, abs=1e-6
    )
    final = scheme.assess(whole).statuses[-1]
    for i, name in enumerate(found.names):
        one = answer.stakeholder(name)
        below = unfair_to(assessed, weights)[:, i].tolist()
        assert one.final == pytest.approx(final[i], rel=1e-9, abs=1e-9)
        assert one.final_unfairness == pytest.approx(
            unfairness(final, weights)[i], rel=1e-9, abs=1e-6
        )
        assert one.overall_unfairness == pytest.approx(
            overall_unfairness(assessed, weights)[i], rel=1e-9, abs=1e-6
        )
        assert one.share_below == pytest.approx(sum(below) / len(below))
        spells = "".join("x" if b else " " for b in below).split()
        assert one.longest_spell == max(map(len, spells), default=0)


@given(logs, welfares, temporals, st.data())
def test_time_points(log, welfare, temporal, data):
    names, days, rewards = time_points(log)
    filters = {
        "each_event": (True, Always()),
        "every": ((n := data.draw(st.integers(1, len(days)))), Every(n)),
        "at_end": (True, Final()),
    }
    total = math.fsum(map(math.fsum, rewards))
    if total > 0:
        amount = total / data.draw(st.integers(1, 5)) * 0.999
        filters["after_each"] = (amount, AfterEach(amount))
    option = data.draw(st.sampled_from(sorted(filters)))
    value, fires = filters[option]
    dates = data.draw(st.booleans())
    answer = audit(
        table(log, dates),
        **{option: value},
        stakeholder="who",
        time="day",
        amount="much",
        welfare=welfare,
        temporal=temporal,
    )
    scheme = FairnessScheme(Returns(), TimepointFirst(welfare, temporal), fires)
    check(answer, scheme, rewards, names)
    row = next(row for row in answer.questions if row.question == "at the end")
    at_end = FairnessScheme(Returns(), TimepointFirst(welfare, temporal), Final())
    assert row.readings[0].score == pytest.approx(
        at_end.score(Trace(rewards=rewards)), rel=1e-9, abs=1e-9
    )


@settings(max_examples=25)
@given(logs, welfares, temporals)
def test_months(log, welfare, temporal):
    names, steps, finished = months(log)
    scored = steps if finished else steps[:-1]
    options = {
        "stakeholder": "who",
        "time": "day",
        "amount": "much",
        "welfare": welfare,
        "temporal": temporal,
    }
    scheme = FairnessScheme(Returns(), TimepointFirst(welfare, temporal))
    if not scored:
        with pytest.raises(ValueError, match="nothing was assessed"):
            audit(table(log, True), every="month", **options)
        return
    answer = audit(table(log, True), every="month", **options)
    check(answer, scheme, scored, names, end=steps)
    assert (answer.overall.unfinished is None) == finished


@settings(max_examples=20)
@given(logs, st.data())
def test_entitlements_and_a_scheme_whose_status_needs_every_step(log, data):
    names, _, rewards = time_points(log)
    shares = {name: data.draw(st.floats(0.1, 100)) for name in names}
    answer = audit(
        table(log, False), stakeholder="who", time="day", amount="much", entitlement=shares
    )
    status = PerEntitlement(tuple(shares[name] for name in names))
    check(answer, FairnessScheme(status), rewards, names)
    window = FairnessScheme(Window(2), TimepointFirst(Rawls()), Every(1))
    answer = audit(table(log, False), stakeholder="who", time="day", amount="much", scheme=window)
    check(answer, window, rewards, names)


@settings(max_examples=25)
@given(logs, welfares, st.sampled_from(("1", "3", "day", "week", "month")), st.data())
def test_the_monitor_agrees_on_the_same_events(log, welfare, period, data):
    log = sorted(log, key=lambda row: row[0])
    names = tuple(sorted({who for _, who, _ in log}))
    question = every(period)
    options = {"stakeholder": "who", "time": "day", "amount": "much", "welfare": welfare}
    try:
        answer = audit(table(log, True), every=period, **options)
    except ValueError:
        return  # nothing was finished
    scheme = FairnessScheme(Returns(), TimepointFirst(welfare, Mean()), question.filter)
    monitor = Monitor(scheme, names, question)
    events = [
        (text_as_number(str(START + datetime.timedelta(days=d))), names.index(who), a)
        for d, who, a in log
        if a is not None
    ]
    lines, cut = [], data.draw(st.integers(0, len(events)))
    for part in (events[:cut], events[cut:]):
        columns = np.array(part, dtype=float).reshape(-1, 3).T
        lines += monitor.take(
            Batch(columns[0], columns[1].astype(int), columns[2], plain_numbers=False)
        )
    lines += monitor.finish()
    assert len(lines) == answer.overall.assessments
    assert [line.time for line in lines] == list(answer.over_time.times)
    assert [line.welfare for line in lines] == pytest.approx(answer.over_time.welfare)
    assert lines[-1].score == pytest.approx(answer.score)
    for line, deviation in zip(lines, answer.over_time.unfairness, strict=True):
        for name, value in line.unfair_to.items():
            assert value == pytest.approx(deviation[names.index(name)])
    for one in monitor.summary()["stakeholders"]:
        theirs = answer.stakeholder(one["name"])
        assert one["overall_unfairness"] == pytest.approx(theirs.overall_unfairness, abs=1e-6)
        assert one["share_below"] == theirs.share_below
        assert one["longest_spell"] == theirs.longest_spell
        if question.period is None:
            assert one["final"] == pytest.approx(theirs.final)
