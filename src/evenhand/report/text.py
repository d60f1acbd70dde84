"""An answer as tables of text: what a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from evenhand._util.wording import format_number, join_tied, short_number
from evenhand.auditing.answer import Answer, StakeholderAnswer
from evenhand.auditing.chance.finding import CANNOT_TELL, NotTested, sentences
from evenhand.auditing.compare_logs import LogComparison
from evenhand.auditing.judge import QuestionRow, WelfareReading
from evenhand.auditing.scoring import Ranking
from evenhand.auditing.verdict import Direction

SHOWN = 30  # stakeholders; of more than this the worst and the best half are shown
LAST = 12  # assessments shown

Cells = tuple[str, ...]
Write = Callable[..., str]  # a number as text


class TextTable(NamedTuple):
    """A title, the columns, and rows of text."""

    title: str
    columns: Cells
    rows: list[Cells]


def tables(answer: Answer, write: Write = short_number, shown: int = SHOWN) -> Iterator[TextTable]:
    """Stakeholders, the course over time, and where the verdict turns."""
    yield _stakeholders(answer, write, shown)
    course = answer.over_time
    if course.times and (answer.overall.assessments > 1 or course.unfinished is not None):
        yield _course(answer, write)
    yield question_table(answer.questions, write)


def chance(answer: Answer) -> str:
    """Whether chance alone could have done it, and what that does not mean."""
    found = answer.chance
    if found is None:
        return ""
    if isinstance(found, NotTested):
        return f"Not tested: {found.reason}."
    return " ".join([*sentences(found), CANNOT_TELL])


def _stakeholders(answer: Answer, write: Write, shown: int) -> TextTable:
    direction, amounts = answer.terms.direction, answer.has_amounts
    everyone = answer.by_stakeholder
    half = shown // 2
    chosen = everyone if len(everyone) <= shown else (*everyone[:half], *everyone[-half:])
    rows = [_stakeholder(one, direction, amounts, write) for one in chosen]
    worse = direction.worse
    off: Cells = (off_share_column(direction),) if amounts else ()
    off += ("unmet",) if answer.has_requests else ()
    columns = ("stakeholder", "status", "at end", *off, "overall", worse, "spell", "ranks", "")
    if len(everyone) > shown:
        gap: Cells = (f"… {len(everyone) - 2 * half:,} more", *[""] * (len(columns) - 1))
        rows.insert(half, gap)
    title = (
        f"To whom (treated worst first). At the end and overall: how far from {answer.terms.mean}, "
        f"{worse} 0 is unfair to it. {worse.capitalize()}: the share of assessments, and the "
        "longest spell of them in a row. Ranks at the end and overall, 1 is the most favoured."
    )
    return TextTable(title, columns, rows)


def off_share_column(direction: Direction) -> str:
    """The heading of the distances from the share in amounts."""
    return "over its share" if direction.less_is_better else "short of share"


def _stakeholder(
    one: StakeholderAnswer, direction: Direction, amounts: bool, write: Write
) -> Cells:
    short = one.short_of_share
    off: Cells = ("" if short is None else write(short),) if amounts else ()
    off += () if one.unmet is None else (write(one.unmet),)
    return (
        one.name,
        write(direction.as_logged(one.final)),
        write(direction.as_logged(one.final_unfairness), True),
        *off,
        write(direction.as_logged(one.overall_unfairness), True),
        f"{one.share_below:.0%}",
        f"{one.longest_spell:,}",
        f"{one.rank_final}, {one.rank_overall}",
        "recovered" if one.made_good else "fell behind" if one.fell_behind else "",
    )


def _course(answer: Answer, write: Write) -> TextTable:
    table, shown, direction = answer.over_time, LAST, answer.terms.direction
    rows = []
    for k in range(max(0, len(table.times) - shown), len(table.times)):
        welfare = None if table.welfare is None else float(table.welfare[k])
        ranking = table.ranking(k)
        rows.append(_moment(table.times[k], welfare, ranking, table.names, direction, write))
    if table.unfinished is not None:
        last = table.unfinished
        name = f"{last.time} (unfinished, not scored)"
        rows.append(_moment(name, last.welfare, answer.at_end, table.names, direction, write))
    which = (
        ""
        if len(table.times) <= shown
        else f", the last of {format_number(answer.overall.assessments)}"
    )
    worse, better = f"most {direction.worse}", f"most {direction.better}"
    columns = ("when", "welfare", worse, "by", better, "by")
    return TextTable(f"When{which}", columns, rows)


def _moment(
    time: str,
    welfare: float | None,
    ranking: Ranking,
    names: Cells,
    direction: Direction,
    write: Write,
) -> Cells:
    cells = [time, "" if welfare is None else write(welfare)]
    for places in (ranking.lowest, ranking.highest):
        far = ""
        if places:
            far = write(direction.as_logged(float(ranking.deviation[places[0]])), True)
        cells += [join_tied([names[place] for place in places]), far]
    return tuple(cells)


def question_table(questions: tuple[QuestionRow, ...], write: Write = short_number) -> TextTable:
    """One row per question, one column per welfare function."""
    names = list(dict.fromkeys(r.welfare for row in questions for r in row.readings))
    rows = []
    for row in questions:
        readings = {reading.welfare: reading for reading in row.readings}
        cells = [_reading(readings[name], write) if name in readings else "" for name in names]
        worst = f"{'≠ ' if row.turns else ''}{join_tied(row.all_worst)}"
        asked = f"→ {row.question}" if row.asked else row.question
        rows.append(
            (
                asked,
                f"{format_number(row.unequal)} of {format_number(row.assessments)}",
                worst,
                *cells,
            )
        )
    title = (
        "Does the verdict depend on the question? Who is treated worst under each question, the "
        "score by each welfare, and whether it is that of an even log (=) or not (<). → is the "
        "question asked; ≠ marks a verdict that is not as in it."
    )
    return TextTable(title, ("question", "unequal", "treated worst", *names), rows)


def _reading(reading: WelfareReading, write: Write) -> str:
    if reading.score is None:
        return "undefined"
    sign = {True: "= ", False: "< ", None: ""}[reading.even]
    return f"{'≠ ' if reading.turns else ''}{sign}{write(reading.score)}"


def side_by_side(comparison: LogComparison) -> TextTable:
    """Both scores of each question and welfare, and which log is fairer."""
    rows = []
    for match in comparison.questions:
        scores = ("undefined" if s is None else format_number(s) for s in match.scores)
        fairer = f"{'≠ ' if match.turns else ''}{match.fairer or 'equal'}"
        asked = f"→ {match.question}" if match.asked else match.question
        rows.append((asked, match.welfare, *scores, fairer))
    labels = (comparison.first.label, comparison.second.label)
    title = "Side by side. → is the question asked; ≠ marks where the verdict is not as in it"
    return TextTable(title, ("question", "welfare", *labels, "fairer"), rows)
