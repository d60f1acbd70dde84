"""The verdict in words: direction, terms, labels, and the sentences to be quoted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand._util.wording import format_number, join_names, join_tied, pluralise
from evenhand.auditing.judge import Judged, QuestionRow
from evenhand.auditing.questions import AT_END
from evenhand.auditing.scoring import EQUAL
from evenhand.fairness.status import OfRequests, ShareMet, Shortfall, Status, read_beside
from evenhand.log.options import AuditOptions
from evenhand.log.times import MONTHS

if TYPE_CHECKING:
    from evenhand.auditing.answer import Answer, StakeholderAnswer


# Which side of the mean is the worse one, and how statuses and distances are shown.
#
# Inside, higher is always better: of harms and waits the status is minus what was logged, and
# unfairness below 0 means worse off. A reader is shown what was logged, and "above the mean" is
# then the worse side.


@dataclass(frozen=True)
class Direction:
    """The two sides of the mean in words, and the sign that turns a status into what was logged.

    >>> LESS_IS_BETTER.far(-5.5), MORE_IS_BETTER.far(-5.5)
    ('5.5 above the mean', '5.5 below the mean')
    >>> LESS_IS_BETTER.as_logged(-14.0), LESS_IS_BETTER.signed(-5.5)
    (14.0, '+5.5')
    """

    worse: str
    better: str
    sign: int

    @staticmethod
    def of(status: Status) -> Direction:
        """That of a status."""
        return LESS_IS_BETTER if status.negated else MORE_IS_BETTER

    @property
    def less_is_better(self) -> bool:
        return self.sign < 0

    def as_logged(self, value: float) -> float:
        """A status, a mean or a distance from it as the log has it."""
        return self.sign * value + 0.0  # nothing is -0

    def signed(self, unfairness: float) -> str:
        """A distance from the mean as the log has it, with its sign."""
        return format_number(self.as_logged(unfairness), signed=True)

    def far(self, unfairness: float) -> str:
        """How far on the worse side."""
        return f"{format_number(-unfairness)} {self.worse} the mean"


MORE_IS_BETTER = Direction(worse="below", better="above", sign=1)
LESS_IS_BETTER = Direction(worse="above", better="below", sign=-1)


# How the figures of an answer are put in words: the direction, what the mean is, amounts.

PLAIN_MEAN = "the mean"
COUNTED = re.compile(r"[^\W\d_]+s")  # a column named so can stand behind a number: "3 doses"


@dataclass(frozen=True)
class Terms:
    """The words of one answer.

    >>> Terms(unit="doses").off_share(752000.0)
    'was 752,000 doses short of its share'
    >>> Terms(unit="given_out").off_share(3.0, several=True)
    'were each 3 short of their share of given_out'
    """

    direction: Direction = MORE_IS_BETTER
    mean: str = PLAIN_MEAN  # and what it is, where that is not plain
    unit: str | None = None  # what amounts are counted in: by default the column of amounts
    counted: bool = False  # whether the unit can stand behind a number, whatever its form

    @classmethod
    def of(cls, status: Status, column: str | None, unit: str | None = None) -> Terms:
        """From the column of amounts, and the unit if one was given."""
        return cls(
            Direction.of(status), status.describe_mean(), unit or column, counted=unit is not None
        )

    @property
    def units(self) -> tuple[str, str]:
        """What stands behind an amount, or else behind the share, to say what it is of."""
        if self.unit is None:
            return "", ""
        if self.counted or COUNTED.fullmatch(self.unit):
            return f" {self.unit}", ""
        return "", f" of {self.unit}"

    def off_share(self, amount: float, several: bool = False) -> str:
        """Being short of one's share by an amount; of harms, having more than it."""
        behind_number, behind_share = self.units
        share = f"{'their' if several else 'its'} share{behind_share}"
        much = f"{format_number(amount)}{behind_number}"
        if self.direction.less_is_better:
            return f"{'each ' if several else ''}had {much} more than {share}"
        return f"{'were each' if several else 'was'} {much} short of {share}"


# The verdict in plain words.


