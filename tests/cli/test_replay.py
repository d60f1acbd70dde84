"""`evenhand replay` as the shell runs it: what it prints, what it writes, what it refuses."""

from __future__ import annotations

import json

import pytest

from command_line import evenhand

COLUMNS = ("--stakeholder", "to", "--time", "day", "--amount", "doses")
LOG = "day,to,doses\n2021-01-01,A,20\n2021-01-08,A,20\n2021-01-15,B,20\n2021-01-22,B,20\n"


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


def replay(log, *arguments):
    return evenhand("replay", str(log), *COLUMNS, *arguments)


def refused(done, *words):
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert done.stderr.startswith("evenhand: ")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr, done.stderr


def test_one_table_and_what_changed_for_whom(log):
    done = replay(log, "--rule", "least_served", "--rule", "half_life:2w", "--welfare", "parity")
    assert done.returncode == 0, done.stderr
    assert "least_served would have been fairest, with a score of −10 against −20." in done.stdout
    # B's first 20 come a week sooner, and the rest when they came.
    assert "B would have had 40 doses on average 3.5 days sooner." in done.stdout
    assert "Held fixed: when how much was given out, and who was there." in done.stdout
    assert "Ties are broken by who joined first, then by the order of the st" in done.stdout


def test_json_has_the_same(log):
    done = replay(log, "--rule", "even_out", "--json", "--seed", "3", "--welfare", "parity")
    found = json.loads(done.stdout)
    assert found["logged"]["score"] == -20.0
    (even,) = found["rules"]
    assert (even["rule"], even["score"], even["worst_off"]) == ("even_out", 0.0, [])
    assert found["logged"]["longest_wait"] == 14.0  # days
    assert found["ties"] == "by a draw (seed 3)"
    assert {one["name"]: one["sooner"] for one in even["stakeholders"]} == {"A": -7.0, "B": 7.0}


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_what_is_written_is_a_log_like_any_other(log, tmp_path, name):
    out = tmp_path / name
    done = replay(log, "--rule", "least_served", "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    audited = evenhand("audit", str(out), *COLUMNS, "--json")
    score = json.loads(done.stdout)["rules"][0]["score"]
    assert json.loads(audited.stdout)["score"] == pytest.approx(score)
    first = out.read_bytes()
    replay(log, "--rule", "least_served", "--out", str(out))
    assert out.read_bytes() == first


def test_a_page(log, tmp_path):
    out = tmp_path / "page.html"
    done = replay(log, "--rule", "least_served", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert b"least_served would have been fairest" in out.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--rule", "least_servd"), ("did you mean 'least_served'?",)),
        (("--rule", "first_come"), ("needs requests", "--asked")),
        (("--rule", "half_life"), ("half_life:7d",)),
        (("--rule", "half_life:x"), ("the half-life is 'x'",)),
        (("--rule", "lottery", "--seed", "-1"), ("--seed is -1",)),
        (("--rule", "lottery", "--out", "log.txt"), ("--out is 'log.txt'", ".parquet")),
        (("--rule", "lottery", "--rule", "even_out", "--out", "x.csv"), ("one rule",)),
        (("--asked", "day"), ("--time and --asked",)),
        (("--table", "a", "--table", "b"), ("--table is given 2 times",)),
    ],
)
def test_bad_input_is_refused_in_a_sentence(log, arguments, words):
    refused(replay(log, *arguments), *words)


def test_a_request_below_zero_is_refused(log, tmp_path):
    requests = tmp_path / "asked.csv"
    requests.write_text("day,to,wanted\n2021-01-01,A,90\n2021-01-01,B,-5\n")
    done = replay(log, "--requests", str(requests), "--asked", "wanted")
    refused(done, "a request below 0", "'B'")


def test_the_log_itself_is_not_written_over(log):
    refused(replay(log, "--rule", "lottery", "--out", str(log)), "is what is read here")
    assert log.read_text() == LOG


def test_what_is_missing_is_asked_for_with_a_look_at_the_file(log):
    """The same look as that of `evenhand audit`, with the command to run."""
    done = evenhand("replay", str(log))
    assert done.returncode == 2
    assert done.stderr.startswith("evenhand: say which column")
    for word in ("--stakeholder", "'day', 'to', 'doses'"):
        assert word in done.stderr
    command = f"evenhand replay {log} --stakeholder to --time day --amount doses"
    assert f"Nothing was judged yet. If these are right, run:\n  {command}\n" in done.stdout
    audited = evenhand("audit", str(log)).stdout
    assert done.stdout == audited.replace("evenhand audit", "evenhand replay")
    found = json.loads(evenhand("replay", str(log), "--time", "day", "--json").stdout)
    assert found["command"] == command


def test_a_wide_table_and_files_with_their_dates_in_their_names(log, tmp_path):
    options = ("--rule", "least_served", "--json")
    tidy = json.loads(replay(log, *options).stdout)["rules"][0]["score"]
    wide = tmp_path / "wide.csv"
    days = ("2021-01-01", "2021-01-08", "2021-01-15", "2021-01-22")
    wide.write_text(f"to,{','.join(days)}\nA,20,20,0,0\nB,0,0,20,20\n")
    named = ("--stakeholder", "to", "--wide", "time")
    done = evenhand("replay", str(wide), *named, *options)
    assert json.loads(done.stdout)["rules"][0]["score"] == tidy, done.stderr
    for day, name in zip(days, "AABB", strict=True):
        (tmp_path / f"sent-{day}.csv").write_text(f"to,doses\n{name},20\n")
    named = ("--stakeholder", "to", "--amount", "doses", "--time-from-name")
    done = evenhand("replay", str(tmp_path / "sent-*.csv"), *named, *options)
    assert json.loads(done.stdout)["rules"][0]["score"] == tidy, done.stderr


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_best_that_is_not_known_is_not_advised_away_with_an_option_of_audits(log, form):
    done = replay(log, "--rule", "least_served", "--welfare", "jain", *form)
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.split())
    assert (
        "The best there was is not known: the best there was cannot be found for this score ("
        in shown
    )
    assert "--best" not in shown
