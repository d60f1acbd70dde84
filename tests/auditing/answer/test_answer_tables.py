"""The tables of an answer as data frames of any backend, with the numbers of the answer."""

from __future__ import annotations

import math

import narwhals as nw
import pandas as pd
import pytest

from evenhand.auditing import audit
from evenhand.auditing.answer import answer_tables
from evenhand.errors import BadParameter, MissingExtra, UnknownStakeholder
from logs import MAPPED

ROWS = [
    ("2021-01-31", "A", 3),
    ("2021-01-31", "time", 1),
    ("2021-02-28", "welfare", 5),
    ("2021-03-31", "A", 1),
]
ANSWER = audit(
    pd.DataFrame(ROWS, columns=["date", "country", "doses"]),
    **MAPPED,
    every="month",
    welfare="rawls",
    roster=["A", "time", "welfare"],
)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_the_same_numbers_in_every_backend(backend):
    pytest.importorskip(backend)
    frame = nw.from_native(ANSWER.to_frame("stakeholders", backend), eager_only=True)
    assert frame.implementation.name.lower() == backend
    assert frame["name"].to_list() == [one.name for one in ANSWER.by_stakeholder]
    assert frame["overall_unfairness"].to_list() == [
        one.overall_unfairness for one in ANSWER.by_stakeholder
    ]
    assert frame["rank_final"].to_list() == [one.rank_final for one in ANSWER.by_stakeholder]
    assert frame.schema["rank_final"] == nw.Int64
    assert frame.schema["entitlement"] == nw.Float64  # though nobody has one
    assert frame.schema["group"] == nw.String
    over = nw.from_native(ANSWER.to_frame("over_time", backend), eager_only=True)
    assert over.columns == ["time", "welfare", "mean", "stakeholder", "unfairness"]
    assert len(over) == 9
    # After January A has 3, "time" 1 and "welfare" 0: the mean is 4/3.
    first = over.rows()[:3]
    assert [row[0] for row in first] == ["2021-01"] * 3
    assert [row[3] for row in first] == ["A", "time", "welfare"]
    assert [row[4] for row in first] == pytest.approx([5 / 3, -1 / 3, -4 / 3])
    assert {row[2] for row in first} == {4 / 3}
    asked = nw.from_native(ANSWER.to_frame("questions", backend), eager_only=True)
    assert asked["question"][0] == "every month"
    assert asked["score"][0] == pytest.approx(ANSWER.score)
    assert len(asked) == sum(len(row.readings) for row in ANSWER.questions)


def test_those_who_are_not_there_have_no_unfairness():
    roster = pd.DataFrame({"country": ["A", "B"], "from": ["2021-01-01", "2021-02-15"]})
    log = pd.DataFrame(
        [("2021-01-31", "A", 1), ("2021-02-28", "B", 1)], columns=["date", "country", "doses"]
    )
    frame = audit(log, **MAPPED, every="month", roster=roster, welfare="rawls").to_frame(
        "over_time", "pandas"
    )
    assert math.isnan(frame["unfairness"][1])
    assert not math.isnan(frame["unfairness"][3])


def test_what_cannot_be_made_is_refused_by_name(monkeypatch):
    with pytest.raises(BadParameter, match="did you mean 'over_time'"):
        ANSWER.to_frame("overtime")
    with pytest.raises(BadParameter, match="`backend`: Unsupported backend: 'nonsense'"):
        ANSWER.to_frame(backend="nonsense")
    with pytest.raises(BadParameter, match="lazy-only"):
        ANSWER.to_frame(backend="duckdb")
    with pytest.raises(MissingExtra, match="`backend` is 'modin', which is not installed"):
        ANSWER.to_frame(backend="modin")
    monkeypatch.setattr(answer_tables.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="none of pandas, polars, pyarrow is installed"):
        ANSWER.to_frame()


def test_a_frame_is_of_what_is_installed(monkeypatch):
    assert isinstance(ANSWER.to_frame(), pd.DataFrame)
    polars = pytest.importorskip("polars")
    find = answer_tables.importlib.util.find_spec
    monkeypatch.setattr(
        answer_tables.importlib.util,
        "find_spec",
        lambda name: None if name == "pandas" else find(name),
    )
    assert isinstance(ANSWER.to_frame(), polars.DataFrame)


def test_an_unknown_stakeholder_is_offered_the_nearest():
    with pytest.raises(UnknownStakeholder, match="no stakeholder 'tme': did you mean 'time'") as e:
        ANSWER.stakeholder("tme")
    assert (e.value.name, e.value.nearest) == ("tme", "time")
    with pytest.raises(UnknownStakeholder, match="check its spelling"):
        ANSWER.stakeholder("Ouagadougou")