def verdict(
    judged: Judged, stakeholders: tuple[StakeholderAnswer, ...], asked: QuestionRow, terms: Terms
) -> str:
    """A few sentences: at the end, on the way, to whom it was unfair, and what changed."""
    totals = judged.totals
    equal_at_end = not judged.final_below.any()
    end = "Equal at the end" if equal_at_end else "Unequal at the end"
    worse = f"{terms.direction.worse} {terms.mean}"
    sentences = []
    if judged.question == AT_END:
        compared = "" if terms.mean == PLAIN_MEAN else f", compared with {terms.mean}"
        sentences.append(f"{end}{compared}.")
    elif totals.unequal and judged.as_even_as_whole_units:
        return (
            f"As even as whole units allow, at the end and {judged.question.adverb}: at none of "
            f"{pluralise(totals.assessments, 'assessment')} was anybody a whole unit from its "
            "share."
        )
    elif totals.unequal == 0:
        sentences.append(
            f"{end}, and equal {judged.question.adverb}: at none of "
            f"{pluralise(totals.assessments, 'assessment')} was anybody {worse}."
        )
    else:
        joint = "but unequal" if equal_at_end else "and unequal"
        sentences.append(
            f"{end}, {joint} {judged.question.adverb}: at {totals.unequal:,} of "
            f"{pluralise(totals.assessments, 'assessment')} somebody was {worse}."
        )
    if totals.unequal:
        people = {one.name: one for one in stakeholders}
        worst = [people[name] for name in asked.all_worst]
        last = [] if equal_at_end else judged.final_ranking.lowest
        lowest = [people[asked.names[place]] for place in last]
        sentences.append(treated_worst(worst, lowest, terms))
    if not equal_at_end:
        sentences += off_share(stakeholders, terms)
    return " ".join([*sentences, *changes(stakeholders)])


def _nobody(terms: Terms) -> str:
    worse, better = terms.direction.worse, terms.direction.better
    return (
        f"Over all nobody was behind: what each was {worse} the mean at some times it was {better} "
        "it at others"
    )


def treated_worst(
    worst: Sequence[StakeholderAnswer],
    last: Sequence[StakeholderAnswer],
    terms: Terms,
    nobody: str | None = None,
) -> str:
    """Who was treated worst overall, and who is worst off at the end; of equals, all of them."""
    names, worse = [one.name for one in worst], terms.direction.worse
    if not worst:
        words = _nobody(terms) if nobody is None else nobody
    elif len(worst) == 1:
        one, share = join_tied(names), _share(worst, terms)
        words = f"Treated worst overall was {one}, {worse} the mean at {share}"
    else:
        everyone, share = join_tied(names), _share(worst, terms)
        words = f"Treated worst overall were {everyone}, each {worse} the mean at {share}"
    if not last:
        return f"{words}."
    deviation = terms.direction.signed(last[0].final_unfairness)
    lowest = [one.name for one in last]
    if lowest == names:
        return f"{words}, and also at the end ({deviation})."
    if not worst:
        verb = "is" if len(last) == 1 else "are"
        return (
            f"{words}; at the end {join_tied(lowest)} {verb} furthest {worse} the mean "
            f"({deviation})."
        )
    verb = "it is" if len(last) == 1 else "they are"
    return f"{words}; at the end {verb} {join_tied(lowest)} ({deviation})."


def _share(worst: Sequence[StakeholderAnswer], terms: Terms) -> str:
    """How often they were on the worse side of the mean, and how far from it on average."""
    shares = sorted(one.share_below for one in worst)
    deviation = sorted(one.overall_unfairness / max(one.assessments, 1) for one in worst)
    share = _range([f"{shares[0]:.0%}", f"{shares[-1]:.0%}"])
    distance = _range([terms.direction.signed(one) for one in (deviation[-1], deviation[0])])
    return f"{share} of the assessments ({distance} from the mean on average)"


def _range(ends: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys(ends))


