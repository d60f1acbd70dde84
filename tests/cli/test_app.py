"""The command line as a person meets it."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys

import duckdb
import pytest
from typer.testing import CliRunner

from command_line import evenhand as run
from evenhand.cli.app import app
from evenhand.errors import EvenhandError


def run_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evenhand", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.system  # half a minute of two cores
def test_demo_tells_the_whole_story_on_one_page(tmp_path):
    page = tmp_path / "demo.html"
    done = run_process("demo", "--json", "--out", str(page))
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "Treated worst overall was Hill" in told["naive"]
    assert "Treated worst overall was Harbour" in told["verdict"]
    assert told["chance"]["named"] == ["Harbour"]
    assert told["best"]["score"] > told["best"]["actual"]
    rules = told["rules"]
    assert rules["least_served"] == max(rules.values())
    assert told["learned"] > rules["as logged"]
    assert told["next"][0]["name"] == "Harbour"
    assert page.stat().st_size < 2_000_000
    assert page.read_text().count('<section id="') == 7


def test_demo_refuses_a_folder_that_is_not_there(tmp_path):
    done = run("demo", "--out", str(tmp_path / "none" / "demo.html"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "(--out) cannot be written (No such file or directory)" in done.stderr


def test_list_has_a_line_for_every_registered_name():
    from evenhand.envs import ENVIRONMENTS, METHODS
    from evenhand.fairness.filters import FILTERS
    from evenhand.fairness.status import STATUSES
    from evenhand.fairness.temporal import TEMPORALS
    from evenhand.fairness.welfare import WELFARES
    from evenhand.memory.memory import MEMORIES

    parts = json.loads(run("list", "--json").stdout)
    for registry in (ENVIRONMENTS, METHODS, MEMORIES, STATUSES, WELFARES, TEMPORALS, FILTERS):
        built_in = {
            name for name, cls in registry.classes.items() if cls.__module__[:9] == "evenhand."
        }
        assert set(parts[registry.kind]) >= built_in
        assert all(line.endswith(".") for line in parts[registry.kind].values())
    assert {"fairqcm", "full", "oracle", "random"} <= parts["method"].keys()
    assert "log_nash" in run("list").stdout


@pytest.mark.system  # processes that compile anew
def test_train_evaluate_and_compare_as_in_the_readme(tmp_path):
    small = ("--stakeholders", "2", "--horizon", "3", "--seeds", "2", "--steps", "1000")
    path = tmp_path / "fair.run"
    trained = run_process(
        "train", "doughnuts", "--method", "fairqcm", *small, "--out", str(path), "--json"
    )
    answer = json.loads(trained.stdout)
    assert len(answer["final_scores"]) == 2
    assert {"optimum", "curve", "seconds", "compile_seconds"} <= answer.keys()
    scored = json.loads(run_process("evaluate", str(path), "--json").stdout)
    assert scored["scores"] == pytest.approx(answer["final_scores"])
    said = run_process("evaluate", str(path)).stdout
    assert "share of the way" in said
    assert "Scores are exact values of the greedy policy." in said
    words = run_process("compare", "doughnuts", "--methods", "full,oracle", *small)
    assert "exact optimum" in words.stdout
    assert run_process("evaluate", str(tmp_path / "none")).returncode == 2
    assert "no figure" in run_process("reproduce", "fig").stderr


def test_plan_prints_the_optimum_and_what_it_does():
    small = ("doughnuts", "--stakeholders", "2", "--horizon", "2", "--presence", "0.5")
    answer = json.loads(run("plan", *small, "--discount", "1.0", "--json").stdout)
    assert answer["optimum"] == pytest.approx(1.3756756713201783)  # RULES.md
    assert answer["states"] == 4  # (0,0), (1,0), (1,1), (2,0), up to who is who
    assert {"random", "seconds"} <= answer.keys()
    words = run("plan", *small).stdout
    assert "1.3757" in words
    assert "The optimal policy is turn taking" in words
    words = run("plan", *small[:-1], "0.9,0.4").stdout
    assert "Turn taking is not optimal here" in words


def test_plan_takes_a_scheme_file_and_saves(tmp_path):
    scheme = tmp_path / "scheme.toml"
    scheme.write_text('welfare = "parity"\ntemporal = "worst"\n')
    path = tmp_path / "plan.safetensors"
    command = ("plan", "doughnuts", "--stakeholders", "2", "--horizon", "3", "--presence", "1")
    answer = run(*command, "--scheme", str(scheme), "--save", str(path), "--json")
    assert json.loads(answer.stdout)["optimum"] == -1.0  # somebody must be the first
    assert path.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("dougnuts",), "did you mean 'doughnuts'"),
        (("doughnuts", "--presence", "often"), "give one number, or one each"),
        (("doughnuts", "--presence", "1.5"), "between 0 and 1"),
        (("lending", "--presence", "0.5"), "lending has no --presence: it takes --horizon"),
        (("lending_gaussian",), "outcomes cannot be listed"),
        (("doughnuts", "--scheme", "none.toml"), "there is no file 'none.toml'"),
        (("doughnuts", "--discount", "1.5"), "discount is 1.5"),
        (
            (
                "doughnuts",
                "--stakeholders",
                "2",
                "--horizon",
                "2",
                "--memories",
                "--time-limit=inf",
            ),
            "--time-limit is inf: it must be a number of seconds",
        ),
        (("doughnuts", "--stakeholders", "30"), "1,073,741,824 combinations of who is there"),
        (
            (
                "doughnuts",
                "--stakeholders",
                "14",
                "--presence",
                ",".join(f"0.{k}" for k in range(10, 24)),
            ),
            "states",
        ),
    ],
)
def test_plan_answers_a_mistake_with_one_sentence(arguments, words):
    answer = run("plan", *arguments)
    assert answer.returncode == 2
    assert words in answer.stderr
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""


def test_within_the_time_limit_memories_are_proved_and_then_bounded():
    small = ("plan", "doughnuts", "--stakeholders", "2", "--horizon", "3", "--memories", "--json")
    whole, none = (
        json.loads(run(*small, *more).stdout)["price_of_memory"]
        for more in ((), ("--time-limit", "0"))
    )
    assert all(row["exact"] for row in whole)
    assert not all(row["exact"] for row in none)


def test_a_scheme_file_that_is_no_text_is_named(tmp_path):
    path = tmp_path / "latin.toml"
    path.write_bytes(b'welfare = "rawls"\n# caf\xe9\n')
    for verb in (("plan", "doughnuts"), ("audit", "log.csv", "--stakeholder", "a", "--time", "b")):
        answer = run(*verb, "--scheme", str(path))
        assert answer.returncode == 2
        if verb[0] == "plan":
            assert f"{path} cannot be read: line 2 is not UTF-8 text" in answer.stderr


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ("x", "--steps is 'x': it must be a whole number."),
        ("1.5", "--steps is '1.5': it must be a whole number."),
        ("-1", "--steps is '-1': it must be at least 100."),
    ],
)
def test_a_value_that_an_option_cannot_take(steps, words):
    answer = run("train", "doughnuts", "--steps", steps)
    assert answer.returncode == 2
    assert answer.stderr == f"evenhand: {words} `evenhand train --help` shows what there is.\n"


def test_version():
    assert run_process("--version").stdout.startswith("evenhand 0.")


@pytest.mark.parametrize(
    ("arguments", "words"), [(("demoo",), "demo"), (("demo", "--jsn"), "--json")]
)
def test_a_typo_is_answered_with_the_nearest_and_exit_code_2(arguments, words):
    answer = run_process(*arguments)
    assert answer.returncode == 2
    assert answer.stderr.startswith("evenhand: no such ")
    assert answer.stderr.endswith(" --help` shows what there is.\n")
    assert words in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_a_users_mistake_is_one_sentence_and_exit_code_2(monkeypatch, capsys):
    from evenhand import cli
    from evenhand.errors import BadParameter

    def mistaken() -> None:
        raise BadParameter("period is 0: it must be a whole number from 1.")

    monkeypatch.setattr("evenhand.cli.app.run", mistaken)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == "evenhand: period is 0: it must be a whole number from 1.\n"


@pytest.mark.parametrize("becomes", ["itself", "an exit code", "an import that failed"])
def test_ctrl_c_is_one_sentence_whatever_it_becomes_on_the_way(monkeypatch, capsys, becomes):
    from evenhand import cli

    def interrupted() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as pressed:
            if becomes == "itself":
                raise
            if becomes == "an exit code":
                raise SystemExit(130) from pressed
        raise ImportError("an error while initializing")

    monkeypatch.setattr("evenhand.cli.app.run", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as stop:
            cli.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert stop.value.code == 130
    assert capsys.readouterr().err == "evenhand: stopped. What was saved before is kept.\n"


def invoke(*arguments):
    """The same without a process: its exit code, or the mistake that would be told."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return done.exception if isinstance(done.exception, EvenhandError) else done.exit_code


