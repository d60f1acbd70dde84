"""Section 5.1, the role of memory in numbers: what a smaller memory costs in fairness.

For each memory the best score of policies π_t(seen state, seen memory), time known, beside the
optimum over all policies whatever they remember. Where the best is not proved within the time
limit, there are a lower bound (a policy found, its score exact) and an upper bound, and they are
labelled as that.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand._util.checks import require_whole
from evenhand.errors import BadParameter, argument
from evenhand.fairness.scheme import FairnessScheme
from evenhand.memory.memory import Full, LastWinner, Memory, Min, Nothing, Reset, recent
from evenhand.planning.planner import plan
from evenhand.planning.restricted import Decisions, Restricted, ascend, prove, restrict, starts
from evenhand.problem.problem import EnvironmentLike, Problem

TOLERANCE = 1e-6  # the solver's own: bounds this close are one number
REACHED = 1e-9  # a policy this close to the optimum over all policies needs no other proof
STARTS = 8  # random policies to ascend from, besides the two that are not random


@dataclass(frozen=True)
class PriceRow:
    """What one memory is worth. `exact`: no policy with this memory scores more than `lower`."""

    name: str
    remembers: str
    memory_size: int  # values of the memory that can occur at the decision where most can
    lower: float  # the exact score of the policy found
    upper: float
    exact: bool
    share: tuple[float, float] | None  # of the way from no memory to the optimum; None: no way
    restricted: Restricted = field(repr=False, compare=False)
    decisions: Decisions = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        return "exact" if self.exact else "bounds"

    def rules(self) -> list[dict[str, Any]]:
        """The policy found: what it does at each thing it may see and remember, step by step."""
        return self.restricted.rules(self.decisions)


@dataclass(frozen=True)
class PriceTable:
    """The price of memory: a row for each memory, between acting at random and the optimum."""

    rows: tuple[PriceRow, ...]
    random: float
    optimum: float  # over all policies, whatever they remember

    def __getitem__(self, name: str) -> PriceRow:
        for row in self.rows:
            if row.name == name:
                return row
        names = ", ".join(row.name for row in self.rows)
        raise BadParameter(f"there is no memory called {name!r} in this table: there are {names}.")

    def table(self) -> str:
        """The rows as plain text, with random and optimal policies for scale."""
        cells = [("memory", "size", "score", "", "share of the way")]
        cells.append(("(random)", "", f"{self.random:.6f}", "exact", ""))
        for row in self.rows:
            score = _range(row.lower, row.upper, row.exact, "{:.6f}")
            cells.append((row.name, str(row.memory_size), score, row.label, _percent(row.share)))
        cells.append(("(optimum)", "", f"{self.optimum:.6f}", "exact", ""))
        widths = [max(len(line[i]) for line in cells) for i in range(5)]
        lines = (
            "  ".join(
                cell.rjust(width) if i in (1, 2, 4) else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            )
            for line in cells
        )
        return "\n".join(line.rstrip() for line in lines)

    def to_json(self) -> dict[str, Any]:
        """The table as plain numbers, for `json.dumps`; the policies are left out."""
        names = ("name", "remembers", "memory_size", "lower", "upper", "exact", "label")
        return {
            "random": self.random,
            "optimum": self.optimum,
            "memories": [
                {
                    **{name: getattr(row, name) for name in names},
                    "share": None if row.share is None else list(row.share),
                }
                for row in self.rows
            ],
        }

    def chart(self) -> Any:
        """Score against memory size, in Altair: bounds as a range, the optimum as a dashed line."""
        import altair as alt

        rows = self.to_json()["memories"]
        scores = (self.optimum, *(row.lower for row in self.rows))
        margin = 0.1 * (max(scores) - min(scores)) or 0.1
        scale = alt.Scale(domain=[min(scores) - margin, max(scores) + margin], nice=False)
        size = alt.X("memory_size:Q", title="memory size", scale=alt.Scale(type="log"))
        shown = [
            alt.Tooltip(column)
            for column in ("name:N", "remembers:N", "lower:Q", "upper:Q", "label:N")
        ]
        base = alt.Chart(alt.Data(values=rows))
        lower = alt.Y("lower:Q", title="score", scale=scale)
        # Names beside the points would cover each other where memories are about as good.
        found = base.mark_point(filled=True, size=110, opacity=0.9).encode(
            size,
            lower,
            alt.Color("name:N", title="memory", sort=None, scale=alt.Scale(scheme="tableau10")),
            alt.Shape("name:N", title="memory", sort=None),
            tooltip=shown,
        )
        ranges = base.mark_rule(strokeWidth=2).encode(size, lower, alt.Y2("upper"), tooltip=shown)
        optimum = (
            alt.Chart(alt.Data(values=[{"optimum": self.optimum}]))
            .mark_rule(strokeDash=[6, 4])
            .encode(alt.Y("optimum:Q", title="score", scale=scale), tooltip=["optimum:Q"])
        )
        title = alt.Title("The price of memory", subtitle="The dashed line is the exact optimum.")
        return (optimum + ranges + found).properties(title=title, width=560, height=320)


def standard_memories(n: int, windows: tuple[int, ...] = (1, 2, 3)) -> dict[str, Memory]:
    """None, last winner, windows, Reset, Min and Full, as n stakeholders can have them.

    >>> list(standard_memories(2, windows=(1,)))
    ['none', 'last winner', 'window 1', 'Reset', 'Min', 'Full']
    """
    memories: dict[str, Memory] = {"none": Nothing(), "last winner": LastWinner()}
    memories |= {f"window {length}": recent(length) for length in windows}
    memories |= {"Reset": Reset(), "Min": Min(), "Full": Full()}
    for memory in memories.values():
        memory.init(n)  # refuses a number of stakeholders that does not fit
    return memories


def price_of_memory(
    environment: EnvironmentLike,
    scheme: FairnessScheme,
    memories: Mapping[str, Memory],
    time_limit: float = 60.0,
    seed: int = 0,
    augment_with_score: bool = False,
) -> PriceTable:
    """The best score that each memory allows, proved or bounded.

    Args:
        environment: Where decisions are made; it must be small enough to be planned.
        scheme: How fair a history is.
        memories: The memories to compare, by the names they have in the table.
        time_limit: Seconds for the proof of each memory; 0 asks for bounds alone.
        seed: Of the random policies that the search for a good one starts from.
        augment_with_score: Whether the running score is seen too, as schemes that are not sums of
            per-step rewards need it (see `Problem`).
    """
    _require(memories, time_limit, seed)
    whole = plan(Problem(environment, scheme, Full(), augment_with_score))
    optimum = whole.value

    def best(memory: Memory) -> _Found:
        restricted = restrict(Problem(environment, scheme, memory, augment_with_score))
        return _best(restricted, optimum, time_limit, np.random.default_rng(seed))

    found = {name: best(memory) for name, memory in memories.items()}
    listed = (found[name] for name, memory in memories.items() if isinstance(memory, Nothing))
    none = next(listed, None) or best(Nothing())
    rows = tuple(_row(name, memories[name], one, none, optimum) for name, one in found.items())
    return PriceTable(rows, whole.random_value(), optimum)


@dataclass(frozen=True)
class _Found:
    restricted: Restricted
    decisions: Decisions
    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        return self.upper - self.lower <= TOLERANCE


def _best(
    restricted: Restricted, optimum: float, time_limit: float, rng: np.random.Generator
) -> _Found:
    """A good policy, and a bound on the best: the optimum over all policies, or a proof."""
    lower = -math.inf
    decisions: Decisions = []
    deadline = time.monotonic() + max(time_limit, 1.0)
    for start in starts(restricted, rng, STARTS):
        value, ascended = ascend(restricted, start)
        if value > lower:
            lower, decisions = value, ascended
        # What reaches the optimum over all policies is the best, whatever is remembered.
        if lower >= optimum - REACHED:
            return _Found(restricted, decisions, lower, max(lower, optimum))
        if time.monotonic() > deadline:
            break
    bound, met = prove(restricted, lower, decisions, time_limit)
    value, ascended = ascend(restricted, met)
    if value > lower:
        lower, decisions = value, ascended
    return _Found(restricted, decisions, lower, max(lower, min(bound, optimum)))


def _row(name: str, memory: Memory, best: _Found, none: _Found, optimum: float) -> PriceRow:
    size = best.restricted.memory_size
    share = _share(best, none, optimum)
    remembers = memory.describe()
    bounds = best.lower, best.upper, best.exact
    return PriceRow(name, remembers, size, *bounds, share, best.restricted, best.decisions)


def _share(best: _Found, none: _Found, optimum: float) -> tuple[float, float] | None:
    """Bounds on (score − none) / (optimum − none), which falls as the score of none rises."""
    if optimum - none.lower <= TOLERANCE:
        return None
    if best is none:
        return 0.0, 0.0
    # Whoever remembers something can do as if not, so no share is below 0.
    low = 0.0
    if optimum - none.upper > TOLERANCE:
        low = max(0.0, (best.lower - none.upper) / (optimum - none.upper))
    high = (best.upper - none.lower) / (optimum - none.lower)
    return (low, low) if best.exact and none.exact else (low, min(1.0, max(low, high)))


def _require(memories: Mapping[str, Memory], time_limit: float, seed: int) -> None:
    if not memories:
        raise BadParameter("there are no memories to price: see standard_memories.")
    for name, memory in memories.items():
        if not isinstance(memory, Memory):
            raise BadParameter(f"{name!r} is {memory!r}: it must be a Memory, such as Full().")
    if not (time_limit >= 0 and math.isfinite(time_limit)):
        raise BadParameter(
            f"{argument('time_limit')} is {time_limit}: it must be a number of seconds from 0."
        )
    require_whole(seed, "seed", least=0)


def _percent(share: tuple[float, float] | None) -> str:
    if share is None:
        return "-"
    low, high = share
    return _range(low, high, low == high, "{:.1%}")


def _range(low: float, high: float, one: bool, form: str) -> str:
    return form.format(low) if one else f"{form.format(low)} to {form.format(high)}"
