"""Laws of a running score: however a history is cut, stopped or relabelled, it is the same."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from built_ins import AGGREGATION, FILTER, GROUPS, STATUS, TEMPORAL, N
from evenhand import (
    BalancedUnfairness,
    EnvyOfBest,
    Every,
    FairnessScheme,
    Final,
    GeneralisedGini,
    GroupTotals,
    Last,
    LogNash,
    Nash,
    PairwiseEnvy,
    Parity,
    PerEntitlement,
    Rawls,
    Step,
    TimepointFirst,
    Total,
    Trace,
    TraceFunction,
    Utilitarian,
)
from evenhand.errors import EvenhandError, WelfareOverflow
from evenhand.fairness import WhenPrefix
from evenhand.fairness import stream as stream_module
from evenhand.fairness.stream import Stream
from evenhand.fairness.trace import Override

rewards_of = st.integers(1, 12).flatmap(
    lambda steps: st.lists(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, -0.5]), min_size=N, max_size=N),
        min_size=steps,
        max_size=steps,
    )
)
aggregations = st.one_of(st.sampled_from(AGGREGATION), st.just(BalancedUnfairness()))
schemes = st.builds(FairnessScheme, st.sampled_from(STATUS), aggregations, st.sampled_from(FILTER))


def trace_of(scheme: FairnessScheme, rewards: list[list[float]], data: st.DataObject) -> Trace:
    if not scheme.aggregation.takes_overrides:
        return Trace(rewards=rewards)
    paid = st.dictionaries(st.integers(1, len(rewards)), st.sampled_from([-3.0, 2.0]), max_size=3)
    return Trace(rewards=rewards, overrides=data.draw(paid) or None)


def outcome(stream: Stream) -> tuple[object, ...]:
    """What a stream says: its score or its refusal, and its counts."""
    try:
        score: object = pytest.approx(stream.score, rel=1e-9, abs=1e-9)
    except EvenhandError as error:
        score = type(error)
    return stream.steps, stream.assessments, score


@given(schemes, rewards_of, st.data())
def test_any_cut_into_blocks_and_any_stop_give_the_same_score(scheme, rewards, data):
    """Pieces are pushed or taken at once; between two, the stream may be another that goes on."""
    trace = trace_of(scheme, rewards, data)
    whole = Stream(scheme, N)
    try:
        whole.extend(trace)
    except EvenhandError:
        return  # what is undefined is the business of test_definition
    stream = Stream(scheme, N)
    edges = sorted(data.draw(st.lists(st.integers(0, len(trace)), max_size=4)))
    for start, stop in itertools.pairwise([0, *edges, len(trace)]):
        piece = trace.block(start, stop)
        if data.draw(st.booleans()):
            stream.extend(piece)
        else:
            for step in piece.steps():
                stream.push(step)
        if data.draw(st.booleans()):
            snapshot, stream = stream.snapshot(), Stream(scheme, N)
            stream.resume(snapshot)
    assert outcome(stream) == outcome(whole)


@pytest.mark.parametrize(
    "aggregation", [*(TimepointFirst(Utilitarian(), t) for t in TEMPORAL), BalancedUnfairness()]
)
def test_every_built_in_goes_on_from_every_cut(aggregation):
    rewards = np.random.default_rng(5).integers(1, 4, (9, N)) / 2
    trace = Trace(rewards=rewards)
    for filter_ in FILTER:
        scheme = FairnessScheme(aggregation=aggregation, filter=filter_)
        whole = Stream(scheme, N)
        whole.extend(trace)
        for cut in range(10):
            first, second = Stream(scheme, N), Stream(scheme, N)
            first.extend(trace.block(0, cut))
            second.resume(first.snapshot())
            second.extend(trace.block(cut, 9))
            assert outcome(second) == outcome(whole)


@given(schemes, rewards_of, st.data())
def test_the_running_scores_of_blocks_are_those_of_the_prefixes(scheme, rewards, data):
    if scheme.filter.assesses_end:
        return
    trace = trace_of(scheme, rewards, data)
    stream, running, expected = Stream(scheme, N), [], []
    cut = data.draw(st.integers(0, len(trace)))
    try:
        for start, stop in ((0, cut), (cut, len(trace))):
            for block in stream.blocks(trace.block(start, stop)):
                running += stream.running(block).tolist()
        for time in range(1, len(trace) + 1):
            prefix = Stream(scheme, N)
            prefix.extend(trace.prefix(time))
            if prefix.assessments > len(expected):
                expected.append(prefix.score)
    except EvenhandError:
        return
    assert running == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(schemes, rewards_of, st.permutations(range(N)))
def test_any_relabelling_relabels_the_answer(scheme, rewards, order):
    """Who was place i is place order.index(i): shares and groups move along, the score stays."""
    table = np.asarray(rewards)
    # A welfare of groups' statuses speaks of the places of groups, which stay where they are.
    moves = scheme.status.per_stakeholder
    aggregation = relabelled(scheme.aggregation, order) if moves else scheme.aggregation
    other = FairnessScheme(relabelled(scheme.status, order), aggregation, scheme.filter)
    before, after = Stream(scheme, N), Stream(other, N)
    try:
        before.extend(Trace(rewards=table))
    except EvenhandError as error:
        with pytest.raises(type(error)):
            after.extend(Trace(rewards=table[:, order]))
        return
    after.extend(Trace(rewards=table[:, order]))
    assert outcome(after) == outcome(before)
    if scheme.status.per_stakeholder:
        np.testing.assert_allclose(after.status, before.status[order])


def relabelled(part, order):
    match part:
        case PerEntitlement(entitlements=shares):
            moved = tuple(shares[i] for i in order)
            return replace(part, entitlements=moved, of=relabelled(part.of, order))
        case GroupTotals():
            groups = dict(zip(part.groups.names, part.groups.members, strict=True))
            moved = {name: [order.index(i) for i in who] for name, who in groups.items()}
            return GroupTotals(moved, of=part.of)
        case TimepointFirst(welfare=Parity(groups=groups)) if groups is not None:
            moved = {name: [order.index(i) for i in who] for name, who in GROUPS.items()}
            return TimepointFirst(Parity(moved), part.temporal)
    inner = getattr(part, "of", None)  # a status of a status: what is inside moves along
    return part if inner is None else replace(part, of=relabelled(inner, order))


@given(rewards_of, st.integers(1, 12), st.sampled_from([Rawls(), LogNash(), Utilitarian()]))
def test_the_size_of_a_block_does_not_matter(rewards, values, welfare):
    """With those present coming and going; blocks are cut as small as one step."""
    table = np.abs(rewards)
    present = np.random.default_rng(len(table)).random(table.shape) < 0.7
    present[:, 0] = True
    scheme = FairnessScheme(aggregation=TimepointFirst(welfare, Total()), filter=Every(2))
    whole, cut = Stream(scheme, N), Stream(scheme, N)
    whole.extend(Trace(rewards=table), present)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_module, "BLOCK_VALUES", values)
        blocks = list(cut.blocks(Trace(rewards=table), present))
    assert len(blocks) == -(-len(table) // max(1, values // N))
    assert outcome(cut) == outcome(whole)


@pytest.mark.parametrize("part", ["status", "filter"])
def test_a_function_of_the_history_sees_all_of_it_in_one_block(part, monkeypatch):
    monkeypatch.setattr(stream_module, "BLOCK_VALUES", 2)
    own = {
        "status": TraceFunction(lambda trace: trace.rewards.sum(axis=0)),
        "filter": WhenPrefix(lambda trace: len(trace) != 2),
    }
    scheme = FairnessScheme(aggregation=TimepointFirst(Utilitarian(), Total()), **{part: own[part]})
    found = scheme.score(Trace(rewards=[[1, 0], [1, 1], [0, 1]]))
    assert found == {"status": 1 + 3 + 4, "filter": 1 + 4}[part]


def test_the_end_fits_the_welfare_or_is_refused():
    scheme = FairnessScheme(
        aggregation=TimepointFirst(GeneralisedGini((2.0, 1.0)), Last()), filter=Final()
    )
    two, three = scheme.stream(2), scheme.stream(3)
    two.push([5.0, 1.0])
    three.push([5.0, 1.0, 1.0])
    assert two.score == 7.0
    assert two.end().contributions.tolist() == [7.0]
    with pytest.raises(EvenhandError, match="there are 2 weights for 3 statuses"):
        three.end()


def test_before_the_first_step_there_is_no_end():
    scheme = FairnessScheme(aggregation=TimepointFirst(Utilitarian(), Total()), filter=Final())
    stream = scheme.stream(2)
    assert (stream.assessments, stream.score, stream.end()) == (0, 0.0, None)


def test_a_snapshot_tells_whether_the_end_is_assessed():
    scheme = FairnessScheme(aggregation=TimepointFirst(Utilitarian(), Total()), filter=Final())
    stream, other = scheme.stream(2), scheme.stream(2)
    stream.push([1.0, 1.0])
    stream.push(Step(None, [1.0, 0.0], override=Override(np.True_, -7.0)))
    other.resume(stream.snapshot())
    assert other.score == stream.score == -7.0
    assert other.assessments == 1
    stream.push([0.0, 1.0])
    other.resume(stream.snapshot())
    assert other.score == stream.score == -7.0 + 4.0
    assert other.assessments == 2


def test_the_end_is_assessed_once():
    scheme = FairnessScheme(aggregation=TimepointFirst(Utilitarian(), Total()), filter=Final())
    stream = scheme.stream(2)
    assert stream.end() is None  # there is no last time point
    stream.push([1.0, 2.0])
    block = stream.end()
    assert block is not None
    assert block.contributions.tolist() == [3.0]
    assert stream.running(block).tolist() == [3.0]
    assert stream.end() is None
    assert (stream.score, stream.assessments) == (3.0, 1)


def test_at_the_end_only_those_present_are_judged():
    stream = FairnessScheme(aggregation=BalancedUnfairness(), filter=Final()).stream(3)
    stream.extend(Trace(rewards=[[1, 3, 50]]))
    block = stream.end(np.array([True, True, False]))
    assert block is not None
    assert block.contributions.tolist() == [[-1.0, 1.0, 0.0]]
    assert stream.score == -2.0


def test_an_override_stands_in_where_the_welfare_is_undefined():
    scheme = FairnessScheme(aggregation=TimepointFirst(LogNash(), Total()))
    trace = Trace(rewards=[[1, 0], [-5, 0], [5, 0]], overrides={2: -4.0})
    assert scheme.score(trace) == pytest.approx(2 * np.log(2) - 4.0)
    stream = scheme.stream(2)
    for step in trace.steps():
        stream.push(step)
    assert stream.score == pytest.approx(2 * np.log(2) - 4.0)


def test_an_error_names_the_time_point_that_has_no_override():
    scheme = FairnessScheme(aggregation=TimepointFirst(LogNash(), Total()), filter=Every(2))
    rewards = [[1, 0], [0, 0], [0, -1], [0, 0], [0, 0], [0, 0]]
    trace = Trace(rewards=rewards, overrides={3: 1.0, 4: 1.0})
    with pytest.raises(EvenhandError, match="stakeholder 1 at time 6 is -1"):
        scheme.score(trace)
    stream = scheme.stream(2)
    stream.extend(trace.prefix(5))
    with pytest.raises(EvenhandError, match="stakeholder 1 at time 6 is -1"):
        stream.push([0.0, 0.0])


def test_an_error_at_the_end_names_the_last_time_point():
    scheme = FairnessScheme(aggregation=TimepointFirst(LogNash(), Total()), filter=Final())
    stream = scheme.stream(2)
    stream.extend(Trace(rewards=[[1, 0], [0, 0], [0, -1]]))
    with pytest.raises(EvenhandError, match="stakeholder 1 at time 3 is -1"):
        stream.end()
    with pytest.raises(EvenhandError, match="stakeholder 1 at time 3 is -1"):
        _ = stream.score


@pytest.mark.parametrize("by_step", [False, True])
def test_what_overflows_is_refused_by_its_time_point(by_step):
    scheme = FairnessScheme(aggregation=TimepointFirst(Nash(), Total()), filter=Every(2))
    stream = scheme.stream(2)
    trace = Trace(rewards=[[1.0, 1.0], [0, 0], [1e200, 1e200], [0, 0]])

    def take() -> None:
        if not by_step:
            stream.extend(trace)
        for step in trace.steps():
            stream.push(step)

    with pytest.raises(WelfareOverflow, match="the welfare at time 4 is inf"):
        take()


def test_amounts_that_overflow_are_told_from_a_welfare_that_does():
    scheme = FairnessScheme(aggregation=TimepointFirst(Rawls(), Total()))
    with pytest.raises(WelfareOverflow, match="too large: at time 2"):
        scheme.score(Trace(rewards=[[1e308, 1e308], [1e308, 1e308]]))
    huge = FairnessScheme(aggregation=TimepointFirst(Utilitarian(), Total()))
    with pytest.raises(WelfareOverflow, match="the score is inf"):
        huge.score(Trace(rewards=[[0.0, 1e308], [0.0, 0.0]]))


@pytest.mark.parametrize("welfare", [Rawls(), LogNash()], ids=repr)
@pytest.mark.parametrize("status", [EnvyOfBest(), PairwiseEnvy()], ids=repr)
def test_amounts_that_overflow_are_told_where_they_are_compared_too(status, welfare):
    """Envy of ∞ by ∞ is no number, and so neither below nor above what the welfare needs."""
    scheme = FairnessScheme(status, TimepointFirst(welfare, Total()), Every(2))
    trace = Trace(rewards=[[1e308, 1e308], [1e308, 1e308]])
    with pytest.raises(WelfareOverflow, match="too large: at time 2"):
        scheme.score(trace)
    stream = scheme.stream(2)
    stream.push(trace.rewards[0])
    with pytest.raises(WelfareOverflow, match="too large: at time 2"):
        stream.push(trace.rewards[1])


def test_where_overrides_have_no_place_the_first_is_named():
    scheme = FairnessScheme(aggregation=BalancedUnfairness(), filter=Every(2))
    trace = Trace(rewards=[[1, 0]] * 5, overrides={3: 1.0, 5: 2.0})
    with pytest.raises(EvenhandError, match="step 3 has an override"):
        scheme.score(trace)
