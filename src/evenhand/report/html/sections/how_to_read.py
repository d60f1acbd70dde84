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
            "Its status minus the mean status of all who were present. Below 0 is unfair to it, "
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
            "Recovered: behind overall, but not below the mean at the end. Fell behind: not behind "
            "overall, but below the mean at the end.",
            None,
        ),
        (
            "Spell",
            "Successive assessments at which a stakeholder was below the mean. It is compensated "
            "at the first assessment after the spell at which it is at or above the mean.",
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
    """The sentence of the scheme's description that defines the status."""
    return f"{answer.scheme.describe().split('. ')[0].rstrip('.')}."


def _over_time(answer: Answer) -> str:
    last = answer.scheme.describe().rstrip(".").split(". ")[-1]
    return f"{last}."
