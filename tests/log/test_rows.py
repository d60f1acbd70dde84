"""Tests of log.rows."""

from __future__ import annotations

import datetime
import json
import shlex

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

from evenhand.cli.app import app
from evenhand.errors import BadLog, BadParameter
from evenhand.log.files import opened
from evenhand.log.rows import alike, look_at, one_spelling, plain_name
from logs import FIRST_A_THEN_B, MAPPED, OPTIONS, write
from logs import audit_alone as audit
from read_alone import audit as audit_name_spellings
from read_alone import rows_read

# A log of which no column is named: what each is taken for, and the command that is printed.

FRAMES = [
    (
        {"date": ["2021-01-31", "2021-02-28"], "country": ["A", "B"], "doses": [1, 2]},
        ["when", "who", "how much"],
        "--stakeholder country --time date --amount doses",
    ),
    (
        {
            "id": [1, 2, 3],
            "Council": ["X", "Y", "X"],
            "Quarter": ["2023-Q1", "2023-Q1", "2023-Q2"],
            "Spend": ["1.234,5", "<5", "7"],
            "Population": [10, 20, 10],
            "Type": ["city", "town", "city"],
        },
        [None, "who", "when", "how much", "size or population", "group"],
        "--stakeholder Council --time Quarter --amount Spend --group Type --entitlement Population",
    ),
    (
        {"Region": ["N", "S"], "2021": [1, 2], "2022": [3, 4], "Notes": ["", "late"]},
        ["who", "how much at that time", "how much at that time", None],
        "--wide time --stakeholder Region",
    ),
    (
        {"day": [1, 2, 2], "user": ["a", "b", "a"], "total_hours": [1, 1, 3]},
        ["when", "who", "how much"],
        "--stakeholder user --time day --amount total_hours --cumulative",
    ),
    (
        {"date": ["2021-01-31", "2021-02-28"], "Aland": [1, 2], "Bland": ["3", "*"]},
        ["when", "how much of that stakeholder", "how much of that stakeholder"],
        "--wide stakeholder --time date",
    ),
]


@pytest.mark.parametrize(("frame", "roles", "options"), FRAMES)
def test_what_columns_are_taken_for(frame, roles, options):
    with opened(pd.DataFrame(frame)) as table:
        found = look_at(table)
    assert [one.role for one in found.columns] == roles
    assert found.complete
    assert " ".join(found.options({})) == options


def test_the_command_runs_as_it_is_printed(tmp_path, run):
    path = tmp_path / "a log.csv"
    pd.DataFrame(FRAMES[0][0]).to_csv(path, index=False)
    code, out, err = run(str(path), "--json")
    assert (code, err.startswith("evenhand: say which column of")) == (2, True)
    found = json.loads(out)
    assert [one["taken_for"] for one in found["columns"]] == FRAMES[0][1]
    assert found["command"] == f"evenhand audit {shlex.quote(str(path))} {FRAMES[0][2]}"
    command = shlex.split(found["command"])[2:]
    assert run(*command, "--at-end", "--no-chance")[0] == 0


@pytest.mark.parametrize(
    "columns", [("date", "Aland"), ("date", "Aland", "population"), ("step", "Aland", "Bland")]
)
def test_numbers_that_may_be_something_else_are_not_taken_for_stakeholders(columns):
    frame = pd.DataFrame({name: [1, 2] for name in columns} | {columns[0]: ["x", "y"]})
    if columns[0] == "date":
        frame["date"] = ["2021-01-31", "2021-02-28"]
    with opened(frame) as table:
        assert look_at(table).wide is None


def test_a_column_for_each_stakeholder_is_noticed(tmp_path, refuses):
    path = write(tmp_path / "log.csv", [("2021-01-31", 1, 2)], columns=("date", "A", "B"))
    words = ("no column 'country' (--stakeholder)", "('A' and 'B')", "--wide stakeholder")
    refuses(words, path, *OPTIONS)


