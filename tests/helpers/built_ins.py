"""Every part that the package has, with parameters at which its definition can be seen."""

from __future__ import annotations

import itertools

from evenhand import (
    AfterEach,
    AlphaFair,
    Always,
    Average,
    BalancedUnfairness,
    Decayed,
    Discounted,
    EnvyOfBest,
    Equality,
    Every,
    Final,
    GeneralisedGini,
    GiniWelfare,
    GroupTotals,
    Jain,
    Last,
    LogNash,
    Mean,
    Nash,
    NegativeVariance,
    PairwiseEnvy,
    Parity,
    PerEntitlement,
    Rawls,
    Returns,
    TimepointFirst,
    Total,
    Utilitarian,
    WaitingTime,
    Window,
    Worst,
    over_time,
)
from evenhand.fairness.status import (
    Capped,
    Level,
    LowerIsBetter,
    MeanWait,
    Modulo,
    PerCurrentEntitlement,
    PerTimePresent,
    Rate,
    RateWithinPeriod,
    ShareMet,
    Shortfall,
    WhileWaiting,
    WithCredit,
)

N = 4
GROUPS = {"A": [0, 2], "B": [1], "C": [3]}
STATUS = [
    Returns(),
    Returns(0.5),
    Decayed(1.0),
    Window(3),
    WaitingTime(),
    PerEntitlement((1.0, 2.0, 4.0, 0.5)),
    PerEntitlement((1.0, 2.0, 4.0, 0.5), weighted=False),
    EnvyOfBest(of=PerEntitlement((1.0, 2.0, 4.0, 0.5))),
    PerEntitlement((1.0, 2.0, 4.0, 0.5), of=Window(2)),
    EnvyOfBest(),
    Modulo(3),
    Capped(2.5),
    Capped(1.0, of=Window(2)),
    PairwiseEnvy(),
    PairwiseEnvy(of=WaitingTime()),
    GroupTotals({"A": [0], "B": [1], "C": [2], "D": [3]}, of=Returns(0.5)),
    LowerIsBetter(),
]
# These look at circumstances, and so are tested by themselves (`fairness/status/test_beside`).
BESIDE = [
    Rate(),
    RateWithinPeriod(),
    MeanWait(),
    PerCurrentEntitlement(),
    PerCurrentEntitlement(weighted=False),
    PerTimePresent(),
    PerTimePresent(of=PerEntitlement((1.0, 2.0, 4.0, 0.5))),
    Level(),
    WithCredit(),
    WithCredit(of=PerEntitlement((1.0, 2.0, 4.0, 0.5))),
    ShareMet(),
    Shortfall(),
    WhileWaiting(),
    WhileWaiting(of=PerEntitlement((1.0, 2.0, 4.0, 0.5))),
]
WELFARE = [
    Utilitarian(),
    Average(),
    Rawls(),
    Nash(),
    LogNash(),
    LogNash(0.0),
    GiniWelfare(),
    GeneralisedGini((4.0, 2.0, 1.0, 0.0)),
    AlphaFair(0.0),
    AlphaFair(0.5),
    AlphaFair(1.0, offset=1.0),
    AlphaFair(2.0),
    Jain(),
    Equality(),
    Equality(1.5),
    Parity(),
    Parity(GROUPS),
    NegativeVariance(),
]
TEMPORAL = [
    Last(),
    Mean(),
    Total(),
    Discounted(0.9),
    Worst(),
    over_time(LogNash()),
    over_time(GiniWelfare()),
    over_time(Nash()),
    over_time(Jain()),
]
FILTER = [Always(), Every(1), Every(3), Final(), AfterEach(2.5)]
AGGREGATION = [TimepointFirst(w, t) for w, t in itertools.product(WELFARE, TEMPORAL)]
AGGREGATION.append(BalancedUnfairness())
