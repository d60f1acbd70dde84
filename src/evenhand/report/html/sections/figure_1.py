"""Figure 1 on a page: what two countries have after each month, in two ways of shipping."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.auditing.answer.answer import Answer
from evenhand.report.html.element import Markup, element, figure_of, joined, table


def two_processes(found: Mapping[str, Answer]) -> Markup:
    """Both processes month by month: how far each country is from the mean, and the verdict."""
    first = next(iter(found.values())).over_time
    rows = [
        (
            f"{process}: {country}",
            *(figure_of(float(x), signed=True) for x in answer.over_time.unfairness[:, k]),
            figure_of(answer.stakeholder(country).overall_unfairness, signed=True),
        )
        for process, answer in found.items()
        for k, country in enumerate(answer.over_time.names)
    ]
    verdicts = (
        element(
            "p", None, element("b", None, f"{process[0].upper()}{process[1:]}. "), answer.verdict
        )
        for process, answer in found.items()
    )
    return joined(
        (
            verdicts,
            table(
                "Doses above (+) or below (−) the mean of the two at the end of each month; "
                "overall is their sum.",
                ("", *first.times, "overall"),
                rows,
            ),
        )
    )
