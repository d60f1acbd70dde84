"""Which stakeholders are exchangeable: those that no part of a problem can tell apart.

Each part says whom it treats alike, as a label for every stakeholder; a part that says nothing
tells everyone apart. Exchangeable are those whose labels agree in all parts. Planning puts them
in canonical order, which merges states that differ only in who is who.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.envs import Doughnuts, Lending, Vaccines, WaitingList
from evenhand.fairness import aggregation, filters, status, welfare
from evenhand.fairness.groups import Groups
from evenhand.fairness.scheme import FairnessScheme
from evenhand.memory import memory
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Int

Labels = tuple[int, ...]


def exchangeable(problem: Problem, use_memory: bool) -> list[list[int]]:
    """The classes of exchangeable stakeholders that have more than one member."""
    size = problem.environment.num_stakeholders
    parts: list[Any] = [problem.environment, problem.scheme]
    if use_memory:
        parts.append(problem.memory)
    labels = refine([alike(part, size) for part in parts], size)
    classes = [[i for i in range(size) if labels[i] == label] for label in sorted(set(labels))]
    return [members for members in classes if len(members) > 1]


def refine(parts: Sequence[Labels], size: int) -> Labels:
    """The labels that tell apart whom any of the parts tells apart."""
    rows = list(zip(*parts, strict=True)) if parts else [()] * size
    numbers: dict[Any, int] = {}
    return tuple(numbers.setdefault(row, len(numbers)) for row in rows)


@singledispatch
def alike(part: Any, size: int) -> Labels:
    """Whom a part treats alike: those with the same label. Unless it says so, nobody."""
    return tuple(range(size))


def _everyone(part: Any, size: int) -> Labels:
    return (0,) * size


for _part in (
    *(status.Returns, status.Decayed, status.Window, status.WaitingTime),
    *(welfare.Utilitarian, welfare.Average, welfare.Rawls, welfare.Nash, welfare.LogNash),
    *(welfare.GiniWelfare, welfare.GeneralisedGini, welfare.AlphaFair, welfare.Jain),
    *(welfare.Equality, welfare.NegativeVariance, aggregation.BalancedUnfairness),
    *(filters.Always, filters.Every, filters.Final, filters.AfterEach),
    *(memory.Full, memory.Min, memory.Reset, memory.Clock, memory.Nothing),
):
    alike.register(_part, _everyone)


@alike.register
def _(part: FairnessScheme, size: int) -> Labels:
    parts = [alike(part.status, size), alike(part.filter, size)]
    # Where groups are judged the welfare sees totals, in which members of a group cannot differ.
    if not isinstance(part.status, status.GroupTotals):
        parts.append(alike(part.aggregation, size))
    return refine(parts, size)


@alike.register
def _(part: aggregation.TimepointFirst, size: int) -> Labels:
    return alike(part.welfare, size)


@alike.register
def _(part: welfare.Parity, size: int) -> Labels:
    return _everyone(part, size) if part.groups is None else _by_group(part.groups, size)


@alike.register(status.EnvyOfBest)
@alike.register(status.PairwiseEnvy)
@alike.register(status.Modulo)
@alike.register(status.Capped)
def _(part: Any, size: int) -> Labels:
    return alike(part.of, size)


@alike.register
def _(part: status.GroupTotals, size: int) -> Labels:
    return refine([alike(part.of, size), _by_group(part.groups, size)], size)


@alike.register
def _(part: status.PerEntitlement, size: int) -> Labels:
    if len(part.entitlements) != size:  # of groups: the inner status has told them apart
        return alike(part.of, size)
    return refine([alike(part.of, size), _by_value(part.entitlements)], size)


@alike.register(memory.GroupFull)
@alike.register(memory.GroupDifference)
def _(part: Any, size: int) -> Labels:
    return _by_group(part.groups, size)


@alike.register
def _(part: memory.OfStatus, size: int) -> Labels:
    return alike(part.status, size)


@alike.register
def _(part: memory.Product, size: int) -> Labels:
    return refine([alike(one, size) for one in part.parts], size)


@alike.register
def _(part: Doughnuts, size: int) -> Labels:
    return _by_value(part.presence)


@alike.register
def _(part: Lending, size: int) -> Labels:
    own = _by_value(zip(part.start_credit, part.applying, strict=True))  # type: ignore[arg-type]
    return refine([own, _by_group(part.groups, size)], size)


@alike.register
def _(part: Vaccines, size: int) -> Labels:
    return _by_value(zip(part.populations, part.transport_cost, part.delay, strict=True))  # type: ignore[arg-type]


@alike.register
def _(part: WaitingList, size: int) -> Labels:
    return _by_value(zip(part.arrivals, part.urgencies, part.capacity, strict=True))  # type: ignore[arg-type]


def _by_value(values: Any) -> Labels:
    numbers: dict[Any, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in values)


def _by_group(groups: Groups, size: int) -> Labels:
    labels = np.arange(size) + len(groups.names)
    for number, members in enumerate(groups.members):
        labels[list(members)] = number
    return tuple(labels.tolist())


def canonical_order(
    features: Any, classes: Sequence[Sequence[int]]
) -> Int[np.ndarray, "state stakeholder"]:
    """For each state, its stakeholders in canonical order: sorted within their classes.

    `features` is [state, feature, stakeholder]. Those with like features may stand in any order.
    """
    count, width, size = features.shape
    order = np.broadcast_to(np.arange(size), (count, size)).copy()
    # Several features are put in order by a mixture of them: any order will do that is the same
    # for the same features, and distinct features mix alike only by a coincidence, which would
    # cost a merge and no more.
    mixture = np.random.default_rng(0).uniform(1.0, 2.0, width)
    keys = features[:, 0] if width == 1 else np.einsum("sfn,f->sn", features, mixture)
    for members in classes:
        chosen = np.asarray(members)
        order[:, chosen] = chosen[np.argsort(keys[:, chosen], axis=1, kind="stable")]
    return order