def off_share(stakeholders: Sequence[StakeholderAnswer], terms: Terms) -> list[str]:
    """Who is furthest off its share in amounts at the end: not always the worst off per unit."""
    names, most = most_off_share(stakeholders)
    if not names:
        return []
    several = len(names) > 1
    others = "" if several else ", the most of all"
    return [f"At the end {join_tied(names)} {terms.off_share(most, several)}{others}."]


def most_off_share(stakeholders: Sequence[StakeholderAnswer]) -> tuple[list[str], float]:
    """Those furthest off their share in amounts at the end, and by how much."""
    known = [
        (one.name, one.short_of_share)
        for one in stakeholders
        if one.short_of_share is not None and one.short_of_share > 0
    ]
    most = max((amount for _, amount in known), default=0.0)
    return sorted(name for name, amount in known if amount >= most * (1 - EQUAL)), most


def changes(stakeholders: tuple[StakeholderAnswer, ...]) -> list[str]:
    """Those whose sign changed between over all and the end."""
    made_good = [one.name for one in stakeholders if one.made_good]
    fell = [one.name for one in stakeholders if one.fell_behind]
    words = []
    if made_good:
        words.append(f"Behind overall, but recovered by the end: {join_names(made_good)}.")
    if fell:
        words.append(f"Not behind overall, but behind at the end: {join_names(fell)}.")
    return words


# An answer as a few sentences that can be quoted as they stand, and where each comes from.

DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?: .*)?")


class Quantity(NamedTuple):
    """A number of the answer, and how it is written."""

    value: float
    text: str

    @classmethod
    def of(cls, value: float) -> Quantity:
        return cls(value, format_number(value))

    @classmethod
    def share(cls, value: float) -> Quantity:
        return cls(value, f"{value:.0%}")


class Called(NamedTuple):
    """Stakeholders that share a place, by their names."""

    names: tuple[str, ...]


class Sentence(NamedTuple):
    """Words, numbers and names; `source` is the section of the page that has the numbers."""

    parts: tuple[str | Quantity | Called, ...]
    source: str

    @property
    def text(self) -> str:
        return "".join(map(_as_text, self.parts))


def _as_text(part: str | Quantity | Called) -> str:
    if isinstance(part, Quantity):
        return part.text
    return join_tied(part.names) if isinstance(part, Called) else part


def summary(answer: Answer) -> tuple[Sentence, ...]:
    """How even it was, to whom it was not, how it ended, and what changed."""
    return (how_even(answer), *_unfair(answer))


def _unfair(answer: Answer) -> Iterator[Sentence]:
    if not answer.overall.unequal_assessments or answer.as_even_as_whole_units:
        return
    yield _worst(answer)
    yield from _end(answer)
    yield from _changes(answer)


def how_even(answer: Answer) -> Sentence:
    """What was judged, from when until when, and at how many assessments it was uneven."""
    overall, direction = answer.overall, answer.terms.direction
    judged = answer.presentation
    begins = (
        f"{_span(overall.first, overall.last)}, {judged.subject} among ",
        Quantity.of(len(answer.by_stakeholder)),
        f" {judged.judged} was ",
    )
    runs = () if answer.runs is None else (" (on average over ", Quantity.of(answer.runs), " runs)")
    times = Quantity.of(overall.assessments)
    many = "assessment" if overall.assessments == 1 else "assessments"
    looked = f" {many} ({answer.question})"
    if answer.as_even_as_whole_units:
        found: tuple[str | Quantity, ...] = (
            *("as even as whole units allow: at none of ", times, looked, *runs),
            " was anybody a whole unit from its share.",
        )
    elif not overall.unequal_assessments:
        found = (
            *("even: at none of ", times, looked, *runs),
            f" was anybody {direction.worse} {answer.terms.mean}.",
        )
    else:
        found = (
            *("uneven: at ", Quantity.of(overall.unequal_assessments), " of ", times, looked),
            *(*runs, f" somebody was {direction.worse} {answer.terms.mean}."),
        )
    return Sentence((*begins, *found), "over-time")


