"""What to give whom of a supply to come, so that all are even by a date, or as even as can be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand._util.numbers import as_numbers, moment_label, moment_labels
from evenhand._util.wording import format_number, join_tied
from evenhand.decide.replay.supply import (
    Decisions,
    Members,
    Taken,
    divide,
    give_lots,
    require_takers,
    state_for,
)
from evenhand.decide.rules.rule import Rule, TieBreak
from evenhand.decide.rules.state import RuleState
from evenhand.errors import BadLog, argument
from evenhand.log.counting import count_beside, read_lots
from evenhand.log.files import opened
from evenhand.log.layout import Notes
from evenhand.log.log import Supply
from evenhand.log.options import AuditOptions
from evenhand.log.rows import read_events, require_column, writing_beside

EVEN = 1e-9  # of the highest level: a difference that is none
ANYBODY = "anybody"  # whom a supply to come is for, before it is decided


@dataclass(frozen=True, eq=False)
class NextShare:
    """Somebody to be given an amount at a moment to come, and why."""

    time: str
    name: str
    amount: float
    reason: str

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class NextPlan:
    """The plan of making good.

    Args:
        rule: Who is next.
        shares: What to give whom, when and why, in order.
        times: The moments to come.
        gap_before: How far the lowest level is from the highest when the log ends.
        gaps: The same after each moment to come, of those who are there.
        lowest: Who is lowest after the last one, if not all are even.
        left_over: What nobody could take.
    """

    rule: Rule
    shares: tuple[NextShare, ...]
    times: tuple[str, ...]
    gap_before: float
    gaps: tuple[float, ...]
    even_within: float  # a gap that is none: rounding, or one whole unit
    lowest: tuple[str, ...]
    left_over: float

    @property
    def even_from(self) -> str | None:
        """The first moment from which on all are even; None if that does not come."""
        even = [gap <= self.even_within for gap in self.gaps]
        if not even[-1]:
            return None
        last = max((k for k, one in enumerate(even) if not one), default=-1)
        return self.times[last + 1]

    @property
    def verdict(self) -> str:
        """Whether all are even by a date."""
        if self.even_from is not None:
            return f"All are even from {self.even_from} on."
        gap, before = format_number(self.gaps[-1]), format_number(self.gap_before)
        return (
            f"This supply does not make all even by {self.times[-1]}: {join_tied(self.lowest)} "
            f"{'is' if len(self.lowest) == 1 else 'are'} lowest, {gap} below the highest, and at "
            f"the end of the log it is {before}."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule.describe(),
            "verdict": self.verdict,
            "even_from": self.even_from,
            "gap_before": self.gap_before,
            "gaps": dict(zip(self.times, self.gaps, strict=True)),
            "left_over": self.left_over,
            "shares": [one.to_json() for one in self.shares],
        }


def read_next(path: Any, options: AuditOptions, supply: Supply, notes: Notes) -> Supply:
    """The supply to come: a table of moments and amounts, in the columns of the log.

    Args:
        path: A path or a table, with the columns of time and amount that the log has.
        options: What these are called, and how times and numbers are written.
        supply: The supply of the log, after which it must come.
        notes: Where to note how it was read.
    """
    alone = AuditOptions(
        stakeholder=ANYBODY,
        time=options.time,
        amount=options.amount,
        encoding=options.encoding,
    )
    with opened(path, options.encoding, None, None) as table:
        label = table.label
        events = read_events(_for_anybody(table, options), alone, writing=writing_beside(options))
        coming = count_beside(events, "next", "what will come", notes)
        lots = read_lots(events, coming)
    if coming.plain_numbers != (supply.moments.dtype.kind != "M"):
        raise BadLog(
            f"the times of {label} ({argument('next')}) are not of the kind that the log's are: "
            "write both as dates, or both as numbers."
        )
    last = supply.moments[-1]
    if coming.slots[0] <= last:
        raise BadLog(
            f"{label} ({argument('next')}) begins at {moment_label(coming.slots[0])}, and the log "
            f"goes on until {moment_label(last)}: a supply to come lies after it."
        )
    if (lots.amount < 0).any():
        raise BadLog(f"{label} ({argument('next')}) has an amount below 0: give what will come.")
    found = replace(supply, moments=coming.slots, lots=lots)
    require_takers(found)
    return found


def _for_anybody(table: Any, options: AuditOptions) -> Any:
    import narwhals as nw

    if ANYBODY in table.columns:
        raise BadLog(f"{table.label} has a column {ANYBODY!r}: give it another name.")
    columns = {"time": options.time, "amount": options.amount}
    named = [name for name in columns.values() if name is not None]
    for given, name in columns.items():
        if name is not None:
            require_column(table, name, given)
    # As texts, like the log's own: else 1.250 would be a number before anybody knows of which sign.
    frame = table.load(named, as_text=named).frame.select(*named)
    frame = frame.with_columns(nw.lit("x").alias(ANYBODY))
    # Without its paths, so that the file is not read again, which has no such column.
    return replace(table, frame=frame, columns=(*named, ANYBODY), paths=(), is_view=False)


def plan_next(
    supply: Supply, logged: Decisions, coming: Supply, rule: Rule, ties: TieBreak | None = None
) -> NextPlan:
    """What to give whom of a supply to come, after what the log gave.

    Args:
        supply: The supply of the log.
        logged: Who got what of it.
        coming: The supply to come, with the same stakeholders.
        rule: Who is next; `EvenOut` brings those furthest behind up first.
        ties: How ties are broken.
    """
    state = state_for(rule, supply, ties)
    members = Members(supply, state)
    _follow(members, supply, logged)
    before = _gap(state)
    whole = bool((coming.lots.amount == np.rint(coming.lots.amount)).all())
    labels, moments = moment_labels(coming.moments), as_numbers(coming.moments).tolist()
    shares: list[NextShare] = []
    gaps, left_over = [], 0.0
    for slot, moment in enumerate(moments):
        members.until(moment)
        here = coming.lots.slot == slot
        lots = np.repeat(coming.lots.amount[here], coming.lots.copies[here])
        given, left = _given(members, lots[lots > 0], whole)
        left_over += left
        shares += [
            NextShare(labels[slot], supply.names[members.who[place]], amount, reason)
            for place, amount, reason in given
        ]
        gaps.append(_gap(state))
    there, levels, entitled = state.levels()
    low = levels.min(initial=np.inf)
    close = low + EVEN * max(1.0, abs(low))
    within = EVEN * max(1.0, float(np.abs(levels).max(initial=0.0)))
    return NextPlan(
        rule=state.rule,
        shares=tuple(shares),
        times=tuple(labels),
        gap_before=before,
        gaps=tuple(gaps),
        even_within=float(1.0 / entitled.min(initial=np.inf)) if whole else within,
        lowest=tuple(
            supply.names[members.who[k]]
            for k, level in zip(there, levels, strict=True)
            if level <= close
        ),
        left_over=left_over,
    )


def _follow(members: Members, supply: Supply, logged: Decisions) -> None:
    """The state after the log itself, whoever decided it."""
    state, moments = members.state, as_numbers(supply.moments).tolist()
    for slot, who, amount in zip(
        logged.slot.tolist(), logged.who.tolist(), logged.amount.tolist(), strict=True
    ):
        members.until(moments[slot])
        if members.place[who] >= 0 and (amount > 0.0 or state.rule.takes_back):
            state.give(members.place[who], amount)
    members.until(moments[-1])


def _given(
    members: Members, amounts: np.ndarray, whole: bool
) -> tuple[list[tuple[int, float, str]], float]:
    """What is given at one moment, with the reasons as they stood before each lot; what is left.

    A row is a lot, the largest first; a rule that divides shares all of them together.
    """
    state, rule = members.state, members.state.rule
    lots = sorted(amounts.tolist(), reverse=True)
    if rule.divides and lots:
        lots = [sum(lots)]
    found: list[tuple[int, float, str]] = []
    left = 0.0
    for lot in lots:
        memory, instant, taken = list(state.memory), state.instant, Taken(members)
        left += divide(state, lot, whole, taken) if rule.divides else give_lots(state, [lot], taken)
        found += [
            (place, amount, rule.says(memory[place], state.entitlement[place], instant))
            for place, amount in zip(taken.place.tolist(), taken.amount.tolist(), strict=True)
        ]
    return found, left


def _gap(state: RuleState) -> float:
    """How far the lowest level of those there is from the highest."""
    _, levels, _ = state.levels()
    return float(levels.max() - levels.min()) if len(levels) else 0.0
