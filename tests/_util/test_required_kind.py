"""The likeliest mistakes of whoever writes Python: each is a sentence that says what to pass."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand import (
    Above,
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
from evenhand._util.required_kind import require_kind
from evenhand.errors import BadParameter
from evenhand.fairness import FeedbackScheme, MatrixFunction

SHOP = Doughnuts(2, 3, 0.5)
SCHEME = SHOP.default_scheme()
PROBLEM = Problem(SHOP, SCHEME)
A_PROBLEM = (
    r"problem is Doughnuts.*: it must be a Problem, such as Problem\(environment, scheme\)\."
)


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
