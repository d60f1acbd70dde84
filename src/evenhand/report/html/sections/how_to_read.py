"""How to read a report: the definitions of section 4, in words and as formulas."""

from __future__ import annotations

from evenhand.auditing.answer.answer import Answer
from evenhand.report.html.element import Child, Markup, element


def how_to_read(answer: Answer) -> Markup:
    """Every term that the page uses, with the formula behind it."""
    terms: list[tuple[str, Child, Child]] = [
        (
            "Status",
            f"How well a stakeholder is doing at a time, higher is better. {_status(answer)}",
            (_v("U", "i"), "(", _v("τ", "t"), ")"),
        ),
        (
            "Unfairness to a stakeholder",
            "Its status minus the mean status of all who were there. Below 0 is unfair to it, "
            "above 0 is in its favour.",
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
                _v("U", "j"),
                "(",
                _v("τ", "t"),
                ")",
            ),
        ),
        (
            "Over all",
            "The sum of a stakeholder's unfairness over the assessments: a debt that later gifts "
            "pay back only if they are as large and last as long.",
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
            "At the end",
            "The unfairness when the log ends, a last unfinished period included.",
            (_v("u", "i"), "(", _v("τ", "T"), ")"),
        ),
        (
            "Assessment",
            f"A time at which one looks. Here: {answer.question}.",
            (_v("B"), "(", _v("τ", "t"), ") = true"),
        ),
        (
            "Welfare",
            "The statuses at one assessment as one number; which one is a choice, and the table of "
            "questions shows what others say. log_nash is the sum of the logarithms of status + 1, "
            "rawls the status of the worst-off, gini the mean lowered by inequality, utilitarian "
            "the sum, which cannot tell who got what.",
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
            "The same amounts at the same times, had everyone had the mean at each assessment. A "
            "score that equals the even one cannot tell this log from that one.",
            None,
        ),
        (
            "Made good, fell behind",
            "Made good: behind over all, but not below the mean at the end. Fell behind: the "
            "reverse.",
            None,
        ),
        (
            "Spell",
            "Assessments in a row at which somebody was below the mean. Somebody is compensated at "
            "the first assessment after a spell at which they are at the mean or above it.",
            None,
        ),
    ]
    return element("dl", {"class": "terms"}, (_term(*term) for term in terms))


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
    """The sentence of the scheme's description that says what a status is."""
    return f"{answer.scheme.describe().split('. ')[0].rstrip('.')}."


def _over_time(answer: Answer) -> str:
    last = answer.scheme.describe().rstrip(".").split(". ")[-1]
    return f"{last}."
