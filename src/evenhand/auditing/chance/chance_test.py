"""Could it be chance? A log beside many histories drawn as though chance alone was at work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.auditing.chance.drawn_histories import DrawnHistories
from evenhand.auditing.chance.finding import Band, ChanceFinding, NotTested
from evenhand.auditing.chance.held_fixed import HeldFixed, numbered
from evenhand.auditing.chance.history_figures import Figures
from evenhand.auditing.chance.measures import CENTRAL, MEASURES, GapBetweenGroups, compare
from evenhand.auditing.chance.naming import LEVEL, PersonFinding, Spread, name_people
from evenhand.auditing.chance.nulls import Null, chosen_null
from evenhand.auditing.chance.power import extreme, find_power, noticed, threshold, typical
from evenhand.auditing.judging.case import Case
from evenhand.auditing.judging.sensitivity import Judgement
from evenhand.auditing.judging.supply import Supply
from evenhand.auditing.log import Log
from evenhand.auditing.options import AuditOptions
from evenhand.auditing.reading.history import History
from evenhand.errors import BadParameter, argument
from evenhand.fairness.groups import Groups

if TYPE_CHECKING:
    from jaxtyping import Float, Int

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