def test_dates_in_the_names_of_files_are_noticed(tmp_path, run):
    for day, who, doses in FIRST_A_THEN_B:
        write(tmp_path / f"{day}.csv", [(who, doses)], columns=("country", "doses"))
    code, out, _ = run(str(tmp_path / "*.csv"), "--json")
    assert code == 2
    command = shlex.split(json.loads(out)["command"])
    assert command[3:] == ["--time-from-name", "--stakeholder", "country", "--amount", "doses"]
    with opened(str(tmp_path / "2021-01-31.csv")) as table:
        assert not look_at(table).time_from_name  # one file is one moment


def test_what_is_given_is_kept_and_shown_with_values(tmp_path, run):
    path = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    code, out, err = run(path, "--stakeholder", "country")
    assert (code, "(--time)" in err) == (2, True)
    assert "20000" in out
    assert "Nothing was judged yet" in out
    assert "--stakeholder country --time date --amount doses" in out
    assert "'date', 'country', 'doses'" in run(path)[2]


def test_a_file_of_which_nothing_can_be_said(tmp_path, run):
    path = write(tmp_path / "log.csv", [("a",)], columns=("x",))
    code, out, err = run(path)
    assert (code, "run:" in out) == (2, False)
    assert "(--stakeholder)" in err


def test_a_column_whose_name_no_engine_gives_back(tmp_path, refuses):
    path = tmp_path / "odd.csv"
    path.write_bytes(b"\x00\x01\n1\n")
    refuses(("no column 'who'",), str(path), "--stakeholder", "who", "--time", "day")


# One code path: the same log as CSV, Parquet, JSON lines, pandas, Polars, Arrow and DuckDB.

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


# Names that differ only in capitals, spaces or accents.

ROWS_NAME_SPELLINGS = [
    ("2021-01-01", "São Paulo", 1),
    ("2021-01-02", "SAO  PAULO ", 2),
    ("2021-01-03", "sao paulo", 4),
    ("2021-01-04", "São Paulo", 8),
    ("2021-01-05", "Rio", 15),
]


def test_what_counts_as_the_same():
    assert len({plain_name(name) for _, name, _ in ROWS_NAME_SPELLINGS}) == 2
    assert plain_name("ＡＢＣ") == "abc"
    assert plain_name("Straße") == plain_name("STRASSE")
    assert alike(["a", "A ", "b"]) == [["a", "A "]]
    assert one_spelling({"a": 1, "A": 1}) == {"a": "A"}  # of equals, the first
    assert one_spelling({"a": 1, "A": 1}, ["Á"]) == {"a": "Á", "A": "Á"}


def test_they_are_noticed_and_merged(tmp_path, run):
    path = write(tmp_path / "log.csv", ROWS_NAME_SPELLINGS)
    apart = audit_name_spellings(path, **MAPPED)
    assert len(apart.by_stakeholder) == 4
    assert any("spaces or accents" in ask and "`merge_names`" in ask for ask in apart.asks)
    one = [
        (day, "Rio" if name == "Rio" else "São Paulo", doses)
        for day, name, doses in ROWS_NAME_SPELLINGS
    ]
    assert rows_read(path, **MAPPED, merge_names=True).rows == one
    code, out, _ = run(path, *OPTIONS, "--merge-names", "--no-chance", "--json")
    merged = json.loads(out)
    assert (code, len(merged["stakeholders"])) == (0, 2)
    assert any("2 names were merged" in note for note in merged["notes"])
    assert not any("spaces or accents, and" in ask for ask in merged["asks"])


def test_the_spelling_of_the_roster_and_of_entitlements(tmp_path):
    found = audit_name_spellings(
        write(tmp_path / "log.csv", ROWS_NAME_SPELLINGS),
        **MAPPED,
        merge_names=True,
        roster=["SÃO PAULO", "Rio", "Acre"],
        entitlement={"sao paulo": 5, "RIO": 15, "acre": 1},
    )
    assert {one.name: one.final for one in found.by_stakeholder} == {
        "SÃO PAULO": 3,
        "Rio": 1,
        "Acre": 0,
    }


@pytest.mark.parametrize("names", [["A", "B"], ["x", None]])
def test_nothing_to_merge_changes_nothing(names):
    frame = pd.DataFrame({"country": names, "date": [1, 2], "doses": [1, 2]}).dropna()
    assert rows_read(frame, **MAPPED, merge_names=True) == rows_read(frame, **MAPPED)
