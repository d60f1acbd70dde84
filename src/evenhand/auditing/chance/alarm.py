"""Alarms that hold at every look: bets against a lottery, and those that were raised."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand._util.numbers import as_numbers, as_timestamps, moment_label
from evenhand._util.wording import format_number, join_names
from evenhand.auditing.chance.nulls import HeldFixed

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from evenhand.log.log import Supply


# Bets against a lottery: a test martingale for each stakeholder, in memory that does not grow.
#
# Under a lottery each lot goes to somebody with probability p. A bet says that the odds are ρ times
# as large: it multiplies by ρ^w / (1 − p + pρ^w) when the lot comes, and by 1 / (1 − p + pρ^w) when
# it does not, where w ≥ 0 is the size of the lot beside those before it. Whatever p, ρ and w are,
# so long as they are known before the lot is drawn, the mean of that factor is 1: what is won is a
# nonnegative martingale, and by Ville's inequality it ever reaches 1/α with probability at most α.
# Averages of martingales are martingales, so bets on many ρ, many stakeholders and many beginnings
# are held at once, each with a part of the capital of 1.

# The odds that are bet on, and how much on each: somebody may be a little behind, or far.
FACTORS = np.array([0.8, 0.6, 0.4, 0.2])
STAKES = np.array([0.25, 0.35, 0.3, 0.1])
REFERENCE = 1  # the bet by which it is said since when
EIGHTHS = 8  # sizes of lots are rounded to eighths of the mean size, and
LARGEST = 4 * EIGHTHS  # cut off at four times it, so that no single lot decides
AT_START = 0.75  # of the capital is bet from the first lot on, the rest bit by bit later


class BetTable(NamedTuple):
    """What the bets subtract for a lot of each size, for each different probability."""

    cost: Float[np.ndarray, "size p bet"]
    place: Int[np.ndarray, " unit"]  # of each unit's probability among the different ones


class Bets:
    """What was won on the units of one kind: stakeholders, or groups of them.

    Args:
        unit: The unit of each stakeholder.
        size: How many units there are.
        mass: The part of the capital of 1 that is theirs.
        less_is_better: Whether to be behind is to receive more.
    """

    def __init__(
        self, unit: Int[np.ndarray, " stakeholder"], size: int, mass: float, less_is_better: bool
    ) -> None:
        self.unit = unit
        self.size = size
        self.steps = np.log(1 / FACTORS if less_is_better else FACTORS)  # log ρ of each bet
        self._capital = np.log(mass / size * STAKES)
        self.won = np.tile(self._capital + np.log(AT_START), (size, 1))  # logarithms
        self.height = np.zeros(size)  # what the reference bet won since it stood lowest
        self.since = np.full(size, np.nan)  # when that was

    def table(self, odds: Float[np.ndarray, " stakeholder"]) -> BetTable:
        """The costs under given odds of the stakeholders."""
        p = np.bincount(self.unit, odds / odds.sum(), minlength=self.size)
        different, place = np.unique(np.minimum(p, 1.0), return_inverse=True)
        tilt = np.exp(self.steps * np.arange(LARGEST + 1)[:, None] / EIGHTHS)
        p = different[None, :, None]
        return BetTable(np.log1p(p * (tilt[:, None] - 1.0)), place)

    def begin(self, at: float) -> None:
        """Nobody has been behind for longer than since the first lot."""
        self.since = np.where(np.isnan(self.since), at, self.since)

    def begin_again(self, share: float) -> None:
        """Put a share of the capital on bets that begin now."""
        self.won = np.logaddexp(self.won, self._capital + np.log(share))

    def bound(
        self, table: BetTable, who: Int[np.ndarray, " lot"], size: Int[np.ndarray, " lot"]
    ) -> Float[np.ndarray, "unit bet"]:
        """At most so much is won at any time during some lots.

        A bet on fewer lots wins with every lot and loses with its own, and a bet on more the other
        way round: the bound takes what is won and leaves out what is lost.
        """
        gained, spent = self._sums(table, who, size)
        return self.won + np.maximum(gained, 0.0) + np.maximum(-spent, 0.0)

    def take(
        self,
        table: BetTable,
        at: Float[np.ndarray, " lot"],
        who: Int[np.ndarray, " lot"],
        size: Int[np.ndarray, " lot"],
        ends: Int[np.ndarray, " end"],
    ) -> None:
        """Take some lots into account.

        Args:
            table: What they cost.
            at: When each was given out, in order.
            who: The stakeholder who got each.
            size: Of each, in eighths of the mean size.
            ends: After how many of them a time point is over.
        """
        gained, spent = self._sums(table, who, size)
        self.won = self.won + gained - spent
        first, last = (int(ends[0]), int(ends[-1])) if len(ends) else (0, 0)
        if len(ends):
            self._rise(table, who[:first], size[:first])
            self.settle(float(at[first - 1]))
            if last > first:
                part = slice(first, last)
                self._follow(table, at[part], self.unit[who[part]], size[part], ends - first)
        self._rise(table, who[last:], size[last:])

    def settle(self, at: float) -> None:
        """A time point is over: whoever stands no higher than at its lowest begins anew."""
        low = self.height <= 0
        self.since[low], self.height[low] = at, 0.0

    def _rise(
        self, table: BetTable, who: Int[np.ndarray, " lot"], size: Int[np.ndarray, " lot"]
    ) -> None:
        gained, spent = self._sums(table, who, size)
        self.height = self.height + (gained - spent)[:, REFERENCE]

    def _sums(
        self, table: BetTable, who: Int[np.ndarray, " lot"], size: Int[np.ndarray, " lot"]
    ) -> tuple[np.ndarray, np.ndarray]:
        counts = np.bincount(size, minlength=LARGEST + 1).astype(float)
        spent = np.tensordot(counts, table.cost, 1)[table.place]
        received = np.bincount(self.unit[who], size / EIGHTHS, minlength=self.size)
        return received[:, None] * self.steps, spent

    def at_each(
        self, table: BetTable, who: Int[np.ndarray, " lot"], size: Int[np.ndarray, " lot"]
    ) -> Float[np.ndarray, "lot unit bet"]:
        """What will have been won after each of some lots."""
        received = np.zeros((len(who), self.size))
        received[np.arange(len(who)), self.unit[who]] = size / EIGHTHS
        spent = np.cumsum(table.cost[size], axis=0)[:, table.place]
        return self.won + np.cumsum(received, axis=0)[..., None] * self.steps - spent

    def _follow(
        self,
        table: BetTable,
        at: Float[np.ndarray, " lot"],
        unit: Int[np.ndarray, " lot"],
        size: Int[np.ndarray, " lot"],
        ends: Int[np.ndarray, " end"],
    ) -> None:
        """Keep up since when each has been behind: since the reference bet stood lowest.

        Only ends of time points count, so that the order within one does not. A bet on fewer lots
        stands lowest after a time point at which its unit received some, and a bet on more before
        one; so only these are looked at. Of several lots of a unit at one time point, one gives
        what is right and the others too high a value, which does no harm to the lowest.
        """
        step = self.steps[REFERENCE]
        cost = np.cumsum(table.cost[size, :, REFERENCE], axis=0)
        point = np.searchsorted(ends, np.arange(len(at)), side="right")  # from 1: 0 is before
        order = np.argsort(unit, kind="stable")
        own, sizes, after = unit[order], size[order] / EIGHTHS, point[order]
        first = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        lengths = np.diff(np.append(first, len(own)))
        sums = np.cumsum(sizes)
        received = sums - np.repeat(sums[first] - sizes[first], lengths)
        if step > 0:
            received, after = received - sizes, after - 1
        spent = np.where(after > 0, cost[ends[after] - 1, table.place[own]], 0.0)
        height = self.height[own] + step * received - spent
        lowest, units = np.minimum.reduceat(height, first), own[first]
        is_lowest = height <= np.repeat(lowest, lengths)
        last = np.maximum.reduceat(np.where(is_lowest, after, -1), first)
        new = (lowest <= 0) & (last > 0)
        self.since[units[new]] = at[ends[last[new]] - 1]
        floor = np.zeros(self.size)
        floor[units] = np.minimum(lowest, 0.0)
        total = np.bincount(unit, size / EIGHTHS, minlength=self.size)
        self.height = self.height + step * total - cost[-1, table.place] - floor
        self.settle(float(at[-1]))

    def snapshot(self) -> dict[str, Any]:
        """All that is needed to go on."""
        return {"won": self.won, "height": self.height, "since": self.since}

    def resume(self, snapshot: Mapping[str, Any]) -> None:
        """Go on from where others of the same units stopped."""
        self.won, self.height = snapshot["won"], snapshot["height"]
        self.since = np.array(snapshot["since"], dtype=float)


# Alarms that hold at every look: who is behind by more than a lottery explains, and since when.
#
# The capital of 1 is shared among bets on all stakeholders, and on their groups if they have some
# (see `bets`). An alarm is raised at the first time point at which what was won in all reaches 1/α:
# under a lottery that ever happens with probability at most α, however often one looks and however
# many are watched. Later alarms are for others of whom the bets alone have won as much.

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


# Alarms that were raised, in words and with the names of times.


@dataclass(frozen=True)
class RaisedAlarm:
    """An alarm in words and with the names of times."""

    time: str
    name: str
    is_group: bool
    evidence: float
    since: str

    @classmethod
    def of(cls, alarm: Alarm, plain_numbers: bool) -> RaisedAlarm:
        at, since = (_label(moment, plain_numbers) for moment in (alarm.at, alarm.since))
        return cls(at, alarm.name, alarm.is_group, alarm.evidence, since)

    @property
    def sentence(self) -> str:
        """Such as "J03 is behind by more than a lottery explains, since 2021-03-04"."""
        who = f"the group {self.name}" if self.is_group else self.name
        return (
            f"{who} is behind by more than a fair lottery explains; the evidence begins at "
            f"{self.since}"
        )

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class AlarmFinding:
    """What a watch over a log found."""

    alpha: float
    evidence: float  # at the end: 1 says nothing, 1/α or more at any time is an alarm
    alarms: tuple[RaisedAlarm, ...]

    @property
    def breach(self) -> str | None:
        """What is wrong, in words, if anything is."""
        if not self.alarms:
            return None
        first = self.alarms[0]
        more = [one.name for one in self.alarms[1:]]
        others = f"; later also {join_names(more)}" if more else ""
        return f"alarm at {first.time}: {first.sentence}{others}"

    def sentence(self) -> str:
        """What was found, whether or not there was an alarm."""
        if self.alarms:
            return f"{self.breach}."
        return (
            "no alarm: at no time point was anybody behind by so much more than a fair lottery "
            f"explains (the evidence at the end is {format_number(self.evidence)}, and an alarm "
            f"needs {format_number(1 / self.alpha)})."
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "evidence": self.evidence,
            "needed": 1 / self.alpha,
            "raised": [one.to_json() for one in self.alarms],
        }


def _label(moment: float, plain_numbers: bool) -> str:
    return moment_label(np.float64(moment) if plain_numbers else as_timestamps(np.float64(moment)))


# Alarms over a log: the watch of a monitor, over what was written down.


def watch_log(
    supply: Supply,
    alpha: float,
    group_of: Mapping[str, str],
    less_is_better: bool,
    shown: Sequence[str],
) -> AlarmFinding:
    """Watch a log as a monitor would have done.

    Args:
        supply: The lots of the log, and who was there.
        alpha: The probability of ever raising a false alarm.
        group_of: The groups of the stakeholders, where they have some.
        less_is_better: Whether to be behind is to receive more.
        shown: What each stakeholder is called.
    """
    slots = len(supply.moments)
    held = HeldFixed.of(supply, np.zeros(slots, dtype=np.int64), 1)
    moments = as_numbers(supply.moments)

    def odds_at(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return held.odds, held.pattern[np.searchsorted(moments, times)]

    known = bool(group_of) and all(name in group_of for name in supply.names)
    groups = [group_of[name] for name in supply.names] if known else None
    watch = AlarmWatch(shown, alpha, odds_at, groups, less_is_better)
    watch.take(moments[held.slot], held.who, held.amount)
    watch.close()
    plain = supply.moments.dtype.kind != "M"
    return AlarmFinding(
        alpha, watch.evidence, tuple(RaisedAlarm.of(one, plain) for one in watch.alarms)
    )