@pytest.mark.system  # takes seconds
def test_what_is_read_is_never_written_over(tmp_path):
    log, base = tmp_path / "stakeholders.csv", tmp_path / "base.db"
    log.write_text("who,day,much\nA,1,2\nB,2,2\n")
    with contextlib.closing(sqlite3.connect(base)) as connection, connection:
        connection.execute("CREATE TABLE log (who TEXT, day INTEGER, much INTEGER)")
        connection.execute("INSERT INTO log VALUES ('A', 1, 2), ('B', 2, 2)")
    before = {path: path.read_bytes() for path in (log, base)}
    asked = ("--stakeholder", "who", "--time", "day", "--amount", "much")
    for more in (
        (log, "--out", log),
        (tmp_path / "*.csv", "--out", log),
        (log, "--csv", tmp_path),
        (log, "--roster", base, "--out", base),
        (f"sqlite:///{base}", "--table", "log", "--out", base),
    ):
        assert "would be written over" in str(invoke("audit", *asked, *more))
        assert {path: path.read_bytes() for path in (log, base)} == before
    policy = tmp_path / "fair.run"
    train = ("train", "doughnuts", "--stakeholders", 2, "--horizon", 3, "--steps", 100)
    assert invoke(*train, "--out", policy) == 0
    assert "would be written over" in str(invoke("evaluate", policy, "--log", policy))
    assert "end in .parquet" in str(invoke("evaluate", policy, "--log", tmp_path / "x.txt"))


