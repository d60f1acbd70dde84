"""How to read a report, how it was made, and its numbers for download."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence

from evenhand.auditing.answer import Answer
from evenhand.auditing.verdict import Direction
from evenhand.report.html.element import Child, Markup, element, figure_of, joined, labelled_list
from evenhand.report.html.page_data import is_rounded, kept_assessments

# How to read a report: the definitions of section 4, in words and as formulas.


def how_to_read(answer: Answer) -> Markup:
    """Every term that the page uses, with the formula behind it."""
    direction = answer.terms.direction
    worse, better = direction.worse, direction.better
    terms: list[tuple[str, Child, Child]] = [
        (
            "Status",
            f"How well a stakeholder is doing at a time. {_status(answer)} {_shown(direction)}",
            (_v("U", "i"), "(", _v("τ", "t"), ")"),
        ),
        *_claims(answer),
        (
            "Unfairness to a stakeholder",
            f"Its status minus {answer.terms.mean} of all who were present. As shown, {worse} 0 is "
            f"unfair to it, {better} 0 is in its favour.",
            (
                _v("u", "i"),
                "(",
                _v("τ", "t"),
                ") = ",
                _v("U", "i"),
                "(",
                _v("τ", "t"),
                ") − (1/",
                _v("n"),
                ") · Σ",
                element("sub", None, _v("j")),
                " ",
                (_v("w", "j"), " ") if answer.scheme.status.weighs else None,
                _v("U", "j"),
                "(",
                _v("τ", "t"),
                ")",
            ),
        ),
        (
            "Overall unfairness",
            "The sum of a stakeholder's unfairness over the assessments. A later advantage offsets "
            "an earlier disadvantage only if it is as large and lasts as long.",
            (
                "Σ",
                element("sub", None, _v("t"), " assessed"),
                " ",
                _v("u", "i"),
                "(",
                _v("τ", "t"),
                ")",
            ),
        ),
        (
            "Final unfairness",
            "The unfairness at the end of the log, including an unfinished last period.",
            (_v("u", "i"), "(", _v("τ", "T"), ")"),
        ),
        (
            "Assessment",
            f"A time at which fairness is judged. Here: {answer.question}.",
            (_v("B"), "(", _v("τ", "t"), ") = true"),
        ),
        (
            "Welfare",
            "The statuses at one assessment as one number. The welfare function is a choice; the "
            "table of questions shows the results of others. log_nash is the sum of the logarithms "
            "of status + 1, rawls the status of the worst-off, gini the mean reduced by "
            "inequality, utilitarian the sum, which does not depend on the distribution.",
            (_v("w", "t"), " = ", _v("W"), "(", _v("U", "1"), ", …, ", _v("U", "n"), ")"),
        ),
        (
            "Score",
            f"The welfare of all assessments as one number. {_over_time(answer)}",
            (
                _v("F"),
                "(",
                _v("τ"),
                ") = ",
                _v("W"),
                element("sub", None, "temporal"),
                "(",
                _v("w", "t"),
                " : ",
                _v("t"),
                " assessed)",
            ),
        ),
        (
            "Even log",
            "The same amounts at the same times, with everyone at the mean at each assessment. A "
            "score equal to that of the even log does not distinguish the two.",
            None,
        ),
        (
            "Recovered (made good), fell behind",
            f"Recovered: behind overall, but not {worse} the mean at the end. Fell behind: not "
            f"behind overall, but {worse} the mean at the end.",
            None,
        ),
        (
            "Spell",
            f"Successive assessments at which a stakeholder was {worse} the mean. It is "
            f"compensated at the first assessment after the spell at which it is at or {better} "
            "the mean.",
            None,
        ),
    ]
    return element("dl", {"class": "terms"}, (_term(*term) for term in terms))


def _shown(direction: Direction) -> str:
    if direction.less_is_better:
        return (
            "Less of what was logged is better, so welfare and score take it with a minus; "
            "statuses, means and distances are shown as logged."
        )
    return "Higher is better."


def _claims(answer: Answer) -> Iterator[tuple[str, Child, Child]]:
    """What weights are, and what a distance is in amounts, where sizes or chances are known."""
    people = answer.by_stakeholder
    rates = any(one.chances is not None for one in people)
    if not rates and all(one.entitlement is None for one in people):
        return
    if not answer.scheme.status.weighs:
        yield (
            "Weights",
            "None: all are counted alike, whatever they are entitled to. The mean is that of the "
            "statuses per unit, so a small stakeholder moves it as much as a large one.",
            None,
        )
        return
    words = (
        "Whoever had c chances counts as c equal stakeholders who had one each; whoever had none "
        "yet is not judged."
        if rates
        else "Whoever is entitled to c counts as c equal stakeholders entitled to one each."
    )
    yield (
        "Weights",
        f"{words} Distances are from {answer.terms.mean}.",
        (
            *(_v("w", "i"), " = ", _v("n"), " · ", _v("c", "i"), " / Σ"),
            *(element("sub", None, _v("j")), " ", _v("c", "j")),
        ),
    )
    if answer.has_amounts:
        harms = answer.terms.direction.less_is_better
        yield (
            "Over its share" if harms else "Short of its share",
            f"The unfairness at the end in amounts: how much {'more' if harms else 'less'} it has "
            "than it would have at the mean.",
            ("−", _v("c", "i"), " · ", _v("u", "i"), "(", _v("τ", "T"), ")"),
        )


def _term(name: str, words: Child, formula: Child) -> Markup:
    return element(
        "div",
        None,
        element("dt", None, name),
        element("dd", None, words),
        None if formula is None else element("dd", {"class": "formula"}, formula),
    )


def _v(letter: str, index: str | None = None) -> Markup:
    """A variable, with an index."""
    below = None if index is None else element("sub", None, element("i", None, index))
    return element("span", None, element("i", None, letter), below)


def _status(answer: Answer) -> str:
    """The sentence of the scheme's description that defines the status."""
    return f"{answer.scheme.describe().split('. ')[0].rstrip('.')}."