def _worst(answer: Answer) -> Sentence:
    direction = answer.terms.direction
    worst = [answer.stakeholder(name) for name in answer.treated_worst]
    if not worst:
        words = (
            f"Over all assessments nobody was behind: whoever was {direction.worse} the mean at "
            f"some times was as far {direction.better} it at others."
        )
        return Sentence((words,), "heatmap")
    called = Called(tuple(one.name for one in worst))
    far = average_distance(worst[0])
    if len(worst) > 1:
        begins: tuple[str | Quantity | Called, ...] = ("Treated worst, all alike, were ", called)
        each = "each " if len({one.assessments for one in worst}) == 1 else "up to "
        far = max(map(average_distance, worst))
    else:
        begins, each = ("Treated worst was ", called), ""
    parts = (
        *(*begins, f": on average {each}", Quantity.of(far), _measured(answer)),
        f" {direction.worse} the mean",
    )
    if len(worst) == 1:
        share = Quantity.share(worst[0].share_below)
        parts = (*parts, f", and {direction.worse} it at ", share, " of its assessments")
    return Sentence((*parts, "."), "heatmap")


def average_distance(one: StakeholderAnswer) -> float:
    """How far on the worse side of the mean somebody was, on average over its assessments."""
    return -one.overall_unfairness / max(one.assessments, 1)


def _end(answer: Answer) -> Iterator[Sentence]:
    worse, last = answer.terms.direction.worse, answer.worst_at_end
    if not last:
        yield Sentence((f"At the end nobody was {worse} the mean.",), "heatmap")
        return
    far = Quantity.of(-answer.stakeholder(last[0]).final_unfairness)
    if last == answer.treated_worst:
        who = "it was" if len(last) == 1 else "they were"
        begins: tuple[str | Called, ...] = (f"At the end too {who} furthest {worse}, by ",)
    else:
        verb = "was" if len(last) == 1 else "were"
        begins = (f"At the end the furthest {worse} the mean {verb} ", Called(last), ", by ")
    yield Sentence((*begins, far, f"{_measured(answer)}."), "heatmap")
    yield from _short(answer)


def _short(answer: Answer) -> Iterator[Sentence]:
    """Who lacks most of its share in amounts, or of harms has most more than that."""
    names, most = most_off_share(answer.by_stakeholder)
    if not names:
        return
    behind_number, behind_share = answer.terms.units
    several = len(names) > 1
    share = f"{'their' if several else 'its'} share{behind_share}"
    if answer.terms.direction.less_is_better:
        verb, off = "each had " if several else "had ", f"{behind_number} more than {share}"
    else:
        verb, off = "were each " if several else "was ", f"{behind_number} short of {share}"
    end = "." if several else ", the most of all."
    parts = ("At the end ", Called(tuple(names)), f" {verb}", Quantity.of(most), f"{off}{end}")
    yield Sentence(parts, "heatmap")


def _changes(answer: Answer) -> Iterator[Sentence]:
    recovered = sum(one.made_good for one in answer.by_stakeholder)
    fell = sum(one.fell_behind for one in answer.by_stakeholder)
    if not recovered and not fell:
        return
    everyone = (Quantity.of(len(answer.by_stakeholder)), f" {answer.presentation.judged}")
    parts: tuple[str | Quantity, ...] = ()
    if recovered:
        verb = "was" if recovered == 1 else "were"
        end = f" {verb} behind overall but had recovered by the end"
        parts = (Quantity.of(recovered), " of the ", *everyone, end)
    if fell:
        verb = "was" if fell == 1 else "were"
        joint = (", and ", Quantity.of(fell)) if recovered else (Quantity.of(fell), " of the ")
        parts = (*parts, *joint, *(() if recovered else everyone))
        parts = (*parts, f" {verb} not behind overall but {verb} at the end")
    yield Sentence((*parts, "."), "recovered")


def _measured(answer: Answer) -> str:
    """What stands behind a number to say what it is of."""
    measure = answer.presentation.measure
    return "" if measure is None else f" {measure}"


