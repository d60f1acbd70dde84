"""The definitions written out in plain Python, sharing no code with the package.

U is recomputed from every prefix, W and W_temporal from plain lists. Slow, and easy to check
against the paper by eye.
"""

from __future__ import annotations

import math
from fractions import Fraction

from evenhand.fairness import aggregation, filters, status, temporal, welfare


class Undefined(Exception):
    """The definition has no value here."""


def statuses(of, prefix: list[list[float]], n: int) -> list[float]:
    """U(τ_t) from the rewards of the first t steps."""
    match of:
        case status.Returns(discount):
            return [sum(discount**t * row[i] for t, row in enumerate(prefix)) for i in range(n)]
        case status.Decayed(half_life):
            return [
                sum(
                    row[i] * 0.5 ** ((len(prefix) - 1 - t) / half_life)
                    for t, row in enumerate(prefix)
                )
                for i in range(n)
            ]
        case status.Window(length):
            return [sum(row[i] for row in prefix[-length:]) for i in range(n)]
        case status.WaitingTime():
            served = [[t for t, row in enumerate(prefix, 1) if row[i] > 0] for i in range(n)]
            return [-(len(prefix) - (times[-1] if times else 0)) for times in served]
        case status.GroupTotals():
            inner = statuses(of.of, prefix, n)
            return [sum(inner[i] for i in part) for part in of.groups.members]
        case status.PerEntitlement():
            inner = statuses(of.of, prefix, n)
            return [u / e for u, e in zip(inner, of.entitlements, strict=True)]
        case status.LowerIsBetter():
            return [-u for u in statuses(of.of, prefix, n)]
        case status.EnvyOfBest():
            inner = statuses(of.of, prefix, n)
            return [u - max(inner) for u in inner]
        case status.PairwiseEnvy():
            inner = statuses(of.of, prefix, n)
            return [-sum(max(0.0, v - u) for v in inner) for u in inner]
        case status.Modulo():
            return [u % of.modulus for u in statuses(of.of, prefix, n)]
        case status.Capped(cap=cap, of=status.Returns(1.0)):
            counts = [0.0] * n
            for row in prefix:
                counts = [min(cap, count + row[i]) for i, count in enumerate(counts)]
            return counts
        case status.Capped():
            return [min(of.cap, u) for u in statuses(of.of, prefix, n)]
    raise AssertionError(of)


def weights_of(of, n: int) -> list[float]:
    """As how many each entry of the status vector counts, with a mean of 1."""
    match of:
        case status.PerEntitlement(entitlements=e, weighted=True):
            return [len(e) * x / sum(e) for x in e]
        case status.GroupTotals():
            return weights_of(of.of, n) if len(of.groups.members) == n else [1.0] * n
    return weights_of(of.of, n) if hasattr(of, "of") else [1.0] * n


def welfare_of(of, u: list[float], w: list[float] | None = None) -> float:
    n = len(u)
    w = [1.0] * n if w is None else w
    mean = sum(a * x for a, x in zip(w, u, strict=True)) / n

    def weighed(values: list[float]) -> float:
        return sum(a * x for a, x in zip(w, values, strict=True))

    match of:
        case welfare.Utilitarian():
            return weighed(u)
        case welfare.Average():
            return mean
        case welfare.Rawls():
            return min(u)
        case welfare.Nash():
            return math.prod(x**a for a, x in zip(w, _at_least_zero(u), strict=True))
        case welfare.GeometricMean():
            if min(u) <= 0:
                return 0.0
            return math.prod(x ** (a / n) for a, x in zip(w, u, strict=True))
        case welfare.LogNash(offset):
            return weighed([_log(x + offset) for x in _at_least_zero(u)])
        case welfare.GiniWelfare():
            pairs = [(a * b, x, y) for a, x in zip(w, u) for b, y in zip(w, u)]  # noqa: B905
            return mean - sum(both * abs(x - y) for both, x, y in pairs) / (2 * n * n)
        case welfare.GeneralisedGini(weights):
            total, at = 0.0, 0.0
            for x, a in sorted(zip(u, w, strict=True)):
                for k, density in enumerate(weights):  # how much of [at, at + a] is in [k, k + 1]
                    total += x * density * max(0.0, min(at + a, k + 1) - max(at, k))
                at += a
            return total
        case welfare.AlphaFair(alpha, offset):
            shifted = [x + offset for x in _at_least_zero(u)]
            if alpha == 1:
                return weighed([_log(x) for x in shifted])
            if alpha > 1 and min(shifted) == 0:
                raise Undefined
            return weighed([x ** (1 - alpha) for x in shifted]) / (1 - alpha)
        case welfare.Jain():
            squares = weighed([x * x for x in _at_least_zero(u)])
            return mean**2 / (squares / n) if squares else 1.0
        case welfare.Equality(tolerance):
            return 1.0 if max(u) - min(u) <= tolerance else 0.0
        case welfare.Parity(groups):
            totals = u
            if groups is not None:
                totals = [sum(w[i] * u[i] for i in part) for part in groups.members]
            return -max(abs(a - b) for a in totals for b in totals)
        case welfare.NegativeVariance():
            return -weighed([(x - mean) ** 2 for x in u]) / n
    raise AssertionError(of)


def over_time(of, w: list[float]) -> float:
    match of:
        case temporal.Last():
            return w[-1]
        case temporal.Mean():
            return sum(w) / len(w)
        case temporal.Total():
            return sum(w)
        case temporal.Discounted(discount):
            return sum(discount**j * x for j, x in enumerate(w))
        case temporal.Worst():
            return min(w)
        case temporal.OverTime(inner):
            return welfare_of(inner, w)
    raise AssertionError(of)


def fires(of, prefix: list[list[float]], length: int) -> bool:
    """B(τ_t)."""
    t = len(prefix)
    match of:
        case filters.Always():
            return True
        case filters.Every(period):
            return t % period == 0
        case filters.Final():
            return t == length
        case filters.AfterEach(amount):
            sums = [sum(map(Fraction, row)) for row in prefix]
            reached = [math.floor(sum(sums[:k]) / Fraction(amount)) for k in range(t + 1)]
            return reached[-1] > max(reached[:-1])
    raise AssertionError(of)


def score(scheme, rewards: list[list[float]], overrides: list[float | None]) -> float | None:
    """𝔉(τ): W_ex over the time points that pass the filter; None where nothing does."""
    n = len(rewards[0])
    w = weights_of(scheme.status, n)
    assessed, values = [], []
    for t in range(1, len(rewards) + 1):
        override = overrides[t - 1]
        if fires(scheme.filter, rewards[:t], len(rewards)) or override is not None:
            u = statuses(scheme.status, rewards[:t], n)
            assessed.append(u)
            if isinstance(scheme.aggregation, aggregation.TimepointFirst):
                values.append(welfare_of(scheme.welfare, u, w) if override is None else override)
    if not assessed:
        return None
    if isinstance(scheme.aggregation, aggregation.BalancedUnfairness):
        means = [sum(a * x for a, x in zip(w, u, strict=True)) / len(u) for u in assessed]
        apart = [[x - mean for x in u] for u, mean in zip(assessed, means, strict=True)]
        overall = [sum(row[i] for row in apart) for i in range(len(w))]
        return -sum(a * x * x for a, x in zip(w, overall, strict=True))
    return over_time(scheme.temporal, values)


def _at_least_zero(u: list[float]) -> list[float]:
    if min(u) < 0:
        raise Undefined
    return u


def _log(x: float) -> float:
    if x <= 0:
        raise Undefined
    return math.log(x)
