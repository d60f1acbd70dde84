"""Could it be chance? Measures, who can be named, power, and the words for what was found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenhand._util.wording import format_number, join_names, pluralise
from evenhand.auditing.case import Case
from evenhand.auditing.chance.nulls import HeldFixed, Null, chosen_null, numbered
from evenhand.auditing.chance.simulation import DrawnHistories, Figures
from evenhand.auditing.judge import Judgement
from evenhand.auditing.scoring import EQUAL
from evenhand.errors import BadParameter, argument
from evenhand.fairness.groups import Groups
from evenhand.log.history import History
from evenhand.log.log import Log, Supply
from evenhand.log.options import AuditOptions

if TYPE_CHECKING:
    from jaxtyping import Float, Int


# What is compared between a log and chance: figures of the audit, each with its unfair side.

CENTRAL = 0.95  # of the drawn histories lie in the interval that is shown


class Measure(ABC):
    """One number of a history."""

    name: ClassVar[str]
    words: ClassVar[str]
    high_is_unfair: ClassVar[bool]

    @abstractmethod
    def of(self, figures: Figures) -> Float[np.ndarray, " draw"] | None:
        """Its value in each of many histories; None where it is not known."""


@dataclass(frozen=True)
class ScoreMeasure(Measure):
    """The fairness score."""

    name, words, high_is_unfair = "score", "the score", False

    def of(self, figures: Figures) -> Float[np.ndarray, " draw"]:
        return figures.score


@dataclass(frozen=True)
class WorstOverall(Measure):
    """The overall unfairness to whoever was treated worst."""

    name, high_is_unfair = "worst_overall_unfairness", False
    words = "the overall unfairness to whoever was treated worst"

    def of(self, figures: Figures) -> Float[np.ndarray, " draw"]:
        return figures.overall.min(axis=1)


@dataclass(frozen=True)
class MostOftenBelow(Measure):
    """The largest share of assessments at which anybody was on the worse side of the mean."""

    name, high_is_unfair = "largest_share_below", True
    words = "the largest share of assessments at which anybody was on the worse side of the mean"

    def of(self, figures: Figures) -> Float[np.ndarray, " draw"]:
        return figures.share_below.max(axis=1)


@dataclass(frozen=True)
class GapBetweenGroups(Measure):
    """How far the groups with the highest and the lowest mean status are apart at the end."""

    name, high_is_unfair = "gap_between_groups", True
    words = "the gap at the end between the groups with the highest and the lowest mean status"

    def of(self, figures: Figures) -> Float[np.ndarray, " draw"] | None:
        return figures.group_gap


MEASURES: tuple[Measure, ...] = (
    ScoreMeasure(),
    WorstOverall(),
    MostOftenBelow(),
    GapBetweenGroups(),
)


@dataclass(frozen=True)
class MeasureFinding:
    """A figure of the log beside those of chance."""

    name: str
    words: str
    high_is_unfair: bool
    found: float  # in the log
    low: float  # the interval of what chance made, and its middle
    middle: float
    high: float
    p: float  # how often chance is at least as unfair
    p_other_side: float  # how often it is at least as fair

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def at_least(
    drawn: Float[np.ndarray, "draw ..."], found: Float[np.ndarray, ...]
) -> Float[np.ndarray, ...]:
    """How often chance is at least as high: (1 + hits) / (1 + draws), and equals are hits.

    That is a valid p-value at any number of draws, since the log counts as one of them.

    >>> at_least(np.array([1.0, 2.0, 3.0]), np.array(3.0))
    np.float64(0.5)
    """
    size = np.maximum(np.abs(drawn).max(axis=0), np.abs(found))
    hits = (drawn >= found - EQUAL * size).sum(axis=0)
    return (1 + hits) / (1 + len(drawn))


def compare(measure: Measure, log: Figures, drawn: Figures) -> MeasureFinding | None:
    """A measure of the log beside those of drawn histories; None where it is not known."""
    one, many = measure.of(log), measure.of(drawn)
    if one is None or many is None or not (np.isfinite(one).all() and np.isfinite(many).all()):
        return None
    found, sign = one[0], 1 if measure.high_is_unfair else -1
    low, middle, high = np.quantile(many, ((1 - CENTRAL) / 2, 0.5, (1 + CENTRAL) / 2))
    return MeasureFinding(
        name=measure.name,
        words=measure.words,
        high_is_unfair=measure.high_is_unfair,
        found=float(found),
        low=float(low),
        middle=float(middle),
        high=float(high),
        p=float(at_least(sign * many, sign * found)),
        p_other_side=float(at_least(-sign * many, -sign * found)),
    )


# Naming somebody among many, such that nobody is named by chance more often than is said.
#
# How far each is behind is measured by how far chance carries that one, and set against the
# furthest that anybody is carried: the step-down maximum of Westfall and Young (1993). If chance
# alone was at work, the probability that anybody is named is at most the level.

LEVEL = 0.05  # the probability of naming anybody if chance alone was at work


@dataclass(frozen=True)
class PersonFinding:
    """One stakeholder beside chance."""

    name: str
    spreads: float  # how far behind, in standard deviations of what chance makes of it
    p: float  # how often chance leaves this one as far behind
    p_among_all: float  # how often it leaves anybody as far behind (step by step)
    q: float  # the false discovery rate of a list down to this one

    @property
    def named(self) -> bool:
        return self.p_among_all <= LEVEL

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "named": self.named}


@dataclass(frozen=True, eq=False)
class Spread:
    """What chance makes of each: the mean overall unfairness, and its standard deviation."""

    mean: Float[np.ndarray, " status"]
    deviation: Float[np.ndarray, " status"]

    @classmethod
    def of(
        cls,
        log: Float[np.ndarray, "1 status"],
        drawn: Float[np.ndarray, "draw status"],
        kinds: Int[np.ndarray, " status"],
    ) -> Spread:
        """From drawn histories and the log, which must count as one of them to be exact.

        Those whom chance treats alike share a mean and a deviation: estimated for each alone these
        would differ a little, and decide between histories in which one or the other is as far
        behind.

        Args:
            log: The overall unfairness of each in the log.
            drawn: The same in drawn histories.
            kinds: The number of each one's kind; chance treats those of one kind alike.
        """
        values = np.concatenate((log, drawn))
        size = float(np.abs(values).max()) or 1.0  # squares of huge amounts would not be numbers
        values = values / size

        def shared(of_each: Float[np.ndarray, " status"]) -> Float[np.ndarray, " status"]:
            return (np.bincount(kinds, of_each) / np.maximum(np.bincount(kinds), 1))[kinds]

        mean = shared(values.mean(axis=0))
        deviation = np.sqrt(shared(((values - mean) ** 2).mean(axis=0)))
        return cls(mean * size, deviation * size)

    def behind(self, overall: Float[np.ndarray, "*draw status"]) -> np.ndarray:
        """How many standard deviations each is behind; 0 for whom nothing is left to chance."""
        known = self.deviation > 0
        return np.where(known, self.mean - overall, 0.0) / np.where(known, self.deviation, 1.0)


def name_people(
    names: tuple[str, ...],
    log: Float[np.ndarray, " status"],
    drawn: Float[np.ndarray, "draw status"],
) -> tuple[PersonFinding, ...]:
    """Everyone beside chance, the furthest behind first.

    Args:
        names: Of those judged.
        log: How far behind each is in the log, in standard deviations.
        drawn: The same in drawn histories.
    """
    own = np.atleast_1d(at_least(drawn, log))
    order = np.argsort(-log, kind="stable")
    # The furthest of those who are not yet named, from the last place upwards.
    rest = np.maximum.accumulate(drawn[:, order[::-1]], axis=1)[:, ::-1]
    among_all = np.maximum.accumulate(at_least(rest, log[order]))
    rates = false_discovery_rates(own)
    return tuple(
        PersonFinding(names[i], float(log[i]), float(own[i]), float(joint), float(rates[i]))
        for i, joint in zip(order, among_all, strict=True)
    )


def false_discovery_rates(p: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The smallest level at which each is found, whatever the dependence (Benjamini, Yekutieli).

    >>> false_discovery_rates(np.array([0.01, 0.5])).round(3)
    array([0.03, 0.75])
    """
    size = len(p)
    order = np.argsort(p, kind="stable")
    factor = size * (1.0 / np.arange(1, size + 1)).sum() / np.arange(1, size + 1)
    ascending = np.minimum.accumulate((p[order] * factor)[::-1])[::-1]
    rates = np.empty(size)
    rates[order] = np.minimum(ascending, 1.0)
    return rates


