"""What arguments must be; the likeliest mistakes of whoever writes Python are sentences."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from evenhand import (
    Above,
    Clock,
    Doughnuts,
    FairnessScheme,
    FairQCM,
    Full,
    LogNash,
    Mean,
    Problem,
    Rawls,
    TimepointFirst,
    Trace,
    anytime,
    evaluate,
    periodic,
    plan,
)
from evenhand._util.checks import (
    first_repeated,
    is_finite_number,
    is_whole,
    require_kind,
    require_whole,
)
from evenhand.decide.rules.rule import read_seed
from evenhand.envs.environment import resized
from evenhand.errors import BadParameter
from evenhand.fairness import Every, FeedbackScheme, MatrixFunction, Modulo, Window
from evenhand.learn.deep.agent import HardUpdate

SHOP = Doughnuts(2, 3, 0.5)
SCHEME = SHOP.default_scheme()
PROBLEM = Problem(SHOP, SCHEME)
A_PROBLEM = (
    r"problem is Doughnuts.*: it must be a Problem, such as Problem\(environment, scheme\)\."
)
NOT_WHOLE = [True, np.True_, 1.5, 3.0, np.float64(3), math.nan, math.inf, "3", None, [3], 0, -1]


@pytest.mark.parametrize("value", NOT_WHOLE)
def test_what_is_not_a_whole_number_from_1_is_refused(value):
    assert not is_whole(value)
    with pytest.raises(BadParameter) as refused:
        require_whole(value, "reach")
    assert str(refused.value) == f"reach is {value!r}: it must be a whole number from 1."


@pytest.mark.parametrize("value", [1, np.int32(7), np.uint8(3), 10**30])
def test_whole_numbers_of_python_and_numpy_are_taken_as_int(value):
    found = require_whole(value, "reach")
    assert type(found) is int
    assert found == value


def test_the_bounds_are_in_the_sentence():
    assert require_whole(0, "seed", least=0) == 0
    assert require_whole(1000, "steps", most=1000) == 1000
    with pytest.raises(BadParameter, match=r"^seed is -1: it must be a whole number from 0\.$"):
        require_whole(-1, "seed", least=0)
    with pytest.raises(BadParameter, match=r"^steps is 1001: .* whole number from 1 to 1,000\.$"):
        require_whole(1001, "steps", most=1000)
    with pytest.raises(BadParameter, match=r"^steps is a number of 401 digits: it must be a whole"):
        require_whole(10**400, "steps", most=1000)


WHO_COUNTS = {
    "period": (Every, Clock),
    "length": (Window,),
    "modulus": (Modulo,),
    "every": (HardUpdate,),
    "reach": (Above,),
    "horizon": (
        lambda value: Doughnuts(horizon=value),
        lambda value: resized(Doughnuts(), None, value),
    ),
    "seed": (read_seed,),
}


@pytest.mark.parametrize("value", [True, 1.5, 3.0, math.nan, math.inf, "x", -1])
@pytest.mark.parametrize(("name", "kinds"), WHO_COUNTS.items(), ids=WHO_COUNTS)
def test_every_part_that_counts_is_as_strict(name, kinds, value):
    for kind in kinds:
        with pytest.raises(BadParameter, match=f"^`?{name}`? is .*"):
            kind(value)
        kind(np.int64(3))


def test_a_part_holds_a_plain_int_whatever_it_was_given():
    assert type(Every(np.int64(3)).period) is int
    assert type(Clock(np.int64(3)).period) is int
    assert type(Above(np.int64(3)).reach) is int


@pytest.mark.parametrize("typed", ["-1", "1.0", "٣", "", "7 8", "9" * 5000])
def test_a_typed_seed_shows_a_whole_number(typed):
    assert read_seed(" 12 ") == 12
    with pytest.raises(BadParameter, match=r"`seed` is .*: it must be a whole number from 0"):
        read_seed(typed)


@pytest.mark.parametrize("value", [0, -1.5, np.float32(2), np.int64(3), Fraction(1, 3)])
def test_numbers(value):
    assert is_finite_number(value)


@pytest.mark.parametrize("value", [True, "1", None, [1], 1j, math.nan, -math.inf, 10**400])
def test_what_is_not_a_finite_number(value):
    assert not is_finite_number(value)


@pytest.mark.parametrize(
    ("mistake", "sentence"),
    [
        (lambda: plan(SHOP), A_PROBLEM),
        (lambda: FairQCM(SHOP), A_PROBLEM),
        (lambda: FairQCM.derived(SHOP, steps=100), A_PROBLEM),
        (lambda: evaluate(SHOP, plan(PROBLEM)), A_PROBLEM),
        (lambda: plan(PROBLEM, horizon="3"), r"horizon is '3': .* from 1, or math\.inf\."),
        (
            lambda: evaluate(PROBLEM, "random"),
            r"policy is 'random': it must be a function act\(key, state, memory\) .* or a plan",
        ),
        (
            lambda: FairQCM(PROBLEM, Above),
            r"proposal is the class Above: make an object of it, as in Above\(…\)\.",
        ),
        (lambda: FairQCM(PROBLEM, 2), r"proposal is 2: it must be a Proposal, such as Above\(2\)"),
        (
            lambda: Problem(SHOP, LogNash()),
            r"scheme is LogNash\(.*\): it must be a FairnessScheme, such as anytime\(LogNash\(\)\)",
        ),
        (
            lambda: Problem(SHOP, SCHEME, "full"),
            r"memory is 'full': it must be a Memory, such as Full\(\)\.",
        ),
        (lambda: Problem(SHOP, SCHEME, Full), "memory is the class Full: make an object of it"),
        (lambda: Problem(Doughnuts, SCHEME), "environment is the class Doughnuts: make an object"),
        (
            lambda: Problem("doughnuts", SCHEME),
            r"environment is 'doughnuts', which has no num_stakeholders and no horizon: give one "
            r"of evenhand\.envs, such as Doughnuts\(\), or a subclass of Environment\.",
        ),
        (
            lambda: anytime(welfare="rawls"),
            r"welfare is 'rawls': it must be a Welfare, such as Rawls\(\)\.",
        ),
        (lambda: periodic(2, welfare=Rawls), r"welfare is the class Rawls: .* as in Rawls\(…\)\."),
        (
            lambda: TimepointFirst(Rawls(), "mean"),
            r"temporal is 'mean': it must be a Temporal, such as Mean\(\)\.",
        ),
        (lambda: FeedbackScheme(Mean), "temporal is the class Mean"),
        (lambda: MatrixFunction(3), "function is 3: it must be a function of the table"),
        (
            lambda: SCHEME.score([[1, 2]]),
            r"trace is \[\[1, 2\]\]: it must be a Trace, such as Trace\(rewards=\[\[1, 0\], ",
        ),
        (lambda: SCHEME.assess(np.ones((2, 2))), "trace is array.*: it must be a Trace"),
        (lambda: FeedbackScheme().score([1, 2]), "trace is .*: it must be a Trace"),
    ],
)
def test_what_to_pass_instead_is_said_at_once(mistake, sentence):
    with pytest.raises(BadParameter, match=f"^{sentence}"):
        mistake()


def test_ones_own_subclasses_are_of_the_kind():
    class OwnTrace(Trace):
        pass

    class OwnScheme(FairnessScheme):
        pass

    require_kind(OwnTrace(rewards=[[1, 2]]), Trace, "trace", "…")
    assert Problem(SHOP, OwnScheme(SCHEME.status, SCHEME.aggregation, SCHEME.filter)).discount


def test_an_environment_needs_no_base_class():
    class Wrapped:
        """Answers as another environment does."""

        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

    assert Problem(Wrapped(SHOP), SCHEME).discount == PROBLEM.discount


def test_a_name_twice_among_very_many_is_found_at_once():
    names = [str(number) for number in range(300_000)]
    assert first_repeated(names) is None
    assert first_repeated([*names, "299999"]) == "299999"
