from __future__ import annotations

import itertools

import numpy as np
import pytest

from evenhand import (
    AfterEach,
    AlphaFair,
    BalancedUnfairness,
    Decayed,
    Discounted,
    EnvyOfBest,
    Every,
    FairnessScheme,
    FeedbackScheme,
    Final,
    GeneralisedGini,
    GroupTotals,
    Last,
    LogNash,
    Mean,
    Parity,
    PerEntitlement,
    Rawls,
    Returns,
    TimepointFirst,
    Total,
    Trace,
    TraceFunction,
    When,
    Window,
    anytime,
    bounded,
    from_toml,
    over_time,
    periodic,
    to_toml,
)
from evenhand.errors import EvenhandError, NothingAssessed, SchemeFileError, UnknownName
from evenhand.fairness import LowerIsBetter, MatrixFunction, PerCurrentEntitlement, Rate, WhenPrefix

TRACE = Trace(rewards=[[1, 0], [0, 1], [1, 1], [0, 3]], actions=[0, 1, 0, 1])


def test_a_function_of_the_trace_is_a_status():
    latest = anytime(Rawls(), Total(), status=TraceFunction(lambda trace: trace.rewards[-1]))
    assert latest.score(TRACE) == 0 + 0 + 1 + 0


def test_a_function_of_the_status_matrix_is_an_aggregation():
    scheme = FairnessScheme(aggregation=MatrixFunction(lambda table: table[:, 0].max()))
    assert scheme.score(TRACE) == 2.0


def test_predicates_of_the_step_and_of_the_history_are_filters():
    second = bounded(When(lambda step: step.action == 1), Parity(), Total())
    assert second.assess(TRACE).times.tolist() == [2, 4]
    assert second.score(TRACE) == 0 - 3  # counts (1, 1), then (2, 5)
    equal_so_far = WhenPrefix(lambda trace: trace.returns()[0] == trace.returns()[1])
    assert bounded(equal_so_far).assess(TRACE).times.tolist() == [2, 3]


def test_after_each_fires_once_for_a_step_that_completes_several():
    trace = Trace(rewards=[[1, 0], [5, 0], [0, 1], [-3, 0], [3, 0], [2, 0]])
    # running total 1, 6, 7, 4, 7, 9: multiples of 2 first reached at 6 (2, 4 and 6) and 9 (8)
    assert bounded(AfterEach(2)).assess(trace).times.tolist() == [2, 6]


def test_after_each_forgives_rounding():
    trace = Trace(rewards=[[0.1]] * 10)
    assert bounded(AfterEach(1.0)).assess(trace).times.tolist() == [10]


def test_nothing_assessed_is_zero_for_a_total_and_may_be_named():
    short = TRACE.prefix(1)
    assert periodic(3, temporal=Total()).score(short) == 0.0
    named = FairnessScheme(filter=Every(3), empty=-1.0)
    assert named.score(short) == -1.0
    assert named.score(TRACE) != -1.0


def test_feedback_is_scored_as_it_came():
    trace = Trace(rewards=[[1, 0]] * 3, feedback=[1.0, 2.0, 4.0])
    assert FeedbackScheme().score(trace) == 7.0
    assert FeedbackScheme(Discounted(0.5)).score(trace) == 1 + 1 + 1
    assert FeedbackScheme().score(trace.block(2, 3)) == 4.0
    assert FeedbackScheme().score(trace.prefix(0)) == 0.0
    with pytest.raises(NothingAssessed, match="no steps"):
        FeedbackScheme(Mean()).score(trace.prefix(0))
    assert "not known" in FeedbackScheme().describe()


def test_describe_says_it_in_plain_words():
    words = periodic(12, LogNash(), status=PerEntitlement((2.0, 1.0))).describe()
    assert words == (
        "Each stakeholder's status is what it has received so far, per unit of entitlement. "
        "In the mean and in fairness it counts by its entitlement. "
        "Fairness is assessed after every 12 decisions. Fairness at a time point is the sum of "
        "the logarithms of all statuses plus 1 (log Nash). Over time, the assessments are averaged."
    )
    assert "nothing is assessed the score is 3" in FairnessScheme(empty=3).describe()


STATUS = [
    Returns(0.9),
    GroupTotals({"a b": [0, 2], '"quoted"': [1]}, of=Window(3)),
    PerEntitlement((1.5, 2.0), of=Decayed(2.5)),
    EnvyOfBest(of=PerEntitlement((1.0, 3.0))),
    LowerIsBetter(of=PerEntitlement((1.0, 3.0), weighted=False)),
    LowerIsBetter(of=Rate(of=Window(2))),
    PerCurrentEntitlement(weighted=False),
]
AGGREGATION = [
    TimepointFirst(),
    TimepointFirst(GeneralisedGini((2.0, 1.0)), Discounted(0.5)),
    TimepointFirst(Parity({"A": [0], "B": [1]}), over_time(AlphaFair(2.0, offset=1.0))),
    TimepointFirst(Parity(), Last()),
    BalancedUnfairness(),
]


@pytest.mark.parametrize(
    "scheme",
    [
        FairnessScheme(s, a, f, empty)
        for (s, a), (f, empty) in itertools.product(
            itertools.product(STATUS, AGGREGATION),
            [(Every(3), None), (Final(), 0.0), (AfterEach(1.5), -2.5)],
        )
    ],
)
def test_a_scheme_survives_the_round_trip_through_toml(scheme):
    assert from_toml(to_toml(scheme)) == scheme


def test_a_scheme_file_as_a_person_would_write_it():
    scheme = from_toml(
        """
        welfare = "rawls"
        filter = { name = "every", period = 12 }

        [status]
        name = "per_entitlement"
        entitlements = [39.5, 5.8]
        """
    )
    assert scheme == periodic(12, Rawls(), status=PerEntitlement((39.5, 5.8)))


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("welfare = ", SchemeFileError, "not valid TOML"),
        ('welfair = "rawls"', SchemeFileError, "no part 'welfair'"),
        ('welfare = "rawl"', UnknownName, "did you mean 'rawls'"),
        ('welfare = "zzz"', UnknownName, "there are utilitarian"),
        ("welfare = 3", SchemeFileError, "welfare must be a name"),
        ('filter = "every"', SchemeFileError, "every needs 'period'"),
        ('filter = {name = "every", perod = 3}', SchemeFileError, "no parameter 'perod'"),
        ('filter = {name = "every", period = "3"}', EvenhandError, "period is '3'"),
        ('filter = {name = "every", period = 0}', EvenhandError, "period is 0"),
        ('aggregation = "balanced_unfairness"\nwelfare = "rawls"', SchemeFileError, "not both"),
        ('empty = "x"', SchemeFileError, "must be a number"),
        ('status = {name = "group_totals", groups = 3}', SchemeFileError, "cannot be made"),
    ],
)
def test_mistakes_in_a_scheme_file_are_named(text, error, words):
    with pytest.raises(error, match=words):
        from_toml(text)


@pytest.mark.parametrize(
    "scheme",
    [
        anytime(status=TraceFunction(np.sum)),
        bounded(WhenPrefix(bool)),
        FairnessScheme(aggregation=MatrixFunction(np.sum)),
    ],
)
def test_python_functions_cannot_be_written_to_a_file(scheme):
    with pytest.raises(SchemeFileError, match="is Python code"):
        to_toml(scheme)