# How much evidence a log can hold: how far behind would somebody have to be for it to show?

CERTAINTY = 0.8  # with which it is to be noticed
TRIED = 199  # histories for each size of a disadvantage
GRID = 20  # sizes of a disadvantage
EXTREME = 0.0  # whoever never gets anything; of harms, EXTREME_HARM times the odds
EXTREME_HARM = 20.0

Behind = Callable[[HeldFixed, int], "Float[np.ndarray, 'draw status']"]


@dataclass(frozen=True)
class PowerFinding:
    """The least disadvantage that a log would show, of a typical stakeholder."""

    name: str
    lots: float  # that it would have under a fair lottery
    odds: float | None  # the factor on its odds from which on it would be noticed; None: none is
    lots_then: float | None
    certainty: float  # with which it is noticed at these odds, or at the most extreme ones

    def to_json(self) -> dict[str, Any]:
        return dict(vars(self))


def threshold(furthest: Float[np.ndarray, " draw"]) -> float:
    """How far behind somebody must be for chance to get there in at most `LEVEL` of cases."""
    hits = int(np.floor(LEVEL * (1 + len(furthest)))) - 1
    if hits < 0:  # too few draws to name anybody
        return np.inf
    descending = np.sort(furthest)[::-1]
    return float(np.nextafter(descending[min(hits, len(furthest) - 1)], np.inf))


