"""Tests of fairness.scheme."""

from __future__ import annotations

import itertools
import os
import time

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
from evenhand.errors import (
    BadFile,
    BadParameter,
    EvenhandError,
    NothingAssessed,
    SchemeFileError,
    UnknownName,
)
from evenhand.fairness import LowerIsBetter, MatrixFunction, PerCurrentEntitlement, Rate, WhenPrefix
from evenhand.fairness.scheme import DEEPEST, read_scheme_file
from evenhand.fairness.scheme import from_toml as from_toml_scheme_file

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


# Scheme files that are not what they should be: one sentence each, and at once.

HUGE = "1" + "0" * 400
WHOLE = "must be a whole number from 1 to 2,147,483,647"
DEEP = "more than 20 tables or lists inside each other"
LARGE = "a whole number of more than 64 bits"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"empty = {HUGE}", LARGE),
        (f"empty = {'9' * 5000}", LARGE),
        (f'filter = {{ name = "every", period = {HUGE} }}', LARGE),
        (f'status = {{ name = "capped", cap = {HUGE} }}', LARGE),
        (f'welfare = {{ name = "generalised_gini", weights = [1, {HUGE}] }}', LARGE),
        (f"empty = -{2**63 + 1}", LARGE),
        ("empty = " + "[" * 10_000 + "]" * 10_000, DEEP),
        ("empty = " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), DEEP),
        (".".join(["a"] * 20_000) + " = 1", DEEP),
        (".".join(['"a"'] * 20_000) + " = 1", DEEP),
        ("status = { " + ".".join(["of"] * 20_000) + " = 1 }", DEEP),
        ("[status" + ".of" * 3000 + "]\nname = 'returns'", DEEP),
        ('filter = { name = "every", period = "often" }', WHOLE),
        ('filter = { name = "every", period = [1] }', WHOLE),
        ('filter = { name = "every", period = inf }', WHOLE),
        ('filter = { name = "every", period = 1000000000000 }', WHOLE),
        ('status = { name = "window", length = 1000000000000 }', WHOLE),
        ('status = { name = "window", length = nan }', WHOLE),
        ('status = { name = "window", length = true }', WHOLE),
        ('status = { name = "modulo", modulus = inf }', WHOLE),
        ('status = { name = "per_entitlement", entitlements = [nan] }', "holds nan"),
        ('status = ["returns"]', "must be a name, or a table"),
        ("welfare = 5", "must be a name, or a table"),
        ("status = { name = 5 }", "must be a name, or a table"),
        ("empty = nan", "empty holds nan"),
        ("empty = 2021-01-01", "must be a number"),
        ("\0\1", "not valid TOML"),
    ],
)
def test_a_scheme_that_cannot_be_is_refused_in_a_sentence(text, words):
    started = time.perf_counter()
    with pytest.raises(EvenhandError) as caught:
        from_toml_scheme_file(text)
    assert words in str(caught.value)
    assert time.perf_counter() - started < 5  # a hang, not a benchmark


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("empty = " + "[" * DEEPEST + "]" * DEEPEST, "empty is .* must be a number"),
        (f'status = "{"." * DEEPEST}"', "there is no status|there are returns"),
        (f"empty = {2**63}", LARGE),
        (f"empty = -{2**63 + 1}", LARGE),
    ],
)
def test_depth_and_size_are_refused_only_beyond_the_limit(text, words):
    with pytest.raises(EvenhandError, match=words):
        from_toml_scheme_file(text)


def test_what_is_large_but_can_be_is_read():
    scheme = from_toml_scheme_file(
        f'filter = {{ name = "every", period = {2**31 - 1} }}\nempty = {-(2**63)}'
    )
    assert scheme.filter == Every(2**31 - 1)
    assert scheme.empty == -(2**63)
    assert from_toml_scheme_file(f"empty = {2**63 - 1}").empty == 2.0**63
    dots = "# " + "." * 100 + "\nempty = 1.5"
    assert from_toml_scheme_file(dots).empty == 1.5
    weights = ", ".join(f"{1 - k / 1000:.3f}" for k in range(500))
    assert from_toml_scheme_file(
        f'welfare = {{ name = "generalised_gini", weights = [{weights}] }}'
    )


def test_a_window_is_not_larger_than_there_is_room_for():
    assert Window(3).init(2).shape == (3, 2)
    assert Window(2**27).init(1).shape == (2**27, 1)  # 1 GB, which takes no room while it is empty
    with pytest.raises(BadParameter, match=r"would take 1 GB, and at most 1 is given"):
        Window(2**27 + 1).init(1)
    with pytest.raises(BadParameter, match=r"a window of so many steps of 2 .* would take 16 GB"):
        Window(2**30).init(2)
    for length in (2.5, 3.0):
        with pytest.raises(BadParameter, match=WHOLE):
            Window(length)


def test_a_scheme_file_has_at_most_16_megabytes(tmp_path):
    path = tmp_path / "scheme.toml"
    path.touch()
    os.truncate(path, (16 << 20) + 1)  # of nothing: no room is taken, and none of it is read
    with pytest.raises(BadFile, match="has at most 16 MB"):
        read_scheme_file(path)


def test_an_error_names_the_file(tmp_path):
    path = tmp_path / "scheme.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadFile, match="line 1 is not UTF-8"):
        read_scheme_file(path)
    path.write_bytes(b"empty = 1\n\n# \xff\n")
    with pytest.raises(BadFile, match="line 3 is not UTF-8"):
        read_scheme_file(path)
    path.write_text(f"empty = {HUGE}")
    with pytest.raises(SchemeFileError, match=r"scheme\.toml: the scheme holds a whole number"):
        read_scheme_file(path)