def test_a_limit_is_a_number(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("who,day,much\nA,1,2\nB,2,2\n")
    asked = ("audit", log, "--stakeholder", "who", "--time", "day", "--amount", "much")
    assert "--max-unfairness is 'nan'" in str(invoke(*asked, "--max-unfairness", "nan"))
    assert "--min-score is inf" in str(invoke(*asked, "--min-score", "inf"))
    assert invoke(*asked, "--max-unfairness", "0.5") == 1


def test_a_table_of_a_database_next_to_a_file(tmp_path):
    log, base = tmp_path / "log.csv", tmp_path / "base.duckdb"
    log.write_text("who,day,much\nA,1,2\nB,2,2\n")
    with duckdb.connect(str(base)) as connection:
        connection.execute("CREATE TABLE log AS SELECT * FROM read_csv(?)", [str(log)])
    asked = ("--stakeholder", "who", "--time", "day", "--amount", "much", "--table", "log")
    assert invoke("audit", f"duckdb:///{base}", log, *asked) == 0
    assert invoke("audit", log, f"duckdb:///{base}", *asked) == 0
    assert "names a table of a database" in str(invoke("audit", log, *asked))


def test_methods_named_by_nobody_are_not_all():
    assert "names none" in str(invoke("compare", "doughnuts", "--methods", ","))


def test_names_that_are_too_long_are_a_mistake_like_any_other(tmp_path):
    log, long = tmp_path / "log.csv", "a" * 300
    log.write_text("who,day\nA,1\nB,2\n")
    asked = ("--stakeholder", "who", "--time", "day")
    for more in (
        ("audit", f"{long}.csv", *asked),
        ("audit", f"sqlite:///{long}", "--table", "log", *asked),
        ("audit", log, *asked, "--out", tmp_path / long),
        ("audit", log, *asked, "--entitlement", long),
        ("audit", log, *asked, "--roster", f"{long}.csv"),
        ("audit", log, *asked, "--scheme", f"{long}.toml"),
        ("evaluate", long),
        ("train", "doughnuts", "--stakeholders", 2, "--horizon", 3, "--steps", 100, "--out", long),
    ):
        assert isinstance(invoke(*more), EvenhandError), more
