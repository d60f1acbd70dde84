"""One code path: the same log as CSV, Parquet, JSON lines, pandas, Polars, Arrow and DuckDB."""

from __future__ import annotations

import datetime
import json

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from evenhand.cli.app import app
from evenhand.errors import BadLog, BadParameter
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, write
from logs import audit_alone as audit

ROWS = [
    (datetime.date(2021, 1, 5), "A", 1.5),
    (datetime.date(2021, 1, 31), "B", 2.0),
    (datetime.date(2021, 2, 3), "A", None),
    (datetime.date(2021, 2, 28), "C", 4.0),
]
COLUMNS = ["date", "country", "doses"]


def csv_file(folder):
    return write(folder / "log.csv", ROWS, COLUMNS)


def semicolons(folder):
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    frame.to_csv(folder / "log.tsv", sep="\t", index=False)
    return str(folder / "log.tsv")


def parquet_file(folder):
    pl.DataFrame(ROWS, COLUMNS, orient="row").write_parquet(folder / "log.parquet")
    return str(folder / "log.parquet")


def json_lines(folder):
    lines = [
        json.dumps({"date": str(date), "country": who, "doses": much}) for date, who, much in ROWS
    ]
    (folder / "log.jsonl").write_text("\n".join(lines))
    return str(folder / "log.jsonl")


def many_files(folder):
    for k, row in enumerate(ROWS):
        write(folder / f"part{k}.csv", [row], COLUMNS)
    return str(folder / "part*.csv")


def a_list_of_files(folder):
    return [write(folder / f"part{k}.csv", ROWS[k::2], COLUMNS) for k in range(2)]


def pandas_frame(folder):
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    return frame.assign(date=pd.to_datetime(frame.date))


def pandas_text(folder):
    return pd.DataFrame(ROWS, columns=COLUMNS).astype({"date": str})


def polars_frame(folder):
    return pl.DataFrame(ROWS, COLUMNS, orient="row")


def polars_lazy(folder):
    return polars_frame(folder).lazy()


def arrow_table(folder):
    return polars_frame(folder).to_arrow()


def duckdb_relation(folder):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE log (date DATE, country VARCHAR, doses DOUBLE)")
    connection.executemany("INSERT INTO log VALUES (?, ?, ?)", ROWS)
    return connection.table("log")


def zoned(folder):
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    return frame.assign(
        date=pd.to_datetime(frame.date).dt.tz_localize("Europe/Paris") + pd.Timedelta("6h")
    )


SOURCES = (
    *(csv_file, semicolons, parquet_file, json_lines, many_files, a_list_of_files, pandas_frame),
    *(pandas_text, polars_frame, polars_lazy, arrow_table, duckdb_relation, zoned),
)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_every_source_gives_the_same_answer(source, tmp_path):
    answer = audit(source(tmp_path), **MAPPED, every="month")
    assert answer.over_time.times == ("2021-01", "2021-02")
    assert {one.name: one.final for one in answer.by_stakeholder} == {"A": 1.5, "B": 2, "C": 4}
    mean = 3.5 / 3
    deviation = np.array([[1.5 - mean, 2 - mean, -mean], [-1.0, -0.5, 1.5]])
    assert answer.over_time.unfairness == pytest.approx(deviation)
    assert "1 row has an empty amount and is not an event." in answer.notes


def test_without_an_amount_every_row_counts_one():
    frame = pd.DataFrame({"at": [1, 1, 2], "who": ["A", "A", "B"]})
    answer = audit(frame, stakeholder="who", time="at")
    assert {one.name: one.final for one in answer.by_stakeholder} == {"A": 2, "B": 1}


def test_names_that_are_numbers_stay_as_they_are_written(tmp_path):
    path = write(tmp_path / "log.csv", [(1, "007", 1), (2, "7", 1)])
    assert {one.name for one in audit(path, **MAPPED).by_stakeholder} == {"007", "7"}
    frame = pd.DataFrame({"date": [1, 2], "country": [7, 8], "doses": [True, False]})
    assert {one.name: one.final for one in audit(frame, **MAPPED).by_stakeholder} == {
        "7": 1,
        "8": 0,
    }