def typical(held: HeldFixed) -> int:
    """The place of a stakeholder in the middle, by the lots that a lottery would give it."""
    expected = held.expected()
    there = np.flatnonzero(expected > 0)
    order = there[np.argsort(expected[there], kind="stable")]
    return int(order[len(order) // 2])


def noticed(
    held: HeldFixed, who: int, factor: float, behind: Behind, least: float, draws: int
) -> float:
    """How often somebody is noticed when the odds of one are multiplied."""
    found = behind(held.with_odds(who, factor), draws)
    return float((found.max(axis=1) >= least).mean())


def extreme(less_is_better: bool) -> float:
    """The odds of the most extreme disadvantage."""
    return EXTREME_HARM if less_is_better else EXTREME


def find_power(held: HeldFixed, behind: Behind, least: float, less_is_better: bool) -> PowerFinding:
    """The least disadvantage that is noticed, found by halving a grid of sizes.

    Args:
        held: What stays as it was.
        behind: How far each is behind in so many histories drawn with given odds.
        least: How far behind is noticed.
        less_is_better: Whether a disadvantage is to get more.
    """
    who = typical(held)
    lots = float(held.expected()[who])

    def factor_of(step: int) -> float:
        factor = 1.0 - step / GRID
        if not less_is_better:
            return factor
        return 1.0 / factor if factor > 0 else EXTREME_HARM

    def seen(step: int) -> float:
        return noticed(held, who, factor_of(step), behind, least, TRIED)

    low, high, certainty = 0, GRID, seen(GRID)
    name = held.names[who]
    if certainty < CERTAINTY:
        return PowerFinding(name, lots, None, None, certainty)
    while high - low > 1:
        middle = (low + high) // 2
        share = seen(middle)
        if share >= CERTAINTY:
            high, certainty = middle, share
        else:
            low = middle
    factor = factor_of(high)
    then = float(held.with_odds(who, factor).expected()[who])
    return PowerFinding(name, lots, factor, then, certainty)


# What chance alone would have made of a log, as one object.


@dataclass(frozen=True, eq=False)
class Band:
    """Between what chance leaves each at each assessment: at each time alone, not all at once."""

    low: Float[np.ndarray, "assessment status"]
    high: Float[np.ndarray, "assessment status"]
    names: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        def by_name(values: np.ndarray) -> dict[str, Any]:
            plain = [[None if v != v else v for v in column] for column in values.T.tolist()]
            return dict(zip(self.names, plain, strict=True))

        return {"share_of_draws": CENTRAL, "low": by_name(self.low), "high": by_name(self.high)}


@dataclass(frozen=True, eq=False)
class ChanceFinding:
    """A log beside many histories in which chance alone was at work."""

    null: Null
    draws: int
    seed: int
    measures: tuple[MeasureFinding, ...]
    people: tuple[PersonFinding, ...]  # the furthest behind first; nobody where groups are drawn
    band: Band | None = None
    power: PowerFinding | None = None
    noticed_at_worst: float | None = None  # how often the most extreme disadvantage is noticed
    less_is_better: bool = False

    @property
    def p(self) -> float:
        """How often chance leaves somebody as far behind, or groups as far apart."""
        if self.people:
            return self.people[0].p_among_all
        return self.measures[-1].p

    @property
    def named(self) -> tuple[str, ...]:
        """Those who are further behind than chance explains."""
        return tuple(one.name for one in self.people if one.named)

    def measure(self, name: str) -> MeasureFinding | None:
        """One of the figures, if it is known."""
        return {one.name: one for one in self.measures}.get(name)

    def to_json(self) -> dict[str, Any]:

        return {
            "null": {"name": self.null.name, "sentence": self.null.sentence},
            "draws": self.draws,
            "seed": self.seed,
            "p": self.p,
            "level": LEVEL,
            "named": list(self.named),
            "words": sentences(self),
            "cannot_tell": CANNOT_TELL,
            "measures": [one.to_json() for one in self.measures],
            "stakeholders": [one.to_json() for one in self.people],
            "band": None if self.band is None else self.band.to_json(),
            "power": None if self.power is None else self.power.to_json(),
            "noticed_at_worst": self.noticed_at_worst,
        }


@dataclass(frozen=True)
class NotTested:
    """Why nothing is said of chance."""

    reason: str

    def to_json(self) -> dict[str, Any]:
        return {"left_out": self.reason}


# What was found beside chance, in plain words.

CANNOT_TELL = (
    "It does not say why, nor whether anybody meant it, and it says nothing if those taken as "
    "eligible were not."
)
TOO_SHORT = 0.5  # a log that notices the most extreme disadvantage less often shows nothing


def how_often(p: float, draws: int) -> str:
    """A p-value as a share of cases; the least that so many draws can tell is said as such.

    >>> how_often(0.41, 999), how_often(0.001, 999)
    ('41% of cases', 'at most 1 in 1,000 cases (none of 999 draws)')
    """
    if p <= 1 / (1 + draws):
        return f"at most 1 in {1 + draws:,} cases (none of {pluralise(draws, 'draw')})"
    return f"{p:.2%} of cases" if p < 0.01 else f"{_percent(p)} of cases"


def _percent(p: float) -> str:
    text = f"{p:.1%}" if p < 0.1 else f"{p:.0%}"
    return text.replace(".0%", "%")


def sentences(found: ChanceFinding) -> list[str]:
    """The answer, what else it found, and what the log can show at all."""
    words = [_headline(found)]
    if found.named:
        verb = "is" if len(found.named) == 1 else "are"
        words.append(f"Further behind than chance explains {verb} {join_names(found.named)}.")
    even = found.measure("score")
    if found.p > LEVEL and even is not None and even.p_other_side <= LEVEL:
        often = how_often(even.p_other_side, found.draws)
        words.append(f"It is more even than chance would make it: chance does as well in {often}.")
    gap = found.measure("gap_between_groups")
    if gap is not None and found.people:
        often = how_often(gap.p, found.draws)
        words.append(f"The gap between the groups at the end is as large in {often}.")
    if found.power is not None:
        words.append(_power(found.power, found.less_is_better))
    elif found.noticed_at_worst is not None and found.noticed_at_worst < TOO_SHORT:
        words.append(_too_short(found.noticed_at_worst, found.less_is_better))
    return words


def _headline(found: ChanceFinding) -> str:
    what = "somebody is this far behind" if found.people else "they are this far apart at the end"
    if found.p > LEVEL:
        end = "this log gives no reason to think otherwise"
    else:
        end = "chance alone hardly explains it"
    return f"{found.null.under} {what} in {how_often(found.p, found.draws)}: {end}."


def _too_short(share: float, less_is_better: bool) -> str:
    who = (
        "somebody with twenty times the odds of everybody else"
        if less_is_better
        else "somebody who never got anything"
    )
    how_many = "fewer than 1%" if share < 0.01 else f"only {share:.0%}"
    return (
        f"This log is too short to show anything: even {who} would be noticed in {how_many} of "
        "such logs."
    )


def _power(power: PowerFinding, less_is_better: bool) -> str:
    if power.odds is None or power.lots_then is None:
        return _too_short(power.certainty, less_is_better)
    change = (
        f"multiplied by {power.odds:.2g} or more"
        if less_is_better
        else f"cut by {1 - power.odds:.0%} or more"
    )
    then, fair = (format_number(round(lots, 1)) for lots in (power.lots_then, power.lots))
    if power.odds < 0.005:
        return (
            "Such a log shows, 4 times in 5, somebody who gets nothing at all: for "
            f"{power.name} that is none in place of about {fair} lots. Less than that it can miss."
        )
    return (
        f"Such a log shows, 4 times in 5, somebody whose odds of each lot are {change}: for "
        f"{power.name} that is about {then} lots in place of {fair}. Less than that it can miss."
    )


# Could it be chance? A log beside many histories drawn as though chance alone was at work.

DRAWS = (999, 199)  # by default: the first of which the cost is small
SMALL_COST = 16_000_000  # values in all histories together, up to which a test is made unasked
MANY_LOTS = 50_000  # of a log of more rows these are not read again unasked
BATCH_VALUES = 1_000_000  # worked on together
BAND_VALUES = 2_000_000  # kept for the intervals behind the curves
LEAST_FOR_BAND = 39  # histories, of which the second from either end is the interval
QUICK_LOOK = 99  # histories drawn to see whether a log can show anything


def wants_lots(options: AuditOptions) -> bool:
    """Whether the rows of a log are needed one by one."""
    return options.alarm is not None or (
        options.chance
        and chosen_null(options.null).draws_lots
        and reason_against(options) is None
        and options.run is None
    )


def few_enough_lots(history: History, options: AuditOptions) -> bool:
    """Whether the rows are read one by one, by what it costs."""
    asked = options.asks_chance is not None or options.alarm is not None
    return wants_lots(options) and (asked or history.events <= MANY_LOTS)


def reason_against(options: AuditOptions) -> str | None:
    """Why no lots can be drawn again from such a log, if none can."""
    if options.waits:
        return "waits are not given out, so that nobody could have drawn another one's"
    if options.stock:
        return "levels are not given out, so that nobody could have drawn another one's"
    if options.out_of is not None:
        return "a rate needs to know the chances one by one, and here they are added up"
    if options.cumulative and chosen_null(options.null).draws_lots:
        return "running totals do not say in which lots things were given out"
    return None


def ask_chance(
    log: Log, case: Case, judgement: Judgement, options: AuditOptions
) -> ChanceFinding | NotTested | None:
    """Set a log beside chance; None where that was not wanted.

    Args:
        log: What was read, with its lots.
        case: What is judged.
        judgement: What was found.
        options: The null hypothesis, the number of draws and the seed.
    """
    if not options.chance:
        return None
    reason = reason_against(options) or _reason_of_case(case, judgement)
    if reason is None and log.lots is None and wants_lots(options):
        reason = "the log has very many rows"
        return NotTested(f"{reason} (with {argument('draws')} it is tested all the same)")
    if reason is not None:
        return _not_tested(reason, options)
    null = chosen_null(options.null)
    labels = group_labels(case, log.group_of)
    if null.draws_groups and labels is None:
        raise BadParameter(
            f"{argument('null', null.name)} needs to know the groups of all: say with "
            f"{argument('group')} which column holds them."
        )
    scheme, timeline = judgement.scheme, judgement.asked.timeline
    judging = DrawnHistories(case, timeline, scheme, options.newcomers, labels)
    held = HeldFixed.of(Supply.of(log), judging.interval, judging.intervals)
    if not len(held.slot):
        return _not_tested("nothing was given out", options)
    null.require(held)
    cost = null.cost(held) + judging.cells
    draws = options.draws or _affordable(cost, bool(options.asks_chance))
    if draws is None:
        return NotTested(
            "the log is long and it would take a while (with "
            f"{argument('draws')} it is tested all the same)"
        )
    return _Test(null, held, judging, draws, options.seed, cost).found(judgement, options.power)


def _not_tested(reason: str, options: AuditOptions) -> NotTested:
    """Why it is left out; refused if it was asked for."""
    if options.asks_chance is None:
        return NotTested(reason)
    raise BadParameter(
        f"whether it could be chance cannot be tested, since {reason}: leave "
        f"{argument(options.asks_chance)} out."
    )


def _affordable(cost: int, asked: bool) -> int | None:
    return next(
        (draws for draws in DRAWS if draws * cost <= SMALL_COST), DRAWS[0] if asked else None
    )


def _reason_of_case(case: Case, judgement: Judgement) -> str | None:
    if len(case.history.names) < 2:
        return "there is only one stakeholder"
    if not judgement.asked.timeline.filter.ignores_who:
        return "when the scheme looks depends on who received something"
    if judgement.scheme.status.keeps_history or judgement.scheme.aggregation.keeps_history:
        return "the scheme is a function of the whole history"
    return None


def group_labels(case: Case, group_of: Mapping[str, str]) -> Int[np.ndarray, " status"] | None:
    """The group of each who is judged, as a number; groups that are judged are their own."""
    if case.groups is not None:
        return np.arange(len(case.names))
    if not group_of or not all(name in group_of for name in case.history.names):
        return None
    return np.unique([group_of[name] for name in case.history.names], return_inverse=True)[1]


def kinds_of_groups(
    kinds: Int[np.ndarray, " stakeholder"], groups: Groups | None
) -> Int[np.ndarray, " status"]:
    """The kind of each group, where groups are judged: those of like members are alike."""
    if groups is None:
        return kinds
    return numbered(tuple(sorted(kinds[list(part)])) for part in groups.members)


class _Test:
    """One null hypothesis at work on one log."""

    def __init__(
        self,
        null: Null,
        held: HeldFixed,
        judging: DrawnHistories,
        draws: int,
        seed: int,
        cost: int,
    ) -> None:
        self.null, self.held, self.judging, self.draws, self.seed = null, held, judging, draws, seed
        # Each purpose has chance of its own, so that asking for more changes no figure.
        self.rng, self.rng_of_power = np.random.default_rng(seed).spawn(2)
        self.batch = max(1, BATCH_VALUES // cost)
        self.names = judging.case.names

    def found(self, judgement: Judgement, power: bool) -> ChanceFinding:
        log = self.judging.judge(self.held.as_it_was())
        drawn = self._drawn()
        names_people = not self.null.draws_groups or self.judging.case.groups is not None
        measures = MEASURES if names_people else (GapBetweenGroups(),)
        compared = [compare(measure, log, drawn) for measure in measures]
        kinds = kinds_of_groups(self.held.kinds(), self.judging.case.groups)
        spread = Spread.of(log.overall, drawn.overall, kinds)
        behind = spread.behind(drawn.overall)
        people: tuple[PersonFinding, ...] = ()
        if names_people:
            people = name_people(self.names, spread.behind(log.overall)[0], behind)
        found = ChanceFinding(
            null=self.null,
            draws=self.draws,
            seed=self.seed,
            measures=tuple(one for one in compared if one is not None),
            people=people,
            band=self._band(drawn, judgement),
            less_is_better=judgement.scheme.status.negated,
        )
        return self._with_power(found, spread, behind, power)

    def _drawn(self) -> Figures:
        kept = BAND_VALUES // max(1, self.judging.cells)
        parts: list[Figures] = []
        for size in self._batches(self.draws):
            done = sum(len(part.score) for part in parts)
            receipts = self.null.draw(self.held, self.rng, size)
            parts.append(self.judging.judge(receipts, curves=done + size <= kept))
        return Figures.joined(parts)

    def _batches(self, draws: int) -> Iterator[int]:
        for start in range(0, draws, self.batch):
            yield min(self.batch, draws - start)

    def _band(self, drawn: Figures, judgement: Judgement) -> Band | None:
        curves = drawn.curves
        judged = judgement.asked
        if curves is None or len(curves) < LEAST_FOR_BAND:
            return None
        if curves.shape[1] != len(judged.assessed):
            return None
        ends = (1 - CENTRAL) / 2, (1 + CENTRAL) / 2
        # At every time the same are there in all histories, so that NaN is all or nothing.
        low, high = np.quantile(curves[:, judged.kept], ends, axis=0)
        return Band(low, high, self.names)

    def _with_power(
        self, found: ChanceFinding, spread: Spread, behind: np.ndarray, asked: bool
    ) -> ChanceFinding:
        if not self.null.draws_lots:
            if asked:
                raise BadParameter(
                    f"{argument('power')} is about odds, which only {argument('null', 'lottery')} "
                    "has: leave one out."
                )
            return found
        least = threshold(behind.max(axis=1))

        def drawn_behind(held: HeldFixed, draws: int) -> Float[np.ndarray, "draw status"]:
            receipts = [
                self.null.draw(held, self.rng_of_power, size) for size in self._batches(draws)
            ]
            return np.concatenate(
                [spread.behind(self.judging.judge(part).overall) for part in receipts]
            )

        if asked:
            return replace(
                found, power=find_power(self.held, drawn_behind, least, found.less_is_better)
            )
        if found.p <= LEVEL:
            return found
        worst = extreme(found.less_is_better)
        share = noticed(
            self.held, typical(self.held), worst, drawn_behind, least, min(QUICK_LOOK, self.draws)
        )
        return replace(found, noticed_at_worst=share)
