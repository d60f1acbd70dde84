"""The tables of an answer, as columns by name: for data frames and for CSV files."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from evenhand._util.wording import nearest
from evenhand.auditing.answer.answer import Answer, StakeholderAnswer
from evenhand.errors import BadParameter, MissingExtra, argument

BACKENDS = ("pandas", "polars", "pyarrow")  # the first that is installed is the default
KINDS_OF_FIELDS = {"str": nw.String, "float": nw.Float64, "int": nw.Int64, "bool": nw.Boolean}


class AnswerTable(NamedTuple):
    """Columns of equal length by name, and the type of each."""

    columns: dict[str, Any]
    types: dict[str, Any]

    def rows(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.columns.values(), strict=True))

    def to_frame(self, backend: Any = None) -> Any:
        """The table as a data frame of any backend that narwhals can make frames of."""
        if backend is None:
            backend = _installed()
        data = {name: list(values) for name, values in self.columns.items()}
        try:
            return nw.from_dict(data, self.types, backend=backend).to_native()
        except ModuleNotFoundError as error:
            raise MissingExtra(
                f"{argument('backend')} is {backend!r}, which is not installed: pip install "
                f"{error.name or backend}, or choose another."
            ) from None
        except ValueError as error:
            raise BadParameter(f"{argument('backend')}: {str(error).splitlines()[0]}") from None


def stakeholders(answer: Answer) -> AnswerTable:
    """One row per stakeholder, the worst treated overall first."""
    specs = fields(StakeholderAnswer)
    return AnswerTable(
        {s.name: [getattr(one, s.name) for one in answer.by_stakeholder] for s in specs},
        {s.name: KINDS_OF_FIELDS[str(s.type).removesuffix(" | None")] for s in specs},
    )


def over_time(answer: Answer) -> AnswerTable:
    """One row per assessment and stakeholder; the unfairness to those who are not there is NaN."""
    course, size = answer.over_time, len(answer.over_time.names)
    count = len(course.times)
    welfare = np.full(count, np.nan) if course.welfare is None else course.welfare
    columns = {
        "time": [time for time in course.times for _ in range(size)],
        "welfare": np.repeat(welfare, size),
        "mean": np.repeat(course.mean, size),
        "stakeholder": list(course.names) * count,
        "unfairness": course.unfairness.ravel(),
    }
    texts = ("time", "stakeholder")
    return AnswerTable(columns, {n: nw.String if n in texts else nw.Float64 for n in columns})


def questions(answer: Answer) -> AnswerTable:
    """One row per question and welfare function."""
    types = {
        "question": nw.String,
        "asked": nw.Boolean,
        "assessments": nw.Float64,
        "unequal_assessments": nw.Float64,
        "treated_worst": nw.String,
        "overall_unfairness": nw.Float64,
        "turns": nw.Boolean,
        "welfare": nw.String,
        "score": nw.Float64,
        "even_score": nw.Float64,
        "welfare_turns": nw.Boolean,
        "all_treated_worst": nw.String,
    }
    rows = [
        (
            *(row.question, row.asked, row.assessments, row.unequal, row.worst),
            *(row.worst_unfairness, row.turns, reading.welfare, reading.score),
            *(reading.even_score, reading.turns, "; ".join(row.all_worst)),
        )
        for row in answer.questions
        for reading in row.readings
    ]
    return AnswerTable(dict(zip(types, zip(*rows, strict=True), strict=True)), types)


TABLES: dict[str, Callable[[Answer], AnswerTable]] = {
    "stakeholders": stakeholders,
    "over_time": over_time,
    "questions": questions,
}


def to_frame(answer: Answer, kind: str, backend: Any) -> Any:
    """One of the tables as a data frame."""
    if kind not in TABLES:
        near = nearest(kind, TABLES)
        hint = "" if near is None else f": did you mean {near!r}?"
        raise BadParameter(
            f"{argument('kind')} is {kind!r}, and must be {' or '.join(map(repr, TABLES))}{hint}"
            f"{'' if hint else '.'}"
        )
    return TABLES[kind](answer).to_frame(backend)


def _installed() -> str:
    for name in BACKENDS:
        if importlib.util.find_spec(name) is not None:
            return name
    raise MissingExtra(
        f"a data frame needs a package for it, and none of {', '.join(BACKENDS)} is installed: pip "
        "install one of them."
    )
