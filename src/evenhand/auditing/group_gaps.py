"""Groups among those who are judged: how much of the inequality lies between them, and the gaps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._util.wording import join_names, nearest
from evenhand.auditing.verdict import Direction
from evenhand.errors import BadParameter, GroupsDoNotFit, argument

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class GroupGap:
    """A group at the end: the mean status of its members, and how far that is from another.

    The other is the reference group's, or else the mean of all.
    """

    name: str
    members: int
    status: float  # NaN where nobody of the group is there at the end
    difference: float
    ratio: float | None  # to the reference's status; None where that is 0


@dataclass(frozen=True)
class GroupGaps:
    """The variance of statuses at the end, cut into what lies between groups and within them."""

    groups: tuple[GroupGap, ...]
    between: float  # of the variance; the two add up to it
    within: float
    reference: str | None

    @classmethod
    def mean_of(cls, runs: Sequence[GroupGaps]) -> GroupGaps:
        """The mean of each figure over runs with the same groups."""
        first = runs[0]
        statuses = np.mean([[gap.status for gap in run.groups] for run in runs], axis=0)
        gaps = np.mean([[gap.difference for gap in run.groups] for run in runs], axis=0)
        return cls(
            tuple(
                GroupGap(one.name, one.members, status, gap, _ratio(status, status - gap))
                for one, status, gap in zip(
                    first.groups, statuses.tolist(), gaps.tolist(), strict=True
                )
            ),
            float(np.mean([run.between for run in runs])),
            float(np.mean([run.within for run in runs])),
            first.reference,
        )

    @property
    def share_between(self) -> float | None:
        """The part of the variance that lies between groups; None where all are equal."""
        total = self.between + self.within
        return self.between / total if total > 0 else None

    def sentences(self, direction: Direction) -> list[str]:
        """What a reader should know of it, in amounts as they were logged."""
        share, words = self.share_between, []
        if share is not None:
            words.append(
                f"Of the inequality at the end (the variance of statuses), {share:.0%} lies "
                f"between the groups and {1 - share:.0%} within them."
            )
        if self.reference is not None:
            gone = [gap.name for gap in self.groups if math.isnan(gap.status)]
            if gone:
                words.append(f"At the end nobody was there of {join_names(gone)}.")
            gaps = [
                f"{gap.name} {direction.signed(gap.difference)}"
                + ("" if gap.ratio is None else f" ({gap.ratio:.2f} times its status)")
                for gap in self.groups
                if gap.name != self.reference and not math.isnan(gap.difference)
            ]
            if gaps:
                words.append(f"Compared with {self.reference} at the end: {', '.join(gaps)}.")
        return words

    def to_json(self) -> dict[str, Any]:
        return {
            "reference": self.reference,
            "between": self.between,
            "within": self.within,
            "share_between": self.share_between,
            "groups": [
                {
                    name: None if isinstance(value, float) and math.isnan(value) else value
                    for name, value in vars(gap).items()
                }
                for gap in self.groups
            ],
        }


def refuse_no_group(alone: Sequence[str], reference: str | None) -> None:
    """Without a group of everyone there is nothing to compare with a reference."""
    if reference is not None:
        raise GroupsDoNotFit(
            f"{argument('reference')} compares groups, and no group is known for "
            f"{join_names([repr(name) for name in alone], 3)}: fill in the column, in the log or "
            f"on the roster, or leave them out with {argument('exclude')}."
        )


def group_gaps(
    names: tuple[str, ...],
    group_of: Mapping[str, str],
    statuses: Float[np.ndarray, " stakeholder"],
    weights: Float[np.ndarray, " stakeholder"] | None,
    reference: str | None,
) -> GroupGaps:
    """The groups of those who are judged, each of whom has one.

    The variance about the mean is that of the group means about it, and on top that of the members
    about the mean of their group; with weights whoever weighs w counts as w equal ones.
    """
    labels = np.array([group_of[name] for name in names])
    known = sorted(set(labels.tolist()))
    if reference is not None and reference not in known:
        near = nearest(reference, known)
        hint = f"there are {', '.join(known[:10])}" if near is None else f"did you mean {near!r}?"
        raise BadParameter(
            f"{argument('reference')} is {reference!r}, which is not a group: {hint}"
        )
    weight = np.ones(len(names)) if weights is None else weights
    weight = weight / weight.sum()
    statuses = np.where(weight > 0, statuses, 0.0)  # whoever is not judged may have none
    mean = float(weight @ statuses)
    found, between, within = [], 0.0, 0.0
    for name in known:
        here = labels == name
        size = float(weight[here].sum())
        status = float(weight[here] @ statuses[here]) / size if size > 0 else float("nan")
        if size > 0:
            between += size * (status - mean) ** 2
            within += float(weight[here] @ (statuses[here] - status) ** 2)
        found.append((name, int(here.sum()), status))
    base = mean if reference is None else next(s for n, _, s in found if n == reference)
    return GroupGaps(
        tuple(
            GroupGap(name, members, status, status - base, _ratio(status, base))
            for name, members, status in found
        ),
        between,
        within,
        reference,
    )


def _ratio(status: float, base: float) -> float | None:
    return status / base if base and math.isfinite(status / base) else None
