"""One log of harms in offices of unequal size, by hand, through everything that comes out."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys

import pytest

from command_line import evenhand
from logs import FIRST_A_THEN_B, OPTIONS, write

SIZES = {"A": 2, "B": 1, "C": 3}
# In all by week 1: A 2, B 2, C 0, per head 1, 2, 0, the mean 4/6; by week 2: A 3, B 2, C 3, per
# head 1.5, 2, 1, the mean 8/6. The worst off has 2 a head at both.
HARMS = [(1, "A", 2, 1), (1, "B", 2, 1), (2, "C", 3, 1), (1, "C", 0, 1), (2, "A", 1, 1)]
# The same harms at the same times, shared by size: 4/6 a head, then 8/6.
EVEN = [(week, who, 4 * size / 6, 2) for week in (1, 2) for who, size in SIZES.items()]
HEADER = ("week", "office", "harms", "seed")
UNFAIR = {"A": (-1 / 3, -1 / 6), "B": (-4 / 3, -2 / 3), "C": (2 / 3, 1 / 3)}
OVER_SHARE = {"A": 1 / 3, "B": 2 / 3, "C": -1.0}  # at the end: heads times the distance


@pytest.fixture
def given(tmp_path):
    sizes = write(tmp_path / "sizes.csv", list(SIZES.items()), ("office", "heads"))
    columns = ("--stakeholder", "office", "--time", "week", "--amount", "harms")
    return (*columns, "--entitlement", sizes, "--lower-is-better")


@pytest.fixture
def logs(tmp_path):
    return (
        write(tmp_path / "harms.csv", HARMS, HEADER),
        write(tmp_path / "even.csv", EVEN, HEADER),
        write(tmp_path / "both.csv", HARMS + EVEN, HEADER),
    )


@pytest.mark.system  # takes seconds
def test_words_json_csv_and_page(logs, given, tmp_path):
    page, folder = tmp_path / "page.html", tmp_path / "sheets"
    asked = ("audit", logs[0], *given, "--max-unfairness", "1")
    found = evenhand(*asked, "--json", "--out", str(page), "--csv", str(folder))
    answer = json.loads(found.stdout)
    assert (found.returncode, answer["score"], answer["lower_is_better"]) == (1, -2, True)
    assert answer["overall"]["even_score"] == pytest.approx(-1)
    assert answer["over_time"]["mean"] == pytest.approx([-4 / 6, -8 / 6])
    assert answer["all_treated_worst"] == ["B"]
    assert answer["limits"][0]["found"] == pytest.approx(4 / 3)
    with open(folder / "stakeholders.csv", newline="") as file:
        sheet = {row["name"]: row for row in csv.DictReader(file)}
    with open(folder / "over_time.csv", newline="") as file:
        course = list(csv.DictReader(file))
    for one in answer["stakeholders"]:
        name = one["name"]
        assert answer["over_time"]["unfairness"][name] == pytest.approx(UNFAIR[name])
        assert [float(row[name]) for row in course] == pytest.approx(UNFAIR[name])
        for row in (one, sheet[name]):
            assert float(row["overall_unfairness"]) == pytest.approx(sum(UNFAIR[name]))
            assert float(row["short_of_share"]) == pytest.approx(OVER_SHARE[name])
            assert int(row["rank_overall"]) == {"C": 1, "A": 2, "B": 3}[name]
    gini = [
        mean - sum(SIZES[a] * SIZES[b] * abs(u[a] - u[b]) for a in u for b in u) / (2 * 6**2)
        for mean, u in (
            (-4 / 6, {"A": -1, "B": -2, "C": 0}),
            (-8 / 6, {"A": -1.5, "B": -2, "C": -1}),
        )
    ]
    assert answer["questions"][0]["welfare"]["gini"]["score"] == pytest.approx(sum(gini) / 2)
    words = evenhand(*asked).stdout
    assert "Treated worst overall was B, above the mean at 100% of the assessments (+1 " in words
    assert "At the end B had 0.667 harms more than its share, the most of all" in words
    assert re.search(r"^B +2 +\+0\.667 +0\.667 +\+2 +100% +2 +3, 3", words, re.M), words
    assert "somebody was 1.33 above the mean at an assessment" in words
    shown = re.sub(r"<(script|style)\b.*?</\1>", "", page.read_text(), flags=re.S)
    text = re.sub(r"<[^>]+>", " ", shown)
    # Heads, status, at the end, over its share, over all.
    assert re.search(r" B +1 +2 +\+0\.667 +0\.667 +\+2 +100% ", text), text


@pytest.mark.system  # takes seconds
def test_two_logs_two_periods_and_two_runs(logs, given):
    harms, even, both = logs
    compared = json.loads(evenhand("audit", harms, even, *given, "--json").stdout)
    asked = compared["questions"][0]
    assert asked["scores"] == pytest.approx([-2, -1])
    assert asked["fairer"].endswith("even.csv")
    periods = json.loads(evenhand("audit", harms, *given, "--before", "2", "--json").stdout)
    # In week 2 alone A has 1 and C 3, per head 0.5 and 1: C is the worst off.
    assert periods["questions"][0]["scores"] == pytest.approx([-2, -1])
    assert [log["all_treated_worst"] for log in periods["logs"]] == [["B"], ["C"]]
    assert periods["questions"][0]["fairer"].endswith("from 2")
    runs = json.loads(evenhand("audit", both, *given, "--run", "seed", "--json").stdout)
    assert runs["score"] == pytest.approx((-2 - 1) / 2)
    assert runs["all_treated_worst"] == ["B"]
    for one in runs["stakeholders"]:
        assert one["overall_unfairness"] == pytest.approx(sum(UNFAIR[one["name"]]) / 2)
        assert one["short_of_share"] == pytest.approx(OVER_SHARE[one["name"]] / 2, abs=1e-12)


def test_the_monitor(given, tmp_path):
    events = "".join(
        json.dumps({"week": week, "office": who, "harms": much}) + "\n"
        for week, who, much, _ in sorted(HARMS)
    )
    names = [part for name in SIZES for part in ("--name", name)]
    found = evenhand("monitor", *names, *given, "--max-unfairness", "1", stdin=events)
    first, second, summary = map(json.loads, found.stdout.splitlines())
    for k, line in enumerate((first, second)):
        behind = {name: far[k] for name, far in UNFAIR.items() if far[k] < 0}
        assert line["unfair_to"] == pytest.approx(behind)
        assert line["welfare"] == -2
    assert first["alert"] == ["B is 1.33 above the mean, more than 1"]
    assert "alert" not in second
    assert (found.returncode, summary["score"]) == (1, -2)


CASES = {
    "a rate above 1": (
        (("week", "office", "granted", "asked"), [(1, "A", 3, 2), (1, "B", 1, 2)]),
        ("--amount", "granted", "--out-of", "asked"),
        "by 1 'A' had 1.5 times what --out-of says it could have had: a rate is at most 1",
    ),
    "a rate and an entitlement": (
        (("week", "office", "granted", "asked", "heads"), [(1, "A", 1, 2, 9)]),
        ("--amount", "granted", "--out-of", "asked", "--entitlement", "heads"),
        "--out-of and --entitlement both say what an amount is set against: leave one out.",
    ),
    "a request after its service": (
        (("week", "office", "got", "asked"), [(1, "A", 3, 1), (2, "A", 0, 2), (2, "B", 1, 1)]),
        ("--amount", "got", "--asked", "asked"),
        "by 1 'A' had received 3 and asked for 1: a request comes no later than its service",
    ),
    "a negative stock": (
        (("week", "office", "beds"), [(1, "A", 3), (2, "B", -1)]),
        ("--amount", "beds", "--stock"),
        "a level below 0 at row 2",
    ),
    "an unknown group": (
        (("week", "office", "got", "region"), [(1, "A", 3, "North"), (1, "B", 1, "South")]),
        ("--amount", "got", "--group", "region", "--reference", "Norht"),
        "--reference is 'Norht', which is not a group: did you mean 'North'?",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_gets_its_sentence(case, refuses, tmp_path):
    (header, rows), options, words = CASES[case]
    log = write(tmp_path / "log.csv", rows, header)
    refuses((words,), log, "--stakeholder", "office", "--time", "week", *options)


def test_an_end_before_its_start(refuses, tmp_path):
    rows = [("A", "2021-03-01", "2021-03-09"), ("B", "2021-03-05", "2021-03-02")]
    log = write(tmp_path / "cases.csv", rows, ("office", "opened", "closed"))
    words = "has cases that end ('closed') before they begin ('opened'), at row 2"
    refuses((words,), log, "--stakeholder", "office", "--from", "opened", "--to", "closed")


def test_a_text_audit_loads_only_what_it_needs(tmp_path):
    """Nor does it make the commands that were not asked for."""
    log = write(tmp_path / "log.csv", FIRST_A_THEN_B)
    code = (
        "import sys\n"
        "from evenhand.cli import app, main\n"
        "made = []\n"
        "get_command, app.get_command = app.get_command, lambda one: made.append(one) or "
        "get_command(one)\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "assert [one.name for one in made[0].registered_commands] == ['audit']\n"
        "heavy = ('jax', 'scipy', 'pandas', 'pyarrow', 'tomllib', 'evenhand.report.html')\n"
        "for name in heavy:\n    assert name not in sys.modules, name\n"
    )
    words = [sys.executable, "-c", code, "audit", log, *OPTIONS]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
