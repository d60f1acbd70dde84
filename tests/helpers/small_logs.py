"""Small random logs, and the best that could have been done with them, found the long way round.

Nothing here is shared with `evenhand.decide`: scores come from the definitions in `literal`, the
best with whole lots from trying all allocations, and the best of divisible supply from cvxpy.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, field

import pandas as pd

import literal
from evenhand import (
    AlphaFair,
    Average,
    GeneralisedGini,
    GiniWelfare,
    LogNash,
    Nash,
    NegativeVariance,
    Parity,
    Rawls,
    Utilitarian,
)

# Every welfare that hindsight knows, with one that is concave over time for each filter.
WELFARES = [
    Utilitarian(),
    Average(),
    Rawls(),
    LogNash(),
    AlphaFair(0.5),
    AlphaFair(2.0, offset=0.5),
    GiniWelfare(),
    Parity(),
    NegativeVariance(),
]
FILTERS = [{}, {"every": 2}, {"after_each": 2.0}, {"at_end": True}, {"when": "kind = 'look'"}]


@dataclass
class SmallLog:
    """Rows (time, who, amount), in which times are 1, 2, …, and what else is known."""

    names: list[str]
    rows: list[tuple[int, str, float]]
    stays: dict[str, tuple[int, int]] | None = None  # from and until
    sizes: dict[str, float] | None = None  # entitlements
    asked: list[tuple[int, str, float]] | None = None
    newcomers: str = "zero"
    when: dict = field(default_factory=dict)  # the argument that says when to look
    looks: frozenset[int] = frozenset()  # times of kind 'look'

    @property
    def times(self) -> list[int]:
        return sorted({time for time, _, _ in self.rows})

    def supply(self, time: int) -> float:
        return sum(amount for at, _, amount in self.rows if at == time)

    def frame(self) -> pd.DataFrame:
        kinds = ["look" if time in self.looks else "other" for time, _, _ in self.rows]
        table = pd.DataFrame(self.rows, columns=["time", "who", "amount"])
        return table.assign(kind=kinds)

    def options(self) -> dict:
        """The arguments of an audit."""
        found = {"stakeholder": "who", "time": "time", "amount": "amount", **self.when}
        found["roster"] = list(self.names)
        if self.stays is not None:
            first, last = zip(*(self.stays[name] for name in self.names), strict=True)
            table = {"name": self.names, "from": map(float, first), "until": map(float, last)}
            found["roster"] = pd.DataFrame({key: list(part) for key, part in table.items()})
            found["newcomers"] = self.newcomers
        if self.sizes is not None:
            found["entitlement"] = self.sizes
        if self.asked is not None:
            found["requests"] = pd.DataFrame(self.asked, columns=["time", "who", "wanted"])
            found["asked"], found["judge_requests"] = "wanted", "shortfall"
        return found

    def there(self, name: str, time: int) -> bool:
        return self.stays is None or self.stays[name][0] <= time <= self.stays[name][1]

    def most(self, name: str, time: int) -> float:
        """How much it may have had by then."""
        if self.asked is None:
            return math.inf
        return sum(amount for at, who, amount in self.asked if who == name and at <= time)

    def assessed(self) -> list[int]:
        times = self.times
        match self.when:
            case {"every": period}:
                return times[period - 1 :: period]
            case {"at_end": True}:
                return times[-1:]
            case {"when": _}:
                return [time for time in times if time in self.looks]
            case {"after_each": amount}:
                found, done, total = [], 0, 0.0
                for time in times:
                    total += self.supply(time)
                    if total // amount > done:
                        found.append(time)
                        done = total // amount
                return found
        return times

    def statuses(self, had: dict[tuple[int, str], float], time: int) -> dict[str, float]:
        """Of those who are there, by what each had received by each time; amounts may be cvxpy."""
        began: dict[str, object] = dict.fromkeys(self.names, 0.0)
        size = self.sizes or dict.fromkeys(self.names, 1.0)
        if self.stays is not None and self.newcomers == "mean":
            for moment in sorted({self.stays[name][0] for name in self.names}):
                there = [n for n in self.names if self.stays[n][0] < moment <= self.stays[n][1]]
                before = max([t for t in self.times if t < moment], default=None)
                joined = [n for n in self.names if self.stays[n][0] == moment]
                if there and moment <= time:
                    stand = [
                        size[n] * ((had[before, n] if before else 0.0) / size[n] + began[n])
                        for n in there
                    ]
                    for name in joined:
                        began[name] = sum(stand) / sum(size[n] for n in there)
        return {
            name: had[time, name] / size[name] + began[name] - self._wanted(name, time)
            for name in self.names
            if self.there(name, time)
        }

    def _wanted(self, name: str, time: int) -> float:
        return 0.0 if self.asked is None else self.most(name, time)

    def weights(self, time: int) -> list[float]:
        there = [name for name in self.names if self.there(name, time)]
        size = self.sizes or dict.fromkeys(self.names, 1.0)
        total = sum(size[name] for name in there)
        return [len(there) * size[name] / total for name in there]

    def score(self, had: dict[tuple[int, str], float], welfare, temporal) -> float:
        """By the definitions written out."""
        values = [
            literal.welfare_of(welfare, list(self.statuses(had, time).values()), self.weights(time))
            for time in self.assessed()
        ]
        return literal.over_time(temporal, values)

    def allocations(self):
        """Every way to give each row to somebody, as what each had received by each time."""
        choices = [[n for n in self.names if self.there(n, time)] for time, _, _ in self.rows]
        for taken in itertools.product(*choices):
            had = {}
            for time in self.times:
                for name in self.names:
                    had[time, name] = sum(
                        amount
                        for (at, _, amount), who in zip(self.rows, taken, strict=True)
                        if who == name and at <= time
                    )
            if all(had[time, name] <= self.most(name, time) + 1e-9 for time, name in had):
                yield had

    def best_by_trying(self, welfare, temporal) -> float:
        """The best score with rows that cannot be divided; minus infinity where none is defined."""
        best = -math.inf
        for had in self.allocations():
            try:
                best = max(best, self.score(had, welfare, temporal))
            except literal.Undefined:
                continue
        return best


def small_log(
    seed: int, stays: bool, sizes: bool, asked: bool, when: dict, newcomers: str = "zero"
) -> SmallLog:
    """Two or three stakeholders, three to five rows of one unit."""
    rng = random.Random(f"{seed} {stays} {sizes} {asked} {when} {newcomers}")
    names = list("ABC"[: rng.choice((2, 3))])
    last = rng.choice((3, 4))
    at = sorted([*range(1, last + 1), *(rng.randint(1, last) for _ in range(rng.randint(0, 1)))])
    stay = None
    if stays:
        stay = {name: (rng.randint(1, last), last) for name in names}
        stay["A"] = (1, last)
        for name in names[1:]:
            stay[name] = (stay[name][0], rng.randint(stay[name][0], last))
    log = SmallLog(names, [], stay, newcomers=newcomers, when=when)
    takers = {time: [name for name in names if log.there(name, time)] for time in at}
    log.rows = [(time, rng.choice(takers[time]), 1.0) for time in at]
    if sizes:
        log.sizes = {name: float(rng.randint(1, 4)) for name in names}
    if asked:
        log.asked = [(time, who, amount) for time, who, amount in log.rows]
        log.asked += [(rng.randint(1, last), name, rng.choice((1.0, 2.0))) for name in names]
    log.looks = frozenset(rng.sample(range(1, last + 1), 2))
    return log


def best_by_cvxpy(log: SmallLog, welfare, temporal) -> float:
    """The best score of divisible supply, by Clarabel."""
    import cvxpy as cp

    given = {
        (time, name): cp.Variable(nonneg=True)
        for time in log.times
        for name in log.names
        if log.there(name, time)
    }
    had, rules = {}, []
    for place, time in enumerate(log.times):
        for name in log.names:
            before = had[log.times[place - 1], name] if place else 0.0
            had[time, name] = before + given.get((time, name), 0.0)
            if (time, name) in given and math.isfinite(log.most(name, time)):
                rules.append(had[time, name] <= log.most(name, time))
        takers = [given[time, name] for name in log.names if (time, name) in given]
        rules.append(sum(takers) == log.supply(time))
    values = [
        _in_cvxpy(cp, welfare, list(log.statuses(had, time).values()), log.weights(time))
        for time in log.assessed()
    ]
    worst = type(temporal).__name__ == "Worst"
    goal = cp.minimum(*values) if worst and len(values) > 1 else _over_time(temporal, values)
    problem = cp.Problem(cp.Maximize(goal), rules)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


def _over_time(temporal, values):
    # The definitions of `literal` are sums, which cvxpy can take too.
    return values[0] if type(temporal).__name__ == "Worst" else literal.over_time(temporal, values)


def _in_cvxpy(cp, welfare, u, w):
    n = len(u)
    mean = sum(a * x for a, x in zip(w, u, strict=True)) / n
    match welfare:
        case Rawls():
            return cp.minimum(*u) if n > 1 else u[0] + 0.0
        case Parity(None):
            return cp.minimum(*u) - cp.maximum(*u) if n > 1 else 0.0 * u[0]
        case LogNash(offset):
            return sum(a * cp.log(x + offset) for a, x in zip(w, u, strict=True))
        case Nash():
            return sum(a * cp.log(x) for a, x in zip(w, u, strict=True))
        case AlphaFair(alpha, offset):
            powers = [a * cp.power(x + offset, 1 - alpha) for a, x in zip(w, u, strict=True)]
            return sum(powers) / (1 - alpha)
        case GiniWelfare():
            apart = sum(
                a * b * cp.abs(x - y)
                for a, x in zip(w, u, strict=True)
                for b, y in zip(w, u, strict=True)
            )
            return mean - apart / (2 * n * n)
        case GeneralisedGini(weights):  # of equal weights: the worst of all orders
            orders = [
                sum(a * x for a, x in zip(weights, order, strict=True))
                for order in itertools.permutations(u)
            ]
            return cp.minimum(*orders)
        case NegativeVariance():
            return -sum(a * cp.square(x - mean) for a, x in zip(w, u, strict=True)) / n
    return literal.welfare_of(welfare, u, w)


def division_of(log: SmallLog):
    """The division and the lots of a small log, laid out here cell by cell, without reading it.

    Newcomers begin at zero.
    """
    import numpy as np

    from evenhand.decide.hindsight.division import Division, WholeLots

    names, times, looks = log.names, log.times, log.assessed()
    size = np.array([(log.sizes or dict.fromkeys(names, 1.0))[name] for name in names])
    weight = np.zeros((len(looks), len(names)))
    for k, time in enumerate(looks):
        there = [place for place, name in enumerate(names) if log.there(name, time)]
        weight[k, there] = log.weights(time)
    asked = None
    if log.asked is not None:
        asked = np.array([[log.most(name, time) for name in names] for time in times])
    eligible = np.array([[log.there(name, time) for name in names] for time in times])
    division = Division(
        names=tuple(names),
        supply=np.array([log.supply(time) for time in times]),
        eligible=eligible if asked is None else eligible & (asked > 0),
        asked=asked,
        after=np.array([times.index(time) + 1 for time in looks]),
        slope=np.tile(1 / size, (len(looks), 1)),
        start=np.array([[-log._wanted(name, time) for name in names] for time in looks]),
        weight=weight,
    )
    rows = sorted((times.index(time), -amount, names.index(who)) for time, who, amount in log.rows)
    point, size_of_lot, who = (np.array(part) for part in zip(*rows, strict=True))
    return division, WholeLots(point, -size_of_lot, who)


def with_unequal_rows(log: SmallLog, seed: int) -> SmallLog:
    """The same with rows of one to three units, where nobody asked for a certain amount."""
    rng = random.Random(seed)
    if log.asked is None:
        log.rows = [(time, who, float(rng.randint(1, 3))) for time, who, _ in log.rows]
    return log
