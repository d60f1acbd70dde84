"""Names for the command line and for scheme files: one registry a kind, and nowhere else."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.errors import UnknownName
from evenhand.fairness import aggregation, filters, status, temporal, welfare


@dataclass(frozen=True)
class Registry:
    """The classes of one kind by the names people type."""

    kind: str
    classes: Mapping[str, type]

    def get(self, name: str) -> type:
        if name not in self.classes:
            near = difflib.get_close_matches(name, self.classes, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(self.classes)}."
            raise UnknownName(f"there is no {self.kind} called {name!r}: {hint}")
        return self.classes[name]

    def name_of(self, thing: Any) -> str | None:
        """The name of an object's class, or None for a kind of object that has none."""
        return next((name for name, cls in self.classes.items() if type(thing) is cls), None)

    def lines(self) -> dict[str, str]:
        """Each name with the first line of its documentation."""
        return {name: (cls.__doc__ or "").split("\n")[0] for name, cls in self.classes.items()}


STATUSES = Registry(
    "status",
    {
        "returns": status.Returns,
        "group_totals": status.GroupTotals,
        "decayed": status.Decayed,
        "window": status.Window,
        "waiting_time": status.WaitingTime,
        "per_entitlement": status.PerEntitlement,
        "envy_of_best": status.EnvyOfBest,
        "pairwise_envy": status.PairwiseEnvy,
        "modulo": status.Modulo,
        "capped": status.Capped,
    },
)
WELFARES = Registry(
    "welfare",
    {
        "utilitarian": welfare.Utilitarian,
        "average": welfare.Average,
        "rawls": welfare.Rawls,
        "nash": welfare.Nash,
        "log_nash": welfare.LogNash,
        "gini": welfare.GiniWelfare,
        "generalised_gini": welfare.GeneralisedGini,
        "alpha_fair": welfare.AlphaFair,
        "jain": welfare.Jain,
        "equality": welfare.Equality,
        "parity": welfare.Parity,
        "negative_variance": welfare.NegativeVariance,
    },
)
TEMPORALS = Registry(
    "temporal",
    {
        "last": temporal.Last,
        "mean": temporal.Mean,
        "total": temporal.Total,
        "discounted": temporal.Discounted,
        "worst": temporal.Worst,
        "over_time": temporal.OverTime,
    },
)
FILTERS = Registry(
    "filter",
    {
        "always": filters.Always,
        "every": filters.Every,
        "final": filters.Final,
        "after_each": filters.AfterEach,
    },
)
AGGREGATIONS = Registry(
    "aggregation",
    {
        "timepoint_first": aggregation.TimepointFirst,
        "balanced_unfairness": aggregation.BalancedUnfairness,
    },
)
