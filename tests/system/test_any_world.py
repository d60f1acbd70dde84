"""Every shipped world, any scheme, any memory: learning starts and imagines the truth, or says why.

Some minutes: every combination is compiled anew.
"""

from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from evenhand import (
    AfterEach,
    Always,
    BalancedUnfairness,
    Decayed,
    Discounted,
    EnvyOfBest,
    Every,
    FairnessScheme,
    Final,
    GiniWelfare,
    GroupTotals,
    LogNash,
    Mean,
    NegativeVariance,
    Parity,
    PerEntitlement,
    Rawls,
    Returns,
    TimepointFirst,
    Total,
    WaitingTime,
    Window,
    Worst,
)
from evenhand.fairness.groups import Groups
from evenhand.memory.memory import (
    Clock,
    Full,
    GroupDifference,
    GroupFull,
    LastWinner,
    Min,
    Nothing,
    OfStatus,
    Product,
    Reset,
)
from imagined_law import WORLDS, learning_starts

pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]


def groups_of(size):
    return Groups(("A", "B"), ((0,), tuple(range(1, size))))


def statuses(env):
    size = env.num_stakeholders
    plain = (Returns(), Decayed(2.0), Window(2), WaitingTime(), EnvyOfBest())
    sizes = tuple(float(i + 1) for i in range(size))
    own = env.default_scheme().status
    return (*plain, PerEntitlement(sizes), GroupTotals(groups_of(size)), own)


@st.composite
def schemes(draw, env):
    welfare = draw(
        st.sampled_from((LogNash(), Rawls(), Parity(), NegativeVariance(), GiniWelfare()))
    )
    temporal = draw(st.sampled_from((Total(), Total(), Discounted(0.9), Mean(), Worst())))
    either = TimepointFirst(welfare, temporal)
    return FairnessScheme(
        status=draw(st.sampled_from(statuses(env))),
        aggregation=draw(st.sampled_from((either, either, either, BalancedUnfairness()))),
        filter=draw(st.sampled_from((Always(), Always(), Every(2), Final(), AfterEach(2.0)))),
        empty=draw(st.sampled_from((None, 0.0))),
    )


def memories(env, scheme):
    groups = groups_of(env.num_stakeholders)
    own = OfStatus(scheme.status)
    return st.sampled_from(
        (
            *(own, own, Product((own, Clock(3))), Full(), Product((Full(), LastWinner()))),
            *(Min(), Reset(), Nothing(), GroupFull(groups), GroupDifference(groups)),
        )
    )


@given(data=st.data())
def test_learning_starts_and_imagines_the_truth_or_says_why(data):
    name = data.draw(st.sampled_from(sorted(WORLDS)), label="world")
    env = WORLDS[name]
    scheme = data.draw(schemes(env) | st.just(env.default_scheme()), label="scheme")
    memory = data.draw(memories(env, scheme), label="memory")
    event("starts" if learning_starts(env, scheme, memory) else "refused")
