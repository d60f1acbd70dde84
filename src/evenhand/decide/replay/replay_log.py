"""`replay(log, rules)`: the supply of a log given out by other rules, and judged as the log is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from evenhand._util.numbers import as_numbers
from evenhand._util.wording import format_number, pluralise
from evenhand.auditing.answer import BestThereWas
from evenhand.auditing.case import Case
from evenhand.auditing.judge import Judged, judge
from evenhand.auditing.questions import Question, question_of
from evenhand.decide.hindsight.best_of_log import best_with
from evenhand.decide.replay.answer import AS_LOGGED, LEAST_SERVED, Outcome, ReplayAnswer, gains
from evenhand.decide.replay.next_supply import plan_next, read_next
from evenhand.decide.replay.supply import Decisions, decide_supply, set_off
from evenhand.decide.rules.built_in import BEGIN_AT, LeastServed, rule_or_policy, rule_to_name
from evenhand.decide.rules.rule import InOrder, Rule, TieBreak
from evenhand.errors import BadParameter, EvenhandError, NoBestKnown, argument
from evenhand.fairness.scheme import FairnessScheme
from evenhand.log.history import TimedAmounts, most_with
from evenhand.log.layout import Notes
from evenhand.log.log import Kept, Log, Supply, log_of, options_for
from evenhand.log.options import FALLBACK_NOTE, AuditOptions, with_keywords

if TYPE_CHECKING:
    from jaxtyping import Float


# How long each stakeholder waited at most: between receipts, or from request to service.


def longest_waits(supply: Supply, given: Decisions) -> Float[np.ndarray, " stakeholder"]:
    """The longest time each went without, while it was there; NaN if it never was.

    With requests it is the longest from a request until that was met in full, the oldest first, or
    until the end of the log if it never was.

    Args:
        supply: The times, who was there, and the requests.
        given: What each got at each time point.
    """
    moments = as_numbers(supply.moments)
    first, last = supply.bounds()
    begins, ends = np.maximum(first, moments[0]), np.minimum(last, moments[-1])
    if "asked" in supply.beside:
        return _until_met(supply.beside["asked"], moments[given.slot], given, ends)
    return _without(moments[given.slot], given, begins, ends)


def _without(
    at: np.ndarray, given: Decisions, begins: np.ndarray, ends: np.ndarray
) -> Float[np.ndarray, " stakeholder"]:
    """The longest stretch between two receipts, the beginning and the end of a stay."""
    everyone = np.arange(len(begins))
    got = given.amount > 0
    who = np.concatenate((everyone, given.who[got], everyone))
    when = np.concatenate((begins, at[got], ends))
    order = np.lexsort((when, who))
    who, when = who[order], when[order]
    gaps = np.where(np.diff(who) == 0, np.diff(when), -np.inf)
    longest = np.full(len(begins), -np.inf)
    np.maximum.at(longest, who[1:], gaps)
    return np.where(ends >= begins, longest, np.nan)


def _until_met(
    asked: TimedAmounts, at: np.ndarray, given: Decisions, ends: np.ndarray
) -> Float[np.ndarray, " stakeholder"]:
    """The longest from a request until what was received by then covers it."""
    longest = np.full(len(ends), np.nan)
    requests, receipts = _by_stakeholder(asked.who), _by_stakeholder(given.who)
    for who, rows in requests.items():
        rows = rows[asked.amount[rows] > 0]
        if not len(rows):
            continue
        wanted = np.cumsum(asked.amount[rows])
        own = receipts.get(who, rows[:0])
        had = np.cumsum(given.amount[own])
        place = np.searchsorted(most_with(had), wanted)
        met = np.append(at[own], ends[who])[place]
        longest[who] = np.max(np.maximum(met, asked.at[rows]) - asked.at[rows])
    return longest


def _by_stakeholder(who: np.ndarray) -> dict[int, np.ndarray]:
    """The rows of each, in order of time."""
    order = np.argsort(who, kind="stable")
    found, starts = np.unique(who[order], return_index=True)
    return dict(zip(found.tolist(), np.split(order, starts[1:]), strict=True))


# `replay(log, rules=…)`: a log's supply and requests decided anew by each rule, and judged.

# What is replayed where no rule is named; those that need requests, where there are any.
USUAL = ("least_served", "even_out", "proportional", "longest_wait", "lottery")
LARGEST_FOR_BEST = 20_000  # stakeholders times time points
PLANNING = ("even_out",)  # where a supply to come is planned
USUAL_WITH_REQUESTS = ("first_come", "virtual_time")


@dataclass(frozen=True)
class ReplayOptions:
    """What to replay: the rules, how ties are broken, and the seed of lotteries that name none."""

    rules: Sequence[str | Rule] = ()
    ties: TieBreak = InOrder()
    seed: int | None = None
    coming: Any = None  # a supply to come, of which it is to be said what to give whom

    def chosen(self, options: AuditOptions) -> list[tuple[str, Rule]]:
        """The rules by name; newcomers begin where the audit lets them begin."""
        usual = USUAL + (USUAL_WITH_REQUESTS if options.has_requests else ())
        if self.coming is not None:
            usual = PLANNING
        found = []
        for one in self.rules or usual:
            rule = self._begun(rule_or_policy(one), options)
            if self.seed is not None and isinstance(one, str) and ":" not in one:
                rule = rule.with_seed(self.seed)
            found.append((one if isinstance(one, str) else rule_to_name(rule), rule))
        if self._needs_simple(found):
            found.append((LEAST_SERVED, self._begun(rule_or_policy(LEAST_SERVED), options)))
        return found

    def _begun(self, rule: Rule, options: AuditOptions) -> Rule:
        """The rule with newcomers beginning where the audit lets them begin."""
        if options.newcomers is not None and options.newcomers in BEGIN_AT:
            return rule.with_newcomers(options.newcomers)
        return rule

    def _needs_simple(self, named: list[tuple[str, Rule]]) -> bool:
        """Whether there is a policy, and not the rule that it has to do better than."""
        simple = any(isinstance(rule, LeastServed) for _, rule in named)
        return not simple and self.coming is None and any(rule.learned for _, rule in named)


@dataclass(frozen=True, kw_only=True)
class RulesToReplay(AuditOptions):
    """What `replay` takes: the rules, and what `audit` takes."""

    rules: Annotated[str | Rule | Sequence[str | Rule], "a rule, or a list of rules"] = ()


def _replay(log: Any, options: RulesToReplay) -> ReplayAnswer:
    """A log's supply and requests decided anew by each rule, and judged as the log itself is.

    Args:
        log: As for `audit`.
        rules: Which: by name, such as "least_served" or "half_life:28d", the path of a policy
            that was learned, or a rule itself. By default the usual ones that fit the log.

    Every other argument is one of `audit`; `seed` is also that of rules that draw lots and name
    none of their own. What only an audit has a use for, such as `min_score`, is refused.
    """
    options.require_no_audit("a replay")
    rules = options.rules
    several = (rules,) if isinstance(rules, str | Rule) else rules
    return replay_with(log, options, ReplayOptions(several, seed=options.seed))


replay = with_keywords(_replay, RulesToReplay)


def replay_with(
    log: Any,
    options: AuditOptions,
    asked: ReplayOptions | None = None,
) -> ReplayAnswer:
    """A log's supply and requests decided anew by each rule, and judged as the log itself is.

    Args:
        log: As for `audit`.
        options: How the log is read and judged, as for `audit`.
        asked: Which rules, and how ties are broken.
    """
    wanted = asked or ReplayOptions()
    rules = wanted.chosen(options)
    if wanted.coming is not None and not rules[0][1].plans_next:
        raise BadParameter(
            f"{argument('next')} brings all level, which {rules[0][0]} does not rank by: name "
            "another rule, such as even_out, or leave it out."
        )
    question = question_of(options)
    log = read_for_replay(log, options)
    options, notes = log.options, log.found.copy()
    replayed = _Replay(log, set_off(Supply.of(log), notes), options, question)
    scheme = replayed.scheme
    if replayed.fell_back:
        notes.add(FALLBACK_NOTE)
    for name, rule in rules:
        if rule.learned_from(replayed.supply.moments):
            notes.ask(
                f"{name} was learned from a log that goes on until after this one begins. If it is "
                f"the same log, say with {argument('since')} from when it is not: a policy is not "
                "judged on what it was learned from."
            )
    logged = replayed.logged()
    outcomes = [replayed.under(name, rule, wanted.ties, logged) for name, rule in rules]
    for one in outcomes:
        if one.left_over:
            notes.add(
                f"{one.name}: {format_number(one.left_over)} could not be given, as nobody who was "
                "there wanted it any more."
            )
    best = _best(log, options, replayed.supply, notes)
    plan = None
    if wanted.coming is not None:
        coming = read_next(wanted.coming, options, replayed.supply, notes)
        plan = plan_next(replayed.supply, logged.given, coming, rules[0][1], wanted.ties)
    lots = int(replayed.supply.lots.copies.sum())
    notes.add(
        f"{pluralise(lots, 'lot')}: a row is a lot, which goes to one stakeholder whole, the "
        "largest of a time point first; rules that divide share all of a time point."
    )
    return ReplayAnswer(
        label=log.label,
        scheme=scheme,
        question=question.name,
        supply=replayed.supply,
        unit=options.unit,
        amounts=options.amount,
        logged=logged,
        outcomes=tuple(outcomes),
        ties=wanted.ties.describe(),
        notes=tuple(notes.sentences),
        asks=tuple(notes.questions),
        plan=plan,
        best=best,
    )


def _best(log: Log, options: AuditOptions, supply: Supply, notes: Notes) -> BestThereWas | None:
    """The best there was, of a supply that can be divided: no rule can do better."""
    if not supply.amounts().any():
        return None  # nothing was given out that could have been given otherwise
    size = len(supply.names) * len(supply.moments)
    if size > LARGEST_FOR_BEST:
        notes.add(
            f"The best there was is not looked for in a replay of this size: `evenhand audit` with "
            f"{argument('best')} says it."
        )
        return None
    try:
        return best_with(log, options)
    except NoBestKnown as error:  # what to do instead is for those who asked for it
        notes.add(f"The best there was is not known: {error.why}.")
        return None
    except EvenhandError as error:
        notes.add(f"The best there was is not known: {error}")
        return None


def read_for_replay(log: Any, options: AuditOptions) -> Log:
    """The log with its rows kept apart."""
    options = options_for(log, options)
    _require_amounts(options)
    return log_of(log, options, Kept(ends=False))


def _require_amounts(options: AuditOptions) -> None:
    """Only what was given out can be given to others."""
    named = ("out_of", "wait_from", "run", "before")
    wrong = [name for name in named if getattr(options, name) is not None]
    wrong += ["stock"] if options.stock else []
    if wrong:
        raise BadParameter(
            f"a replay gives out anew what was given out, which {argument(wrong[0])} does not say: "
            "leave it out."
        )


class AsLogged(NamedTuple):
    """A log as it was judged: by which scheme, and whether that is the one to fall back on."""

    scheme: FairnessScheme
    judged: Judged
    fell_back: bool
    names: tuple[str, ...]


def judged_as_logged(log: Log, options: AuditOptions, question: Question) -> AsLogged:
    """The log itself, judged; by another welfare where the default one is undefined.

    Args:
        log: The log.
        options: How it is judged.
        question: When it is assessed.
    """
    case = Case.of(log, options)
    scheme, *fallback = options.schemes(case.status, question.filter)
    judged = judge(case, question, [scheme])
    fell_back = judged.scorers[0].undefined is not None and bool(fallback)
    if fell_back:
        scheme = fallback[0]
        judged = judge(case, question, [scheme])
    return AsLogged(scheme, judged, fell_back, case.names)


class _Replay:
    """A log that is judged again and again, with the same supply in other hands."""

    def __init__(self, log: Log, supply: Supply, options: AuditOptions, question: Question) -> None:
        self.log, self.options, self.question = log, options, question
        self.supply = supply
        found = judged_as_logged(log, options, question)
        self.scheme, self._as_logged, self.fell_back, self._names = found

    def logged(self) -> Outcome:
        history = self.log.history
        given = Decisions(
            np.array(history.slot),
            np.array(history.who),
            np.array(history.amount, dtype=float),
            np.zeros(len(history.slots)),
        )
        return self._outcome(AS_LOGGED, None, self._as_logged, given)

    def under(self, name: str, rule: Rule, ties: TieBreak, logged: Outcome) -> Outcome:
        """What a rule would have done."""
        given = decide_supply(self.supply, rule, ties).cells(len(self.supply.names))
        history = replace(
            self.log.history,
            slot=given.slot,
            who=given.who,
            amount=given.amount,
            beside={},
        )
        case = Case.of(replace(self.log, history=history, lots=None), self.options)
        own = self.scheme
        scheme = FairnessScheme(case.status, own.aggregation, self.question.filter, own.empty)
        # A half-life of 7 is one of 7 days where times are dates, which its words say then.
        fitted = rule.fitted(self.log.history.plain_numbers)
        found = self._outcome(name, fitted, judge(case, self.question, [scheme]), given)
        return replace(found, gains=tuple(gains(self.supply, logged.given, given)))

    def _outcome(self, name: str, rule: Rule | None, judged: Judged, given: Decisions) -> Outcome:
        ranking = judged.totals.ranking
        lowest = ranking.lowest
        asked = self.supply.beside.get("asked")
        return Outcome(
            name=name,
            rule=rule,
            score=judged.score,
            worst=tuple(self._names[place] for place in lowest),
            worst_unfairness=float(ranking.deviation[lowest[0]]) if lowest else 0.0,
            waits=longest_waits(self.supply, given),
            unmet=None if asked is None else _asked(asked, judged) - float(given.amount.sum()),
            given=given,
            promise=given.words,
        )


def _asked(asked: TimedAmounts, judged: Judged) -> float:
    """What was asked for in all by the last moment that is judged; later requests are not."""
    return float(asked.totals().by(judged.timeline.moments[-1:]).sum())