def test_whoever_has_only_empty_amounts_appears_and_is_judged(tmp_path):
    path = write(tmp_path / "log.csv", [(1, "A", 4), (2, "B", None), (3, "A", 2)])
    answer = audit(path, **MAPPED)
    assert answer.overall.assessments == 2  # time 2 has no event left, so it is no time point
    assert answer.stakeholder("B").overall_unfairness == -2 - 3


def test_filters_apply_first(tmp_path):
    rows = [(1, "A", 1, "x"), ("soon", "B", 5, "y"), (2, "C", "many", "y"), (3, "A", 1, "x")]
    path = write(tmp_path / "log.csv", rows, ("date", "country", "doses", "kind"))
    answer = audit(path, **MAPPED, where="kind = 'x'")
    assert [one.name for one in answer.by_stakeholder] == ["A"]
    with pytest.raises(BadLog):
        audit(path, **MAPPED)
    answer = audit(path, **MAPPED, only=["A"])
    assert answer.overall.assessments == 2


def test_where_compares_dates_numbers_and_text():
    frame = pandas_frame(None)
    for where, names in (
        ("date >= '2021-02-01'", {"A", "C"}),
        ("date between '2021-01-31' and '2021-02-27' and doses is not null", {"B"}),
        ("month(date) = 1 and country in ('A', 'Z')", {"A"}),
        ("not (country = 'A' or doses * 2 > 7)", {"B"}),
        ("country like '%A%' and doses is not null", {"A"}),
        ("lower(country) <> 'a' and -doses < -3", {"C"}),
    ):
        assert {one.name for one in audit(frame, **MAPPED, where=where).by_stakeholder} == names


def test_when_looks_at_time_points_with_such_an_event():
    frame = pd.DataFrame(
        {
            "date": [1, 1, 2, 3, 4],
            "country": ["A", "B", "A", "B", "A"],
            "doses": [1, 1, 3, 1, 5],
            "kind": ["x", "stop", "x", "stop", None],
        }
    )
    answer = audit(frame, **MAPPED, when="kind = 'stop'", welfare="rawls")
    assert answer.over_time.times == ("1", "3")
    assert answer.score == (1 + 2) / 2
    assert answer.overall.unfinished == "4"


def test_what_is_no_table():
    with pytest.raises(BadParameter, match="not a int"):
        audit(7, **MAPPED)


def test_a_table_in_an_engine_of_its_own_is_read_there():
    """Spark and Ibis take this path: a lazy frame that stays in its engine."""
    relation = duckdb_relation(None)
    frame = nw.from_native(relation)
    assert (
        audit(frame, **MAPPED, every="month").score
        == audit(relation, **MAPPED, every="month").score
    )


def test_columns_are_offered_when_none_is_named(tmp_path):
    answer = CliRunner().invoke(app, ["audit", write(tmp_path / "log.csv", FIRST_A_THEN_B)])
    assert "'date', 'country', 'doses'" in str(answer.exception)
    answer = CliRunner().invoke(app, ["audit", "--help"], env={"COLUMNS": "200"})
    for option in (*OPTIONS[::2], "--roster", "--when", "--after-each", "--max-unfairness"):
        assert option in answer.output


def test_a_name_that_looks_like_a_pattern_is_a_name(tmp_path):
    """Another file that the name would match as a pattern is not read in its place."""
    for kind, end in (("csv", "csv"), ("parquet", "parquet"), ("ndjson", "jsonl")):
        for name, amount in (("a[1]", 2), ("a1", 9), ("a*", 3)):
            frame = pl.DataFrame({"who": ["A", "B"], "day": [1, 2], "much": [1, amount]})
            getattr(frame, f"write_{kind}")(tmp_path / f"{name}.{end}")
        for name, amount in (("a[1]", 2), ("a*", 3)):
            path = str(tmp_path / f"{name}.{end}")
            answer = audit(path, stakeholder="who", time="day", amount="much")
            assert answer.stakeholder("B").received == amount