def _span(first: str, last: str) -> str:
    """From when until when, with dates in words.

    >>> _span("2021-01-12", "2021-05-08"), _span("1", "4"), _span("2021-03-31", "2021-03-31")
    ('From 12 January 2021 to 8 May 2021', 'From time 1 to time 4', 'On 31 March 2021')
    """
    dates = DATE.fullmatch(first) is not None and DATE.fullmatch(last) is not None
    if first == last:
        return f"On {_day(first)}" if dates else f"At time {first}"
    if dates:
        return f"From {_day(first)} to {_day(last)}"
    return f"From time {first} to time {last}"


def _day(label: str) -> str:
    match = DATE.fullmatch(label)
    if match is None:
        return label
    year, month, day = map(int, match.groups())
    return f"{day} {MONTHS[month - 1].capitalize()} {year}"


# What the figures of an answer are called where people read them: title, unit, columns.

# What each column of the log is for, in the words of a page.
COLUMNS = {
    "stakeholder": "who",
    "time": "when",
    "amount": "how much",
    "out_of": "out of how many",
    "asked": "asked for",
    "entitlement": "entitled to",
    "wait_to": "until when",
    "group": "group",
    "run": "run",
}

# What is judged of requests; of those who wait it is what they received.
REQUESTS: dict[type[Status] | None, str] = {
    ShareMet: "the share of requests that was met",
    Shortfall: "what was asked for and not met",
}


@dataclass(frozen=True)
class Presentation:
    """The words that an answer is presented with."""

    title: str | None = None
    description: str | None = None
    unit: str | None = None  # that was given for amounts
    measure: str | None = None  # what statuses are counted in, where that has a name
    subject: str = "the distribution"  # of what was judged, as a sentence begins
    judged: str = "stakeholders"  # or groups
    columns: tuple[tuple[str, str], ...] = ()  # what each is for, and its name in the log

    @classmethod
    def of(cls, options: AuditOptions, columns: Collection[str]) -> Presentation:
        """From what was asked, and the columns that the log has."""
        return cls(
            title=options.title,
            description=options.description,
            unit=options.unit,
            measure=_measure(options, columns),
            subject=_subject(options),
            judged="groups" if options.by_group else "stakeholders",
            columns=tuple(_named_columns(options, columns)),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "description": self.description,
            "unit": self.unit,
            "columns": dict(self.columns),
        }


def _measure(options: AuditOptions, columns: Collection[str]) -> str | None:
    """What statuses are counted in; a share of something has no unit."""
    is_share = options.out_of is not None or options.within is not None
    if is_share or _of_requests(options) is ShareMet:
        return None
    if options.waits or options.scheme is not None:
        return options.unit
    unit = options.unit or options.amount or "events"
    if options.entitlement is None:
        return unit
    own = options.entitlement if options.entitlement in columns else "entitlement"
    return f"{unit} per unit of {own}"


def _of_requests(options: AuditOptions) -> type[Status] | None:
    """How requests are judged, where they are: as the scheme's status says, or else the option."""
    own = read_beside(options.status())
    return type(own) if isinstance(own, OfRequests) else options.request_status


def _subject(options: AuditOptions) -> str:
    """What was judged, at the beginning of a sentence."""
    amounts = options.unit or options.amount or "events"
    if options.within is not None:
        found = f"the share of waits of at most {options.within}"
    elif options.waits:
        found = "the longest open wait" if options.longest_open else "the mean wait"
    elif options.out_of is not None:
        found = f"the rate of {options.amount or 'events'} out of {options.out_of}"
    elif (asked := _of_requests(options)) in REQUESTS:
        found = REQUESTS[asked]
    elif options.stock:
        found = f"the level of {amounts}"
    else:
        found = f"the distribution of {amounts}"
    if options.entitlement is not None:
        found += " by entitlement"
    return f"{found} (less is better)" if options.lower_is_better else found


def _named_columns(options: AuditOptions, columns: Collection[str]) -> list[tuple[str, str]]:
    found = []
    for role, words in COLUMNS.items():
        given = getattr(options, role)
        names = given if isinstance(given, list | tuple) else [given]
        found += [(words, name) for name in names if isinstance(name, str) and name in columns]
    return found
