"""Verdicts are kept, and stand as long as what they rest on; survivors are explained."""

from __future__ import annotations

from dataclasses import replace

from mutation import __main__ as program
from mutation.covering import TestFile, nearest_first
from mutation.mutants import Mutant, mutants_below
from mutation.trial import KILLED, SURVIVED, TIMED_OUT, Verdict
from mutation.verdicts import Verdicts, explanations

MUTANT = Mutant("fairness/one.py", 3, 4, 10, 15, "(a - b)", "x = a + b", "a + b → a - b", "f0")


def measured(path: str, seconds: float, *lines: int) -> TestFile:
    return TestFile(path, seconds, {"fairness/one.py": list(lines)}, f"digest of {path}")


TESTS = [
    measured("tests/fairness/test_slow.py", 9, 3),
    measured("tests/fairness/test_quick.py", 1, 4, 5),
    measured("tests/fairness/test_one.py", 20, 1),  # by its name, whatever it covers
    measured("tests/fairness/test_other.py", 1, 2, 5),
    measured("tests/learn/test_far.py", 1, 3),
]


def test_the_tests_that_cover_a_statement_nearest_first():
    near, far = nearest_first(MUTANT, TESTS)
    assert [test.path for test in near] == [
        "tests/fairness/test_one.py",
        "tests/fairness/test_quick.py",
        "tests/fairness/test_slow.py",
    ]
    assert [test.path for test in far] == ["tests/learn/test_far.py"]


def test_a_verdict_stands_as_long_as_its_grounds(tmp_path):
    path = tmp_path / "results.jsonl"
    killer = "tests/fairness/test_quick.py"
    changed = {
        test.path: [replace(t, digest="new") if t is test else t for t in TESTS] for test in TESTS
    }
    Verdicts(path).add(MUTANT, Verdict(MUTANT.key, KILLED, killer, 1.0), TESTS)
    with path.open("a") as file:
        file.write('{"key": "cut o')  # a run that was cut off
    known = Verdicts(path)
    assert known.find(MUTANT, TESTS).outcome == KILLED
    assert known.find(MUTANT, changed[killer]) is None
    assert known.find(MUTANT, changed["tests/fairness/test_slow.py"]) is not None
    assert known.find(replace(MUTANT, origin="f1"), TESTS) is None
    with path.open("a") as file:
        file.write("\n")
    Verdicts(path).add(MUTANT, Verdict(MUTANT.key, SURVIVED, "", 1.0), TESTS)
    known = Verdicts(path)
    assert known.find(MUTANT, TESTS).outcome == SURVIVED
    assert known.find(MUTANT, changed["tests/fairness/test_slow.py"]) is None
    assert known.find(MUTANT, changed["tests/fairness/test_other.py"]) is not None


def test_the_report_counts_and_explains(capsys, monkeypatch, tmp_path):
    told = tmp_path / "survivors.toml"
    told.write_text(
        '[[survivor]]\nfile = "fairness/one.py"\nline = "x = a + b"\n'
        'change = "a + b → a - b"\nwhy = "b is always 0 there"\n'
    )
    why = explanations(told)
    monkeypatch.setattr(program, "explanations", lambda path: why)
    others = [replace(MUTANT, start=place) for place in range(3)]
    verdicts = {
        others[0].key: Verdict(others[0].key, SURVIVED, "", 1.0),
        others[1].key: Verdict(others[1].key, KILLED, "tests/x.py", 1.0),
        others[2].key: Verdict(others[2].key, TIMED_OUT, "tests/x.py", 1.0),
    }
    assert program.report(others, verdicts) == 100 * 2 / 3
    out = capsys.readouterr().out
    assert "2 killed (66.7%): 1 by a failing test, 1 by time-out; 1 survived" in out
    assert "fairness/one.py:4: a + b → a - b" in out
    assert "b is always 0 there" in out
    monkeypatch.setattr(program, "explanations", lambda path: {})
    program.report(others, verdicts)
    assert "NOT EXPLAINED" in capsys.readouterr().out


def test_every_explanation_is_of_a_mutant_that_there_is():
    """One whose line has changed says nothing any more."""
    told = explanations(program.SURVIVORS)
    assert all(told.values())
    files = sorted({file for file, _, _ in told})
    mutants = mutants_below(program.PACKAGE, files)
    assert set(told) - {(one.file, one.source, one.change) for one in mutants} == set()
