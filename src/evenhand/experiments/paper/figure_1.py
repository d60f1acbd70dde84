"""Figure 1 as an audit: two ways to ship 80,000 vaccines, judged month by month and at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evenhand.auditing import audit
from evenhand.auditing.answer.answer import Answer
from evenhand.experiments.paper.claims import Finding

MONTHS = ("2021-01-31", "2021-02-28", "2021-03-31", "2021-04-30")
PROCESSES: dict[str, tuple[tuple[str, str, int], ...]] = {
    "A first, then B": tuple(
        (month, country, 20_000) for month, country in zip(MONTHS, "AABB", strict=True)
    ),
    "side by side": tuple((month, country, 10_000) for month in MONTHS for country in "AB"),
}


def audit_shipments(rows: Iterable[tuple[str, str, int]], **question: Any) -> Answer:
    """Judge a log of shipments: when, to whom, how many."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE log (day DATE, country VARCHAR, doses BIGINT)")
        connection.executemany("INSERT INTO log VALUES (?, ?, ?)", [list(row) for row in rows])
        columns: dict[str, Any] = {"stakeholder": "country", "time": "day", "amount": "doses"}
        return audit(connection.table("log"), **columns, welfare="parity", **question)


def audits() -> dict[str, Answer]:
    """Both processes, assessed every month."""
    return {name: audit_shipments(rows, every="month") for name, rows in PROCESSES.items()}


CLAIM = "Both result in an equal distribution at the end; monthly, the first favours A for a time."


def check(found: dict[str, Answer]) -> Finding:
    """Whether the audits say what the caption of Figure 1 says."""
    first, second = found.values()
    at_end = [max(abs(one.final_unfairness) for one in a.by_stakeholder) for a in (first, second)]
    behind = [a.overall.unequal_assessments for a in (first, second)]
    favoured = max(first.by_stakeholder, key=lambda one: one.overall_unfairness).name
    held = at_end == [0, 0] and behind[1] == 0 < behind[0] and favoured == "A"
    months = first.overall.assessments
    return Finding(
        held,
        f"distance from the mean at the end: {at_end[0]:,.0f} and {at_end[1]:,.0f}; somebody is "
        f"behind in {behind[0]} and {behind[1]} of {months} months; mean gap "
        f"{-first.score:,.0f} and {abs(second.score):,.0f} doses; the first favours {favoured}",
    )