def _over_time(answer: Answer) -> str:
    last = answer.scheme.describe().rstrip(".").split(". ")[-1]
    return f"{last}."


# How a page was made, so that it can be made again; and its numbers for download.

SHEETS = (
    ("stakeholders", "Stakeholders (CSV)"),
    ("over_time", "Over time (CSV)"),
    ("questions", "Questions (CSV)"),
)


def how_made(answers: Sequence[Answer], made: datetime.datetime | None) -> Markup:
    """Command, version, time, and the fingerprints of the input and of what was judged."""
    first = answers[0].origin
    rows: list[tuple[Child, Child]] = []
    if "command" in first:
        rows.append(("Command", element("code", None, first["command"])))
    rows.append(("Version", f"evenhand {first.get('version', '')}"))
    if made is not None:
        moment = made.astimezone(datetime.UTC)
        rows.append(("Time", f"{moment:%Y-%m-%d %H:%M:%S} UTC"))
    for answer in answers:
        rows += _input(answer)
    columns = answers[0].presentation.columns
    if columns:
        words = (f"{role}: {name}" for role, name in columns)
        rows.append(("Columns of the log", joined(element("div", None, one) for one in words)))
    return joined((labelled_list(rows), downloads(answers)))


def _input(answer: Answer) -> list[tuple[Child, Child]]:
    origin = answer.origin
    rows: list[tuple[Child, Child]] = []
    for file in origin.get("files", ()):
        digest = element("code", None, file["sha256"] or "not computed: a large file")
        words = (element("code", None, file["path"]), ", ", figure_of(file["bytes"]), " bytes")
        rows.append(("Input", words))
        rows.append(("Its SHA-256", digest))
    if "rows" in origin:
        rows.append(
            (
                "Read",
                (figure_of(origin["rows"]), " rows, ", figure_of(origin["events"]), " events"),
            )
        )
    if "fingerprint" in origin:
        digest = element("code", None, origin["fingerprint"])
        rows.append(("Fingerprint of what was judged", digest))
    return rows


def downloads(answers: Sequence[Answer]) -> Markup:
    """The numbers in the page, as files."""
    buttons = [_button("json", "All numbers (JSON)", None)]
    for log in range(len(answers)):
        which = f", log {log + 1}" if len(answers) > 1 else ""
        buttons += [_button(kind, f"{label}{which}", log) for kind, label in SHEETS]
    less = [
        f"Unfairness over time is included for {len(kept_assessments(answer)):,} assessments, with "
        "seven digits relative to the largest value; evenhand audit --json has all."
        for answer in answers
        if is_rounded(answer)
    ]
    return joined(
        (
            element("h3", None, "The numbers"),
            element("p", None, "They are in this file and can be saved from it. ", *less[:1]),
            element("div", {"class": "controls saves"}, buttons),
            element(
                "noscript",
                None,
                element(
                    "p",
                    None,
                    "Saving needs this page's script, which is not running; --json and --csv "
                    "write the same numbers.",
                ),
            ),
        )
    )


def _button(kind: str, label: str, log: int | None) -> Markup:
    attributes = {"type": "button", "data-save": kind, "data-log": log, "disabled": True}
    return element("button", attributes, label)
