"""Alarms that hold at every look: who is behind by more than a lottery explains, and since when.

The capital of 1 is shared among bets on all stakeholders, and on their groups if they have some
(see `bets`). An alarm is raised at the first time point at which what was won in all reaches 1/α:
under a lottery that ever happens with probability at most α, however often one looks and however
many are watched. Later alarms are for others of whom the bets alone have won as much.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.auditing.chance.bets import AT_START, EIGHTHS, LARGEST, Bets, BetTable

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    # The different odds of all stakeholders at some moments, and which of them hold at each.
    OddsAt = Callable[
        [Float[np.ndarray, " moment"]],
        tuple[Float[np.ndarray, "pattern stakeholder"], Int[np.ndarray, " moment"]],
    ]

GROWTH = 1.25  # new bets begin whenever so many times as many lots have been given out
FIRST_RESTART = 16  # lots before the first of them
LOOKED_AT_ONCE = 64  # lots within which every time point is looked at one by one
MOST_EVIDENCE = 1e300  # that is said
KEPT_ARRAYS = ("closed", "open", "open_at", "raised_at", "evidence", "since", "reported")


@dataclass(frozen=True)
class Alarm:
    """Somebody is behind by more than a lottery explains."""

    at: float  # the time point at which it was raised
    name: str
    is_group: bool
    evidence: float  # what was won in all: at least 1/α at the first alarm
    since: float  # when the evidence begins


class _Lots(NamedTuple):
    """Lots in order of time, with their sizes beside those before them."""

    at: Float[np.ndarray, " lot"]
    who: Int[np.ndarray, " lot"]
    size: Int[np.ndarray, " lot"]

    def part(self, start: int, stop: int) -> _Lots:
        return _Lots(*(values[start:stop] for values in self))


class AlarmWatch:
    """Takes lots in order of time and raises alarms.

    Args:
        names: All stakeholders.
        alpha: The probability of ever raising a false alarm.
        odds_at: The odds of all at each of some moments, in proportion to which lots are drawn.
        groups: The group of each stakeholder, if they have groups.
        less_is_better: Whether to be behind is to receive more.
    """

    def __init__(
        self,
        names: Sequence[str],
        alpha: float,
        odds_at: OddsAt,
        groups: Sequence[str] | None = None,
        less_is_better: bool = False,
    ) -> None:
        self.alpha, self.odds_at = alpha, odds_at
        own, mass = np.arange(len(names)), 1.0 if groups is None else 0.5
        self.kinds = [Bets(own, len(names), mass, less_is_better)]
        self.names = [(name, False) for name in names]
        if groups is not None:
            known, unit = np.unique(groups, return_inverse=True)
            self.kinds.append(Bets(unit, len(known), mass, less_is_better))
            self.names += [(str(name), True) for name in known]
        self._closed = np.zeros(2)  # how many lots before the open time point, and their sum
        self._open = np.zeros(2)  # the same of the open time point
        self._open_at = np.array([-np.inf])
        self._begun = 0  # bets that began later
        self._raised_at = np.full(len(self.names), np.nan)
        self._evidence = np.full(len(self.names), np.nan)
        self._since = np.full(len(self.names), np.nan)
        self._reported = np.zeros(len(self.names), dtype=bool)
        self._known_tables: dict[bytes, list[BetTable]] = {}

    def take(
        self,
        at: Float[np.ndarray, " lot"],
        who: Int[np.ndarray, " lot"],
        amount: Float[np.ndarray, " lot"],
        drawn_at: Float[np.ndarray, " lot"] | None = None,
    ) -> None:
        """Take lots into account; those of the last time point are looked at when it is over.

        What is not above 0 is not a lot: a correction changes no bet.

        A lot that came to be known late counts now, and is bet on with the odds of the time at
        which it was drawn: those are the odds of its recipient, who may have left since. Lots are
        drawn independently, so that the mean of each factor stays 1 in whatever order lots come to
        be known, so long as the order does not depend on who received those not known yet. To
        leave late lots out would be worse: whoever is always reported late would never be served.

        Args:
            at: The time point at which each counts, in order.
            who: The stakeholder who got each.
            amount: How much.
            drawn_at: When each was drawn, if not at the time points at which they count.
        """
        drawn_at = at if drawn_at is None else drawn_at
        given = amount > 0
        if not given.all():
            at, who, amount, drawn_at = at[given], who[given], amount[given], drawn_at[given]
        if not len(at):
            return
        starts = np.flatnonzero(np.append(at[0] != self._open_at[0], at[1:] != at[:-1]))
        lots = _Lots(at, who, self._sizes(starts, amount))
        for bets in self.kinds:
            bets.begin(float(at[0]))
        points = np.flatnonzero(np.append(True, drawn_at[1:] != drawn_at[:-1]))
        rows, pattern = self.odds_at(drawn_at[points])
        restarts = self._restarts(starts)
        changes = points[np.append(True, pattern[1:] != pattern[:-1])]
        cuts = sorted({0, *changes.tolist(), *restarts})
        if len(starts) and starts[0] == 0:
            self.close()
        for start, stop in zip(cuts, [*cuts[1:], len(at)], strict=True):
            for share in restarts.get(start, ()):
                for bets in self.kinds:
                    bets.begin_again(share)
            odds = rows[pattern[np.searchsorted(points, start, side="right") - 1]]
            looks = starts[(starts > start) & (starts <= stop)]
            self._run(self._tables(odds), lots, start, stop, looks)
        self._close_books(starts, at, amount)

    def close(self) -> None:
        """The open time point is over: look at it."""
        if np.isfinite(self._open_at[0]):
            for bets in self.kinds:
                bets.settle(float(self._open_at[0]))
            self._look()

    @property
    def alarms(self) -> list[Alarm]:
        """All alarms so far, in the order in which they were raised."""
        return self._listed(np.flatnonzero(~np.isnan(self._raised_at)))

    def new_alarms(self) -> list[Alarm]:
        """Those that were not asked for before."""
        new = np.flatnonzero(~np.isnan(self._raised_at) & ~self._reported)
        self._reported[new] = True
        return self._listed(new)

    @property
    def raised(self) -> bool:
        return bool((~np.isnan(self._raised_at)).any())

    @property
    def evidence(self) -> float:
        """What has been won in all up to now; 1 before anything happened."""
        return float(min(_sums(self.kinds).sum(), MOST_EVIDENCE))

    def _listed(self, places: Int[np.ndarray, " unit"]) -> list[Alarm]:
        order = places[np.argsort(self._raised_at[places], kind="stable")]
        return [
            Alarm(
                at=float(self._raised_at[k]),
                name=self.names[k][0],
                is_group=self.names[k][1],
                evidence=float(self._evidence[k]),
                since=float(self._since[k]),
            )
            for k in order
        ]

    def _sizes(self, starts: np.ndarray, amount: np.ndarray) -> Int[np.ndarray, " lot"]:
        """The size of each lot beside the mean of those before its time point, in eighths."""
        place = np.searchsorted(starts, np.arange(len(amount)), side="right") - 1
        sums = np.append(0.0, np.cumsum(amount))
        count = np.where(place >= 0, self._closed[0] + self._open[0], self._closed[0])
        total = np.where(place >= 0, self._closed[1] + self._open[1], self._closed[1])
        if len(starts):
            here = np.maximum(place, 0)
            count = count + np.where(place >= 0, starts[here], 0)
            total = total + np.where(place >= 0, sums[starts[here]], 0.0)
        known = count > 0
        mean = np.where(known, total / np.maximum(count, 1), amount)
        return np.clip(np.rint(EIGHTHS * amount / mean), 1, LARGEST).astype(np.int64)

    def _restarts(self, starts: Int[np.ndarray, " start"]) -> dict[int, list[float]]:
        """Before which lots new bets begin, and with which shares of the capital."""
        found: dict[int, list[float]] = {}
        before = self._closed[0] + self._open[0] + starts
        while len(before) and before[-1] >= FIRST_RESTART * GROWTH**self._begun:
            place = int(np.searchsorted(before, FIRST_RESTART * GROWTH**self._begun))
            self._begun += 1
            share = (1 - AT_START) / (self._begun * (self._begun + 1))
            found.setdefault(int(starts[place]), []).append(share)
        return found

    def _tables(self, odds: Float[np.ndarray, " stakeholder"]) -> list[BetTable]:
        key = odds.tobytes()
        if key not in self._known_tables:
            if len(self._known_tables) >= 16:  # memory does not grow
                self._known_tables.clear()
            self._known_tables[key] = [bets.table(odds) for bets in self.kinds]
        return self._known_tables[key]

    def _run(
        self,
        tables: list[BetTable],
        lots: _Lots,
        start: int,
        stop: int,
        looks: Int[np.ndarray, " look"],
    ) -> None:
        """Take some lots, looking before those that begin a time point.

        Where a bound on what is won meanwhile is too low for an alarm, nothing is looked at.
        """
        part, ends = lots.part(start, stop), looks - start
        pairs = list(zip(self.kinds, tables, strict=True))
        bounds = [bets.bound(table, part.who, part.size) for bets, table in pairs]
        if not len(looks) or not self._alarming(_rows(bounds)).any():
            self._advance(tables, part, ends)
        elif len(looks) > 1 and stop - start > LOOKED_AT_ONCE:
            middle = int(looks[(len(looks) - 1) // 2])
            self._run(tables, lots, start, middle, looks[looks <= middle])
            self._run(tables, lots, middle, stop, looks[looks > middle])
        elif len(looks) == 1:
            self._advance(tables, lots.part(start, int(looks[0])), ends)
            self._look(float(lots.at[looks[0] - 1]))
            self._advance(tables, lots.part(int(looks[0]), stop), ends[1:])
        else:
            each = [bets.at_each(table, part.who, part.size) for bets, table in pairs]
            won = [_rows([values[look - start - 1] for values in each]) for look in looks]
            first = next((k for k, one in enumerate(won) if self._alarming(one).any()), None)
            if first is None:
                self._advance(tables, part, ends)
                return
            look = int(looks[first])
            self._run(tables, lots, start, look, looks[first : first + 1])
            self._run(tables, lots, look, stop, looks[first + 1 :])

    def _advance(self, tables: list[BetTable], lots: _Lots, ends: np.ndarray) -> None:
        if len(lots.at):
            for bets, table in zip(self.kinds, tables, strict=True):
                bets.take(table, *lots, ends)

    def _alarming(self, won: Float[np.ndarray, " unit"]) -> Bool[np.ndarray, " unit"]:
        """The units to raise an alarm for, if this is what was won on each."""
        found = np.isnan(self._raised_at) & (won >= 1 / self.alpha)
        if not self.raised and won.sum() >= 1 / self.alpha:
            found[int(np.argmax(won))] = True
        return found

    def _look(self, at: float | None = None) -> None:
        """Look at what was won by the end of a time point; by default of the open one."""
        won = _sums(self.kinds)
        found = np.flatnonzero(self._alarming(won))
        if len(found):
            self._raised_at[found] = float(self._open_at[0]) if at is None else at
            self._evidence[found] = min(won.sum(), MOST_EVIDENCE)
            self._since[found] = np.concatenate([bets.since for bets in self.kinds])[found]

    def _close_books(self, starts: np.ndarray, at: np.ndarray, amount: np.ndarray) -> None:
        """Which lots are of the open time point now, and which were before it."""
        if len(starts):
            last = int(starts[-1])
            self._closed = self._closed + self._open + np.array([last, amount[:last].sum()])
            self._open = np.zeros(2)
            amount = amount[last:]
        self._open = self._open + np.array([len(amount), amount.sum()])
        self._open_at = at[-1:].astype(float)

    def snapshot(self) -> dict[str, Any]:
        """All that is needed to go on as if the watch had never stopped."""
        return {
            "bets": tuple(bets.snapshot() for bets in self.kinds),
            "begun": self._begun,
            **{name: getattr(self, f"_{name}") for name in KEPT_ARRAYS},
        }

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where another watch of the same names stopped."""
        for bets, kept in zip(self.kinds, snapshot["bets"], strict=True):
            bets.resume(kept)
        self._begun = snapshot["begun"]
        for name in KEPT_ARRAYS:
            setattr(self, f"_{name}", np.array(snapshot[name]))


def _rows(won: list[np.ndarray]) -> Float[np.ndarray, " unit"]:
    """What was won on each unit of all kinds, from the logarithms of each bet."""
    with np.errstate(over="ignore"):
        return np.concatenate([np.exp(part).sum(axis=1) for part in won])


def _sums(kinds: list[Bets]) -> Float[np.ndarray, " unit"]:
    return _rows([bets.won for bets in kinds])
