"""Audits on Spark for real: local mode with two workers, in a session of another time zone."""

from __future__ import annotations

import json
import os
import shutil
import time
import warnings

import polars as pl
import pytest

import same_numbers as same
from evenhand.auditing import audit
from evenhand.log import counting
from places import VACCINATIONS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    from pyspark.sql import SparkSession

# PySpark warns of versions of other packages, which is not for us to mend.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("default")]

OPTIONS = ("--stakeholder", "who", "--time", "at", "--amount", "doses")
TYPES = (
    "id bigint, at timestamp_ntz, day date, text string, who string, doses double, "
    "region string, people double, kind string"
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed (Debian: openjdk-17-jre-headless)")
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "America/New_York",  # nothing may depend on it
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.maxResultSize": "1m",  # so that a result too large is soon met
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def decisions(spark):
    """The untidy log, with its times also as moments of a zone."""
    table = spark.createDataFrame(same.untidy(), TYPES).repartition(3)
    moment = "to_timestamp(concat(cast(at AS string), 'Z')) AS moment"
    return table.selectExpr("*", moment).persist()


@pytest.mark.parametrize(
    "question",
    [
        *("anytime, roster", "by month, entitled", "by week, text", "by day, filtered"),
        *("every 50", "after each", "when", "at the end, by group", "rows"),
    ],
)
def test_the_same_numbers_as_pandas(question, decisions, tmp_path):
    asked = {**same.MAPPED, **same.questions(tmp_path)[question]}
    same.assert_same(audit(decisions, **asked), audit(same.untidy_frame(), **asked), True)


def test_moments_of_a_zone_in_blocks(decisions, monkeypatch):
    """Anytime, where rows come back some at a time and lie in files."""
    expected = audit(same.untidy_frame(), **same.MAPPED)
    monkeypatch.setattr("evenhand.log.spark.BLOCK_ROWS", 100)
    monkeypatch.setattr("evenhand.log.spark.PART_ROWS", 700)
    monkeypatch.setattr("evenhand.log.history.IN_MEMORY", 500)
    found = audit(decisions, **{**same.MAPPED, "time": "moment"})
    same.assert_same(found, expected, True)
    assert not decisions.sparkSession.sparkContext._jsc.getPersistentRDDs().size() > 1


@pytest.mark.parametrize("question", same.TOTALS)
def test_running_totals(question, spark, monkeypatch):
    asked = {**same.TOTALS_MAPPED, **same.TOTALS[question]}
    expected = audit(same.totals_frame(), **asked)
    if "every" in asked:
        monkeypatch.setattr(counting, "EXACT_ROWS", 0)  # long logs are grouped by day
    table = spark.createDataFrame(same.running_totals(), "day date, who string, total double")
    found = audit(table, **asked)
    assert found.origin["fingerprint"] == expected.origin["fingerprint"]
    assert found.score == pytest.approx(expected.score, rel=1e-12)
    assert found.over_time.unfairness == pytest.approx(expected.over_time.unfairness, abs=1e-9)


def test_files(spark, run, tmp_path):
    """A glob of Parquet, CSV and JSON lines, by the command line."""
    frame = pl.DataFrame(same.untidy(), same.COLUMNS, orient="row")
    for k in range(2):
        frame[k::2].write_parquet(tmp_path / f"part{k}.parquet")
    frame.write_csv(tmp_path / "log.csv", separator=";")
    frame.with_columns(pl.col("at", "day").cast(pl.String)).write_ndjson(tmp_path / "log.jsonl")
    expected = audit(same.untidy_frame(), **same.MAPPED, every="month", where="id % 7 > 1")
    for name in ("part*.parquet", "log.csv", "log.jsonl"):
        log = (str(tmp_path / name), *OPTIONS, "--every", "month", "--where", "id % 7 > 1")
        code, text, errors = run("--engine", "spark", *log, "--json")
        assert code == 0, errors
        found = json.loads(text)
        assert found["score"] == pytest.approx(expected.score, rel=1e-9)
        assert found["origin"]["fingerprint"] == expected.origin["fingerprint"]
    assert len(found["origin"]["files"]) == 1
    frame.write_csv(tmp_path / "log[1]{a}*.csv")
    frame[:3].write_csv(tmp_path / "log1a.csv")
    log = (str(tmp_path / "log[1]{a}*.csv"), *OPTIONS, "--every", "month")
    code, text, errors = run("--engine", "spark", *log, "--where", "id % 7 > 1", "--json")
    assert code == 0, errors
    assert json.loads(text)["score"] == pytest.approx(expected.score, rel=1e-9)


@pytest.mark.skipif(not VACCINATIONS.exists(), reason="the real log is not here")
def test_the_real_log(spark):
    asked = {**same.REAL_MAPPED, "every": "month"}
    same.assert_same(
        audit(str(VACCINATIONS), engine="spark", **asked),
        audit(str(VACCINATIONS), **asked),
    )


# Bad input


def test_files_and_columns_that_are_not_there(spark, refuses, tmp_path):
    asked = ("--engine", "spark", *OPTIONS)
    refuses(("there is no file",), str(tmp_path / "none.parquet"), *asked)
    log = tmp_path / "log.csv"
    log.write_text("at,who,doses\n2021-02-28,A,1\nsoon,A,many\n")
    refuses(("no column 'dose' (--amount)", "'doses'?"), str(log), *asked, "--amount", "dose")
    refuses(("not a number at 1 row ('many' is one)",), str(log), *asked)
    log.write_text("at,who,doses,kind\n2021-02-28,A,1,x\n2021-02-29,A,2,y\n")
    refuses(("not a date or time at 1 row ('2021-02-29' is one)",), str(log), *asked)
    refuses(("--time-format is not for Spark",), str(log), *asked, "--time-format", "%Y")
    refuses(("'kind'", "not a date or time at 2 rows"), str(log), *asked, "--time", "kind")
    log.write_text("at,who,doses\n2021-02-28,A,1\n2021-02-29\n")
    refuses(("Spark cannot read the log", "alformed"), str(log), *asked)
    wrong = tmp_path / "log.parquet"
    wrong.write_text("nothing of the kind\n" * 10)
    refuses(("Spark cannot read the log",), str(wrong), *asked)


def test_too_little_memory(spark, refuses, tmp_path):
    made = "id AS at", "concat('w', id % 3) AS who", "rand() AS doses"
    spark.range(200_000).selectExpr(*made).write.parquet(str(tmp_path / "log.parquet"))
    report = tmp_path / "report.html"
    asked = ("--engine", "spark", *OPTIONS, "--out", str(report))
    refuses(("Spark ran out of memory", "--every month"), str(tmp_path / "log.parquet"), *asked)
    assert not report.exists()


def test_without_java(refuses, monkeypatch, tmp_path):
    (tmp_path / "log.csv").write_text("at,who,doses\n2021-02-28,A,1\n")
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    refuses(
        ("Spark needs Java", "JAVA_HOME"), str(tmp_path / "log.csv"), *OPTIONS, "--engine", "spark"
    )
    started = time.perf_counter()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    refuses(("Spark needs Java",), str(tmp_path / "log.csv"), *OPTIONS, "--engine", "spark")
    assert time.perf_counter() - started < 120  # and does not look for Java any longer
